"""A picture of a ranking's replay: the true scores of those that were in a list, who was in it, and the messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tacit.language.explain import goal_text
from tacit.language.plan import WatchPlan
from tacit.recording.observer import rows_come_and_go
from tacit.recording.plot_style import GREY, days_axis, draw_messages, header, new_figure, save, stamps
from tacit.recording.topk_replay import TopkReplay
from tacit.vocabulary import FloatArray, IntArray
from tacit.vocabulary.keys import key_label

__all__ = ["save_topk_plot"]

_POINTS = 400
_CURVES = 30
_NAMED = 6


def save_topk_plot(plan: WatchPlan, replay: TopkReplay, path: Path) -> None:
    """Draw the first list of the replay into ``path``."""
    updates = replay.updates
    names = [statistic.name for statistic in plan.statistics]
    figure, axes = new_figure([4.0, 2.4, 1.4])
    steps = np.unique(np.linspace(0, updates.steps - 1, _POINTS).astype(np.int64))
    at = stamps(updates.time[np.flatnonzero(updates.last)[steps]])
    members = _members(replay)
    scores = _true_scores(replay, members, steps)
    _draw_scores(axes[0], replay, members, at, scores)
    _draw_terms(axes[1], replay, members)
    draw_messages(axes[2], updates.time, replay.outcome.talks, replay.report)
    days_axis(axes[-1], int(updates.time[0]), int(updates.time[-1]))
    figure.suptitle(
        f"{plan.name}: {goal_text(plan.goal, names, dict(plan.outputs))}  ({replay.report.sites} sites)",
        x=0.01, ha="left", fontsize=12, fontweight="bold",
    )  # fmt: skip
    save(figure, path)


def _terms(replay: TopkReplay) -> dict[int, list[tuple[int, int]]]:
    """From which update to which each object was in the first list."""
    terms: dict[int, list[tuple[int, int]]] = {}
    since: dict[int, int] = {}
    changes = [change for change in replay.outcome.changes if change.list == 0]
    for change in changes:
        for member in [each for each in since if each not in change.members]:
            terms.setdefault(member, []).append((since.pop(member), change.update))
        for member in change.members:
            since.setdefault(member, change.update)
    for member, begin in since.items():
        terms.setdefault(member, []).append((begin, len(replay.updates.site) - 1))
    return terms


def _members(replay: TopkReplay) -> list[int]:
    """Who was in the list for longest."""
    terms = _terms(replay)
    return sorted(terms, key=lambda each: -sum(end - begin for begin, end in terms[each]))[:_CURVES]


def _true_scores(replay: TopkReplay, members: list[int], steps: IntArray) -> FloatArray:
    rows, updates = replay.rows, replay.updates
    added, removed = rows_come_and_go(rows, updates)
    scores = np.zeros((len(members), len(steps)))
    for k, member in enumerate(members):
        own = np.flatnonzero(rows.object == member)
        for when, sign in ((added[own], 1.0), (removed[own], -1.0)):
            used = when < updates.steps
            change = np.bincount(np.searchsorted(steps, when[used]), rows.score[own][used], len(steps) + 1)
            scores[k] += sign * rows.sign * np.cumsum(change[: len(steps)])
    return scores


def _draw_scores(axes: Any, replay: TopkReplay, members: list[int], at: Any, scores: FloatArray) -> None:
    for k, member in enumerate(members):
        named = k < _NAMED
        colour = f"C{k}" if named else GREY
        label = key_label(replay.rows.keys[member])[-20:] if named else None
        axes.plot(at, scores[k], color=colour, linewidth=1.2 if named else 0.6, label=label)
    axes.set_ylabel("true score")
    header(axes)


def _draw_terms(axes: Any, replay: TopkReplay, members: list[int]) -> None:
    time, terms = replay.updates.time, _terms(replay)
    for k, member in enumerate(members):
        for begin, end in terms[member]:
            axes.plot(stamps(time[[begin, end]]), [k, k], color=f"C{k}" if k < _NAMED else GREY, linewidth=2.5)
    axes.set_ylabel("in the list")
    axes.set_yticks([])
    axes.invert_yaxis()
