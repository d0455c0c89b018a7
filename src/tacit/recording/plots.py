"""The picture of a replay: the value against its threshold, the messages under it, and how far the sites drift.

One file per watch. A condition with several comparisons has one panel for each; a grouped watch shows the groups that
changed sides most often. Colours are Okabe and Ito's, which people with any colour vision tell apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import StrMethodFormatter

from tacit.functions.goals import Comparison, Track, comparisons
from tacit.language.explain import goal_text
from tacit.language.plan import WatchPlan
from tacit.recording.curves import Curve, answer_curve, true_curves
from tacit.recording.drifts import Drifts, drifts_along
from tacit.recording.plot_style import BLUE, COLOURS, ORANGE, RED, SKY, days_axis, header, new_figure, save, stamps
from tacit.recording.replay import Replay
from tacit.recording.settings import Settings
from tacit.recording.stream import Recording
from tacit.recording.summary import group_label
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["save_replay_plot"]

GROUPS_MAX = 8
PANELS_MAX = 4
NAMED_MAX = 12
BARS = 140
TILES = 300
MARKS_MAX = 60
TRACE_SECONDS_MAX = 300.0  # drifts need the replay once more; after a longer one they are left out


def save_replay_plot(plan: WatchPlan, recording: Recording, replay: Replay, path: Path, settings: Settings) -> None:
    """Draw the replay into ``path``; its ending chooses PNG, SVG or PDF."""
    physical, updates = replay.physical, replay.updates
    shown = _goals_shown(replay)
    groups = _groups_shown(recording, replay)
    with_drifts = replay.report.seconds["replay"] <= TRACE_SECONDS_MAX
    figure, axes = new_figure([3.0] * len(shown) + [1.4] + [2.0] * with_drifts)
    curves = true_curves(physical, updates, [goal.expression for goal in shown], groups)
    for k, goal in enumerate(shown):
        _draw_value(axes[k], plan, recording, replay, goal, groups, [curve[k] for curve in curves])
    _draw_messages(axes[len(shown)], replay)
    if with_drifts:
        _draw_drifts(axes[-1], plan, recording, replay, int(groups[0]), settings)
    days_axis(axes[-1], int(updates.time[0]), int(updates.time[-1]))
    names = [statistic.name for statistic in plan.statistics]
    keeps = goal_text(plan.goal, names, dict(plan.outputs))
    figure.suptitle(
        f"{plan.name}: {_short(keeps)}  ({replay.report.protocol}, {replay.report.sites} sites)",
        x=0.01, ha="left", fontsize=12, fontweight="bold",
    )  # fmt: skip
    save(figure, path)


def _goals_shown(replay: Replay) -> list[Comparison | Track]:
    goal = replay.physical.goal
    if isinstance(goal, Track):
        return [goal]
    return list(comparisons(goal)[:PANELS_MAX])


def _groups_shown(recording: Recording, replay: Replay) -> IntArray:
    """The groups with most alerts; where nothing happened, the first ones."""
    if recording.groups is None:
        return np.zeros(1, dtype=np.int64)
    number = {name: index for index, name in enumerate(recording.groups)}
    alerts = np.zeros(len(recording.groups), dtype=np.int64)
    for alert in replay.report.alerts:
        alerts[number[alert.group or ""]] += 1
    most = np.argsort(-alerts, kind="stable")[:GROUPS_MAX]
    return most[alerts[most] > 0] if alerts.any() else most[:1]


def _draw_value(
    axes: Any, plan: WatchPlan, recording: Recording, replay: Replay, goal: Comparison | Track, groups: IntArray,
    curves: list[Curve],
) -> None:  # fmt: skip
    name = _name_of(replay, goal)
    grouped = recording.groups is not None
    end = int(replay.updates.time[-1])
    if isinstance(goal, Track) and not grouped:
        _draw_promise(axes, replay, goal, end)
    for k, (group, curve) in enumerate(zip(groups.tolist(), curves, strict=True)):
        label = f"true {name}" if not grouped else _short(group_label(plan, (recording.groups or ())[group]), 24)
        colour = COLOURS[k % len(COLOURS)] if grouped else BLUE
        time, value = np.append(curve.time, end), np.append(curve.value, curve.value[-1:])
        axes.plot(stamps(time), value, color=colour, linewidth=1.0, drawstyle="steps-post", label=label, zorder=3)
    if isinstance(goal, Comparison):
        label = f"threshold {goal.threshold:g}"
        axes.axhline(goal.threshold, color=RED, linestyle="--", linewidth=1.2, label=label, zorder=4)
        if goal.margin:
            low, high = goal.threshold - goal.margin, goal.threshold + goal.margin
            axes.axhspan(low, high, color=RED, alpha=0.13, linewidth=0, label=f"margin {goal.margin:g}", zorder=1)
        _draw_alerts(axes, replay, goal, grouped)
    _limit(axes, curves, goal)
    axes.set_ylabel(_short(name, 30))
    header(axes)


def _draw_promise(axes: Any, replay: Replay, goal: Track, end: int) -> None:
    said = answer_curve(replay.physical, replay.updates, replay.outcome.changes, goal.expression, 0)
    time, value = np.append(said.time, end), np.append(said.value, said.value[-1:])
    # |answer - f| <= p |f| means that f is between answer / (1 + p) and answer / (1 - p).
    part = goal.within / 100.0
    low, high = (value / (1 + part), value / (1 - part)) if goal.percent else (value - goal.within, value + goal.within)
    within = f"{goal.within:g}{' percent' if goal.percent else ''}"
    axes.fill_between(
        stamps(time), np.minimum(low, high), np.maximum(low, high), step="post", color=SKY, alpha=0.35, linewidth=0,
        label=f"promised: within {within} of the answer", zorder=1,
    )  # fmt: skip
    axes.plot(stamps(time), value, color=ORANGE, linewidth=1.1, drawstyle="steps-post", label="answer", zorder=2)


def _draw_alerts(axes: Any, replay: Replay, goal: Comparison, grouped: bool) -> None:
    """A triangle for each change of answer; a row of ticks at the edges where there are many."""
    single = isinstance(replay.physical.goal, Comparison)
    alerts = replay.report.alerts
    for sides, marker, edge, colour, word in (
        (("above", "met"), "^", 0.985, RED, "above" if single else "met"),
        (("below", "not met"), "v", 0.015, "black", "below" if single else "not met"),
    ):
        chosen = [alert for alert in alerts if alert.side in sides]
        if not chosen:
            continue
        time = stamps(replay.updates.time[np.array([alert.update for alert in chosen])])
        label = f"alert: {word} ({len(chosen):,})"
        if len(alerts) <= MARKS_MAX and not grouped and single:
            height = [np.nan if alert.value is None else alert.value for alert in chosen]
            axes.scatter(
                time, height, marker=marker, s=42, color=colour, edgecolor="white", linewidth=0.7, zorder=6, label=label
            )
        else:
            axes.scatter(
                time, np.full(len(chosen), edge), transform=axes.get_xaxis_transform(), marker="|", s=36, color=colour,
                linewidth=0.8, alpha=0.7, zorder=6, label=label,
            )  # fmt: skip


def _limit(axes: Any, curves: list[Curve], goal: Comparison | Track) -> None:
    """Show where the curve lives: a spike while the window fills must not flatten all the rest."""
    values = np.concatenate([curve.value for curve in curves])
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return
    low, high = (float(number) for number in np.quantile(values, [0.002, 0.998]))
    if isinstance(goal, Comparison):
        low, high = min(low, goal.threshold - goal.margin), max(high, goal.threshold + goal.margin)
    room = 0.08 * ((high - low) or abs(high) or 1.0)
    axes.set_ylim(max(low - room, values.min() - room), min(high + room, max(values.max(), high) + room))


def _draw_messages(axes: Any, replay: Replay) -> None:
    updates, report = replay.updates, replay.report
    at, count = np.concatenate(replay.outcome.talks).T
    begin, end = int(updates.time[0]), int(updates.time[-1])
    edges = np.linspace(begin, max(end, begin + 1), BARS + 1)
    bars, _ = np.histogram(updates.time[at], edges, weights=count)
    total = report.messages["total"]
    axes.bar(
        stamps(edges[:-1].astype(np.int64)), bars, width=np.timedelta64(int(edges[1] - edges[0]), "us"), align="edge",
        color=BLUE, linewidth=0,
        label=f"{total:,} messages; shipping every pane {report.pane_shipping['messages']:,}; "
        f"sending every event {report.centralised['messages']:,}",
    )  # fmt: skip
    panes = report.pane_shipping["messages"] / BARS
    if panes <= 3 * bars.max(initial=1.0):
        axes.axhline(panes, color=RED, linestyle="--", linewidth=1.0, label="shipping every pane, on average")
    axes.set_ylabel(f"messages\nper {_span(edges[1] - edges[0])}")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_ylim(bottom=0)
    header(axes)


def _draw_drifts(
    axes: Any, plan: WatchPlan, recording: Recording, replay: Replay, group: int, settings: Settings
) -> None:
    """A row for each site, brighter the nearer it is to the edge of its zone."""
    where = "" if recording.groups is None else f" ({_short(group_label(plan, recording.groups[group]), 24)})"
    axes.set_ylabel("sites")
    axes.grid(False)
    drifts = drifts_along(
        replay.physical,
        replay.updates,
        group,
        protocol=replay.report.protocol,
        policy=settings.policy,
        seed=settings.seed,
        ticks=replay.ticks,
        fitted=replay.fitted,
    )
    edges, tiles = _tiles(drifts, int(replay.updates.time[0]), int(replay.updates.time[-1]))
    sites = tiles.shape[1]
    mesh = axes.pcolormesh(
        stamps(edges), np.arange(sites + 1), tiles.T, cmap="cividis", vmin=0.0, vmax=1.0, linewidth=0, rasterized=True
    )
    axes.set_ylim(sites, 0)
    if sites <= NAMED_MAX:
        axes.set_yticks(np.arange(sites) + 0.5, [_short(name, 16) for name in recording.sites], fontsize=7)
        axes.set_ylabel("")
    place = axes.inset_axes((0.76, 1.07, 0.24, 0.06))
    bar = axes.figure.colorbar(mesh, cax=place, orientation="horizontal", ticks=[0, 0.25, 0.5, 0.75, 1])
    bar.ax.xaxis.set_ticks_position("top")
    bar.ax.tick_params(labelsize=7.5, length=2, pad=1)
    words = f"drift of each site{where} towards the edge of its zone: 0 at the estimate, at 1 it must speak"
    axes.text(0.0, 1.06, words, transform=axes.transAxes, fontsize=8.5)


def _tiles(drifts: Drifts, begin: int, end: int) -> tuple[IntArray, FloatArray]:
    """The largest drift of each site in each stretch of time."""
    edges = np.linspace(begin, max(end, begin + 1), TILES + 1).astype(np.int64)
    tile = np.clip(np.searchsorted(edges, drifts.time, side="right") - 1, 0, TILES - 1)
    tiles = np.full((TILES, drifts.share.shape[1]), np.nan)
    np.fmax.at(tiles, tile, drifts.share)
    for k in range(1, TILES):  # a stretch in which nothing happens looks like the one before
        if not (tile == k).any():
            tiles[k] = tiles[k - 1]
    return edges, tiles


def _name_of(replay: Replay, goal: Comparison | Track) -> str:
    for name, tree in replay.physical.outputs:
        if tree == goal.expression:
            return name
    return "value"


def _short(text: str, longest: int = 90) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _span(width_us: float) -> str:
    """A length of time in words for an axis.

    >>> _span(10.4 * 86_400e6)
    '10 days'
    """
    for name, size in (("day", 86_400e6), ("hour", 3_600e6), ("minute", 60e6), ("second", 1e6)):
        if width_us >= size:
            number = width_us / size
            shown = f"{number:.0f}" if number >= 9.5 else f"{number:.2g}"
            return f"{shown} {name}{'' if shown == '1' else 's'}"
    return f"{width_us / 1e6:.2g} seconds"
