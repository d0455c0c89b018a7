"""From SQL text and data to a finished replay: what ``tacit.replay`` and the command line are made of.

Everything that can be wrong with the sentence, the options or the paths is found before Spark is started, so that a
mistake costs no time. Spark is used only to prepare the recording; a recording that is there already needs none.
"""

from __future__ import annotations

import re
import tempfile
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.functions.goals import SelfJoin, SketchGoal, Top
from tacit.language import PythonFunction, WatchPlan, parse, parse_watch
from tacit.language.recorded import odd_panes, recorded_plans
from tacit.recording.configured import described_data, live_settings
from tacit.recording.replay import Replay, replay_recording
from tacit.recording.report import Report
from tacit.recording.settings import PEERS, Settings
from tacit.recording.sides import data_of_tables, load_recorded, part_folders
from tacit.recording.sketch_replay import SketchReplay, replay_sketch
from tacit.recording.stream import Recording
from tacit.recording.topico_replay import replay_topico
from tacit.recording.topk_replay import TopkReplay, replay_topk
from tacit.runtime.config import load_config
from tacit.vocabulary.errors import DataError, MachineError, OptionError

__all__ = [
    "Run",
    "check_fit",
    "check_source",
    "check_work",
    "file_name",
    "fitting_settings",
    "kept",
    "prepared",
    "read_script",
    "record",
    "replay",
    "replay_prepared",
    "rule_of",
    "spark_room",
    "work_folder",
]

Progress = Callable[[int, int], None]
GOSSIP = 3  # whom a peer tells in a period, when it gossips


@dataclass(frozen=True, slots=True)
class Run:
    """A replay together with the recording it ran over."""

    plan: WatchPlan
    recording: Recording
    replay: Replay | TopkReplay | SketchReplay


def replay(
    watch: str | Path | WatchPlan,
    data: Any = None,
    *,
    site: str | None = None,
    time: str | None = None,
    step: str = "event",
    protocol: str = "auto",
    zone: str = "auto",
    policy: str | None = None,
    seed: int = 0,
    verify: bool = False,
    functions: Mapping[str, PythonFunction] | None = None,
    plot: str | Path | None = None,
    work: str | Path | None = None,
    config: str | Path | None = None,
    options: Mapping[str, str] | None = None,
    spark: Any = None,
    progress: Progress | None = None,
) -> Report:
    """Replay one watch over recorded data, and say what it answered and what it cost.

    Args:
        watch: a CREATE WATCH sentence, the path of a file that holds one, or a parsed plan.
        data: a path, folder or glob (or a list of them) of Parquet, CSV or JSON; a Spark or pandas DataFrame; or a
            PyArrow table. Of a watch on two tables: a mapping from their names. With ``config`` it may be left out.
        site: ``COLUMN``, ``hash:COLUMN:N`` or ``round_robin:N``: which site a row belongs to. With ``config`` it may
            be left out: each row belongs to the site that has its file.
        time: the column with the time of a row (numbers are seconds since 1970; without zone it is UTC). With
            ``config`` it may be left out: the table has one.
        step: ``event`` checks after every event, ``pane`` after every pane.
        protocol: ``coordinator`` (balancing), ``recentre``, ``broadcast``; ``auto``: what a live coordinator does;
            or ``cheaper``: of the first two, the one that costs less on the first part of the data.
        zone: ``ball``, ``halfspace``, ``region``, ``curvature``, or ``auto``, the best; the report says what was made.
        policy: the order in which the coordinator asks sites: ``lru``, ``opposite`` or ``random``.
        seed: for the random policy.
        verify: let an omniscient observer judge every answer.
        functions: Python functions that the sentence may use over its aggregates.
        plot: a picture of the replay is saved here (.png, .svg or .pdf).
        work: a folder to keep the prepared recording in; the next replay of the same files starts from it, without
            Spark.
        config: a configuration, as ``tacit up`` has it: its tables' folders, options, schemas, columns, times and
            sites are those of the replay, and so is its protocol.
        options: options of Spark's reader, as in a table's ``options``: ``{"sep": ";"}``.
        spark: a session to use. Without it one is opened at the first call and kept until the process ends.
        progress: hears (updates done, updates in all) now and then.
    """
    settings = Settings(protocol, step, zone, policy or Settings().policy, seed, verify).checked()
    plan = _the_watch(watch, functions)
    described = None if config is None else load_config(config)
    settings = fitting_settings(plan, live_settings(settings, described))
    check_fit(plan, settings)
    if data is None and described is None:
        raise OptionError("give the data: a path, a table, or a configuration that describes it")
    data = described_data(plan, data, described, options or {}, site)
    folder = None if work is None else check_work(Path(work))
    begin = clock.perf_counter()
    with readable(data) as source:
        place = kept(plan, source, site=site, time=time, work=folder)
        if place is not None:
            recording = load_recorded(place)
        else:
            check_source(data_of_tables(plan, source), site, time)
            session = spark or getattr(source, "sparkSession", None) or spark_room().open_session("tacit replay")
            recording, _ = record(session, plan, source, site=site, time=time, work=folder)
    finished = replay_prepared(plan, recording, clock.perf_counter() - begin, settings, progress)
    if plot is not None:
        from tacit.recording.plots import save_replay_plot
        from tacit.recording.sketch_plot import save_sketch_plot
        from tacit.recording.topk_plot import save_topk_plot

        if isinstance(finished.replay, TopkReplay):
            save_topk_plot(finished.plan, finished.replay, Path(plot))
        elif isinstance(finished.replay, SketchReplay):
            save_sketch_plot(finished.plan, finished.recording, finished.replay, Path(plot))
        else:
            save_replay_plot(finished.plan, finished.recording, finished.replay, Path(plot), settings)
    return finished.replay.report


def read_script(path: Path) -> tuple[WatchPlan, ...]:
    """The watches of a file; OptionError when it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OptionError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise OptionError(f"cannot read {path}: it is not text in UTF-8") from None
    plans = parse(text)
    names: dict[str, str] = {}
    for plan in plans:
        place = file_name(plan.name).casefold()  # files are named after watches, on some systems without case
        if place in names:
            both = plan.name if names[place] == plan.name else f"{names[place]} and {plan.name}"
            raise OptionError(f"{path} holds two watches named {both}; give each its own name")
        names[place] = plan.name
    return plans


@dataclass(frozen=True, slots=True)
class SparkRoom:
    """The functions of the pipelines that need Spark."""

    open_session: Callable[..., Any]
    close_session: Callable[[Any], None]
    prepare: Callable[..., Path]
    find_files: Callable[..., Any]
    parse_site: Callable[[str], Any]
    recorded_files: Callable[..., Any]


def spark_room() -> SparkRoom:
    """The pipelines; MachineError where Spark is not installed."""
    try:
        from tacit.pipelines.files import find_files
        from tacit.pipelines.prepare import prepare
        from tacit.pipelines.recorded_tables import recorded_files
        from tacit.pipelines.session import close_session, open_session
        from tacit.pipelines.sites import parse_site
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise MachineError("Spark is not installed; run: pip install 'tacit[site]'") from error
    return SparkRoom(open_session, close_session, prepare, find_files, parse_site, recorded_files)


def fitting_settings(plan: WatchPlan, settings: Settings) -> Settings:
    """The settings for this watch: what a coordinator is set to is not for all kinds of watches."""
    if isinstance(plan.goal, Top | SketchGoal) and settings.follows:
        return replace(settings, protocol="auto", zone="auto")
    return settings


def check_fit(plan: WatchPlan, settings: Settings) -> None:
    """OptionError when the options are those of another kind of watch."""
    protocol = settings.protocol
    if isinstance(plan.goal, SketchGoal):
        if protocol != "auto":
            raise OptionError(
                f"{plan.name} is kept on sketches, by a protocol of its own; leave --protocol {protocol} out"
            )
        if settings.step == "pane" and odd_panes(plan):
            raise OptionError(
                f"{plan.name} is kept on sketches, which know whole panes, and its window is no whole number of them;"
                " choose an EVERY that divides the window, or --step event"
            )
        if len(plan.keys) > 1 and (plan.window.kind == "rows" or plan.window.every.rows is not None):
            raise OptionError(f"{plan.name} is an inner product, whose windows are of time; write WINDOW LAST 1 HOUR")
        if settings.zone != "auto" and not (settings.zone == "norms" and isinstance(plan.goal, SelfJoin)):
            raise OptionError(f"{plan.name} is kept on sketches, without such zones; leave --zone {settings.zone} out")
        return
    if settings.zone == "norms":
        raise OptionError(f"norms are for sizes of self-joins, and {plan.name} is none; leave --zone norms out")
    if not isinstance(plan.goal, Top):
        if protocol in PEERS:
            raise OptionError(f"{protocol} keeps rankings, and {plan.name} is none; leave --protocol {protocol} out")
        return
    if settings.zone != "auto":
        raise OptionError(f"a ranking has no zones; leave --zone {settings.zone} out")
    if protocol not in ("auto", "coordinator", *PEERS) or (plan.goal.using == "topico" and protocol == "coordinator"):
        raise OptionError(f"{plan.name} is a ranking, which {protocol} does not keep; leave --protocol {protocol} out")
    if protocol in PEERS and (plan.window.kind != "time" or plan.goal.within or plan.goal.ranked is not None):
        raise OptionError(
            f"{protocol} keeps rankings over windows of time, without WITHIN; leave --protocol {protocol} out"
        )


def rule_of(data: Any, site: str | None, time: str | None) -> tuple[str, str]:
    """Which site a row belongs to, and the column of its time: as said, or as the data's configuration has it."""
    described = data if _is_described(data) else None
    rule = site if site is not None or described is None else described.site
    column = time if time is not None or described is None else described.time
    if rule is None:
        raise OptionError("say which site a row belongs to: --site COLUMN, hash:COLUMN:N or round_robin:N")
    if column is None:
        raise OptionError("say which column holds the time of a row: --time COLUMN")
    return rule, column


def check_source(data: Any, site: str | None, time: str | None) -> None:
    """What can be known of data and site before Spark starts: the paths lead to data, the site rule can be read."""
    room = spark_room()
    for each in data.values() if isinstance(data, Mapping) else [data]:
        room.parse_site(rule_of(each, site, time)[0])
        if isinstance(each, (str, Path, list, tuple)):
            room.find_files(each)
        elif _is_described(each):
            room.recorded_files(each)


def _is_described(data: Any) -> bool:
    """Is it a table of a configuration, or one that is read with options?"""
    return type(data).__name__ == "RecordedTable" and type(data).__module__ == "tacit.pipelines.recorded_tables"


@contextmanager
def readable(data: Any) -> Iterator[Any]:
    """The data as the pipelines read it; tables in memory become a Parquet file for as long as they are needed."""
    if isinstance(data, (str, Path)) or _is_spark(data) or _is_described(data):
        yield data
        return
    if isinstance(data, Mapping):
        with ExitStack() as stack:
            yield {table: stack.enter_context(readable(each)) for table, each in data.items()}
        return
    if isinstance(data, Sequence):
        yield list(data)
        return
    table = data if isinstance(data, pa.Table) else _from_pandas(data)
    if table.num_rows == 0:
        raise DataError("the data has no rows")
    with tempfile.TemporaryDirectory(prefix="tacit-data-") as folder:
        path = Path(folder) / "data.parquet"
        pq.write_table(table, path)
        yield path


def check_work(work: Path) -> Path:
    """The folder to keep recordings in; OptionError where there is something else."""
    if work.exists() and not work.is_dir():
        raise OptionError(f"{work} is not a folder, so no recording can be kept there")
    return work


def kept(plan: WatchPlan, data: Any, *, site: str | None, time: str | None, work: Path | None) -> Path | None:
    """Where ``work`` holds the recording that the watch needs of the data as it is now; None where it does not.

    Data that is not in files has no identity that outlives it, so its recordings are never found again.
    """
    plans, found = recorded_plans(plan), data_of_tables(plan, data)
    if work is None or not all(
        isinstance(each, (str, Path, list, tuple)) or _is_described(each) for each in found.values()
    ):
        return None
    from tacit.pipelines.fingerprint import is_prepared

    place = work / file_name(plan.name)
    for part, folder in zip(plans, part_folders(place, len(plans)), strict=True):
        rule, column = rule_of(found[part.table], site, time)
        if not is_prepared(part, found[part.table], site=rule, time=column, folder=folder):
            return None
    return place


@contextmanager
def prepared(
    spark: Any, plan: WatchPlan, data: Any, *, site: str | None, time: str | None, work: Path | None = None
) -> Iterator[Path]:
    """The folder with the prepared recording of the data that the watch needs; ``load_recorded`` reads it.

    With ``work`` it stays, under the watch's name there; otherwise nothing is left behind.
    """
    plans, found = recorded_plans(plan), data_of_tables(plan, data)
    with work_folder(work) as folder:
        place = folder / file_name(plan.name)
        for part, where in zip(plans, part_folders(place, len(plans)), strict=True):
            rule, column = rule_of(found[part.table], site, time)
            spark_room().prepare(spark, part, found[part.table], site=rule, time=column, folder=where)
        yield place


def record(
    spark: Any, plan: WatchPlan, data: Any, *, site: str | None, time: str | None, work: Path | None = None
) -> tuple[Recording, float]:
    """The recording of the data that the watch needs, in memory, and the seconds that took."""
    begin = clock.perf_counter()
    with prepared(spark, plan, data, site=site, time=time, work=work) as folder:
        recording = load_recorded(folder)
    return recording, clock.perf_counter() - begin


def file_name(watch: str) -> str:
    """The name of a watch as part of a file's name.

    >>> file_name("so2 / no2")
    'so2___no2'
    """
    return re.sub(r"[^\w.-]", "_", watch)


def replay_prepared(
    plan: WatchPlan,
    recording: Recording,
    prepare_seconds: float,
    settings: Settings,
    progress: Progress | None = None,
) -> Run:
    """Replay a watch over its recording."""
    check_fit(plan, settings)
    if isinstance(plan.goal, SketchGoal):
        sketched = replay_sketch(
            plan, recording, step=settings.step, zone=settings.zone, verify=settings.verify,
            prepare_seconds=prepare_seconds, progress=progress,
        )  # fmt: skip
        return Run(plan, recording, sketched)
    if isinstance(plan.goal, Top) and (plan.goal.using == "topico" or settings.protocol in PEERS):
        return Run(plan, recording, _among_peers(plan, recording, prepare_seconds, settings, progress))
    if isinstance(plan.goal, Top):
        ranked = replay_topk(
            plan, recording, step=settings.step, verify=settings.verify, prepare_seconds=prepare_seconds,
            progress=progress,
        )  # fmt: skip
        return Run(plan, recording, ranked)
    finished = replay_recording(
        plan, recording, protocol=settings.protocol, step=settings.step, zone=settings.zone, policy=settings.policy,
        seed=settings.seed, verify=settings.verify, prepare_seconds=prepare_seconds, progress=progress,
    )  # fmt: skip
    return Run(plan, recording, finished)


def _among_peers(
    plan: WatchPlan, recording: Recording, prepare_seconds: float, settings: Settings, progress: Progress | None
) -> TopkReplay:
    """A ranking without a coordinator; its step is the period."""
    gossip = GOSSIP if settings.protocol == "gossip" else 0
    return replay_topico(
        plan, recording, gossip=gossip, seed=settings.seed, verify=settings.verify, prepare_seconds=prepare_seconds,
        progress=progress,
    )  # fmt: skip


@contextmanager
def work_folder(work: Path | None) -> Iterator[Path]:
    """The folder to keep recordings in, or one that goes away at the end."""
    if work is not None:
        yield work
        return
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        yield Path(folder)


def _the_watch(watch: str | Path | WatchPlan, functions: Mapping[str, PythonFunction] | None) -> WatchPlan:
    if isinstance(watch, WatchPlan):
        return watch
    if isinstance(watch, Path) or (watch.endswith(".sql") and "\n" not in watch):
        path = Path(watch)
        try:
            watch = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
            raise OptionError(f"cannot read {path}: {reason.lower()}") from None
    return parse_watch(watch, functions=functions)


def _is_spark(data: Any) -> bool:
    return type(data).__module__.startswith("pyspark.")


def _from_pandas(data: Any) -> pa.Table:
    if not type(data).__module__.startswith("pandas."):
        raise OptionError(
            f"data is a {type(data).__name__}; give a path, a Spark or pandas DataFrame, or a PyArrow table"
        )
    try:
        return pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the DataFrame does not fit into columns: {str(error).splitlines()[0]}") from None
