"""What the live commands share: signals that end them in order, log lines, and the table of what is watched."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from typing import Any, TextIO

from rich.table import Table

from tacit.vocabulary.keys import group_label

__all__ = [
    "answer_text",
    "kernels_text",
    "load_kernels",
    "log_to_stderr",
    "state_text",
    "stop_on_signals",
    "watch_table",
]


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that an interrupt or a request to end sets; the same one again ends the process at once.

    One of each is no impatience: a terminal interrupts all processes of `tacit up --processes`, and the first of them
    then asks the others to end.
    """
    stop = threading.Event()
    seen: set[int] = set()

    def end(number: int, _frame: object) -> None:
        if number in seen:
            raise SystemExit(128 + number)
        seen.add(number)
        stop.set()

    end.ends_work = True  # type: ignore[attr-defined]  # a Spark that is just starting is not waited for
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    stop.again = lambda: [signal.signal(number, end) for number in before]  # type: ignore[attr-defined]
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def load_kernels() -> None:
    """Load the kernels before anyone waits for an answer; the first time on a machine they are compiled.

    Compiling takes a minute or more, in which a coordinator could answer nobody and a site's lease would run out.
    """
    from tacit.cli.work import no_interrupt_lost

    with no_interrupt_lost():
        from tacit._kernel_cache import note_compiled
        from tacit.recording.warm import warm_kernels

        warm_kernels()
        note_compiled()


def kernels_text() -> str:
    """What loading the kernels will be, in words."""
    from tacit._kernel_cache import are_compiled

    return "loading kernels" if are_compiled() else "compiling kernels, once on this machine: it takes a few minutes"


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the time; who runs commands in one process (tests do) may change it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


@contextmanager
def log_to_stderr(*, quiet: bool) -> Iterator[None]:
    """One line per event, with its time, on standard error; other libraries only when something is wrong."""
    handler = _StandardError()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    root = logging.getLogger()
    levels = {"": logging.WARNING, "tacit": logging.WARNING if quiet else logging.INFO, "py4j": logging.CRITICAL}
    before = {name: logging.getLogger(name).level for name in levels}
    root.addHandler(handler)
    try:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        yield
    finally:
        root.removeHandler(handler)
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def watch_table(watches: Sequence[dict[str, Any]], title: str | None = None) -> Table:
    """Every watch with its answer, its state, its guarantee, and what it cost against both baselines."""
    table = Table(title=title, title_justify="left")
    for name in ("watch", "answer", "state", "as of", "guarantee"):
        table.add_column(name)
    for name in ("messages", "of events", "of panes", "heartbeats", "alerts"):
        table.add_column(name, justify="right")
    for watch in watches:
        cost = watch["cost"]
        total = cost["messages"]["total"]
        table.add_row(
            watch["watch"],
            answer_text(watch),
            state_text(watch),
            _when(watch["as_of"]),
            watch["guarantee"],
            f"{total:,}",
            _share(total, cost["centralised"]["messages"]),
            _share(total, cost["pane_shipping"]["messages"]),
            f"{cost['heartbeats']['messages']:,}",
            f"{watch['alert_count']:,}",
        )
    return table


def _when(as_of: str | None) -> str:
    """The time of day, with its day unless that is today.

    >>> _when("2017-02-28T22:00:00Z")
    '2017-02-28 22:00:00'
    """
    day, _, time = (as_of or "").removesuffix("Z").partition("T")
    return time[:8] if day == datetime.now(UTC).date().isoformat() else f"{day} {time[:8]}".strip()


def answer_text(watch: Mapping[str, Any]) -> str:
    """The answer in a few words."""
    rows = watch["answer"]
    if not rows:
        waiting = watch["waiting_for"]
        names = ", ".join(waiting[:3]) + (f" and {len(waiting) - 3} more" if len(waiting) > 3 else "")
        return f"waiting for {names}" if waiting else "none yet"
    if "rank" in rows[0]:
        return _ranking_text(rows)
    if "group" not in rows[0]:
        row = rows[0]
        value = "no value" if row["value"] is None else f"{row['value']:.6g}"
        return value if "side" not in row else f"{row['side']} ({value})"
    if "met" in rows[0]:
        met = [group_label(row["group"]) for row in rows if row["met"]]
        shown = ", ".join(met[:4]) + (" …" if len(met) > 4 else "")
        return f"{len(met)} of {len(rows)} groups met" + (f": {shown}" if met else "")
    top = sorted(rows, key=lambda row: -inf if row["value"] is None else row["value"], reverse=True)[:3]
    shown = ", ".join(f"{group_label(row['group'])} {_value_text(row['value'])}" for row in top)
    return f"{len(rows)} groups: {shown}"


def _ranking_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Of one list its first objects, of several the first of each.

    >>> _ranking_text([{"rank": 1, "object": ["/a"], "value": 9.0}, {"rank": 2, "object": ["/b"], "value": 7.0}])
    '/a 9, /b 7'
    """
    several = "group" in rows[0]
    shown = [row for row in rows if row["rank"] == 1] if several else rows
    named = [group_label(row["object"]) for row in shown[:4]]
    lists = [f"{group_label(row['group'])}: " if several else "" for row in shown[:4]]
    names = [one + name for one, name in zip(lists, named, strict=True)]
    scores = ["" if row["value"] is None else f" {row['value']:.6g}" for row in shown[:4]]
    words = ", ".join(name + score for name, score in zip(names, scores, strict=True))
    return words + (" …" if len(shown) > 4 else "")


def state_text(watch: Mapping[str, Any]) -> str:
    """The state, and which sites the answer goes on without, for how long."""
    missing = ", ".join(f"{each['site']} for {each['seconds']:.0f} s" for each in watch["missing"])
    return f"{watch['state']} (without {missing})" if missing else str(watch["state"])


def panes_text(panes: Mapping[str, Any]) -> str:
    """A stretch of panes as people read it."""
    return f"{_when(panes['from'])} to {_when(panes['to'])}, panes {panes['first']:,} to {panes['last']:,}"


def _value_text(value: float | None) -> str:
    return "no value" if value is None else f"{value:.4g}"


def _share(part: int, whole: int) -> str:
    """Messages against a baseline: the part of it that was needed, or how many times as many.

    >>> _share(12, 400), _share(400, 400), _share(3000, 400), _share(3, 0)
    ('3.0 %', '100.0 %', '7.5 × as many', '')
    """
    if whole == 0:
        return ""
    return f"{100 * part / whole:.1f} %" if part <= whole else f"{part / whole:.1f} × as many"
