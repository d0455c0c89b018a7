"""``tacit replay`` end to end: what a user sees, programs read, and files keep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tacit as tacit_room
from tacit.language import parse_watch
from tacit.language.shape import protocol_for
from tacit.pipelines import session
from tacit.recording import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM t WINDOW LAST 100 ROWS EVERY 10 ROWS ALERT WHEN m > 10 MARGIN 0.2"
KEYS = {
    "watch", "protocol", "zone", "sites", "updates", "panes", "messages", "bytes", "centralised", "pane_shipping",
    "violations", "full_syncs", "alerts", "seconds", "heartbeats", "notes",
}  # fmt: skip
VERIFIED = {"crossings", "missed", "spurious", "max_error", "max_error_of"}
Tacit = Callable[..., Any]
Sentence = Callable[[str], Path]

pytestmark = pytest.mark.usefixtures("spark")


def test_json_has_the_documented_keys(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    done = tacit("replay", sentence(HOT), *where, "--verify", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert set(report) >= KEYS | VERIFIED
    assert set(report["messages"]) == {"total", "by_kind"}
    assert set(report["centralised"]) == set(report["pane_shipping"]) == {"messages", "bytes"}
    assert set(report["seconds"]) == {"prepare", "replay"}
    assert report["messages"]["total"] == sum(report["messages"]["by_kind"].values())
    assert (report["watch"], report["sites"], report["updates"]) == ("hot", 3, 900)
    assert (report["missed"], report["spurious"]) == (0, 0)
    assert report["max_error"] <= 0.2
    assert [alert["side"] for alert in report["alerts"]][:2] == ["above", "below"]
    assert report["alerts"][0]["at"].startswith("2023-11-14T22:")
    assert report["centralised"]["messages"] == 900
    assert report["pane_shipping"]["messages"] == 90


def test_without_verify_the_observer_says_nothing(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    report = json.loads(tacit("replay", sentence(HOT), *where, "--json").out)
    assert not VERIFIED & set(report)


def test_people_read_the_answer_the_cost_and_the_verdict(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    done = tacit("replay", sentence(HOT), *where, "--protocol", "coordinator", "--verify")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert not any(line.endswith(" ") for line in done.out.splitlines())
    for words in (
        "hot  m > 10 margin 0.2",
        "not met at the end",
        "900 events at 3 sites, 2023-11-14 22:13:20 to 2023-11-15 00:43:10",
        "shipping every pane",
        "sending every event",
        "× as many",
        "full synchronisations",
        "every answer was right at every step (0 missed, 0 spurious",
        "seconds",
    ):
        assert words in done.out


@pytest.mark.parametrize("protocol", ["broadcast", "decentralised"])
def test_the_other_protocol_and_the_other_step(
    tacit: Tacit, sentence: Sentence, where: list[str], protocol: str
) -> None:
    done = tacit("replay", sentence(HOT), *where, "--protocol", protocol, "--step", "pane", "--verify", "--json")
    report = json.loads(done.out)
    assert (report["protocol"], report["step"], report["missed"], report["spurious"]) == ("broadcast", "pane", 0, 0)
    assert set(report["messages"]["by_kind"]) <= {"init", "broadcast"}


def test_recentring_and_the_choice_of_a_protocol(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    track = "CREATE WATCH level AS SELECT AVG(x) AS m FROM t WINDOW LAST 100 ROWS TRACK m WITHIN 0.5"
    costs = {}
    for protocol in ("coordinator", "recentre", "cheaper"):
        done = tacit("replay", sentence(track), *where, "--protocol", protocol, "--verify", "--json")
        report = json.loads(done.out)
        assert (report["missed"], report["spurious"]) == (0, 0)
        assert report["max_error"] <= 0.5
        costs[protocol] = report["messages"]["total"]
        assert protocol == "cheaper" or report["protocol"] == protocol
    assert costs["cheaper"] == min(costs.values())
    assert "new zones for all" in tacit("replay", sentence(track), *where, "--protocol", "recentre").out


def test_the_protocol_is_that_of_a_live_watch_unless_another_is_asked_for(
    tacit: Tacit, sentence: Sentence, where: list[str]
) -> None:
    """On these readings recentring is the cheaper one for the condition, and live it is balanced all the same."""
    spread = "CREATE WATCH spread AS SELECT STDDEV(x) AS s FROM t WINDOW LAST 50 ROWS ALERT WHEN s > 1.4"
    track = "CREATE WATCH level AS SELECT AVG(x) AS m FROM t WINDOW LAST 100 ROWS TRACK m WITHIN 0.5"
    told = {}
    for text, protocol in ((spread, "cheaper"), (spread, "auto"), (track, "auto")):
        report = json.loads(tacit("replay", sentence(text), *where, "--protocol", protocol, "--json").out)
        told[report["watch"], protocol] = report["protocol"]
        assert "auto" not in protocol or protocol_for(parse_watch(text), "auto") == report["protocol"]
    assert told == {("spread", "cheaper"): "recentre", ("spread", "auto"): "coordinator", ("level", "auto"): "recentre"}


def test_more_statistics_than_sites_can_recentre(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    total = " + ".join(f"AVG(x + {k} * y)" for k in range(25))
    text = f"CREATE WATCH many AS SELECT {total} AS s FROM t WINDOW LAST 100 ROWS TRACK s WITHIN 40"
    for protocol in ("auto", "recentre", "cheaper"):
        done = tacit("replay", sentence(text), *where, "--protocol", protocol, "--verify", "--json")
        report = json.loads(done.out)
        assert (report["protocol"], report["missed"], report["spurious"]) == ("coordinator", 0, 0)


def test_the_report_says_which_zone_was_used(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    told = tacit("replay", sentence(HOT), *where, "--protocol", "coordinator", "--zone", "auto", "--json").out
    assert json.loads(told)["zone"] == "halfspace, ball"
    assert "zones: ball" in tacit("replay", sentence(HOT), *where, "--zone", "ball").out


def test_several_watches_in_a_file(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    script = sentence(f"{HOT};\n-- the second\nCREATE WATCH spread AS SELECT STDDEV(y) AS s FROM t TRACK s WITHIN 0.5;")
    done = tacit("replay", script, *where, "--json", "--plot", tmp_path / "seen.png")
    reports = json.loads(done.out)
    assert [report["watch"] for report in reports] == ["hot", "spread"]
    assert "side" not in reports[1]["alerts"][0]
    pictures = sorted(tmp_path.glob("*.png"))
    assert [path.name for path in pictures] == ["seen-hot.png", "seen-spread.png"]
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_a_grouped_watch_and_its_picture(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    text = (
        "CREATE WATCH each AS SELECT label, AVG(x) AS m FROM t WINDOW LAST 20 MINUTES GROUP BY label ALERT WHEN m > 10"
    )
    done = tacit("replay", sentence(text), *where, "--verify", "--plot", tmp_path / "each.svg")
    assert done.code == 0
    assert "of 4 groups at the end" in done.out
    assert "kind 2" in done.out
    assert "0 missed, 0 spurious" in done.out
    assert "<svg" in (tmp_path / "each.svg").read_text()


def test_explain_says_what_was_predicted_beside_what_it_cost(
    tacit: Tacit, sentence: Sentence, where: list[str]
) -> None:
    script = sentence(HOT.replace("CREATE WATCH", "EXPLAIN WATCH"))
    done = tacit("replay", script, *where)
    assert done.out.index("watch hot on t") < done.out.index("predicted") < done.out.index("what the replay then cost")
    assert "explain" in json.loads(tacit("replay", script, *where, "--json").out)


def test_a_file_that_starts_with_a_byte_order_mark(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    assert tacit("replay", sentence("\ufeff" + HOT), *where).code == 0


def test_work_keeps_the_prepared_recording(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    work = tmp_path / "kept"
    first = json.loads(tacit("replay", sentence(HOT), *where, "--work", work, "--json").out)
    written = (work / "hot" / "meta.json").stat().st_mtime_ns
    again = json.loads(tacit("replay", sentence(HOT.replace("> 10", "> 9")), *where, "--work", work, "--json").out)
    assert (work / "hot" / "meta.json").stat().st_mtime_ns == written
    assert first["updates"] == again["updates"]


def test_what_is_prepared_needs_no_spark(
    tacit: Tacit, sentence: Sentence, readings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the files change: their size, their time of change, their names, or how many there are."""
    opened = []
    really = session.open_session
    monkeypatch.setattr(session, "open_session", lambda *words, **more: opened.append(1) or really(*words, **more))
    folder = tmp_path / "data"
    folder.mkdir()
    source = folder / "a.csv"
    source.write_text(readings.read_text())

    def replayed(watch: str = HOT) -> tuple[int, int]:
        """How often Spark was opened for this replay, and the events it saw."""
        opened.clear()
        words = ["--data", folder, "--site", "station", "--time", "ts", "--work", tmp_path / "kept", "--json"]
        done = tacit("replay", sentence(watch), *words)
        assert (done.code, done.err) == (0, "")
        return len(opened), json.loads(done.out)["updates"]

    assert replayed() == (1, 900)
    assert replayed() == (0, 900)
    assert replayed(HOT.replace("100 ROWS", "50 ROWS").replace("> 10", "> 9")) == (0, 900)
    assert replayed(HOT.replace("AVG(x)", "AVG(y)")) == (1, 900)
    assert replayed() == (1, 900)
    source.write_text(readings.read_text() + "s1,1700009000,1,1,kind 1\n")
    assert replayed() == (1, 901)
    os.utime(source, ns=(5, 5))
    assert replayed() == (1, 901)
    source.rename(folder / "b.csv")
    assert replayed() == (1, 901)
    (folder / "c.csv").write_text("station,ts,x,y,label\ns1,1700009001,1,1,kind 1\n")
    assert replayed() == (1, 902)
    assert replayed() == (0, 902)


def test_a_replay_from_python_finds_what_is_prepared(
    readings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    def report() -> tacit_room.Report:
        return tacit_room.replay(HOT, readings, site="station", time="ts", work=tmp_path / "kept")

    first = report()
    monkeypatch.setattr(session, "open_session", lambda *_, **__: pytest.fail("Spark was opened"))
    again = report()
    assert again.messages == first.messages
    assert again.alerts == first.alerts


def test_spark_is_closed_before_the_first_replay(
    tacit: Tacit, sentence: Sentence, where: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java's memory and cores are free while watches are replayed."""
    story = []
    monkeypatch.setattr(session, "close_session", lambda spark: story.append("closed"))
    really = run.replay_prepared
    monkeypatch.setattr(run, "replay_prepared", lambda *words: story.append(words[0].name) or really(*words))
    assert tacit("replay", sentence(f"{HOT};{HOT.replace('hot', 'warm')}"), *where).code == 0
    assert story == ["closed", "hot", "warm"]


def test_the_random_policy_is_one_of_its_seed(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    def messages(seed: int) -> int:
        words = ["replay", sentence(HOT), *where, "--policy", "random", "--seed", seed, "--json"]
        return int(json.loads(tacit(*words).out)["messages"]["total"])

    assert messages(3) == messages(3)


@pytest.mark.middle
@pytest.mark.e2e
def test_as_a_process_of_its_own_it_leaves_nothing_behind(sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    """Nothing but the result on standard output, no Java left running, no file left anywhere."""
    spare = tmp_path / "spare"
    spare.mkdir()
    command = [sys.executable, "-m", "tacit.cli.main", "replay", str(sentence(HOT)), *where, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(spare)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0
    assert all(
        line.startswith("tacit: hot: ") for line in done.stderr.splitlines()
    )  # how far it is, where it takes long
    assert json.loads(done.stdout)["watch"] == "hot"
    assert list(spare.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spare", "watch.sql"]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGTERM, 143, ""), (signal.SIGINT, 130, "tacit: interrupted\n")],
    ids=["end", "interrupt"],
)
def test_ended_from_outside_it_leaves_nothing_behind(
    sentence: Sentence, where: list[str], tmp_path: Path, number: signal.Signals, code: int, said: str
) -> None:
    """A request to end while Spark starts: the files and the Java it was about to use go with it."""
    spare = tmp_path / "spare"
    spare.mkdir()
    command = [sys.executable, "-m", "tacit.cli.main", "replay", str(sentence(HOT)), *where, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(spare)}
    # In a shell's background job interrupts are ignored, and what it starts would inherit that.
    ready = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=ready
    ) as process:
        while process.poll() is None and not any(spare.glob("tacit-spark-*")):  # Python tries the folder out before
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (code, "", said)
    assert list(spare.iterdir()) == []


def test_a_ranking_and_its_picture(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    text = (
        "EXPLAIN WATCH top AS SELECT label, SUM(y) AS s FROM t WINDOW LAST 20 MINUTES"
        " GROUP BY label ORDER BY s DESC LIMIT 2 WITHIN 3 RANKED WITHIN 40"
    )
    done = tacit("replay", sentence(text), *where, "--verify", "--plot", tmp_path / "top.svg")
    assert done.code == 0
    assert "the 2 groups with the largest s, within 3, scores within 40 (ranking)" in done.out
    assert "0 missed, 0 spurious" in done.out
    assert "sending what has moved" in done.out
    assert "in: kind" in done.out
    assert "<svg" in (tmp_path / "top.svg").read_text()


def test_a_ranking_per_list_as_json(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    text = "CREATE WATCH top AS SELECT label, COUNT(*) AS n FROM t GROUP BY label ORDER BY n LIMIT 1 PER station"
    report = json.loads(tacit("replay", sentence(text), *where, "--verify", "--json", "--step", "pane").out)
    assert (report["missed"], report["spurious"], report["groups"]) == (0, 0, 12)
    assert {alert["list"] for alert in report["alerts"]} == {"s0", "s1", "s2"}
    assert all(alert["entered"] for alert in report["alerts"])
    assert report["caching"]["messages"] > 0
    refused = tacit("replay", sentence(text + " USING topico"), *where)
    assert refused.code == 2
    assert len(refused.err.splitlines()) == 1


CONFIG = """
[coordinator]
protocol = "recentre"

[tables.t]
source = "files"
path = "in/{site}"
format = "csv"
schema = "ms BIGINT, x DOUBLE, y DOUBLE"
select = ["ms / 1000D AS at", "x"]
options = { sep = ";" }
time = "at"

[sites.north]
[sites.south]
"""


def as_configured(folder: Path, readings: Path) -> Path:
    """The readings of two stations as the sites of a configuration have them: other names, units and separators."""
    header, *rows = [line.split(",") for line in readings.read_text().splitlines()]
    assert header[:4] == ["station", "ts", "x", "y"]
    for site, station in (("north", "s0"), ("south", "s1")):
        (folder / "in" / site).mkdir(parents=True)
        mine = [f"{int(ts) * 1000};{x};{y}" for name, ts, x, y, _ in rows if name == station]
        (folder / "in" / site / "day.csv").write_text("\n".join(["ms;x;y", *mine]) + "\n")
    config = folder / "tacit.toml"
    config.write_text(CONFIG)
    return config


def test_csv_with_other_separators(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    plain = json.loads(tacit("replay", sentence(HOT), *where, "--json").out)
    for separator, options in ((";", []), ("\t", []), ("|", []), ("~", ["--option", "sep=~"])):
        path = tmp_path / "other.csv"
        path.write_text(Path(where[1]).read_text().replace(",", separator))
        done = tacit("replay", sentence(HOT), "--data", path, *where[2:], *options, "--json")
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)["messages"] == plain["messages"]


def test_a_configuration_describes_the_data(
    tacit: Tacit, sentence: Sentence, readings: Path, where: list[str], tmp_path: Path
) -> None:
    config = as_configured(tmp_path, readings)
    work = tmp_path / "prepared"
    found = [
        json.loads(tacit("replay", sentence(HOT), "--config", config, "--work", work, "--verify", "--json").out)
        for _ in range(2)
    ]
    assert found[0] | {"seconds": None} == found[1] | {"seconds": None}
    report = found[0]
    assert (report["protocol"], report["sites"], report["missed"], report["spurious"]) == ("recentre", 2, 0, 0)
    two = tmp_path / "two.csv"
    two.write_text("\n".join(line for line in readings.read_text().splitlines() if not line.startswith("s2")) + "\n")
    same = json.loads(tacit("replay", sentence(HOT), "--data", two, *where[2:], "--protocol", "recentre", "--json").out)
    assert [report[name] for name in ("alerts", "messages", "updates")] == [
        same[name] for name in ("alerts", "messages", "updates")
    ]
    asked = tacit("replay", sentence(HOT), "--config", config, "--protocol", "coordinator", "--json")
    assert json.loads(asked.out)["protocol"] == "coordinator"
    called = tacit_room.replay(sentence(HOT).read_text(), config=config, work=work)
    assert called.messages == report["messages"]


@pytest.mark.parametrize(
    ("change", "words", "refusal"),
    [
        (("[tables.t]", "[tables.u]"), [], "no site of the configuration has a table t; it has u"),
        (("[sites.south]", '[sites.south.tables.t]\nsource = "rate"\ntime = "ts"'), [], "comes from rate"),
        (("", ""), ["--data", "all.csv"], "say it with --site"),
        (("in/{site}", "nowhere/{site}"), [], "nowhere"),
        (("", ""), ["--option", "sep"], "write NAME=VALUE"),
        (("x DOUBLE", "x BIGNUMBER"), [], "schema"),
    ],
)
def test_what_a_configuration_does_not_say_is_asked_for(
    tacit: Tacit, sentence: Sentence, readings: Path, tmp_path: Path, change: tuple[str, str], words: list[str],
    refusal: str,
) -> None:  # fmt: skip
    config = as_configured(tmp_path, readings)
    config.write_text(CONFIG.replace(*change))
    done = tacit("replay", sentence(HOT), "--config", config, *words)
    assert (done.code, done.out) == (2, "")
    assert refusal in done.err


def test_a_step_that_plays_no_part_is_said(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    done = tacit("replay", sentence(HOT), *where)
    assert "EVERY 10 ROWS plays no part" in " ".join(done.out.split())
    for text, step, count in ((HOT, "event", 1), (HOT, "pane", 0), (HOT.replace(" EVERY 10 ROWS", ""), "event", 0)):
        report = json.loads(tacit("replay", sentence(text), *where, "--step", step, "--json").out)
        assert len(report["notes"]) == count


def test_how_far_answers_were_off_has_a_unit(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    text = "SELECT AVG(x) AS mean, AVG(y) AS other FROM t WINDOW LAST 100 ROWS "
    for goal, unit in (
        ("TRACK mean WITHIN 0.5", "in mean"),
        ("TRACK mean WITHIN 5 PERCENT", "percent of mean"),
        ("ALERT WHEN other > 7 MARGIN 0.01 OR mean > 10 MARGIN 0.5", "in mean"),
    ):
        path = sentence(f"CREATE WATCH w AS {text}{goal}")
        report = json.loads(tacit("replay", path, *where, "--verify", "--json").out)
        assert report["max_error_of"] == unit
        assert report["max_error"] > 0 or "PERCENT" in goal
        shown = " ".join(tacit("replay", path, *where, "--verify").out.split())
        assert not report["max_error"] or f"farthest from the truth by {report['max_error']:.4g} {unit}" in shown


def test_heartbeats_are_shown_and_in_no_total(tacit: Tacit, sentence: Sentence, where: list[str]) -> None:
    report = json.loads(tacit("replay", sentence(HOT), *where, "--step", "pane", "--json").out)
    assert report["heartbeats"]["messages"] > 0 < report["heartbeats"]["bytes"]
    assert not {"heartbeat", "heartbeats"} & set(report["messages"]["by_kind"])
    assert "heartbeats beside it, live" in tacit("replay", sentence(HOT), *where).out
