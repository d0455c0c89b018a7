"""``tacit replay``: a watch over recorded data, every message counted, every answer judged if asked for.

``tacit replay sweep`` is registered beside it; anything else after ``replay`` belongs to the plain command.
"""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from tacit.cli.work import Bar
    from tacit.language.plan import WatchPlan
    from tacit.recording.run import Run
    from tacit.recording.settings import Settings

__all__ = ["register"]

PLAIN = "file"
MORE = "Many replays at once: tacit replay sweep --help"
PLOT_KINDS = (".png", ".svg", ".pdf")


class _ReplayGroup(TyperGroup):
    """A group whose plain command needs no name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = [PLAIN, *args]
        return super().parse_args(ctx, args)


class _PlainCommand(TyperCommand):
    """Its usage line is the group's."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if parent is not None and info_name == PLAIN:
            info_name, parent = parent.info_name, parent.parent
        return super().make_context(info_name, args, parent=parent, **extra)


def register(app: typer.Typer) -> None:
    """Add ``replay`` and ``replay sweep`` to the application."""
    from tacit.cli.sweep import register_sweep

    group = typer.Typer(cls=_ReplayGroup, help="Replay watches over recorded data and count every message.")
    group.command(PLAIN, cls=_PlainCommand, hidden=True, epilog=MORE)(_replay)
    register_sweep(group)
    app.add_typer(group, name="replay")


def _replay(
    watch: Path = typer.Argument(..., metavar="WATCH.sql", help="A file with one or several CREATE WATCH sentences."),
    data: list[str] = typer.Option(
        [],
        "--data",
        metavar="PATH",
        help="Parquet, CSV or JSON: a file, folder or glob; of two tables TABLE=PATH each.",
    ),
    site: str | None = typer.Option(None, "--site", metavar="RULE", help="COLUMN, hash:COLUMN:N or round_robin:N."),
    time: str | None = typer.Option(
        None, "--time", metavar="COLUMN", help="When a row happened (numbers: seconds; else UTC)."
    ),
    config: Path | None = typer.Option(
        None, metavar="FILE", help="A tacit.toml: its tables' folders, options, times and sites; its protocol."
    ),
    option: list[str] = typer.Option([], "--option", metavar="NAME=VALUE", help="Of Spark's reader, such as sep=;"),
    step: str = typer.Option("event", help="Check after every event or after every pane."),
    protocol: str = typer.Option(
        "auto",
        help="auto: as live; or coordinator, recentre, cheaper (of these two), broadcast. Rankings: topico, gossip.",
    ),
    zone: str = typer.Option(
        "auto", help="auto: the best of ball, halfspace, region and curvature. Self-joins: norms."
    ),
    policy: str = typer.Option("lru", help="In which order the coordinator asks: lru, random or opposite."),
    seed: int = typer.Option(0, help="For the random policy."),
    verify: bool = typer.Option(False, "--verify", help="Let an omniscient observer judge every answer."),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Save a picture (.png, .svg or .pdf)."),
    work: Path | None = typer.Option(None, metavar="FOLDER", help="Keep the prepared recording here for reuse."),
    json_: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Replay the watches of a file over recorded data: their answers, their alerts, and every message they cost."""
    from tacit.cli.show import print_run
    from tacit.cli.work import as_json, orderly_end, output, progress
    from tacit.recording.configured import described_data, live_settings, read_options
    from tacit.recording.run import check_fit, check_work, fitting_settings, read_script, work_folder
    from tacit.recording.settings import Settings

    described = described_replay(data, site, time, config)
    options = read_options(option)
    settings = live_settings(Settings(protocol, step, zone, policy, seed, verify).checked(), described)
    plans = read_script(watch)
    for plan in plans:
        check_fit(plan, fitting_settings(plan, settings))
    sources = [described_data(plan, data or None, described, options, site) for plan in plans]
    work = None if work is None else check_work(work)
    pictures = plot_paths(plot, [plan.name for plan in plans])
    console = output()
    results = []
    with orderly_end(), work_folder(work) as folder, progress() as bar:
        places = _prepare(plans, sources, site, time, folder, bar)
        for plan, place, picture in zip(plans, places, pictures, strict=True):
            run, story = _one(plan, *place, fitting_settings(plan, settings), bar)
            if picture is not None:
                bar.say(f"{plan.name}: drawing")
                _draw(run, picture, settings)
            results.append({**run.replay.report.as_dict(), **story})
            if not json_:
                _print_story(console, story)
                print_run(console, run)
    if json_:
        typer.echo(as_json(results[0] if len(results) == 1 else results))


def plot_paths(plot: Path | None, watches: list[str]) -> list[Path | None]:
    """Where each watch's picture goes: several watches get their names into the file's name."""
    from tacit.recording.run import file_name
    from tacit.vocabulary.errors import OptionError

    if plot is None:
        return [None] * len(watches)
    if plot.suffix.lower() not in PLOT_KINDS:
        raise OptionError(f"--plot {plot}: the name must end in {', '.join(PLOT_KINDS[:-1])} or {PLOT_KINDS[-1]}")
    if not plot.parent.is_dir():
        raise OptionError(f"--plot {plot}: there is no folder {plot.parent}")
    if len(watches) == 1:
        return [plot]
    return [plot.with_name(f"{plot.stem}-{file_name(name)}{plot.suffix}") for name in watches]


def described_replay(data: list[str], site: str | None, time: str | None, config: Path | None) -> Any:
    """The configuration that describes the data, if one is named; without one all of it must be said."""
    from tacit.runtime.config import load_config
    from tacit.vocabulary.errors import OptionError

    if config is not None:
        return load_config(config)
    for name, value in (("--data", data), ("--site", site), ("--time", time)):
        if value is None or value == []:
            raise OptionError(f"missing option '{name}'; or name a configuration that describes the data with --config")
    return None


def _prepare(
    plans: tuple[WatchPlan, ...], sources: list[Any], site: str | None, time: str | None, folder: Path, bar: Bar
) -> list[tuple[Path, float]]:
    """Where each watch's recording is, and the seconds it took to get there.

    Spark is started only for recordings that are not there yet, and has ended when the first replay begins: what it
    holds is then free, and a replay has the machine to itself.
    """
    from tacit.cli.work import spark_session
    from tacit.recording.run import check_source, kept, prepared
    from tacit.recording.sides import data_of_tables

    pairs = list(zip(plans, sources, strict=True))
    found = {plan.name: kept(plan, data, site=site, time=time, work=folder) for plan, data in pairs}
    took = dict.fromkeys(found, 0.0)
    missing = [(plan, data) for plan, data in pairs if found[plan.name] is None]
    if missing:
        for plan, data in missing:
            check_source(data_of_tables(plan, data), site, time)
        bar.say("starting Spark")
        with spark_session("tacit replay") as spark:
            for plan, data in missing:
                bar.say(f"{plan.name}: reading")
                begin = clock.perf_counter()
                with prepared(spark, plan, data, site=site, time=time, work=folder) as place:
                    found[plan.name] = place
                took[plan.name] = clock.perf_counter() - begin
    return [(place, took[name]) for name, place in found.items() if place is not None]


def _one(plan: WatchPlan, place: Path, seconds: float, settings: Settings, bar: Bar) -> tuple[Run, dict[str, Any]]:
    """One watch: loaded, explained if it was asked to be, replayed."""
    from tacit.recording.run import replay_prepared
    from tacit.recording.sides import load_recorded

    begin = clock.perf_counter()
    recording = load_recorded(place)
    seconds += clock.perf_counter() - begin
    story = _explained(plan, recording, settings.step) if plan.explain else {}
    return replay_prepared(plan, recording, seconds, settings, bar.measured(f"{plan.name}: replaying")), story


def _explained(plan: WatchPlan, recording: Any, step: str) -> dict[str, Any]:
    from tacit.functions.goals import SketchGoal, Top
    from tacit.language.explain import describe, explain_text
    from tacit.recording.prediction import predict

    if isinstance(plan.goal, Top | SketchGoal):
        return {"explain": {**describe(plan), "text": explain_text(plan)}}
    prediction = predict(plan, recording, step=step)
    text = f"{explain_text(plan)}\n{prediction.text()}"
    return {"explain": {**describe(plan), "predicted": prediction.as_dict(), "text": text}}


def _print_story(console: Any, story: dict[str, Any]) -> None:
    if "explain" in story:
        console.print(story["explain"]["text"], markup=False)
        console.print("what the replay then cost:\n", markup=False)


def _draw(run: Run, picture: Path, settings: Settings) -> None:
    from tacit.recording.plots import save_replay_plot
    from tacit.recording.sketch_plot import save_sketch_plot
    from tacit.recording.sketch_replay import SketchReplay
    from tacit.recording.topk_plot import save_topk_plot
    from tacit.recording.topk_replay import TopkReplay

    if isinstance(run.replay, TopkReplay):
        save_topk_plot(run.plan, run.replay, picture)
        return
    if isinstance(run.replay, SketchReplay):
        save_sketch_plot(run.plan, run.recording, run.replay, picture)
        return
    save_replay_plot(run.plan, run.recording, run.replay, picture, settings)
