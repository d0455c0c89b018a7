"""Every answer of every replay, judged by brute force: windows as Python lists, truth by plain NumPy, step by step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.functions.expressions import InformationGain, Unary, Variable
from tacit.functions.goals import AllOf, AnyOf, Comparison, Goal, Track
from tacit.functions.monitor import CENTRED, FITTED
from tacit.functions.statistics import Moment, Statistic
from tacit.functions.truth import may_say_met, may_say_not_met, tracking_error
from tacit.functions.zone_rows import ZONE_KINDS
from tacit.language.plan import ByKey, ByMember, Every, WatchPlan, Window
from tacit.recording.engine import Engine
from tacit.recording.fitted_engine import FittedEngine
from tacit.recording.observer import judge
from tacit.recording.physical import physical_plan
from tacit.recording.stream import Recording
from tacit.recording.updates import updates_of
from tacit.vocabulary.answers import MET
from tests.tiers import parametrize_in_tiers

COUNT, FIRST, SQUARE, OTHER = (Variable(j) for j in range(4))
MEAN = FIRST / COUNT
VARIANCE = Unary("nonnegative", COUNT * SQUARE - FIRST * FIRST) / (COUNT * (COUNT - 1.0))
GOALS: dict[str, Goal] = {
    "count": Comparison(COUNT, ">", 12.0),
    "sum": Comparison(FIRST, ">=", 20.0, margin=3.0),
    "mean": Comparison(MEAN, ">", 2.0),
    "mean below": Comparison(MEAN, "<", 2.0, margin=0.3),
    "ratio": Comparison(FIRST / OTHER, ">", 0.7, margin=0.05),
    "deviation": Comparison(Unary("sqrt", VARIANCE), ">", 1.5),
    "or": AnyOf((Comparison(MEAN, ">", 2.5, 0.1), Comparison(OTHER / COUNT, "<=", 1.0))),
    "and": AllOf((Comparison(MEAN, ">", 1.5), Comparison(OTHER / COUNT, ">", 1.5, 0.2))),
    "wave": Comparison(Unary("sin", MEAN), ">", 0.2, margin=0.1),
    "track": Track(MEAN, within=0.4),
    "track percent": Track(FIRST, within=20.0, percent=True),
}
WINDOWS = {
    "rows": Window("rows", Every(rows=2), rows=6),
    "time": Window("time", Every(duration_us=2_000_000), duration_us=10_000_000),
    "all": Window("all", Every(duration_us=3_000_000)),
}


def plan_of(goal: Goal, window: Window, grouping: object = None, statistics: int = 4) -> WatchPlan:
    kinds = (
        Statistic("count", "1", nonnegative=True, count=True),
        Statistic("first", "x"),
        Statistic("square", "x*x", nonnegative=True),
        Statistic("other", "y"),
    )
    if statistics == 0:
        kinds = tuple(Statistic(f"cell {j}", "c", nonnegative=True, count=True) for j in range(4))
    output = goal.expression if isinstance(goal, Comparison | Track) else goal.parts[0].expression
    return WatchPlan(
        "w",
        "",
        "t",
        (("f", output),),
        goal,
        kinds,
        (Moment(0, 1, 2),) * bool(statistics),
        (),
        window,
        grouping=grouping,
    )


def stream(seed: int, size: int, sites: int, *, whole: bool, groups: int = 0) -> Recording:
    rng = np.random.default_rng(seed)
    x = rng.normal(2.0, 1.5, size) + np.linspace(-1, 1, size)
    y = rng.normal(2.0, 1.0, size) + np.sin(np.arange(size) / 15.0)
    if whole:
        x, y = np.rint(x), np.rint(y)
    present = np.stack([np.ones(size), x, x * x, y], axis=1)
    return Recording.from_arrays(
        t=np.sort(rng.integers(0, size // 2 + 1, size)) * 1_000_000,
        site=rng.integers(0, sites, size),
        present=present,
        sites=tuple(map(str, range(sites))),
        group=rng.integers(0, groups, size) if groups else None,
        groups=tuple(map(str, range(groups))) if groups else None,
    )


def brute_force(
    plan: WatchPlan, recording: Recording, *, step: str, protocol: str, policy: str = "lru", zone: str = "ball"
) -> int:
    """Replay, then walk all updates again in plain Python and judge every group at every step. Returns the messages."""
    updates = updates_of(recording, plan.window, step=step)
    recentres = protocol == "recentre"
    fits = zone == FITTED and protocol == "coordinator" and plan.grouping is None and recording.group is None
    form = "sums" if recentres or fits else "auto"
    physical = physical_plan(plan, recording, zone=CENTRED if recentres else zone, form=form)
    if fits:
        engine = FittedEngine(physical, updates, policy=policy, every=16)
    else:
        engine = Engine(physical, updates, protocol=protocol, policy=policy)
    outcome = engine.run()
    verdict = judge(physical, updates, outcome.changes)
    assert (verdict.missed, verdict.spurious) == (0, 0)
    assert outcome.worst_imbalance < 1e-9
    order, _ = recording.by_site
    windows: dict[int, list[int]] = {s: [] for s in range(len(recording.sites))}
    groups = physical.groups
    said = dict.fromkeys(range(groups))
    changes = {change.update: change for change in outcome.changes}
    apply_change(said, changes[-1], physical)
    for i in range(len(updates.site)):
        windows[int(updates.site[i])] = order[updates.lo[i] : updates.hi[i]].tolist()
        if i in changes:
            apply_change(said, changes[i], physical)
        if not updates.last[i]:
            continue
        held = list(itertools.chain.from_iterable(windows.values()))
        for g in range(groups):
            vector = total(recording, held, g)[None, :]
            side, estimate = said[g]
            if isinstance(plan.goal, Track):
                error = tracking_error(plan.goal, vector, estimate)
                assert error <= 1 + 1e-9
            elif side == MET:
                assert may_say_met(widened(plan.goal), vector)[0]
            else:
                assert may_say_not_met(widened(plan.goal), vector)[0]
    return outcome.ledger.messages


def widened(goal: Goal) -> Goal:
    """The goal with a rounding's worth of margin more."""
    if isinstance(goal, Comparison):
        return Comparison(goal.expression, goal.operator, goal.threshold, goal.margin + 1e-12)
    return type(goal)(tuple(widened(part) for part in goal.parts))


def apply_change(said, change, physical) -> None:
    for k, g in enumerate(change.groups.tolist()):
        estimate = physical.monitor.tracked(change.estimates[k : k + 1]) if isinstance(physical.goal, Track) else None
        said[g] = (int(change.sides[k]), estimate)


def total(recording: Recording, held: list[int], g: int) -> np.ndarray:
    if recording.group is not None:
        held = [r for r in held if recording.group[r] == g]
        return recording.present[held].sum(axis=0) if held else np.zeros(recording.dimension)
    if recording.member is not None:
        out = np.zeros(recording.dimension)
        for r in held:
            mine = recording.member[recording.member_ptr[r] : recording.member_ptr[r + 1]]
            out += recording.present[r] if g in mine else recording.absent[r]
        return out
    return recording.present[held].sum(axis=0) if held else np.zeros(recording.dimension)


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast", "recentre"])
@pytest.mark.parametrize("step", ["event", "pane"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("goal", GOALS)
def test_every_answer_is_right(goal, window, step, protocol):
    for seed, whole in ((1, True), (2, False)):
        recording = stream(seed, 90, 3, whole=whole)
        brute_force(plan_of(GOALS[goal], WINDOWS[window]), recording, step=step, protocol=protocol)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10_000), sites=st.integers(1, 5), goal=st.sampled_from(sorted(GOALS)),
    window=st.sampled_from(sorted(WINDOWS)), step=st.sampled_from(["event", "pane"]),
    protocol=st.sampled_from(["coordinator", "broadcast", "recentre"]),
    policy=st.sampled_from(["lru", "random", "opposite"]),
    groups=st.sampled_from([0, 0, 3]), whole=st.booleans(), zone=st.sampled_from(ZONE_KINDS),
)  # fmt: skip
@example(seed=2267, sites=4, goal="track", window="time", step="event", protocol="coordinator", policy="opposite",
         groups=3, whole=True, zone="ball")  # fmt: skip
def test_random_watches_are_right(seed, sites, goal, window, step, protocol, policy, groups, whole, zone):
    recording = stream(seed, 60, sites, whole=whole, groups=groups)
    plan = plan_of(GOALS[goal], WINDOWS[window], ByKey(("k",), ("k",)) if groups else None)
    brute_force(plan, recording, step=step, protocol=protocol, policy=policy, zone=zone)


@pytest.mark.parametrize("zone", [kind for kind in ZONE_KINDS if kind != "ball"])
@parametrize_in_tiers("window", WINDOWS, in_test=1)
@pytest.mark.parametrize("goal", GOALS)
def test_every_answer_is_right_with_convex_zones(goal, window, zone):
    for seed, step in ((1, "event"), (2, "pane")):
        recording = stream(seed, 90, 3, whole=seed == 1)
        brute_force(plan_of(GOALS[goal], WINDOWS[window]), recording, step=step, protocol="coordinator", zone=zone)


def member_watch(margin: float = 0.0) -> tuple[Recording, WatchPlan]:
    """Six terms of 120 documents, watched by information gain."""
    rng = np.random.default_rng(5)
    size, terms = 120, 6
    label = rng.random(size) < 0.4
    often, seldom = [0.8, 0.5, 0.1, 0.3, 0.0, 0.4], [0.2, 0.5, 0.3, 0.3, 0.05, 0.1]
    has = rng.random((size, terms)) < np.where(label[:, None], often, seldom)
    cells = np.stack([label, ~label, np.zeros(size), np.zeros(size)], axis=1).astype(float)
    recording = Recording.from_arrays(
        t=np.arange(size) * 1_000_000, site=np.arange(size) % 3, present=cells, absent=cells[:, [2, 3, 0, 1]],
        members=[np.flatnonzero(row).tolist() for row in has], groups=[f"t{k}" for k in range(terms)],
    )  # fmt: skip
    goal = Comparison(InformationGain(*(Variable(j) for j in range(4))), ">", 0.05, margin)
    return recording, plan_of(goal, Window("rows", Every(rows=2), rows=15), ByMember("terms", "term"), statistics=0)


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
@pytest.mark.parametrize("step", ["event", "pane"])
@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_each_member_of_a_list_is_watched(margin, step, protocol):
    recording, plan = member_watch(margin)
    brute_force(plan, recording, step=step, protocol=protocol)


def test_silence_costs_nothing():
    """Far from the threshold nobody speaks after the first words."""
    recording = stream(3, 400, 4, whole=True)
    plan = plan_of(Comparison(COUNT, ">", 1e9), WINDOWS["rows"])
    assert brute_force(plan, recording, step="event", protocol="coordinator") <= 2 * 4
