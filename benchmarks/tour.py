"""Watches of several shapes replayed over generated data of several kinds, each answer judged and drawn.

Nothing is read but what is generated here from a seed; the tables are shown and the pictures saved.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import parser

if TYPE_CHECKING:
    from tacit.recording.run import Run

DESCRIPTION = "a tour: watches of several shapes over generated data, each answer judged, with pictures"
SECONDS = 60
CHOSEN = "The watches were chosen by hand to show their kinds; what silence saves in general: the other benchmarks"
SITES_OF = {"air": "station", "requests": "server", "readings": "sensor", "news": "round_robin:8"}


def main(arguments: list[str]) -> int:
    """Print a table per watch and save its picture; 1 if any answer was wrong."""
    options = parser("tour", DESCRIPTION)
    options.add_argument("--seconds", type=int, default=SECONDS, help="about how long it may take; data follows")
    chosen = options.parse_args(arguments)
    seconds, out = chosen.seconds, Path(chosen.out)
    from tacit.cli.show import print_run
    from tacit.cli.work import output, progress, spark_session
    from tacit.language import parse
    from tacit.recording.plots import save_replay_plot
    from tacit.recording.run import file_name, record, replay_prepared
    from tacit.recording.settings import Settings
    from tacit.vocabulary.errors import OptionError

    if out.exists() and not out.is_dir():
        raise OptionError(f"--out {out} is not a folder")
    text = Path(__file__).with_name("tour.sql").read_text(encoding="utf-8")
    settings = Settings(step="pane", verify=True)  # as a live watch is checked
    console = output()
    runs: list[Run] = []
    with progress() as bar:
        bar.say("starting Spark")
        with spark_session("tacit bench tour") as spark:
            for plan in parse(text):
                bar.say(f"{plan.name}: generating {plan.table}")
                frame = _generated(spark, plan.table, seconds / SECONDS)
                recording, took = record(spark, plan, frame, site=SITES_OF[plan.table], time="ts")
                run = replay_prepared(plan, recording, took, settings, bar.measured(f"{plan.name}: replaying"))
                bar.say(f"{plan.name}: drawing")
                out.mkdir(parents=True, exist_ok=True)
                save_replay_plot(plan, recording, run.replay, out / f"{file_name(plan.name)}.png", settings)
                runs.append(run)
                print_run(console, run)
    reports = [run.replay.report for run in runs]
    right = all(report.missed == 0 and report.spurious == 0 for report in reports)
    _print_all(console, runs)
    console.print(CHOSEN, soft_wrap=True)
    console.print(f"pictures in {out}", soft_wrap=True)
    return 0 if right else 1


def _generated(spark: Any, table: str, scale: float) -> Any:
    from tacit.pipelines.generate import air_quality, sensors, web_requests
    from tacit.pipelines.news import news

    match table:
        case "air":
            return air_quality(spark, stations=12, hours=max(1_000, int(24 * 365 * scale)))
        case "requests":
            return web_requests(spark, rows=max(5_000, int(60_000 * scale)), sites=8)
        case "readings":
            return sensors(spark, rows=max(5_000, int(60_000 * scale)), sites=10)
    return news(spark, docs=max(3_000, int(12_000 * scale)), terms=1_000)


def _print_all(console: Any, runs: list[Run]) -> None:
    from tacit.cli.show import ratio_text, table_of
    from tacit.cli.work import show

    rows = []
    for run in runs:
        report = run.replay.report
        total = report.messages["total"]
        rows.append(
            {
                "watch": report.watch,
                "events": report.updates,
                "sites": report.sites,
                "groups": report.groups or 1,
                "messages": report.messages["total"],
                "panes / tacit": ratio_text(report.pane_shipping["messages"], total),
                "events / tacit": ratio_text(report.centralised["messages"], total),
                "alerts": len(report.alerts),
                "wrong": (report.missed or 0) + (report.spurious or 0),
            }
        )
    show(console, table_of(rows, rows[0]))
