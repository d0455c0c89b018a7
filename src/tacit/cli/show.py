"""A replay for people: what the watch said, what it cost beside both baselines, and whether it was right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tacit.cli.work import show
from tacit.functions.goals import Comparison, Frequent, Track
from tacit.language.explain import goal_text, window_text
from tacit.language.plan import WatchPlan
from tacit.recording.report import Alert, Report
from tacit.recording.run import Run
from tacit.recording.sketch_replay import SketchReplay, ValueAlert
from tacit.recording.summary import baseline_words, final_answers, group_label, observer_words, times
from tacit.recording.topk_replay import RankAlert, TopkReplay
from tacit.vocabulary.answers import MET, UNKNOWN
from tacit.vocabulary.keys import key_label

__all__ = [
    "alert_lines",
    "answer_words",
    "costs_table",
    "print_run",
    "ratio_text",
    "size_text",
    "table_of",
    "when_text",
]

ALERTS_SHOWN = 10
GROUPS_SHOWN = 5
MEMBERS_SHOWN = 20


def print_run(console: Console, run: Run) -> None:
    """The whole story of one replay."""
    report = run.replay.report
    plan = run.plan
    names = [statistic.name for statistic in plan.statistics]
    title = Text.assemble((plan.name, "bold"), ("  " + goal_text(plan.goal, names, dict(plan.outputs)), "dim"))
    lines: list[tuple[str, RenderableType]] = [
        ("answer", Text(answer_words(run))),
        ("data", Text(_data_words(run))),
        ("window", Text(f"{window_text(plan.window)}; checked after every {report.step}")),
        *(("note", Text(note, style="yellow")) for note in report.notes),
        ("messages", costs_table(report)),
        ("violations", Text(_violation_words(report))),
        ("alerts", Text("\n".join(alert_lines(plan, report.alerts)))),
        ("promise", Text(f"{report.guarantee}; zones: {report.zone}" if report.zone else report.guarantee)),
    ]
    if (verdict := observer_words(report)) is not None:
        wrong = bool(report.missed or report.spurious)
        lines.append(("observer", Text(verdict, style="bold red" if wrong else "green")))
    lines.append(("seconds", Text(", ".join(f"{name} {took:.2f}" for name, took in report.seconds.items()))))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, what in lines:
        grid.add_row(name, what)
    show(console, Group(title, Padding(grid, (0, 0, 1, 2))))


def answer_words(run: Run) -> str:
    """The last answer in words."""
    if isinstance(run.replay, TopkReplay):
        return _ranking_words(run.replay)
    if isinstance(run.replay, SketchReplay):
        return _sketch_words(run.plan, run.replay)
    final = final_answers(run.replay)
    goal, outputs = run.replay.physical.goal, run.replay.physical.outputs
    compared = goal.expression if isinstance(goal, (Comparison, Track)) else outputs[0][1]
    label = next((name for name, tree in outputs if tree == compared), "value")
    groups = run.recording.groups
    if groups is not None:
        if isinstance(goal, Track):
            return f"{label} of {len(groups):,} groups, each {run.replay.report.guarantee}"
        met = final.met
        shown = ", ".join(
            f"{group_label(run.plan, groups[g])} ({final.values[g]:.4g})" for g in met[:GROUPS_SHOWN].tolist()
        )
        more = f" and {len(met) - GROUPS_SHOWN:,} more" if len(met) > GROUPS_SHOWN else ""
        return f"met for {len(met):,} of {len(groups):,} groups at the end" + (f": {shown}{more}" if shown else "")
    value = float(final.values[0])
    if isinstance(goal, Track):
        within = f"{goal.within:g}{' percent' if goal.percent else ''}"
        known = f"{label} = {value:.6g} at the end, within {within}"
        return known if value == value else f"{label} has no value at the end"
    if final.sides[0] == UNKNOWN:
        return "not met at the end: the value is missing (NULL)"
    known = f" ({label} was {value:.6g} when last collected)" if value == value else ""
    return ("met" if final.sides[0] == MET else "not met") + " at the end" + known


def _ranking_words(replay: TopkReplay) -> str:
    """The lists at the end."""
    ranked = replay.rows.goal.ranked is not None
    lines = []
    for name, members in sorted(replay.final.items())[:GROUPS_SHOWN]:
        scores = [f" ({score:,.6g})" if ranked else "" for score in members.values()]
        named = [f"{member}{score}" for member, score in zip(members, scores, strict=True)]
        more = f" and {len(named) - MEMBERS_SHOWN:,} more" if len(named) > MEMBERS_SHOWN else ""
        lines.append(f"{name}: " * bool(name) + ", ".join(named[:MEMBERS_SHOWN]) + more)
    if len(replay.final) > GROUPS_SHOWN:
        lines.append(f"and {len(replay.final) - GROUPS_SHOWN:,} more lists")
    return "\n".join(lines) or "there is no group"


def _sketch_words(plan: WatchPlan, replay: SketchReplay) -> str:
    """The value, or the keys, at the end."""
    last = replay.outcome.said[-1]
    if not isinstance(plan.goal, Frequent):
        name = plan.outputs[0][0]
        return f"{name} has no value at the end" if isnan(last.value) else f"{name} = {last.value:.6g} at the end"
    named = [f"{key_label(key)} (about {count:,.0f})" for key, count in last.keys[:MEMBERS_SHOWN]]
    more = f" and {len(last.keys) - MEMBERS_SHOWN:,} more" if len(last.keys) > MEMBERS_SHOWN else ""
    return ", ".join(named) + more if named else "no key at the end"


def costs_table(report: Report) -> Table:
    """Messages and bytes beside both baselines."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    for _ in range(3):
        table.add_column(justify="right")
    total = report.messages["total"]
    rows = [
        (f"tacit ({report.protocol}{', ' + report.policy if report.policy else ''})", total, report.bytes),
        ("shipping every pane", report.pane_shipping["messages"], report.pane_shipping["bytes"]),
        ("sending every event", report.centralised["messages"], report.centralised["bytes"]),
    ]
    if report.caching is not None:
        rows.insert(1, ("sending what has moved", report.caching["messages"], report.caching["bytes"]))
    for index, (what, messages, size) in enumerate(rows):
        against = "" if index == 0 else f"{ratio_text(messages, total)} as many"
        table.add_row(what, f"{messages:,}", size_text(size), against, style="bold" if index == 0 else "")
    beats = report.heartbeats
    table.add_row(
        "heartbeats beside it, live", f"{beats['messages']:,}", size_text(beats["bytes"]), "at most", style="dim"
    )
    if (words := baseline_words(report)) is not None:
        table.add_row(Text(words, style="yellow"))
    return table


def ratio_text(baseline: int, total: int) -> str:
    """How many times as many, with two digits at least.

    >>> ratio_text(100_000, 40), ratio_text(95, 10), ratio_text(3, 1000)
    ('2,500 ×', '9.5 ×', '0.003 ×')
    """
    ratio = baseline / max(total, 1)
    if ratio >= 100:
        return f"{ratio:,.0f} ×"
    return f"{ratio:.1f} ×" if ratio >= 1 else f"{ratio:.2g} ×"


def alert_lines(plan: WatchPlan, alerts: Sequence[Alert | RankAlert | ValueAlert]) -> list[str]:
    """The first alerts with their times, and how many more there are."""
    if not alerts:
        return ["none"]
    lines = [f"{len(alerts):,}"]
    for alert in alerts[:ALERTS_SHOWN]:
        if isinstance(alert, RankAlert):
            moves = [
                f"{word} {', '.join(names[:3])}{' …' * (len(names) > 3)}"
                for word, names in (("in:", alert.entered), ("out:", alert.left))
                if names
            ]
            lines.append("  ".join([when_text(alert.at), *([alert.list] if alert.list else []), *moves]))
            continue
        if isinstance(alert, ValueAlert):
            lines.append(f"{when_text(alert.at)}  " + ("no value" if alert.value is None else f"{alert.value:.5g}"))
            continue
        group = None if alert.group is None else group_label(plan, alert.group)
        parts = [when_text(alert.at), group, alert.side, None if alert.value is None else f"{alert.value:.5g}"]
        lines.append("  ".join(part for part in parts if part is not None))
    if len(alerts) > ALERTS_SHOWN:
        lines.append(f"and {len(alerts) - ALERTS_SHOWN:,} more")
    return lines


def when_text(at: str) -> str:
    """An instant without what is zero.

    >>> when_text("2013-03-01T04:00:00Z"), when_text("1998-04-30T22:00:01.500000Z")
    ('2013-03-01 04:00', '1998-04-30 22:00:01.5')
    """
    text = at.removesuffix("Z").replace("T", " ")
    if "." in text:
        return text.rstrip("0")
    return text.removesuffix(":00")


def size_text(size: int) -> str:
    """Bytes in units of a thousand.

    >>> size_text(999), size_text(1_234_567)
    ('999 B', '1.2 MB')
    """
    if size < 1_000:
        return f"{size} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6)):
        if size < 999.95 * factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e9:,.1f} GB"


def table_of(rows: Sequence[dict[str, Any]], columns: Iterable[str]) -> Table:
    """Rows as a table; numbers to the right."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    chosen = [name for name in columns if rows and name in rows[0]]
    for name in chosen:
        numeric = all(isinstance(row[name], (int, float)) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in chosen))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _data_words(run: Run) -> str:
    report, recording = run.replay.report, run.recording
    span = f"{_instant(int(recording.t[0]))} to {_instant(int(recording.t[-1]))}"
    groups = "" if recording.groups is None else f" in {len(recording.groups):,} groups"
    left = [f"{count:,} without a {what.removeprefix('no_')}" for what, count in report.left_out.items() if count]
    if recording.rows > recording.kept:
        keys = run.plan.keys
        reasons = ["WHERE leaves out"] if not keys or any(key.where for key in keys) else []
        reasons += ["have no value"] if any(key.missing for key in keys) else []
        left.append(f"{recording.rows - recording.kept:,} that {' or '.join(reasons)}")
    rest = f"; not counted: rows {' and '.join(left)}" if left else ""
    return f"{report.updates:,} events at {report.sites:,} sites{groups}, {span}{rest}"


def _instant(time_us: int) -> str:
    moment = datetime.fromtimestamp(time_us / 1_000_000, tz=UTC)
    return when_text(moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z")


def _violation_words(report: Report) -> str:
    kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in report.messages["by_kind"].items())
    if report.form == "sketch":
        return f"{report.violations:,}, everyone was asked {times(report.full_syncs)} (sent: {kinds})"
    if report.entries is not None and report.protocol != "coordinator":
        share = "" if report.quality is None else f"; {_share_words(report.quality)}"
        size = f"{report.entries['mean']:.1f} groups in a message"
        return f"none: peers tell each other every period (sent: {kinds}), {size}{share}"
    if report.entries is not None:
        size = f"{report.entries['mean']:.1f} groups in a message"
        return f"{report.violations:,}, everyone was asked {times(report.full_syncs)} (sent: {kinds}), {size}"
    words = {"coordinator": "full synchronisations", "recentre": "new zones for all"}
    syncs = f", {report.full_syncs:,} {words[report.protocol]}" if report.protocol in words else ""
    return f"{report.violations:,}{syncs} (sent: {kinds})"


def _share_words(quality: dict[str, float]) -> str:
    share = quality["entries_sent"] / max(1.0, quality["entries_of_everything"])
    return f"{share:.0%} of what peers had; Kendall distance to the truth {quality['kendall_mean']:.3f} on average"


def plan_title(plan: WatchPlan) -> str:
    """A watch and what it keeps, on one line."""
    return f"{plan.name}: {goal_text(plan.goal, [each.name for each in plan.statistics], dict(plan.outputs))}"
