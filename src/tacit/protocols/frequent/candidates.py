"""The keys that a site remembers by name: those with many rows here, and those that the coordinator spoke of.

A sketch has no names. A key is noted when a row of it comes and its count is at least the *floor*; it is forgotten when
its count has fallen below. Between those two there is nothing to say of it, for its allowance is above the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tacit.protocols.frequent.shares import UNTOLD, floor_of
from tacit.vocabulary import BoolArray, FloatArray, IntArray

__all__ = ["Candidates"]

_TIDY = 64  # panes after which keys with few rows are forgotten


class Candidates:
    """Names, the cells of each, and what was told of it.

    ``places`` gives the cells of keys: for each key one flat place per row of the sketch; ``most`` is what a key that
    is outside may have at all sites. Before a site is told what it is allowed, the floor is a small share of that.
    """

    def __init__(self, places: Callable[[Sequence[str]], IntArray], most: float) -> None:
        self._places_of = places
        self.floor, self._most = most / UNTOLD, most
        self.default = np.inf
        self.keys: list[str] = []
        self._at: dict[str, int] = {}
        self._places: IntArray = np.zeros((0, 1), dtype=np.int64)
        self._allowed: FloatArray = np.zeros(0)  # nan: the default
        self._inside: BoolArray = np.zeros(0, dtype=np.bool_)
        self._closed = 0

    def __len__(self) -> int:
        return len(self.keys)

    def note(self, keys: Sequence[str]) -> None:
        """Remember these keys."""
        fresh = [key for key in dict.fromkeys(keys) if key not in self._at]
        if not fresh:
            return
        self._at.update((key, len(self.keys) + at) for at, key in enumerate(fresh))
        self.keys.extend(fresh)
        places = self._places_of(fresh)
        self._places = places if len(self.keys) == len(fresh) else np.concatenate([self._places, places])
        self._allowed = np.append(self._allowed, np.full(len(fresh), np.nan))
        self._inside = np.append(self._inside, np.zeros(len(fresh), dtype=np.bool_))

    def counts(self, cells: FloatArray) -> FloatArray:
        """The count of every key that is remembered, in these cells."""
        if not self.keys:
            return np.zeros(0)
        return np.asarray(cells[self._places].min(axis=1))

    def counts_of(self, keys: Sequence[str], cells: FloatArray) -> FloatArray:
        """The counts of these keys, remembered or not."""
        if not keys:
            return np.zeros(0)
        return np.asarray(cells[self._places_of(keys)].min(axis=1))

    def beyond(self, cells: FloatArray) -> IntArray:
        """The places of keys whose counts are not what their allowances say."""
        counts = self.counts(cells)
        allowed = np.where(np.isnan(self._allowed), self.default, self._allowed)
        return np.flatnonzero(np.where(self._inside, counts < allowed, counts > allowed))

    def tell(self, keys: Sequence[str], allowed: FloatArray, inside: BoolArray, known: BoolArray) -> None:
        """New allowances of these keys; one that is not known any more has the default again."""
        self.note(keys)
        rows = np.array([self._at[key] for key in keys], dtype=np.int64)
        if len(rows):
            self._allowed[rows] = np.where(known, allowed, np.nan)
            self._inside[rows] = inside & known

    def tell_default(self, default: float) -> None:
        """Keys of which nothing is said have this allowance. Of fewer keys names can be kept now, never of more.

        Below 0: the coordinator does not know it any more, and will ask all anew.
        """
        self.default = max(0.0, default)
        self.floor = max(self.floor, floor_of(default, self._most))

    @property
    def short(self) -> bool:
        """Is less allowed than keys are remembered from? A coordinator that was told the floor does not do that."""
        return self.default < self.floor

    def forget_told(self) -> None:
        """All that was told is lost; names stay."""
        self._allowed[:] = np.nan
        self._inside[:] = False
        self.default = np.inf

    def tidy(self, held: Iterable[FloatArray]) -> None:
        """A pane was closed; now and then keys are forgotten that have few rows in all panes that are held."""
        self._closed += 1
        if self._closed % _TIDY == 0:
            needed = ~np.isnan(self._allowed)
            for cells in held:
                needed |= self.counts(cells) >= self.floor
            self.keep(needed)

    def keep(self, kept: BoolArray) -> None:
        """Forget the others."""
        if kept.all():
            return
        self.keys = [key for key, stays in zip(self.keys, kept.tolist(), strict=True) if stays]
        self._at = {key: at for at, key in enumerate(self.keys)}
        self._places, self._allowed, self._inside = self._places[kept], self._allowed[kept], self._inside[kept]
