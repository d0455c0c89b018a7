"""Compile every kernel once, so that later processes load machine code: ``python -m tacit.recording.warm``."""

from __future__ import annotations

import numpy as np

from tacit._kernel_cache import note_compiled
from tacit.functions.curvature import Curves
from tacit.functions.expressions import Variable
from tacit.functions.goals import Accuracy, Comparison, Frequent, InnerProduct, Quantile, SelfJoin, Top
from tacit.functions.statistics import Statistic
from tacit.language.plan import Every, WatchPlan, Window
from tacit.protocols._kernels_keys import add_backwards, add_forwards, take_back
from tacit.protocols.topk.key_table import KeyTable
from tacit.recording.engine import Engine
from tacit.recording.physical import physical_plan
from tacit.recording.sketch_replay import replay_sketch
from tacit.recording.stream import Recording
from tacit.recording.topk_replay import replay_topk
from tacit.recording.updates import updates_of
from tacit.sketches import BloomFilter, CountMin, EcmSketch, SlidingWindow
from tacit.sketches.parameters import Counter

__all__ = ["warm_kernels"]

COUNTERS: tuple[Counter, ...] = ("histogram", "wave", "random_wave")


def warm_kernels() -> int:
    """Replay a tiny watch with both protocols, and bound a slope; returns the messages, which are all the same."""
    rows = 40
    value = np.sin(np.arange(rows))
    recording = Recording.from_arrays(
        t=np.arange(rows) * 1_000_000, site=np.arange(rows) % 2, present=np.stack([value, np.ones(rows)], axis=1)
    )
    mean = Variable(0) / Variable(1)
    statistics = (Statistic("sum", "x"), Statistic("count", "1", nonnegative=True, count=True))
    window = Window("rows", Every(rows=1), rows=5)
    plan = WatchPlan("warm", "", "t", (("f", mean),), Comparison(mean, ">", 0.0), statistics, (), (), window)
    updates = updates_of(recording, window, step="event")
    physical = physical_plan(plan, recording)
    outcomes = [Engine(physical, updates, protocol=protocol).run() for protocol in ("coordinator", "broadcast")]
    _warm_rankings()
    _warm_keys()
    _warm_sketches()
    curves, point = Curves(mean), np.ones(2)
    curves.over(point, point)
    curves.values(point[None])
    return sum(outcome.ledger.messages for outcome in outcomes)


def _warm_rankings() -> None:
    """A ranking of whole scores; those of others run on the same code."""
    rows = 40
    recording = Recording.from_arrays(
        t=np.arange(rows) * 1_000_000, site=np.arange(rows) % 2, present=np.ones((rows, 1)),
        group=np.arange(rows) % 3, groups=["a", "b", "c"],
    )  # fmt: skip
    window, count = Window("rows", Every(rows=1), rows=5), Statistic("count", "1", nonnegative=True, count=True)
    plan = WatchPlan("warm", "", "t", (), Top(Variable(0), 1), (count,), (), (), window)
    replay_topk(plan, recording, verify=True)


def _warm_keys() -> None:
    """What live sites number their groups with, and add up what enters and leaves their windows."""
    table = KeyTable(["a"])
    table.kept(np.array([table.find("a") == 0]))
    group, values, sums = np.zeros(1, dtype=np.int32), np.ones((1, 2)), np.zeros((1, 2))
    before = np.empty((1, 2))
    add_forwards(group, values, sums)
    add_backwards(group, values, sums, before)
    take_back(group, before, 0, sums)


def _warm_sketches() -> None:
    """Every kind of sketch, and a replay of every kind of watch on them."""
    words, times = np.arange(40, dtype=np.uint64), np.arange(40)
    window = SlidingWindow(10)
    for counter in COUNTERS:
        sketch, other = (EcmSketch.for_query(0.3, 0.3, window=window, counter=counter, source=k) for k in range(2))
        sketch.update_words(words, times)
        sketch.update_words(words, np.full(40, 40), np.full(40, 3))
        merged = EcmSketch.from_bytes(sketch.to_bytes()).merge(other)
        merged.estimate_many(["a", "b"])
        merged.cells()
    for plain in (CountMin(width=8, depth=2), CountMin(width=8, depth=2, conservative=True)):
        plain.update_words(words)
        plain.estimate_many(words)
    bloom = BloomFilter.for_capacity(100)
    bloom.update_many(words)
    bloom.contains_many(words)
    rows = 40
    recording = Recording.from_arrays(
        t=np.arange(rows) * 1_000_000, site=np.arange(rows) % 2, present=np.arange(rows) % 2,
        group=np.arange(rows) % 3, groups=["a", "b", "c"],
    )  # fmt: skip
    goals = (
        Frequent(3.0, 0.0, Accuracy(0.3, 0.3)), SelfJoin(0.3, Accuracy(0.3, 0.3)),
        InnerProduct(0.3, Accuracy(0.3, 0.3)), Quantile(0.5, 0.3, Accuracy(0.3, 0.3)),
    )  # fmt: skip
    for goal in goals:
        frame = Window("time", Every(duration_us=1_000_000), duration_us=5_000_000)
        plan = WatchPlan("warm", "", "t", (("f", Variable(0)),), goal, (), (), (), frame)
        replay_sketch(plan, recording, step="pane", verify=True)


if __name__ == "__main__":
    warm_kernels()
    note_compiled()
