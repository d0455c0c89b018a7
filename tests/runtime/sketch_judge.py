"""The omniscient observer of live watches on sketches: what all sites' sketches held, against what was published."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from tacit.functions.goals import Frequent, Quantile, SketchGoal
from tacit.protocols.gauges.making import SEED, gauge_of, shape_of, terms_of
from tacit.protocols.gauges.quantile import QuantileGauge
from tacit.runtime.store import Store
from tacit.sketches.hashing import fingerprints, places_of, row_words
from tacit.vocabulary import FloatArray

__all__ = ["PublishedKeys", "PublishedValue", "published_of"]

_ULPS = 1e-9


class PublishedValue:
    """The value that was published at each pane, and whether it was within the promise."""

    def __init__(self, store: Store, lineage: int, goal: SketchGoal) -> None:
        self._goal, self._gauge = goal, gauge_of(goal)
        self._said = store.all("SELECT pane, value FROM changes WHERE lineage = ? ORDER BY pane", (lineage,))

    def wrong(self, pane: int, arrays: FloatArray, names: Sequence[Sequence[str]]) -> list[str]:
        """What is wrong at a pane at which sites held these arrays (sites, size)."""
        last = next((value for first, value in reversed(self._said) if first <= pane), 0.0)
        said = np.nan if last is None else float(last)
        if isinstance(self._goal, Quantile):
            assert isinstance(self._gauge, QuantileGauge)
            if np.isnan(said):
                return [] if not arrays[:, 0].any() else ["said that there is no value, and there are rows"]
            rank, below = self._gauge.rank(arrays, said), self._gauge.rank(arrays, np.nextafter(said, -np.inf))
            within = self._goal.within + _ULPS
            fine = np.isnan(rank) or below - within <= self._goal.phi <= rank + within
            return [] if fine else [f"said {said:g}, whose rank is {rank:.4f}"]
        assert not isinstance(self._goal, Frequent)
        truth = self._gauge.value(arrays)
        fine = abs(said - truth) <= self._gauge.tolerance(arrays) * (1.0 + _ULPS)
        return [] if fine else [f"said {said:g}, and the sketches say {truth:g}"]


class PublishedKeys:
    """The keys that were published at each pane, and whether they were the right ones."""

    def __init__(self, store: Store, lineage: int, goal: Frequent) -> None:
        shape = shape_of(goal)
        self._terms, self._rows, self._width = terms_of(goal), row_words(SEED, shape.depth), shape.width
        rows = store.all("SELECT pane, members FROM rankings WHERE lineage = ? ORDER BY pane", (lineage,))
        self._said = [(pane, dict(json.loads(members))) for pane, members in rows]

    def wrong(self, pane: int, arrays: FloatArray, names: Sequence[Sequence[str]]) -> list[str]:
        """What is wrong at a pane at which sites held these cells, and remembered these keys."""
        said: dict[str, float] = next((members for first, members in reversed(self._said) if first <= pane), {})
        found = [
            f"{key} is inside, with {count:g}"
            for key, count in zip(said, self._counts(list(said), arrays).sum(axis=0).tolist(), strict=True)
            if count < self._terms.least * (1.0 - _ULPS)
        ]
        outside = sorted({key for some in names for key in some} - set(said))
        counts = self._counts(outside, arrays)
        held = [set(some) for some in names]
        known = np.array([[key in some for key in outside] for some in held]).reshape(counts.shape)
        for key, count in zip(outside, np.where(known, counts, 0.0).sum(axis=0).tolist(), strict=True):
            if count > self._terms.most * (1.0 + _ULPS):
                found.append(f"{key} is outside, with {count:g}")
        return found

    def _counts(self, keys: list[str], arrays: FloatArray) -> FloatArray:
        """(sites, keys)"""
        if not keys:
            return np.zeros((len(arrays), 0))
        places = places_of(fingerprints(keys, seed=SEED), self._rows, self._width)
        return np.asarray(arrays[:, places].min(axis=2))


def published_of(store: Store, lineage: int, goal: SketchGoal) -> PublishedValue | PublishedKeys:
    """What was published of a watch with this goal."""
    return (PublishedKeys if isinstance(goal, Frequent) else PublishedValue)(store, lineage, goal)  # type: ignore[arg-type]
