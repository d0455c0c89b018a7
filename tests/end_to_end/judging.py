"""What the live system said, held against a replay of the same rows and against the truth, computed plainly."""

from __future__ import annotations

import json
import math
import sqlite3
import statistics
import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.language.sentence import parse_watch
from tacit.recording.replay import Replay, replay_recording
from tacit.recording.stream import load
from tests.end_to_end.feeding import Row
from tests.end_to_end.system import environment

__all__ = [
    "RANKING", "RANKING_SENTENCE", "SKETCHED", "SKETCH_SENTENCES", "WATCHES", "Live", "S", "Told", "Watch",
    "complaints", "mean", "ranking_complaints", "read_live", "replayed", "script", "sketch_complaints",
]  # fmt: skip

S = 1_000_000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Watch:
    """A watch and what it means: its window in microseconds or rows, its pane, the value of rows, what is promised."""

    name: str
    text: str
    pane_us: int
    value: Callable[[Sequence[Row]], float]
    duration_us: int | None = None
    rows: int | None = None
    threshold: float | None = None
    slack: float = 0.0  # the margin, or what a tracked value may be off
    grouped: bool = False

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return f"CREATE WATCH {self.name} AS {self.text}"


def mean(column: str) -> Callable[[Sequence[Row]], float]:
    return lambda rows: math.nan if not rows else sum(getattr(row, column) for row in rows) / len(rows)


WATCHES = (
    Watch(
        "heat",
        "SELECT AVG(v) AS mean FROM readings WINDOW LAST 8 SECONDS EVERY 1 SECOND ALERT WHEN mean > 58 MARGIN 2",
        S, mean("v"), duration_us=8 * S, threshold=58.0, slack=2.0,
    ),
    Watch(
        "level",
        "SELECT AVG(w) AS mean FROM readings WHERE device <> 'd3' WINDOW LAST 12 SECONDS EVERY 2 SECONDS"
        " TRACK mean WITHIN 4",
        2 * S, lambda rows: mean("w")([row for row in rows if row.device != "d3"]), duration_us=12 * S, slack=4.0,
    ),
    Watch(
        "spread",
        "SELECT STDDEV(v) AS s FROM readings WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 2",
        S, lambda rows: math.nan if len(rows) < 2 else statistics.stdev(row.v for row in rows),
        duration_us=10 * S, slack=2.0,
    ),
    Watch(
        "devices",
        "SELECT device, COUNT_IF(w > 60) AS n FROM readings WINDOW LAST 8 SECONDS EVERY 1 SECOND GROUP BY device"
        " ALERT WHEN n > 12 MARGIN 2",
        S, lambda rows: float(sum(row.w > 60 for row in rows)), duration_us=8 * S, threshold=12.0, slack=2.0,
        grouped=True,
    ),
    Watch(
        "recent",
        "SELECT AVG(v) AS mean FROM readings WINDOW LAST 30 ROWS EVERY 2 SECONDS TRACK mean WITHIN 3",
        2 * S, mean("v"), rows=30, slack=3.0,
    ),
)  # fmt: skip


RANKING = "worst"
RANKING_SENTENCE = (
    f"CREATE WATCH {RANKING} AS SELECT device, COUNT_IF(w > 60) AS n FROM readings WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " GROUP BY device ORDER BY n DESC LIMIT 2 WITHIN 2"
)


def ranking_complaints(store: Path, rows: Sequence[Row], until_us: int) -> list[str]:
    """Where a list that was published as valid is not the two devices with the most rows above 60, within 2."""
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        spans = database.execute(
            "SELECT first, last, state FROM spans JOIN watches ON watch = number WHERE name = ?", (RANKING,)
        ).fetchall()
        changes = database.execute(
            "SELECT pane, members FROM rankings WHERE lineage IN (SELECT lineage FROM watches WHERE name = ?)"
            " ORDER BY pane", (RANKING,),
        ).fetchall()  # fmt: skip
    finally:
        database.close()
    found, judged = [], 0
    for first, last, state in spans:
        for pane in range(first, last + 1) if state in ("valid", "filling") else ():
            end = (pane + 1) * S
            if end > until_us:
                continue
            judged += 1
            said = {_label(key) for key, _ in next((json.loads(m) for at, m in reversed(changes) if at <= pane), [])}
            true = Counter({row.device: 0 for row in rows if end - 8 * S <= row.t < end})
            true.update(row.device for row in rows if end - 8 * S <= row.t < end and row.w > 60)
            least = min((true[device] for device in said), default=0)
            most = max((count for device, count in true.items() if device not in said), default=-3)
            if len(said) != min(2, len(true)) or not said <= set(true) or least + 2 < most:
                found.append(f"{RANKING} at pane {pane} ({state}): said {said} of {dict(true)}")
    return found if judged else [f"no pane of {RANKING} was valid"]


SKETCHED = {
    "often": "SELECT device, COUNT(*) AS n FROM readings WHERE w > 60 WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " GROUP BY device HAVING COUNT(*) > 12 MARGIN 2 SKETCH EPSILON 0.02 DELTA 0.01",
    "squares": "SELECT SELF_JOIN_SIZE(device) AS f FROM readings WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " TRACK f WITHIN 20 PERCENT SKETCH EPSILON 0.05 DELTA 0.01",
}
SKETCH_SENTENCES = "".join(f"CREATE WATCH {name} AS {text};\n" for name, text in SKETCHED.items())


def sketch_complaints(store: Path, rows: Sequence[Row], until_us: int) -> list[str]:
    """Where what was published of a watch on a sketch is beyond its promise and what the sketch may err by."""
    live, found = read_live(store), []
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        changes = database.execute(
            "SELECT pane, members FROM rankings WHERE lineage IN (SELECT lineage FROM watches WHERE name = 'often')"
            " ORDER BY pane"
        ).fetchall()
    finally:
        database.close()
    for name in SKETCHED:
        judged = 0
        for pane, state in live.told[name].states.items():
            end = (pane + 1) * S
            if state not in ("valid", "filling") or end > until_us:
                continue
            judged += 1
            window = [row for row in rows if end - 8 * S <= row.t < end]
            if name == "often":
                said = {
                    _label(key) for key, _ in next((json.loads(m) for at, m in reversed(changes) if at <= pane), [])
                }
                true = Counter(row.device for row in window if row.w > 60)
                slop = 0.02 * true.total()
                wrong = [d for d in said if true[d] < 10 - slop] + [
                    d for d, count in true.items() if d not in said and count > 14 + slop
                ]
                found += [f"often at pane {pane} ({state}): said {said} of {dict(true)}"] if wrong else []
            else:
                counts = Counter(row.device for row in window)
                truth, slop = sum(count**2 for count in counts.values()), 0.05 * counts.total() ** 2
                _, value = live.told[name].answers[pane].get("", (0, 0.0))
                if abs((value or 0.0) - truth) > 0.2 * (truth + slop) + slop:
                    found.append(f"squares at pane {pane} ({state}): said {value}, and it is {truth}")
        found += [] if judged else [f"no pane of {name} was valid"]
    return found


def script(watches: Sequence[Watch] = WATCHES) -> str:
    """All of them as one file."""
    return "".join(f"{watch.sentence};\n" for watch in watches)


Said = tuple[int, float | None]  # side and value


@dataclass(slots=True)
class Told:
    """What was said of one watch: at each pane the state and, by group, the side and value; and the alerts."""

    states: dict[int, str]
    answers: dict[int, dict[str, Said]]
    alerts: list[dict[str, Any]]


@dataclass(slots=True)
class Live:
    """What is in a coordinator's store."""

    told: dict[str, Told]
    alerts: list[dict[str, Any]]


def read_live(store: Path) -> Live:
    """Read a coordinator's file, also while it runs."""
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        alerts = [json.loads(document) for (document,) in database.execute("SELECT document FROM alerts ORDER BY seq")]
        told = {}
        for number, lineage, name in database.execute("SELECT number, lineage, name FROM watches").fetchall():
            states: dict[int, str] = {}
            spans = "SELECT first, last, state FROM spans WHERE watch = ? ORDER BY first"
            for first, last, state in database.execute(spans, (number,)):
                for pane in range(first, last + 1):
                    assert states.get(pane, state) == state, f"{name} said two things of pane {pane}"
                    states[pane] = state
            changes = database.execute(
                "SELECT pane, key, side, value FROM changes WHERE lineage = ? ORDER BY pane", (lineage,)
            ).fetchall()
            answers: dict[int, dict[str, Said]] = {}
            now: dict[str, Said] = {}
            for pane in sorted(states):
                while changes and changes[0][0] <= pane:
                    _, key, side, value = changes.pop(0)
                    now[_label(key)] = (side, value)
                answers[pane] = dict(now)
            told[name] = Told(states, answers, [alert for alert in alerts if alert["watch"] == name])
        return Live(told, alerts)
    finally:
        database.close()


def _label(key: str) -> str:
    return ", ".join(map(str, json.loads(key))) if key.startswith("[") else key


def replayed(
    folder: Path, data: Path, watches: Sequence[Watch], protocol: str
) -> dict[str, tuple[dict[str, Any], Replay, tuple[str, ...] | None]]:
    """What ``tacit replay --step pane`` says of the same rows: its report, and the same replay with its answers."""
    (folder / "watches.sql").parent.mkdir(exist_ok=True)
    (folder / "watches.sql").write_text(script(watches))
    command = [
        sys.executable, "-m", "tacit", "replay", str(folder / "watches.sql"), "--data", str(data), "--site", "site",
        "--time", "ts", "--step", "pane", "--protocol", protocol, "--work", str(folder / "work"), "--verify", "--json",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)
    found = {}
    for watch, report in zip(watches, reports if isinstance(reports, list) else [reports], strict=True):
        assert (report["missed"], report["spurious"]) == (0, 0), report
        recording = load(folder / "work" / watch.name)
        replay = replay_recording(parse_watch(watch.sentence), recording, protocol=protocol, step="pane")
        found[watch.name] = (report, replay, recording.groups)
    return found


def complaints(watch: Watch, told: Told, rows: Sequence[Row], until_us: int) -> list[str]:
    """Where an answer that was published as valid (or while its window filled) is not true."""
    found = []
    sites = sorted({row.site for row in rows})
    by_site = {site: sorted((row for row in rows if row.site == site), key=lambda row: row.t) for site in sites}
    times = {site: [row.t for row in mine] for site, mine in by_site.items()}
    groups = sorted({row.device for row in rows}) if watch.grouped else [""]
    for pane, state in sorted(told.states.items()):
        end = (pane + 1) * watch.pane_us
        if state not in ("valid", "filling") or end > until_us:
            continue
        window: list[Row] = []
        for site in sites:
            stop = bisect_left(times[site], end)
            begin = max(0, stop - (watch.rows or 0))
            if watch.duration_us is not None:
                begin = bisect_left(times[site], end - watch.duration_us)
            window += by_site[site][begin:stop]
        for group in groups:
            truth = watch.value([row for row in window if not watch.grouped or row.device == group])
            side, value = told.answers[pane].get(group, (0, math.nan))
            wrong = _wrong(watch, truth, side, math.nan if value is None else value)
            if wrong:
                found.append(f"{watch.name} {group} at pane {pane} ({state}): {wrong}")
    return found


def _wrong(watch: Watch, truth: float, side: int, said: float) -> str:
    if watch.threshold is None:
        near = (math.isnan(truth) and math.isnan(said)) or abs(truth - said) <= watch.slack * (1 + _ROUNDING)
        return "" if near else f"said {said}, and it is {truth}"
    if side == 1:
        return "" if truth > watch.threshold - watch.slack else f"said above, and it is {truth}"
    return "" if not truth > watch.threshold + watch.slack else f"said below, and it is {truth}"
