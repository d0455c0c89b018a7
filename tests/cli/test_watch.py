"""``tacit watch`` and ``tacit sql`` as a user runs them, against a real coordinator with light sites."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.light import LightSystem, until

Tacit = Callable[..., Any]

ROOT = Path(__file__).parents[2]
HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LightSystem]:
    (tmp_path / "state").mkdir()
    with LightSystem(tmp_path / "state") as made:
        made.site("south")  # the first to come has the smallest number, and is shown by its name nevertheless
        until(lambda: made.runner.ask({"sql": "SHOW SITES"})["results"][0]["sites"])
        made.site("north")
        monkeypatch.setenv("TACIT_COORDINATOR", made.address)
        yield made


def test_a_watch_from_its_creation_to_its_end(system: LightSystem, tacit: Tacit, tmp_path: Path) -> None:
    until(lambda: [bool(site["tables"]) for site in json.loads(tacit("watch", "sites", "--json").out)] == [True, True])
    assert tacit("watch", "list").out == "nothing is watched yet\n"
    (tmp_path / "hot.sql").write_text(HOT)
    assert tacit("watch", "create", tmp_path / "hot.sql").out == "created hot\n"
    system.feed(HOT, range(100, 130), 11)
    until(lambda: json.loads(tacit("watch", "show", "hot", "--json").out)["state"] == "valid")
    shown = tacit("watch", "show", "hot").out
    assert "above (11)" in shown
    assert "right at every pane" in shown
    assert "north, south" in shown
    listed = tacit("watch", "list").out
    assert "above (11)" in listed
    (row,) = [line for line in listed.splitlines() if "above (11)" in line]
    assert row.rstrip().rstrip("│").split("│")[-1].strip() == "1"  # the last column: its alerts
    assert json.loads(tacit("watch", "list", "--json").out)[0]["alert_count"] == 1
    assert [alert["side"] for alert in json.loads(tacit("watch", "alerts", "--json").out)] == ["above"]
    assert "above" in tacit("watch", "alerts", "hot", "--limit", 1).out
    assert tacit("watch", "alter", "hot", "--threshold", 20, "--margin", "0.5").out == "altered hot\n"
    assert "m > 20 MARGIN 0.5" in json.loads(tacit("watch", "show", "hot", "--json").out)["text"]
    assert tacit("watch", "pause", "hot").out == "paused hot\n"
    assert "paused" in tacit("watch", "list").out
    assert tacit("watch", "resume", "hot", "--json").out.count('"resume"') == 1
    assert tacit("watch", "drop", "hot").out == "dropped hot\n"
    assert tacit("watch", "drop", "hot", "--if-exists").out == "there was no watch hot\n"


def test_following_shows_the_change_and_the_alert_and_ends_with_an_interrupt(
    system: LightSystem, tmp_path: Path
) -> None:
    system.runner.ask({"sql": HOT})
    words = [sys.executable, "-m", "tacit", "watch", "follow", "hot", "--coordinator", system.address]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    # In a shell's background job interrupts are ignored, and what it starts would inherit that.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    plain, lines = tmp_path / "plain", tmp_path / "lines"
    processes = []
    for path, more in ((plain, []), (lines, ["--json"])):
        with path.open("w") as file:
            processes.append(
                subprocess.Popen([*words, *more], env=environment, stdout=file, stderr=file, preexec_fn=heed)
            )
    try:
        until(lambda: "filling" in plain.read_text() and "filling" in lines.read_text())
        system.feed(HOT, range(100, 130), 5)
        until(lambda: system.watch("hot")["state"] == "valid")
        system.feed(HOT, range(130, 160), 11)
        until(lambda: "ALERT  hot: above: m > " in plain.read_text())
        until(lambda: any(json.loads(line)["alerts"] for line in lines.read_text().split("\n")[:-1]))  # whole ones
        for process in processes:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert "Traceback" not in plain.read_text()


def test_a_text_of_comments_alone_is_a_text_and_does_nothing(system: LightSystem, tacit: Tacit) -> None:
    for words in (("sql", "-- nothing yet"), ("sql", "--json", "--nothing yet"), ("sql", "/* nothing */")):
        done = tacit(*words)
        assert (done.code, done.err) == (0, "")
        assert done.out.strip() in ("", "[]")
    done = tacit("sql", "-- what there is\nSHOW WATCHES", "--json")
    assert json.loads(done.out) == [{"statement": "show watches", "watches": []}]
    assert tacit("sql", "--jsn").code == 2


def test_an_error_in_a_file_names_the_file_and_the_line(system: LightSystem, tacit: Tacit, tmp_path: Path) -> None:
    until(lambda: [bool(site["tables"]) for site in json.loads(tacit("watch", "sites", "--json").out)] == [True, True])
    for text, words in (
        (HOT.replace("AVG(x)", "AVG(y)"), "line 1, column 32: there is no column named y"),
        (f"-- two\n{HOT};\n\n{HOT}", "statement 2 of 2 (line 4): there is a watch named hot already"),
    ):
        (tmp_path / "hot.sql").write_text(text)
        done = tacit("watch", "create", tmp_path / "hot.sql")
        assert done.code == 2
        assert done.err.startswith(f"tacit: {tmp_path / 'hot.sql'}: {words}")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("watch", "show", "cold"), "there is no watch named cold; there is none yet"),
        (("watch", "follow", "cold"), "there is no watch named cold"),
        (("watch", "show", " "), "the name of the watch is empty"),
        (("watch", "create", "nowhere.sql"), "cannot read nowhere.sql"),
        (("watch", "alter", "hot"), "nothing is to be changed"),
        (("watch", "alter", "hot", "--margin", "much"), "--margin 'much' is not a number"),
        (("watch", "alter", "hot", "--margin", "1", "--percent"), "--percent belongs to --within"),
        (("watch", "drop", "x`; DROP WATCH `y"), "there is no watch named x`; DROP WATCH `y"),
        (("sql", "CREATE WATCH"), "line 1"),
        (("watch", "list", "--token-file", "nowhere.token"), "nowhere.token cannot be read"),
        (("watch", "list", "--certificate", "a.pem"), "give both"),
        (("watch", "list", "--coordinator", "nowhere"), "is no address"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    system: LightSystem, tacit: Tacit, words: tuple[str, ...], complaint: str
) -> None:
    done = tacit(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tacit: ")
    assert done.err.count("\n") == 1
    assert complaint in done.err


def test_nobody_there(tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_COORDINATOR", "127.0.0.1:9")
    done = tacit("watch", "list")
    assert done.code == 1
    assert done.err == (
        "tacit: no coordinator listens at 127.0.0.1:9; start it with `tacit coordinator`, or check the address\n"
    )


def test_where_the_coordinator_is(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "desk.token").write_text("right\n")
    tokens = {"clients": {"desk": "right"}, "sites": {"north": "its own"}}
    with LightSystem(tmp_path / "state", tokens=tokens) as system:
        config = tmp_path / "tacit.toml"
        config.write_text(
            f'[coordinator]\nlisten = "{system.address}"\n[coordinator.tokens]\n'
            'clients = { desk = "file:desk.token" }\nsites = { north = "its own" }\n'
        )
        assert tacit("watch", "list", "--config", config).out == "nothing is watched yet\n"
        there = ("--coordinator", system.address)
        assert tacit("watch", "list", *there, "--token-file", tmp_path / "desk.token").code == 0
        refused = tacit("watch", "list", *there)
        assert (refused.code, "asks for a token" in refused.err) == (1, True)
        monkeypatch.setenv("TACIT_TOKEN", "wrong")
        assert "not one that this coordinator accepts" in tacit("watch", "list", *there).err
        monkeypatch.setenv("TACIT_TOKEN", "right")
        assert tacit("sql", "SHOW SITES", *there).code == 0


def test_statements_from_an_argument_and_from_a_pipe(
    system: LightSystem, tacit: Tacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [each["statement"] for each in json.loads(tacit("sql", f"{HOT}; SHOW WATCHES", "--json").out)] == [
        "create",
        "show watches",
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("EXPLAIN WATCH hot; SHOW ALERTS;"))
    done = tacit("sql")
    assert "keeps       m > 8 (threshold)" in done.out
    assert "there was no alert yet" in done.out


def test_the_prompt(system: LightSystem, tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    typed: Iterator[Any] = iter(
        ["", "SHOW", "  WATCHES;", "NONSENSE;", "SHOW", KeyboardInterrupt, HOT + ";", "SHOW WATCHES;", EOFError]
    )

    def read(prompt: str) -> str:
        line = next(typed)
        if not isinstance(line, str):
            raise line
        return line

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", read)
    done = tacit("sql")
    assert done.code == 0
    assert "nothing is watched yet" in done.out
    assert "created hot" in done.out
    assert done.err.startswith("tacit: line 1, column 1: a statement starts with")


def test_quitting_the_prompt(system: LightSystem, tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "exit;")
    monkeypatch.setattr(sys, "stdin", type("Terminal", (io.StringIO,), {"isatty": lambda self: True})())
    assert tacit("sql").code == 0


@pytest.mark.parametrize("using", ["", " USING topico"])
def test_a_ranking_is_created_explained_altered_and_dropped(system: LightSystem, tacit: Tacit, using: str) -> None:
    """There is no site: it waits for one."""
    window = "WINDOW LAST 60 SECONDS EVERY 5 SECONDS"
    sentence = f"CREATE WATCH top AS SELECT k, COUNT(*) AS n FROM d {window} GROUP BY k ORDER BY n DESC LIMIT 3{using}"
    assert tacit("sql", sentence).code == 0
    assert "top" in tacit("watch", "list").out
    shown = tacit("watch", "show", "top").out
    assert ("an estimate" if using else "the 3 largest at every pane") in shown
    assert "lists now   none yet" in tacit("sql", "EXPLAIN WATCH top").out
    if not using:
        assert tacit("sql", "ALTER WATCH top SET WITHIN 7").code == 0
        assert "within 7" in tacit("watch", "show", "top").out
    assert tacit("sql", "DROP WATCH top").code == 0
