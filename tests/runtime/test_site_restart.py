"""A site that is killed at any moment comes back with its past: of every kind of watch, as if it had never been killed.

Two systems get the same batches in the same order. In one of them sites are killed, again and again, while they start,
catch up, or go on; what each site's machine gets of every pane must be that of the other system to the bit, whatever
was lost with a process, and the coordinator must find every pane that it has not settled.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.language.recorded import live_plan, side_plans
from tacit.protocols import held
from tacit.runtime import sketch_past
from tests.runtime.live import Live, RecordedBatch, batches_of
from tests.runtime.recordings import recorded
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2")
COLUMNS = {"k": "string", "j": "string", "x": "bigint", "y": "bigint", "l": "array<string>"}
TIME, DAY, ROWS = (
    "LAST 60 SECONDS EVERY 5 SECONDS",
    "SINCE START OF MINUTE EVERY 5 SECONDS",
    "LAST 40 ROWS EVERY 5 SECONDS",
)
KINDS = {
    "mean": f"AVG(x) AS m FROM d WINDOW {TIME} ALERT WHEN m > 8 MARGIN 1",
    "mean of rows": f"AVG(x) AS m FROM d WINDOW {ROWS} ALERT WHEN m > 8 MARGIN 1",
    "mean of all": "AVG(x) AS m FROM d ALERT WHEN m > 8 MARGIN 1",
    "deviation": f"STDDEV(x) AS m FROM d WINDOW {TIME} ALERT WHEN m > 5 MARGIN 0.2",
    "correlation": f"CORR(x, y) AS m FROM d WINDOW {DAY} TRACK m WITHIN 0.05",
    "groups": f"k, SUM(x) AS m FROM d WINDOW {TIME} GROUP BY k ALERT WHEN m > 60",
    "groups since": f"k, AVG(x) AS m FROM d WINDOW {DAY} GROUP BY k ALERT WHEN m > 8",
    "members": f"m, COUNT_IF(PRESENT) AS a FROM d WINDOW {TIME} GROUP BY EACH(l) AS m ALERT WHEN a > 4.5",
    "ranking": f"k, COUNT(*) AS n FROM d WINDOW {TIME} GROUP BY k ORDER BY n DESC LIMIT 3",
    "ranking since": f"k, SUM(x) AS n FROM d WINDOW {DAY} GROUP BY k ORDER BY n DESC LIMIT 2 WITHIN 5",
    "peers": f"k, COUNT(*) AS n FROM d WINDOW {TIME} GROUP BY k ORDER BY n DESC LIMIT 3 USING topico",
    "frequent": f"k, COUNT(*) AS n FROM d WINDOW {TIME} GROUP BY k HAVING COUNT(*) > 20 MARGIN 4 SKETCH EPSILON 0.05",
    "frequent of all": "k, COUNT(*) AS n FROM d GROUP BY k HAVING COUNT(*) > 90 MARGIN 9 SKETCH EPSILON 0.05",
    "self join": f"SELF_JOIN_SIZE(k) AS f FROM d WINDOW {TIME} TRACK f WITHIN 20 PERCENT SKETCH EPSILON 0.2 DELTA 0.2",
    "product": f"INNER_PRODUCT(k, j) AS p FROM d WINDOW {DAY} TRACK p WITHIN 25 PERCENT SKETCH EPSILON 0.3 DELTA 0.2",
    "quantile": f"QUANTILE(x, 0.8) AS q FROM d WINDOW {TIME} TRACK q WITHIN 5 PERCENT SKETCH EPSILON 0.05",
    "quantile since": f"QUANTILE(x, 0.8) AS q FROM d WINDOW {DAY} TRACK q WITHIN 5 PERCENT SKETCH EPSILON 0.2",
}
SECONDS = 600


class Batch:
    """The same rows by each of the keys that a watch counts."""

    def __init__(self, by_key: dict[Any, RecordedBatch]) -> None:
        self._by_key = by_key
        first = next(iter(by_key.values()))
        self.rows, self.no_time, self.max_time = first.rows, first.no_time, first.max_time

    def pane_outcomes(self, wanted: Any) -> list[Any]:
        return [self._by_key[each[0].grouping].pane_outcomes([each])[0] for each in wanted]

    def __getattr__(self, name: str) -> Any:
        return getattr(next(iter(self._by_key.values())), name)


class Seen:
    """What each site's machine got of each pane, the same whatever numbers groups have."""

    def __init__(self) -> None:
        self.panes: dict[tuple[int, int], dict[str, bytes]] = {}
        self.again = 0  # how often a pane came again, after a start
        self.others: list[tuple[int, int]] = []  # panes that were not what they had been before

    def witness(self, site: int, watch: int, pane: int, vectors: Any, weights: Any, keys: Any) -> None:
        if len(keys) == len(vectors):
            rows = {key: vectors[at].tobytes() for at, key in enumerate(keys) if vectors[at].any()}
        else:  # the array of a sketch; its names are those that are known now
            rows = {"": vectors.tobytes()}
        if weights is not None:
            rows |= {f"{key} weight": weights[at].tobytes() for at, key in enumerate(keys) if weights[at]}
        self.again += (site, pane) in self.panes
        if self.panes.setdefault((site, pane), rows) != rows:
            self.others.append((site, pane))


def batches(kind: str, plan: WatchPlan, rng: np.random.Generator) -> dict[str, list[Any]]:
    n = int(rng.integers(600, 1500))
    t = np.sort(rng.integers(0, SECONDS, n)).astype(np.int64) * 1_000_000
    t += 4000 * 1_000_000 * (t > 400_000_000)  # nothing happens for a while
    names = rng.zipf(1.4, (n, 4)) % 23 + np.arange(n)[:, None] // 300
    columns = {
        "k": [f"k{each}" for each in (rng.zipf(1.5, n) + np.arange(n) // 400) % 17],
        "j": [f"k{each}" for each in (rng.zipf(1.7, n) + 1) % 17],
        "x": (rng.integers(-5, 20, n) + np.arange(n) // 150).tolist(),
        "y": rng.integers(1, 9, n).tolist(),
        "l": [[f"w{name}" for name in row[: rng.integers(5)]] for row in names],
    }
    if kind != "members":
        del columns["l"]
    owners = rng.integers(0, len(SITES), n).astype(np.int32)
    sides = [live_plan(side) for side in side_plans(plan)] if hasattr(plan.goal, "accuracy") else [plan]
    recordings = [recorded(side, t, owners, columns, SITES) for side in sides]
    end = (int(t[-1]) // 5_000_000 + 1) * 5_000_000
    found = {}
    for at, name in enumerate(SITES):
        cuts = np.sort(rng.integers(0, n // 3, 9)).tolist()
        parts = zip(*(batches_of(each, at, cuts, end) for each in recordings), strict=True)
        found[name] = [Batch(dict(zip([side.grouping for side in sides], some, strict=True))) for some in parts]
    return found


def story(folder: Path, kind: str, seed: int, *, kills: float, clock: str = "event") -> tuple[Live, Seen]:
    rng = np.random.default_rng(seed)
    sentence = f"CREATE WATCH w AS SELECT {KINDS[kind]}"
    queues = batches(kind, parse_watch(sentence), rng)
    dice = np.random.default_rng(seed + 1)
    seen = Seen()
    live = Live(folder, SITES, "d", COLUMNS, witness=seen.witness)
    live.clock = clock
    for name in SITES:
        live.crash_site(name)
    live.ask(sentence)
    while waiting := [name for name, queue in queues.items() if queue]:
        # The last site is the slowest, so that the others have panes that nobody has settled.
        name = str(rng.choice(waiting[:-1])) if len(waiting) > 1 and rng.random() < 0.8 else waiting[-1]
        live.batch(name, queues[name].pop(0))
        if dice.random() < kills:
            live.crash_site(name)  # before anything that it said was heard
            assert_holds_its_past(live, name)
        for _ in range(int(rng.integers(3))):
            live.pump(0.01)
        if dice.random() < kills:
            name = str(dice.choice(SITES))
            live.crash_site(name)
            assert_holds_its_past(live, name)
    for _ in range(80):
        live.settle(10)
        if dice.random() < kills:
            live.crash_site(str(dice.choice(SITES)))
        settlement = live.coordinator.watches[1].settlement
        if settlement is not None and settlement.settled == min(pane for _, pane in last_panes(seen)):
            break
    return live, seen


def last_panes(seen: Seen) -> list[tuple[int, int]]:
    return [(site, max(pane for at, pane in seen.panes if at == site)) for site in range(len(SITES))]


def assert_holds_its_past(live: Live, name: str) -> None:
    """After its start a site can answer for every pane that is closed and not settled."""
    live.pump()
    watch = live.agents[name].watches.get(1)
    settlement = live.coordinator.watches[1].settlement
    if watch is None or watch.machine is None or settlement is None:
        return
    machine = watch.machine
    assert all(machine._holds(pane) for pane in range(settlement.settled + 1, machine.closed + 1))


@pytest.mark.parametrize("kind", KINDS)
@parametrize_in_tiers("how", ["with little memory", "with memory", "by the wall clock"], in_test=1)
def test_a_killed_site_has_the_panes_of_one_that_was_not_killed(
    kind: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "with little memory":  # hardly anything is held there, and sketches are marked often
        monkeypatch.setattr(held, "BYTES", 1)
        monkeypatch.setattr(sketch_past, "_SMALL", 200)
    clock = "wall" if how == "by the wall clock" else "event"
    twin, whole = story(tmp_path / "twin", kind, len(how), kills=0.0, clock=clock)
    live, seen = story(tmp_path / "live", kind, len(how), kills=0.3, clock=clock)
    assert seen.again > 20
    assert seen.others == []
    assert seen.panes == whole.panes
    for each in (twin, live):
        spans = each.store.all("SELECT first, last, state FROM spans ORDER BY first")
        assert {state for _, _, state in spans} <= {"valid", "filling"}
        assert all(one[1] + 1 == other[0] for one, other in pairwise(spans)), "no pane is skipped"
        assert spans[-1][1] == max(pane for _, pane in seen.panes)
    if kind.split()[0] in ("mean", "deviation", "groups", "members"):
        assert [(a["pane"], a["side"]) for a in live.alerts] == [(a["pane"], a["side"]) for a in twin.alerts]
