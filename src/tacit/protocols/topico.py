"""TOPiCo: every site keeps the k most frequent objects by itself, from what the others broadcast (seed 003, appendix).

Every period a peer broadcasts its *candidates*: its k largest objects and those that may yet matter, and its count of
every candidate that another peer holds to be one. What all have sent, added up, is its ranking.

- An object belongs to the k largest only if some peer has at least the N-th part of the k-th largest count, so a
  peer's candidates go on beyond k while ``count * N >= threshold``, the k-th largest sum that it knows of (0 if it
  knows fewer).
- Entries are marked *own* or *echo*, and only what some peer marks as its own is echoed: else objects that nobody has
  any more would be kept alive by echoes.
- A peer that has not been heard of for a window does not count, and the answer names it.

Guarantee: with aligned rounds and counts that stand still every peer's list is the true one after a few rounds. While
counts move, or rounds are not aligned, it is an estimate: parts of a sum are then of different moments, and rows that
pass from one site's window to another's may be counted twice or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.vocabulary import FloatArray
from tacit.vocabulary.keys import key_order

__all__ = ["Candidates", "Circular", "Nomination", "Peer", "candidates_of", "kendall_distance", "ranked"]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """A peer's candidates of a list at a pane, with its counts: the first ``own`` are its own, others are echoes."""

    site: int
    pane: int
    keys: tuple[str, ...]
    values: FloatArray
    own: int
    list: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Nomination:
    """Live (rounds.py): a site's candidates of all its lists at the end of a pane, for all others."""

    site: int
    number: int
    pane: int
    version: int
    candidates: tuple[Candidates, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Circular:
    """Live: what the others nominated, to a site, which then goes on; ``again``: with this pane, else after it."""

    site: int
    version: int
    pane: int
    candidates: tuple[Candidates, ...]
    again: bool = False


def ranked(counts: Mapping[str, float], k: int) -> tuple[tuple[str, float], ...]:
    """The k largest, of equals those with the smallest keys.

    >>> ranked({'["b"]': 2.0, '["a"]': 2.0, '["c"]': 1.0}, 2)
    (('["a"]', 2.0), ('["b"]', 2.0))
    """
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], key_order(pair[0])))[:k])


def candidates_of(
    site: int, pane: int, counts: Mapping[str, float], *, k: int, peers: int, threshold: float, echoed: Iterable[str],
    name: str = "",
) -> Candidates:  # fmt: skip
    """What a peer with these counts broadcasts."""
    order = ranked({key: count for key, count in counts.items() if count > 0}, len(counts))
    length = min(k, len(order))
    while length < len(order) and order[length][1] * peers >= threshold:
        length += 1
    own = dict(order[:length])
    echo = {key: counts[key] for key in echoed if key not in own and counts.get(key, 0.0) > 0}
    values = np.array([*own.values(), *echo.values()], dtype=np.float64)
    return Candidates(site, pane, (*own, *echo), values, len(own), name)


class Peer:
    """One site's half: counts and others' candidates in, its own candidates and its ranking out."""

    def __init__(self, site: int, k: int, *, expiry: int) -> None:
        self.site, self.k, self._expiry = site, k, expiry
        self._known: dict[int, Candidates] = {}
        self._pane = -1
        self._answer: tuple[tuple[str, float], ...] | None = ()

    def disseminate(self, pane: int, counts: Mapping[str, float], name: str = "") -> Candidates:
        """The end of a period: what all others are to be sent. It counts for the peer itself, too."""
        threshold, peers, echoed = self.wanted(pane)
        made = candidates_of(
            self.site, pane, counts, k=self.k, peers=peers, threshold=threshold, echoed=sorted(echoed), name=name
        )  # fmt: skip
        self._known[self.site], self._answer = made, None
        return made

    def wanted(self, pane: int) -> tuple[float, int, set[str]]:
        """What decides about candidates of a pane: the threshold, the number of peers, and what is to be echoed.

        Beside its k largest objects, a peer needs to look only at those whose count times the number of peers is at
        least the threshold, and at those that are echoed.
        """
        self._pane, self._answer = max(self._pane, pane), None
        live, everything = self._live(), self.answer
        threshold = everything[-1][1] if len(everything) == self.k else 0.0
        echoed = {key for each in live for key in each.keys[: each.own]}
        return threshold, len({each.site for each in live} | {self.site}), echoed

    def receive(self, candidates: Candidates) -> None:
        """What another peer has sent; one that is older than what is known changes nothing."""
        known = self._known.get(candidates.site)
        if candidates.site != self.site and (known is None or candidates.pane > known.pane):
            self._known[candidates.site] = candidates
            self._pane, self._answer = max(self._pane, candidates.pane), None

    @property
    def answer(self) -> tuple[tuple[str, float], ...]:
        """The ranking as this peer knows it."""
        if self._answer is None:
            self._answer = ranked(self._sums(self._live()), self.k)
        return self._answer

    @property
    def missing(self) -> tuple[int, ...]:
        """The peers that have not been heard of for a window: the answer is without them."""
        return tuple(sorted(set(self._known) - {each.site for each in self._live()}))

    @property
    def known(self) -> tuple[Candidates, ...]:
        """The newest candidates of every peer that it knows of, for gossip."""
        return tuple(self._known.values())

    def _live(self) -> list[Candidates]:
        return [each for each in self._known.values() if each.pane > self._pane - self._expiry]

    def _sums(self, live: Iterable[Candidates]) -> dict[str, float]:
        sums: dict[str, float] = {}
        for each in live:
            for key, count in zip(each.keys, each.values.tolist(), strict=True):
                sums[key] = sums.get(key, 0.0) + count
        return sums


def kendall_distance(truth: tuple[str, ...], said: tuple[str, ...]) -> float:
    """How far two rankings are apart: the share of pairs of objects in either that they order differently, 0 to 1.

    An object that a ranking lacks is behind all that it has. Two that it both lacks count half (Fagin, Kumar and
    Sivakumar, Comparing Top k Lists, with the penalty 1/2).

    >>> kendall_distance(("a", "b"), ("b", "a")), kendall_distance(("a", "b"), ("a", "b"))
    (1.0, 0.0)
    >>> round(kendall_distance(("a", "b"), ("a", "c")), 3)
    0.333
    """
    union = sorted({*truth, *said})
    if len(union) < 2:
        return 0.0
    sides = []
    for ranking in (truth, said):
        place = {key: at for at, key in enumerate(ranking)}
        at = np.array([place.get(key, len(ranking)) for key in union])
        sides.append(np.sign(at[:, None] - at[None, :]))
    upper = np.triu_indices(len(union), 1)
    one, other = sides[0][upper], sides[1][upper]
    unknown = (one == 0) | (other == 0)
    return float(np.where(unknown, 0.5, one != other).mean())
