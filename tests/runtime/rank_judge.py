"""The omniscient observer of a live ranking: the true scores, against the sets that were published (judge.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from tacit.functions.goals import Top
from tacit.functions.truth import TOLERANCE
from tacit.runtime.rank_teller import Lists
from tacit.runtime.store import Store
from tacit.vocabulary.keys import split_key

__all__ = ["PublishedLists", "Scored", "true_lists"]

Scored = dict[str, tuple[float, float]]
"""By object its score, and the sum of what it is made of without signs: what rounding is measured by."""


def true_lists(held: Sequence[tuple[np.ndarray, np.ndarray, Sequence[str]]], per: int) -> dict[str, Scored]:
    """The scores of all objects that are there, by list, from what each site held: scores, rows and keys."""
    found: dict[str, Scored] = {}
    for scores, rows, keys in held:
        for at in np.flatnonzero(rows).tolist():
            key, name = split_key(keys[at], per)
            total, size = found.setdefault(name, {}).get(key, (0.0, 0.0))
            found[name][key] = total + float(scores[at, 0]), size + abs(float(scores[at, 0]))
    return found


class PublishedLists:
    """What was published of each list at each pane, and whether it was within the promise."""

    def __init__(self, store: Store, lineage: int, goal: Top) -> None:
        self._goal = goal
        self._said: dict[str, list[tuple[int, dict[str, float]]]] = {}
        rows = store.all("SELECT list, pane, members FROM rankings WHERE lineage = ? ORDER BY pane", (lineage,))
        for name, pane, members in rows:
            self._said.setdefault(name, []).append((pane, dict(json.loads(members))))

    def at(self, pane: int) -> Lists:
        """The lists at a pane."""
        return {
            name: next((members for first, members in reversed(changes) if first <= pane), {})
            for name, changes in self._said.items()
        }

    def wrong(self, pane: int, truth: Mapping[str, Scored]) -> list[str]:
        """What is wrong with the lists at a pane; scores of the smallest have their signs changed in the truth."""
        said, goal = self.at(pane), self._goal
        found = []
        for name in sorted({*said, *truth}):
            members, there = said.get(name, {}), truth.get(name, {})
            rounding = TOLERANCE * max((size for _, size in there.values()), default=0.0)
            where = f"list {name}: " if name else ""
            if len(members) != min(goal.k, len(there)) or not set(members) <= set(there):
                found.append(f"{where}said {len(members)} objects, and there are {len(there)}")
                continue
            least = min((there[key][0] for key in members), default=0.0)
            most = max((score for key, (score, _) in there.items() if key not in members), default=-np.inf)
            if least + goal.within < most - rounding:
                found.append(f"{where}one inside has {least:g}, and one outside {most:g}")
            sign = 1.0 if goal.largest else -1.0
            off = max((abs(sign * score - there[key][0]) for key, score in members.items()), default=0.0)
            if goal.ranked is not None and off > goal.ranked + rounding:
                found.append(f"{where}a score is off by {off:g}")
        return found
