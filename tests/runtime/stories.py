"""The driver of random stories of a live system: batches in any order, processes that crash, links that break.

A test makes the rows, chooses the faults and judges what was published; how rows and faults come is here only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.runtime.live import Live

__all__ = ["BatchFaults", "RoundFaults", "play_by_batch", "play_by_round", "settle_until"]

Queues = Mapping[Any, list[Any]]
"""The batches that are still to come, by site or by (site, table)."""


@dataclass(frozen=True, slots=True)
class BatchFaults:
    """The probabilities of faults after each batch."""

    crash: float = 0.0
    of_coordinator: float = 0.5
    """The share of crashes that hit the coordinator; the others hit a site."""
    cut: float = 0.0

    def strike(self, live: Live, dice: np.random.Generator) -> None:
        """Crash a process, or cut a link until the next batch, or both, or neither."""
        if self.crash and dice.random() < self.crash:
            if dice.random() < self.of_coordinator:
                live.crash_coordinator()
            else:
                live.crash_site(str(dice.choice(live.names)))
        if self.cut and dice.random() < self.cut:
            live.cut(str(dice.choice(live.names)))


def play_by_batch(
    live: Live,
    queues: Queues,
    dice: np.random.Generator,
    faults: BatchFaults,
    *,
    keep: int = 0,
    between: Callable[[], object] = lambda: None,
) -> None:
    """Hand over one batch after the other, each of any site, until every queue has ``keep``; hardly any time passes.

    ``between`` is called after each batch, before the faults. At the end every site is linked.
    """
    while waiting := [place for place, queue in queues.items() if len(queue) > keep]:
        place = waiting[int(dice.integers(len(waiting)))]
        name, table = place if isinstance(place, tuple) else (place, None)
        live.batch(name, queues[place].pop(0), table)
        live.pump(0.01)
        live.link_all()
        between()
        faults.strike(live, dice)
    live.link_all()


@dataclass(slots=True)
class RoundFaults:
    """The probabilities of faults after each round; at most one of them happens."""

    coordinator: float = 0.0
    site: float = 0.0
    away: float = 0.0
    """That a site has no link for up to eleven rounds, which is longer than its lease. One at a time."""
    _away: dict[str, int] = field(default_factory=dict)

    def strike(self, live: Live, dice: np.random.Generator) -> None:
        """Let sites come back whose time is over, then draw."""
        self._away = {name: rounds - 1 for name, rounds in self._away.items() if name not in live.numbers}
        self._away = {name: rounds for name, rounds in self._away.items() if rounds}
        live.link_all(but=self._away)
        drawn = dice.random()
        if drawn < self.away and not self._away:
            name = str(dice.choice(live.names))
            self._away[name] = int(dice.integers(1, 12))
            live.cut(name)
        elif drawn < self.away + self.coordinator:
            live.crash_coordinator()
        elif drawn < self.away + self.coordinator + self.site:
            live.crash_site(str(dice.choice(live.names)))


def play_by_round(
    live: Live,
    queues: Queues,
    dice: np.random.Generator,
    faults: RoundFaults,
    *,
    between: Callable[[], object] = lambda: None,
) -> None:
    """Hand over a batch of every site, let two seconds pass, and so on; at the end every site is linked.

    ``between`` is called after each round, before the faults.
    """
    while any(queues.values()):
        for name, queue in queues.items():
            if queue:
                live.batch(name, queue.pop(0))
        live.settle(4)
        between()
        faults.strike(live, dice)
    live.link_all()


def settle_until(live: Live, last: int, *, rounds: int, idle: Sequence[str] = ()) -> bool:
    """Let time pass until the first watch has settled pane ``last``: whether it has within ten times ``rounds``."""
    for _ in range(rounds):  # one round of messages resolves about one pane
        live.settle(10, idle)
        settlement = live.coordinator.watches[1].settlement
        if settlement is not None and settlement.settled == last:
            return True
    return False
