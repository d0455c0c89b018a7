"""What a prepared recording was made of, as one hash: the same hash, the same recording.

Windows, thresholds and margins are not in it: replays that differ only in those share one prepared recording. Files
count by path, size and time of change. Nothing here needs Spark: whether a recording is there is known without it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.language.plan import WatchPlan
from tacit.pipelines.files import Paths, find_files
from tacit.vocabulary.errors import OptionError

if TYPE_CHECKING:
    from tacit.pipelines.recorded_tables import RecordedTable

__all__ = ["FORMAT", "data_fingerprint", "fingerprint", "is_prepared", "recorded_mark"]

FORMAT = 5  # of the prepared folder; raise it when the meaning of its files changes


def fingerprint(plan: WatchPlan, files: Sequence[Path], *, site: str, time: str, marks: Sequence[str] = ()) -> str:
    """The hash of everything that decides a prepared recording. ``marks`` say how files are read, if not plainly."""
    status = [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files]
    story = {
        "format": FORMAT,
        "statistics": [(each.name, each.present, each.absent) for each in plan.statistics],
        "centres": plan.centres,
        "where": plan.where,
        "grouping": None if plan.grouping is None else [type(plan.grouping).__name__, asdict(plan.grouping)],
        "site": site.strip(),
        "time": time.strip(),
        "files": sorted(status),
        **({"marks": list(marks)} if marks else {}),
    }
    return hashlib.sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()


def is_prepared(plan: WatchPlan, data: Paths | RecordedTable, *, site: str, time: str, folder: Path) -> bool:
    """Does the folder hold the recording that the watch needs of just these files, as they are now?"""
    mark = recorded_mark(folder)
    return mark is not None and mark == data_fingerprint(plan, data, site=site, time=time)


def data_fingerprint(plan: WatchPlan, data: Paths | RecordedTable, *, site: str, time: str) -> str:
    """The fingerprint of a recording of files, or of a configuration's table."""
    if isinstance(data, (str, Path, Sequence)):
        return fingerprint(plan, [file.path for file in find_files(data)], site=site, time=time)
    from tacit.pipelines.recorded_tables import recorded_files

    files = [file.path for file in recorded_files(data)]
    return fingerprint(plan, files, site=site, time=time, marks=data.marks())


def recorded_mark(folder: Path) -> str | None:
    """The fingerprint of the recording in the folder; OptionError when the folder holds something else."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        mark = meta["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OptionError(f"{folder} exists and is not a prepared recording; choose another folder") from None
    return None if mark is None else str(mark)
