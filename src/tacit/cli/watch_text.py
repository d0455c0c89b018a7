"""What the commands about watches print: results of statements, one watch, sites, alerts, and a line per change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from tacit.cli.live import answer_text, panes_text, state_text, watch_table
from tacit.vocabulary.alerts import about_text, basis_text, change_text
from tacit.vocabulary.keys import group_label

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["alert_line", "alert_table", "change_line", "result_text", "site_table", "watch_text"]


def result_text(result: Mapping[str, Any]) -> RenderableType:
    """What came of one statement.

    >>> result_text({"statement": "create", "watch": "hot", "done": True, "note": "no site has a table named air yet"})
    'created hot; no site has a table named air yet'
    >>> result_text({"statement": "drop", "watch": "hot", "done": False})
    'there was no watch hot'
    """
    match result["statement"]:
        case "show watches":
            return watch_table(result["watches"]) if result["watches"] else "nothing is watched yet"
        case "show watch":
            return watch_text(result["watch"])
        case "show sites":
            return site_table(result["sites"]) if result["sites"] else "there is no site yet"
        case "show alerts":
            return alert_table(result["alerts"]) if result["alerts"] else "there was no alert yet"
        case "show changes":
            return alert_table(result["changes"]) if result["changes"] else "there was no change yet"
        case "explain":
            return str(result["text"])
        case verb if not result["done"]:
            assert verb == "drop"
            return f"there was no watch {result['watch']}"
    done = {"create": "created", "drop": "dropped", "pause": "paused", "resume": "resumed", "alter": "altered"}
    note = result.get("note")
    return f"{done[result['statement']]} {result['watch']}" + (f"; {note}" if note else "")


def watch_text(watch: Mapping[str, Any]) -> RenderableType:
    """Everything about one watch, a line each."""
    cost = watch["cost"]
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    lines = {
        "watch": watch["watch"],
        "state": state_text(watch),
        "answer": answer_text(watch),
        "as of": watch["as_of"] or "no pane yet",
        "guarantee": watch["guarantee"],
        "sites": ", ".join(watch["sites"]) or "none yet",
        "protocol": watch["protocol"],
        "messages": f"{cost['messages']['total']:,}; one per event would be {cost['centralised']['messages']:,},"
        f" one per pane {cost['pane_shipping']['messages']:,}",
        "heartbeats": f"{cost['heartbeats']['messages']:,}, not counted above; one speaks for all watches of a site",
        "alerts": f"{watch['alert_count']:,}",
        "late rows": f"{cost['late']:,}",
        "rows without a time": f"{cost['no_time']:,}",
        "sentence": watch["text"],
    }
    for name, text in lines.items():
        table.add_row(name, _plain(text))
    for each in watch["missing"]:
        table.add_row("missing", _plain(f"{each['site']}, for {each['seconds']:.0f} s: {each['reason']}"))
    if watch["late"] is not None:
        table.add_row("settled late", _plain(f"{panes_text(watch['late'])}: once more, when no site is missing"))
    for gap in watch["gaps"]:
        table.add_row("gap", _plain(f"{panes_text(gap)}: unknown; {gap['reason']}"))
    for site, problem in watch["problems"].items():
        table.add_row("problem", _plain(f"{site}: {problem}"))
    if watch["answer"] and ("group" in watch["answer"][0] or "rank" in watch["answer"][0]):
        for row in watch["answer"][:20]:
            name = f"rank {row['rank']}" if "rank" in row else "group"
            table.add_row(name, _plain(_row_text(row)))
        if len(watch["answer"]) > 20:
            table.add_row("", f"… and {len(watch['answer']) - 20:,} more; --json lists them")
    return table


def site_table(sites: Sequence[Mapping[str, Any]]) -> Table:
    """All sites."""
    table = Table()
    for name in ("site", "link", "tables"):
        table.add_column(name)
    for name in ("late rows", "rows without a time"):
        table.add_column(name, justify="right")
    for site in sites:
        link = "up" if site["online"] else f"down for {site['seen_seconds_ago']:.0f} s"
        tables = _plain(", ".join(site["tables"]) or "not known yet")
        no_time = sum(site["no_time"].values())
        table.add_row(_plain(site["site"]), link, tables, f"{site['late']:,}", f"{no_time:,}")
    return table


def alert_table(alerts: Sequence[Mapping[str, Any]]) -> Table:
    """Alerts in the order given."""
    table = Table()
    for name in ("at", "watch", "group", "change", "rests on", "raised"):
        table.add_column(name)
    for alert in alerts:
        cells = (
            alert["at"],
            alert["watch"],
            "" if alert["group"] is None else group_label(alert["group"]),
            change_text(alert),
            basis_text(alert) or "all sites",
            alert["raised"],
        )
        table.add_row(*map(_plain, cells))
    return table


def change_line(change: Mapping[str, Any]) -> str:
    """An answer on one line: time, state, answer."""
    at = change["as_of"] or "no pane yet"
    return f"{at:<20}  {state_text(change)}  {answer_text(change)}"


def alert_line(alert: Mapping[str, Any]) -> str:
    """An alert or a change on one line.

    >>> alert_line({"at": "1970-01-01T00:00:10Z", "kind": "alert", "watch": "hot", "group": None, "side": "above",
    ...     "value": 9.5, "comparison": "t > 9", "late": True})
    '1970-01-01T00:00:10Z  ALERT  hot: above: t > 9 at 9.5 (told late)'
    """
    basis = basis_text(alert)
    line = f"{alert['at']:<20}  {alert['kind'].upper()}  {about_text(alert)}: {change_text(alert)}"
    return f"{line} ({basis})" if basis else line


def _row_text(row: Mapping[str, Any]) -> str:
    value = "no value" if row["value"] is None else f"{row['value']:.6g}"
    value = value if "side" not in row else f"{row['side']} ({value})"
    if "rank" in row and row["value"] is None:
        value = f"{row['counted']:.6g} when last counted"
    return ": ".join([*(group_label(row[name]) for name in ("group", "object") if name in row), value])


def _plain(text: str) -> str:
    """What users wrote is no markup."""
    from rich.markup import escape

    return escape(text)
