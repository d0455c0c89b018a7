"""``tacit replay sweep``: one watch replayed with many settings as Spark tasks; a table and a plot come of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from tacit.recording.vary import Variation

__all__ = ["register_sweep"]

SHOWN = ("messages", "pane_messages", "centralised_messages", "violations", "alerts", "missed", "spurious")
ROWS_SHOWN = 60


def register_sweep(group: typer.Typer) -> None:
    """Add ``sweep`` to the group of ``replay``."""
    group.command("sweep")(_sweep)


def _sweep(
    watch: Path = typer.Argument(..., metavar="WATCH.sql", help="A file with one CREATE WATCH sentence."),
    data: list[str] = typer.Option([], "--data", metavar="PATH", help="Parquet, CSV or JSON: a file, folder or glob."),
    site: str | None = typer.Option(None, "--site", metavar="RULE", help="COLUMN, hash:COLUMN:N or round_robin:N."),
    time: str | None = typer.Option(
        None, "--time", metavar="COLUMN", help="When a row happened (numbers: seconds; else UTC)."
    ),
    config: Path | None = typer.Option(
        None, metavar="FILE", help="A tacit.toml: its tables' folders, options, times and sites; its protocol."
    ),
    option: list[str] = typer.Option([], "--option", metavar="NAME=VALUE", help="Of Spark's reader, such as sep=;"),
    vary: list[str] = typer.Option(
        ..., "--vary", metavar="NAME=VALUES",
        help="NAME=v1,v2,… or NAME=first:last:count. NAME is threshold, margin, within, window (500 or 1h), sites, "
        "groups, protocol, policy, step or seed; several --vary are combined.",
    ),
    out: Path = typer.Option(..., "--out", metavar="FOLDER", help="sweep.csv, sweep.parquet and sweep.png go here."),
    step: str = typer.Option("event", help="Check after every event or after every pane."),
    protocol: str = typer.Option("auto", help="auto: as live; coordinator, recentre, cheaper (of these), broadcast."),
    zone: str = typer.Option("auto", help="auto: the best of ball, halfspace, region and curvature."),
    policy: str = typer.Option("lru", help="In which order the coordinator asks: lru, random or opposite."),
    seed: int = typer.Option(0, help="For the random policy, and for drawing groups."),
    verify: bool = typer.Option(False, "--verify", help="Let an omniscient observer judge every answer."),
    work: Path | None = typer.Option(None, metavar="FOLDER", help="Keep the prepared recording here for reuse."),
    json_: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:  # fmt: skip
    """Replay one watch with every combination of the values: what does each setting cost?"""
    from tacit.cli.replay import described_replay
    from tacit.cli.work import as_json, output, progress, spark_session
    from tacit.pipelines.parallel import run_tasks
    from tacit.recording.configured import described_data, live_settings, read_options
    from tacit.recording.run import check_source, check_work, fitting_settings, prepared, read_script
    from tacit.recording.settings import Settings
    from tacit.recording.sides import data_of_tables, load_recorded
    from tacit.recording.sweep import check_jobs, jobs_of, run_job
    from tacit.recording.vary import read_variation
    from tacit.vocabulary.errors import OptionError

    described = described_replay(data, site, time, config)
    options = read_options(option)
    settings = live_settings(Settings(protocol, step, zone, policy, seed, verify).checked(), described)
    plans = read_script(watch)
    if len(plans) > 1:
        raise OptionError(f"{watch} holds {len(plans)} watches; a sweep varies one")
    settings = fitting_settings(plans[0], settings)
    source = described_data(plans[0], data or None, described, options, site)
    variations = [read_variation(text) for text in vary]
    jobs = jobs_of(plans[0], variations, settings, Path(), draw_seed=seed)
    check_source(data_of_tables(plans[0], source), site, time)
    work = None if work is None else check_work(work)
    if out.exists() and not out.is_dir():
        raise OptionError(f"--out {out} is not a folder")
    with progress() as bar:
        bar.say("starting Spark")
        with spark_session("tacit replay sweep") as spark:
            bar.say(f"{plans[0].name}: reading")
            with prepared(spark, plans[0], source, site=site, time=time, work=work) as folder:
                check_jobs(jobs, load_recorded(folder))
                placed = [replace(job, folder=folder.resolve()) for job in jobs]
                with bar.tasks_of(spark, f"{plans[0].name}: {len(jobs)} replays", len(jobs)):
                    rows = run_tasks(spark, run_job, placed)
    saved = _save(rows, variations, plans[0].name, out)
    if json_:
        typer.echo(as_json(rows))
        return
    console = output()
    _print(console, rows, variations)
    console.print("saved " + ", ".join(str(path) for path in saved), highlight=False, soft_wrap=True)


def _save(rows: list[dict[str, Any]], variations: list[Variation], watch: str, out: Path) -> list[Path]:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    from tacit.recording.sweep_plot import save_sweep_plot

    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"sweep.{kind}" for kind in ("csv", "parquet", "png")]
    table = pa.Table.from_pylist(rows)
    pc.write_csv(table, paths[0])
    pq.write_table(table, paths[1])
    save_sweep_plot(rows, variations, watch, paths[2])
    return paths


def _print(console: Any, rows: list[dict[str, Any]], variations: list[Variation]) -> None:
    from tacit.cli.show import table_of
    from tacit.cli.work import show

    show(console, table_of(rows[:ROWS_SHOWN], [*(each.name for each in variations), *SHOWN]))
    if len(rows) > ROWS_SHOWN:
        console.print(f"and {len(rows) - ROWS_SHOWN:,} more rows in the saved table")
