"""What a prepared recording was made of, as one hash: the same hash, the same recording.

Windows, thresholds and margins are not in it: replays that differ only in those share one prepared recording. Files
count by path, size and time of change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tacit.language.plan import WatchPlan

__all__ = ["FORMAT", "fingerprint"]

FORMAT = 2  # of the prepared folder; raise it when the meaning of its files changes


def fingerprint(plan: WatchPlan, files: Sequence[Path], *, site: str, time: str) -> str:
    """The hash of everything that decides a prepared recording."""
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
    }
    return hashlib.sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()
