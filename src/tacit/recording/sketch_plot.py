"""A picture of the replay of a watch on sketches: the truth, what was said, and the messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent, Quantile, SelfJoin
from tacit.language.explain import goal_text
from tacit.language.plan import WatchPlan
from tacit.recording._kernels_sketch import follow_products
from tacit.recording.plot_style import BLUE, GREY, days_axis, draw_messages, header, new_figure, save, stamps
from tacit.recording.sketch_replay import SketchReplay
from tacit.recording.stream import Recording
from tacit.recording.topk_engine import first_windows
from tacit.vocabulary.keys import key_label

__all__ = ["save_sketch_plot"]

_POINTS = 2_000
_KEYS = 30


def save_sketch_plot(plan: WatchPlan, recording: Recording, replay: SketchReplay, path: Path) -> None:
    """Draw the replay into ``path``."""
    updates = replay.updates
    figure, axes = new_figure([4.0, 1.4])
    if isinstance(plan.goal, Frequent):
        _draw_keys(axes[0], replay)
    else:
        _draw_value(axes[0], plan, recording, replay)
    draw_messages(axes[1], updates.time, replay.outcome.talks, replay.report)
    days_axis(axes[-1], int(updates.time[0]), int(updates.time[-1]))
    names = [statistic.name for statistic in plan.statistics]
    title = f"{plan.name}: {goal_text(plan.goal, names, dict(plan.outputs))}  ({replay.report.sites} sites)"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    save(figure, path)


def _draw_value(axes: Any, plan: WatchPlan, recording: Recording, replay: SketchReplay) -> None:
    updates, said = replay.updates, replay.outcome.said
    when = [max(0, each.update) for each in said] + [len(updates.site) - 1]
    values = [each.value for each in said] + [said[-1].value]
    axes.step(stamps(updates.time[when]), values, where="post", color=BLUE, linewidth=1.2, label="said")
    if not isinstance(plan.goal, Quantile):
        order, _ = recording.by_site
        assert recording.group is not None
        alone = isinstance(plan.goal, SelfJoin)
        at_lo, at_hi = first_windows(updates, len(recording.sites))
        one = np.zeros(len(recording.keys or ()))
        second = np.zeros(1, dtype=np.bool_) if alone else recording.present[order, 0] > 0.5
        rows, products = np.zeros((len(updates.site), 2)), np.zeros(len(updates.site))
        follow_products(
            updates.site, updates.lo, updates.hi, at_lo, at_hi, recording.group[order], second, alone, one,
            np.zeros(1 if alone else len(one)), rows, products,
        )  # fmt: skip
        at = np.unique(np.linspace(0, len(products) - 1, _POINTS).astype(np.int64))
        axes.plot(stamps(updates.time[at]), products[at], color=GREY, linewidth=1.0, label="the truth")
    axes.set_ylabel(plan.outputs[0][0])
    header(axes)


def _draw_keys(axes: Any, replay: SketchReplay) -> None:
    """From when to when each key was inside; those that were for longest."""
    time, terms, since = replay.updates.time, {}, {}  # type: ignore[var-annotated]
    for each in replay.outcome.said:
        now, update = {key for key, _ in each.keys}, max(0, each.update)
        for key in [key for key in since if key not in now]:
            terms.setdefault(key, []).append((since.pop(key), update))
        for key in now:
            since.setdefault(key, update)
    for key, begin in since.items():
        terms.setdefault(key, []).append((begin, len(time) - 1))
    longest = sorted(terms, key=lambda key: -sum(end - begin for begin, end in terms[key]))[:_KEYS]
    for row, key in enumerate(longest):
        for begin, end in terms[key]:
            axes.plot(stamps(time[[begin, end]]), [row, row], color=f"C{row % 10}", linewidth=3)
    axes.set_yticks(range(len(longest)), [key_label(key)[-24:] for key in longest], fontsize=7)
    axes.invert_yaxis()
