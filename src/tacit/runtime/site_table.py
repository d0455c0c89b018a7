"""A table at a site, as its agent sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.runtime.pane_clock import TableClock

if TYPE_CHECKING:
    from tacit.pipelines.batches import Batch

__all__ = ["KEEP_BYTES", "SiteTable"]

KEEP_BYTES = 1 << 30


@dataclass(slots=True)
class SiteTable:
    """A table at a site: its columns, its clock, and, where there is one, its history between two instants."""

    name: str
    columns: Mapping[str, str]
    clock: TableClock
    history: Callable[[int, int, int | None], Batch | None] | None = None  # from, before, and through which batch
    keep_bytes: int = KEEP_BYTES  # for panes that are not settled for good, of each of its windows
    busy: bool = False  # a batch is being computed
    elsewhere_us: int | None = None  # how far the furthest site is
    idle_since_us: int | None = None
    rows: int = 0
    no_time: int = 0
    late: int = 0  # rows that came too late for some watch, since the start
    late_file: Path | None = None  # to which they are written
    late_unsaid: int = 0
    late_said_us: int | None = None
    full_said: bool = False  # it was said that it is not read any further
    ahead: int = 0  # rows that some watch counts and whose time is not to be believed
    work: threading.Lock = field(default_factory=threading.Lock)  # one batch, or one look at the history, at a time
