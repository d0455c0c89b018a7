"""What the benchmarks share: options, data (real where there is some, else generated), tables and figures."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from rich.console import Console
from rich.table import Table

from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.pipelines.session import close_session, open_session
from tacit.recording.stream import Recording, load
from tacit.vocabulary import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["COLOURS", "Source", "Workbench", "figure", "parser", "save", "show"]

# Okabe and Ito's colours: told apart also by readers who do not see red and green alike.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of data: the file that real rows are in, who generates such rows, and how they are split."""

    file: str
    generate: Callable[[SparkSession, bool], DataFrame]
    site: str
    time: str


def _air(spark: SparkSession, quick: bool) -> DataFrame:
    from tacit.pipelines.generate import air_quality

    return air_quality(spark, stations=12, hours=4_000 if quick else 35_064)


def _web(spark: SparkSession, quick: bool) -> DataFrame:
    from tacit.pipelines.generate import web_requests

    return web_requests(spark, rows=20_000 if quick else 200_000)


def _news(spark: SparkSession, quick: bool) -> DataFrame:
    from tacit.pipelines.news import news

    return news(spark, docs=4_000, terms=2_000) if quick else news(spark)


def _sensors(spark: SparkSession, quick: bool) -> DataFrame:
    from tacit.pipelines.generate import sensors

    return sensors(spark, rows=20_000 if quick else 200_000)


SOURCES = {
    "air": Source("beijing_air.parquet", _air, "station", "ts"),
    "web": Source("worldcup98_sample.parquet", _web, "hash:client:12", "ts"),
    "news": Source("reuters21578_terms.parquet", _news, "round_robin:10", "ts"),
    "sensors": Source("", _sensors, "sensor", "ts"),
}


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """The options every benchmark has."""
    options = argparse.ArgumentParser(prog=f"tacit bench {name}", description=description)
    options.add_argument(
        "--data-dir", default=os.environ.get("TACIT_DATA"), metavar="FOLDER",
        help="folder with the real data (default: the environment's TACIT_DATA; generated data where there is none)",
    )  # fmt: skip
    options.add_argument("--out", default="bench-output", metavar="FOLDER", help="where plots and tables are saved")
    options.add_argument("--work", metavar="FOLDER", help="keep prepared recordings here for the next run")
    options.add_argument("--quick", action="store_true", help="a smaller run of about a minute")
    return options


class Workbench:
    """Prepares recordings with Spark, once each; Spark starts when first needed and ends with the block.

    ``with Workbench(options) as bench: plan, recording = bench.recording(sentence, "air")``
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.out = Path(options.out)
        self._kept = options.work is not None
        self._folder = Path(options.work or tempfile.mkdtemp(prefix="tacit-bench-"))
        self._spark: SparkSession | None = None
        self._frames: dict[str, DataFrame] = {}
        self._loaded: dict[tuple[object, ...], Recording] = {}

    def __enter__(self) -> Workbench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_spark()
        if not self._kept:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def spark(self) -> SparkSession:
        """The one session of the benchmark."""
        if self._spark is None:
            self._spark = open_session("tacit bench")
        return self._spark

    def close_spark(self) -> None:
        """End Spark, so that what is measured next has the machine to itself."""
        if self._spark is not None:
            close_session(self._spark)
            self._spark = None
            self._frames.clear()

    def real(self, source: str) -> Path | None:
        """The file of real data, if there is one."""
        if self.options.data_dir is None or not SOURCES[source].file:
            return None
        file = Path(self.options.data_dir) / SOURCES[source].file
        if not Path(self.options.data_dir).is_dir():
            raise OptionError(f"the data folder {self.options.data_dir} does not exist")
        return file if file.exists() else None

    def kind(self, source: str) -> str:
        """The name of the data, for titles: real data by its file, generated data as such."""
        file = self.real(source)
        return file.stem if file is not None else f"generated {source}"

    def recording(
        self,
        sentence: str | WatchPlan,
        source: str,
        *,
        site: str | None = None,
        parts: Callable[[Any], Any] | None = None,
    ) -> tuple[WatchPlan, Recording]:
        """The plan and the rows it needs. ``parts`` narrows the data first (a DataFrame to a DataFrame)."""
        plan = parse_watch(sentence) if isinstance(sentence, str) else sentence
        where = site or SOURCES[source].site
        key = (plan.statistics, plan.centres, plan.where, plan.grouping, source, where)
        if parts is not None or key not in self._loaded:
            self._loaded[key] = self._prepare(plan, source, where, parts)
        return plan, self._loaded[key]

    def _prepare(self, plan: WatchPlan, source: str, site: str, parts: Callable[[Any], Any] | None) -> Recording:
        from tacit.pipelines.files import find_files
        from tacit.pipelines.fingerprint import fingerprint
        from tacit.pipelines.prepare import prepare
        from tacit.pipelines.sources import read_data

        chosen, file = SOURCES[source], self.real(source)
        if file is not None and parts is None:
            mark = fingerprint(plan, [each.path for each in find_files(file)], site=site, time=chosen.time)
            folder = self._folder / f"{source}-{mark[:16]}"
            if not folder.exists():
                prepare(self.spark, plan, file, site=site, time=chosen.time, folder=folder)
            return load(folder)
        if source not in self._frames:
            made = read_data(self.spark, file) if file is not None else chosen.generate(self.spark, self.options.quick)
            self._frames[source] = made.cache()
        frame = self._frames[source] if parts is None else parts(self._frames[source])
        folder = Path(tempfile.mkdtemp(prefix=f"{source}-", dir=self._folder))
        try:
            return load(prepare(self.spark, plan, frame, site=site, time=chosen.time, folder=folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; whole numbers with thousands, fractions with three digits."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(_text, row))
    Console(width=None if os.isatty(1) else 160).print(table)


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "-" if value is None else ("yes" if value else "no")
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.3g}" if isinstance(value, float) else str(value)


def figure(columns: int = 1, rows: int = 1, *, width: float = 5.2, height: float = 3.8) -> tuple[Figure, Any]:
    """A figure with plain, readable axes; ``axes`` is always two-dimensional."""
    made, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
    )
    for each in axes.flat:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(True, color="#dddddd", linewidth=0.6)
        each.set_axisbelow(True)
        each.set_prop_cycle(color=list(COLOURS))
    return made, axes


def save(made: Figure, folder: Path, name: str) -> Path:
    """Write the figure as PNG and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    made.savefig(path, dpi=130)
    plt.close(made)
    print(f"saved {path}")
    return path
