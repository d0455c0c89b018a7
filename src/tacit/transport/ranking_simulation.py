"""A ranking over a simulated network (stage.py has the time and the faults), kept by the coordinator or by topico."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tacit.protocols.messages import Message
from tacit.protocols.rounds import Exchange, Nominator
from tacit.protocols.settlement import Settlement
from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.challenger import Challenger
from tacit.protocols.topk.objects import Objects
from tacit.protocols.topk.ranker import Ranker
from tacit.protocols.topk.score_tables import Scores
from tacit.transport.simulated import SimulatedNetwork
from tacit.transport.stage import Stage, Stay, Timing

__all__ = ["Holding", "RankingSimulation"]

Holding = Mapping[tuple[str, str], tuple[float, int]]
"""What a site holds of a ranking at a pane: (score, rows) by (list, key)."""


class RankingSimulation(Stage):
    """Runs a ranking. ``scores`` are by pane and site: of each list and object a score, and how many rows there are.

    With an ``expiry`` (in panes) it is kept by topico.
    """

    sites: list[Challenger | Nominator]

    def __init__(
        self,
        rules: Rules,
        scores: Sequence[Sequence[Holding]],
        network: SimulatedNetwork,
        *,
        per: bool = False,
        stays: tuple[Stay, ...] | None = None,
        timing: Timing | None = None,
        backlog: int = 50,
        relief: int = 20,
        expiry: int = 0,
    ) -> None:
        sites = len(scores[0])
        super().__init__(network, panes=len(scores), sites=sites, stays=stays, timing=timing, backlog=backlog)
        self.rules, self.scores, self.per, self._expiry = rules, scores, per, expiry
        self._tables: list[dict[str, Objects]] = [{} for _ in range(sites)]
        self.settlement = self._settlement_of(self._resolver(sites))
        self.sites = [
            Nominator(site, partial(self._table, site), rules.k, expiry=expiry)
            if expiry
            else Challenger(site, partial(self._table, site), relief=relief)
            for site in range(sites)
        ]
        self._held: list[Holding] = [{} for _ in range(sites)]

    def _close_at(self, site: int, pane: int) -> tuple[Message, ...]:
        """The machine is told what is other than when it last closed a pane."""
        before, now, machine = self._held[site], self.scores[pane][site], self.sites[site]
        self._held[site] = now
        changed: dict[str, list[tuple[int, float, int]]] = {}
        nothing = (0.0, 0)
        for name, key in sorted({*before, *now}):
            score, rows = now.get((name, key), nothing)
            if (score, rows) != before.get((name, key), nothing):
                changed.setdefault(name, []).append((self._table(site, name).add(key), score, rows))
        steps = []
        for name, found in changed.items():
            places, values, counts = zip(*found, strict=True)
            steps.append(Scores(name, np.array(places), np.array(values, dtype=np.float64), np.array(counts)))
        return machine.close_pane(pane, steps, sum(len(found) for found in changed.values()))

    def _before_hearing(self, machine: object, message: Message) -> None:
        """Objects have no numbers."""

    def _anew(self) -> Settlement:
        return self._settlement_of(self._resolver(len(self.sites)))

    def _resolver(self, sites: int) -> Ranker | Exchange:
        if self._expiry:
            return Exchange(self.rules.k, sites, expiry=self._expiry, per=self.per)
        return Ranker(self.rules, sites, per=self.per)

    def _table(self, site: int, name: str) -> Objects:
        return self._tables[site].setdefault(name, Objects())
