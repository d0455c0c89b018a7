"""``tacit verify CONFIG``: judge what a running system publishes by the truth of its sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacit.verify.verdict import Verdict

__all__ = ["register", "verdict_lines", "verdict_table"]

_SHOWN = 5


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def verify(
        config: Path = typer.Argument(..., metavar="CONFIG", help="The configuration of the system that runs."),
        watch: list[str] = typer.Option([], "--watch", metavar="NAME", help="Only this watch; may be said repeatedly."),
        seconds: float | None = typer.Option(None, min=0, help="Follow the system for so long (default: 0)."),
        until_end: bool = typer.Option(
            False, "--until-end", help="Follow it until all recorded data is answered for, or nothing moves any more."
        ),
        json_: bool = typer.Option(False, "--json", help="Print JSON."),
    ) -> None:
        """Judge every published pane and every alert of a running system by the truth of its sources."""
        raise typer.Exit(_verify(config, watch, seconds, until_end, json_))


def _verify(path: Path, names: list[str], seconds: float | None, until_end: bool, json_: bool) -> int:
    from tacit.cli.reaching import client_of
    from tacit.cli.work import as_json, output, show
    from tacit.runtime.config import load_config
    from tacit.verify.following import Follower

    config = load_config(path)
    with client_of(None, None, None, None, None, path) as client:
        follower = Follower(config, client, names)
        follower.watches()  # a name that is wrong is said at once
        follower.follow(seconds if seconds is not None or until_end else 0.0, until_end=until_end)
        verdicts = follower.verdicts()
    if json_:
        typer.echo(as_json({"verdicts": [verdict.as_dict() for verdict in verdicts]}))
    else:
        console = output()
        show(console, verdict_table(verdicts))
        for line in verdict_lines(verdicts):
            console.print(line, soft_wrap=True, markup=False)
    return 0 if verdicts and all(verdict.is_good for verdict in verdicts) else 1


def verdict_table(verdicts: Sequence[Verdict]) -> Any:
    """A row per watch: what was judged, and how much of it is not as it should be."""
    from rich.table import Table

    table = Table()
    for name in ("watch", "kind"):
        table.add_column(name)
    for name in ("panes", "wrong", "crossings", "lost", "alerts", "doubled", "late", "left out", "in gaps", "apart"):
        table.add_column(name, justify="right")
    for each in verdicts:
        left_out = sum(last - first + 1 for first, last in each.skipped) + each.unanswered
        gaps = sum(gap.last - gap.first + 1 for gap in each.gaps)
        numbers = (
            each.panes, len(each.wrong), each.crossings, len(each.lost), each.alerts,
            len(each.doubled), each.late, left_out, gaps, sum(each.apart.values()),
        )  # fmt: skip
        table.add_row(each.watch, each.kind, *(f"{number:,}" for number in numbers))
    return table


def verdict_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """What is not as it should be, the first of each kind."""
    lines: list[str] = []
    for each in verdicts:
        if each.problem:
            lines.append(f"{each.watch}: {each.problem}")
        for what in ("wrong", "lost", "doubled"):
            found = getattr(each, what)
            lines += [f"{each.watch}: {what}: {text}" for text in found[:_SHOWN]]
            if len(found) > _SHOWN:
                lines.append(f"{each.watch}: {what}: and {len(found) - _SHOWN:,} more")
        for first, last in each.skipped[:_SHOWN]:
            lines.append(f"{each.watch}: left out: panes {first} to {last} were never answered")
        if each.unanswered:
            lines.append(f"{each.watch}: left out: the last {each.unanswered:,} panes of the data are not answered")
        for gap in each.gaps[:_SHOWN]:
            lines.append(f"{each.watch}: gap: panes {gap.first} to {gap.last}")
        for state, panes in sorted(each.apart.items()):
            off = each.apart_off.get(state, 0)
            lines.append(f"{each.watch}: {state}: {panes:,} panes, {off:,} off what the sites that are there hold")
        if each.revised:
            lines.append(
                f"{each.watch}: {each.revised:,} valid panes have another answer than when they were looked at"
            )
        if each.dropped:
            lines.append(
                f"{each.watch}: {each.dropped:,} rows were dropped as late; {each.excused:,} panes differ by them"
            )
        if each.before:
            lines.append(f"{each.watch}: the data begins {each.before:,} panes before its first answer")
    return lines
