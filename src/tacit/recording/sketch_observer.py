"""The omniscient observer of watches on sketches: it knows every row, and judges what was said at every step.

Sketches err by a share epsilon of the rows, except with probability delta; a step is wrong when what is said is beyond
that and the watch's own margin. Errors are shares: of the rows for counts and ranks, of the product of both sides' rows
for a product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.goals import Frequent, InnerProduct, Quantile, SelfJoin
from tacit.language.plan import WatchPlan
from tacit.recording._kernels_sketch import follow_counts, follow_products, follow_ranks
from tacit.recording.sketch_engine import Said
from tacit.recording.stream import Recording
from tacit.recording.topk_engine import first_windows
from tacit.recording.updates import Updates
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["Verdict", "judge_sketch"]

_ULPS = 1e-9


@dataclass(frozen=True, slots=True)
class Verdict:
    """Steps that were wrong, and by how much at most; ``mean_error`` over all steps with rows."""

    missed: int
    spurious: int
    crossings: int  # how often a key was on another side of the threshold than a step before; a value has no sides
    max_error: float
    mean_error: float


def judge_sketch(plan: WatchPlan, recording: Recording, updates: Updates, said: list[Said]) -> Verdict:
    """Judge every step."""
    match plan.goal:
        case Frequent():
            return _judge_counts(plan.goal, recording, updates, said)
        case SelfJoin() | InnerProduct():
            return _judge_products(plan.goal, recording, updates, said)
        case Quantile():
            return _judge_ranks(plan.goal, recording, updates, said)
    raise AssertionError("a watch without sketches has another observer")


def _spread(updates: Updates, said: list[Said]) -> FloatArray:
    """The value that holds after each update."""
    values = np.array([each.value for each in said])
    at = np.searchsorted([each.update for each in said], np.arange(len(updates.site)), side="right") - 1
    return np.where(at >= 0, values[np.maximum(at, 0)], np.nan)


def _judge_products(
    goal: SelfJoin | InnerProduct, recording: Recording, updates: Updates, said: list[Said]
) -> Verdict:  # fmt: skip
    order, _ = recording.by_site
    assert recording.group is not None
    at_lo, at_hi = first_windows(updates, len(recording.sites))
    one = np.zeros(len(recording.keys or ()))
    alone = isinstance(goal, SelfJoin)
    two = np.zeros(1 if alone else len(one))
    second = np.zeros(1, dtype=np.bool_) if alone else recording.present[order, 0] > 0.5
    rows, products = np.zeros((len(updates.site), 2)), np.zeros(len(updates.site))
    follow_products(
        updates.site, updates.lo, updates.hi, at_lo, at_hi, recording.group[order], second, alone, one, two, rows,
        products,
    )  # fmt: skip
    steps = np.flatnonzero(updates.last)
    told, truth, size = _spread(updates, said)[steps], products[steps], (rows[:, 0] * rows[:, 1])[steps]
    off = np.abs(told - truth)
    allowed = goal.within * (truth + goal.accuracy.epsilon * size) + goal.accuracy.epsilon * size
    wrong = int(np.count_nonzero(off > allowed * (1.0 + _ULPS)))
    errors = off[size > 0] / size[size > 0]
    return Verdict(wrong, 0, 0, float(errors.max(initial=0.0)), float(errors.mean()) if len(errors) else 0.0)


def _judge_ranks(goal: Quantile, recording: Recording, updates: Updates, said: list[Said]) -> Verdict:
    order, _ = recording.by_site
    at_lo, at_hi = first_windows(updates, len(recording.sites))
    rows, below, equal = np.zeros((3, len(updates.site)))
    when = np.array([each.update for each in said], dtype=np.int64)
    values = np.array([each.value for each in said])
    follow_ranks(
        updates.site,
        updates.lo,
        updates.hi,
        at_lo,
        at_hi,
        recording.present[order, 0],
        when,
        values,
        rows,
        below,
        equal,
    )
    steps = np.flatnonzero(updates.last & (rows > 0))
    low, high = below[steps] / rows[steps], (below + equal)[steps] / rows[steps]
    off = np.maximum(0.0, np.maximum(low - goal.phi, goal.phi - high))
    wrong = int(np.count_nonzero(off > goal.within + goal.accuracy.epsilon + _ULPS))
    return Verdict(wrong, 0, 0, float(off.max(initial=0.0)), float(off.mean()) if len(off) else 0.0)


def _judge_counts(goal: Frequent, recording: Recording, updates: Updates, said: list[Said]) -> Verdict:
    order, _ = recording.by_site
    assert recording.group is not None
    assert recording.keys is not None
    numbers = {key: at for at, key in enumerate(recording.keys)}
    groups = [[numbers[key] for key, _ in each.keys] for each in said]
    starts: IntArray = np.append(0, np.cumsum([len(each) for each in groups])).astype(np.int64)
    inside = np.array([each for some in groups for each in some], dtype=np.int64)
    at_lo, at_hi = first_windows(updates, len(recording.sites))
    count, out = len(recording.keys), np.zeros(3, dtype=np.int64)
    worst = follow_counts(
        updates.site, updates.lo, updates.hi, updates.last, at_lo, at_hi, recording.group[order],
        np.zeros(count, dtype=np.int64), np.array([each.update for each in said], dtype=np.int64), starts, inside,
        goal.threshold, goal.threshold + goal.margin, goal.threshold - goal.margin, goal.accuracy.epsilon,
        np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_),
        np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_), out,
    )  # fmt: skip
    return Verdict(int(out[0]), int(out[1]), int(out[2]), float(worst), 0.0)
