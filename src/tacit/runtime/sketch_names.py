"""The names of frequent keys that a live site keeps beside its sketches, which have none.

Names are of a view: those of its keys with many rows (protocols/frequent/candidates.py). A key is looked at when rows
of it come: at the end of each pane of the station, in the window of the watch that ends there. If it has many rows at
the end of the watch's pane, it had them when the last of them came, for none has come since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent
from tacit.language.plan import Window
from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.frequent.shares import HIGHEST
from tacit.protocols.gauges.making import SEED, terms_of
from tacit.runtime.blobs import Pieces, pack_record, unpack_record
from tacit.runtime.sketch_views import View
from tacit.sketches.hashing import fingerprints, places_of, row_words
from tacit.sketches.parameters import Shape
from tacit.vocabulary import FloatArray, IntArray, WordArray

__all__ = ["NAMES", "SketchNames", "note", "seen_in", "tidy"]

NAMES = 1 << 20
"""So many names are kept for a watch on frequent keys that is paused or has not begun."""
_PLACE = "names/"
_LOWERED = 8.0  # to a so manieth a threshold may be lowered before names of keys are missing


class SketchNames:
    """What is saved of names, by the numbers of watches."""

    def __init__(self) -> None:
        self._saved: dict[int, dict[str, Any]] = {}  # until their watches come

    def __iter__(self) -> Iterator[int]:
        return iter(self._saved)

    def candidates(self, number: int, view: View, before: View | None, since: int | None) -> Candidates:
        """The names that were saved, or that a watch had ``before``, if they are of use to it as it is now.

        Otherwise there are none of panes before ``since``. A floor may be that of a threshold of up to eight times as
        much, however often it was altered: floors that are a 128th at most leave room for shares.
        """
        assert view.shape is not None
        assert isinstance(view.plan.goal, Frequent)
        terms, saved = terms_of(view.plan.goal), self._saved.pop(number, None)
        if saved is None and before is not None and before.station == view.station:
            saved = _names_of(before)
        candidates = Candidates(partial(_places, view.shape), terms.most)
        if saved is not None and saved.get("window") != _span(view.plan.window):
            saved = None  # of another watch, which had the number or the name before
        if saved is not None and saved["floor"] <= terms.most / HIGHEST * _LOWERED:
            candidates.floor = max(candidates.floor, float(saved["floor"]))
            candidates.note(saved["keys"])
            view.named, view.arriving = saved["since"], dict.fromkeys(saved.get("arriving", ()))
        elif since is not None and (view.since is None or view.since < since):
            view.named = since
        return candidates

    def forget(self, number: int, saves: Pieces) -> None:
        """Nobody asks for the names of this watch any more."""
        self._saved.pop(number, None)
        saves.delete(f"{_PLACE}{number}")

    def save(self, views: Mapping[int, View], saves: Pieces) -> None:
        """Hand over the names of watches that are not what they were."""
        for number, view in views.items():
            if view.candidates is not None:
                keys = view.candidates.keys
                now = (keys, len(keys), view.candidates.floor, view.named, len(view.arriving))
                if view.saved is None or view.saved[0] is not keys or view.saved[1:] != now[1:]:
                    saves.put(f"{_PLACE}{number}", partial(pack_record, _names_of(view)))
                    view.saved = now

    def restore(self, saved: Mapping[str, bytes], earlier: Mapping[int, dict[str, Any]]) -> None:
        """What was saved; ``earlier`` is what an earlier release kept elsewhere."""
        self._saved = dict(earlier)
        for key in saved:
            if key.startswith(_PLACE):
                self._saved[int(key.removeprefix(_PLACE))] = unpack_record(key, saved[key])


def note(view: View, array: FloatArray, group: IntArray, words: WordArray, names: Sequence[str]) -> None:
    """Of the groups that came, those with enough rows in this array are candidates."""
    assert view.candidates is not None
    seen = seen_in(view, array, group, words, names)
    view.arriving.update(dict.fromkeys(seen))
    view.candidates.note(seen)


def seen_in(
    view: View, array: FloatArray, group: IntArray, words: WordArray, names: Sequence[str]
) -> list[str]:  # fmt: skip
    """The names of the groups with enough rows in this array."""
    assert view.candidates is not None
    assert view.shape is not None
    places = places_of(words[group], row_words(SEED, view.shape.depth), view.shape.width)
    counts = array[places].min(axis=1)
    return [names[each] for each in group[counts >= view.candidates.floor].tolist()]


def tidy(view: View, pane: int) -> None:
    """At the end of a pane: of a watch without a machine names are forgotten as a machine would.

    And there are never too many: what is forgotten is not known from the next pane of the station on.
    """
    candidates = view.candidates
    if candidates is None or view.tended:
        return
    newest = view.arrays[next(reversed(view.arrays))]
    candidates.tidy(view.arrays.values())
    if len(candidates) > NAMES:
        counts = candidates.counts(newest)
        candidates.keep(counts > np.partition(counts, -NAMES)[-NAMES])
        view.named = pane + 1


def _names_of(view: View) -> dict[str, Any]:
    """The names of a view's candidates, the floor that they were kept from, and in which window."""
    assert view.candidates is not None
    candidates, window = view.candidates, view.plan.window
    told = {"keys": candidates.keys, "floor": candidates.floor, "since": view.named, "window": _span(window)}
    return {**told, "arriving": list(view.arriving)}


def _span(window: Window) -> list[Any]:
    return [window.kind, window.duration_us, window.unit]


def _places(shape: Shape, keys: Sequence[str]) -> IntArray:
    return places_of(fingerprints(list(keys), seed=SEED), row_words(SEED, shape.depth), shape.width)
