"""Rows that came too late: their pane was closed by the table's own rows, so they count nowhere.

They are counted, told of in the log at most once a minute, and, where the table says so, written to a file: a line of
JSON for each row, with the watches that it was late for. A site that is killed may write some lines twice, and loses
none.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_work import Work
from tacit.vocabulary.calendar import iso_time

if TYPE_CHECKING:
    from tacit.pipelines.batches import Batch

__all__ = ["tell_late", "write_late"]

_log = logging.getLogger(__name__)

_SILENT_US = 60_000_000


def write_late(table: SiteTable, works: Sequence[Work], batch: Batch, names: Mapping[str, Sequence[str]]) -> None:
    """Write the late rows of a batch to the table's file; ``names`` are the watches of each of its windows."""
    if table.late_file is None:
        return
    found = [(work, before) for work in works if work.problem is None and (before := work.late_before_us) is not None]
    if not found:
        return
    table.late_file.parent.mkdir(parents=True, exist_ok=True)
    with table.late_file.open("a", encoding="utf-8") as file:
        for time_us, row in batch.rows_before(max(before for _, before in found)):
            watches = sorted({name for work, before in found if time_us < before for name in names[work.data.key]})
            told = {"table": table.name, "time": iso_time(time_us), "watches": watches, "row": row}
            file.write(json.dumps(told, ensure_ascii=False) + "\n")


def tell_late(table: SiteTable, late: int, now_us: int) -> None:
    """So many rows of a batch were late; say it now, or with those of the next minute."""
    table.late += late
    table.late_unsaid += late
    said = table.late_said_us
    if not table.late_unsaid or (said is not None and 0 <= now_us - said < _SILENT_US):
        return
    where = "" if table.late_file is None else f"; they are written to {table.late_file}"
    _log.warning(
        "table %s: %d rows came after their panes were closed, and count nowhere (watermark says how late rows may"
        " be)%s", table.name, table.late_unsaid, where,
    )  # fmt: skip
    table.late_unsaid, table.late_said_us = 0, now_us
