"""The minds of coordinator and sites together, at the edges: problems, lies, leaps, changes while rows flow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tacit.runtime.kept_watch import Tuning
from tacit.runtime.store import Store
from tacit.vocabulary import OptionError, ProtocolError, SentenceError
from tacit.wire.codec import VERSION
from tacit.wire.control import Name, Numbers, Opening, TableOffer
from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live, RecordedBatch, label

HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"
BY_K = """
CREATE WATCH by_k AS SELECT k, SUM(x) AS s FROM d
WINDOW LAST 10 SECONDS EVERY 1 SECOND GROUP BY k TRACK s WITHIN 1
"""
OTHER = HOT.replace("WATCH hot", "WATCH other")
SITES = ("north", "south")


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path, SITES, "d", COLUMNS)


def feed(live: Live, seconds: range, x: float, sites: tuple[str, ...] = SITES, sentence: str = HOT) -> None:
    for name in sites:
        live.batch(name, rows(sentence, seconds, x))
    live.settle(10)


def shown(live: Live, name: str = "hot") -> dict:
    return live.ask(f"SHOW WATCH {name}")[0]["watch"]


def test_it_fills_is_valid_and_alerts(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 105), 5)
    assert (shown(live)["state"], shown(live)["answer"][0]["value"]) == ("filling", 5.0)
    feed(live, range(105, 130), 5)
    assert shown(live)["state"] == "valid"
    assert live.alerts == []
    feed(live, range(130, 150), 11)
    assert [(alert["side"], alert["pane"]) for alert in live.alerts] == [("above", 135)]


PRODUCT = "SELECT INNER_PRODUCT({0}.x, d.x) AS p FROM {0}, d WINDOW LAST 1 HOUR EVERY 1 MINUTE TRACK p WITHIN 5 PERCENT"


def test_a_table_that_no_site_can_have_is_refused_at_once(live: Live) -> None:
    """All configured sites have said what they have."""
    for sentence, words in (
        (HOT.replace("FROM d", "FROM dd"), "there is no table named dd; did you mean d?"),
        (HOT.replace("FROM d", "FROM elsewhere"), "there is no table named elsewhere; the sites have d"),
        (f"CREATE WATCH joined AS {PRODUCT.format('logns')}", "there is no table named logns; the sites have d"),
        (f"{HOT};\n{OTHER.replace('FROM d', 'FROM D')}", r"statement 2 of 2 \(line 2\): .* named D; did you mean d"),
    ):
        with pytest.raises(SentenceError, match=words):
            live.ask(sentence)
    assert live.coordinator.watches == {}


def test_a_table_that_a_site_may_still_bring_is_waited_for(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    for site in live.coordinator.sites.values():  # only north has said what it has
        site.tables = {"d": COLUMNS} if site.name == "north" else {}
    (result,) = live.ask(HOT.replace("FROM d", "FROM dd"))
    assert result["note"] == "no site has a table named dd yet (did you mean d?); the watch starts when one comes"
    assert (shown(live)["state"], shown(live)["answer"], shown(live)["sites"]) == ("filling", [], [])
    assert shown(live)["problems"] == {"coordinator": "no site has a table named dd yet (did you mean d?)"}
    (result,) = live.ask(f"CREATE WATCH joined AS {PRODUCT.format('elsewhere')}")
    assert result["note"] == "no site has a table named elsewhere yet; the watch starts when one comes"


def test_what_cannot_be_kept_live_or_does_not_fit_the_tables(live: Live) -> None:
    for sentence, words in (
        (HOT.replace("AVG(x)", "AVG(z)"), "z"),
        ("SHOW WATCH hot", "there is no watch named hot; there is none yet"),
    ):
        with pytest.raises(SentenceError, match=words):
            live.ask(sentence)
    live.ask(HOT)
    for sentence, words in (
        (HOT, "there is a watch named hot already"),
        ("RESUME WATCH hot", "hot is not paused"),
        ("ALTER WATCH hot SET WITHIN 3", "WITHIN belongs"),
        ("PAUSE WATCH hot; PAUSE WATCH hot", "statement 2 of 2: hot is paused already.*nothing was done"),
    ):
        with pytest.raises(SentenceError, match=words):
            live.ask(sentence)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (
            "WINDOW LAST 10 SECONDS EVERY 1 MICROSECOND",
            "hot: EVERY 1 MICROSECOND is too short.*write EVERY 1 MILLISECOND",
        ),
        ("WINDOW LAST 1 HOUR EVERY 1 MICROSECOND", "hot: EVERY 1 MICROSECOND is too short.*EVERY 3600 MICROSECONDS"),
        ("EVERY 999 MICROSECONDS", "hot: EVERY 999 MICROSECONDS is too short.*write EVERY 1 MILLISECOND"),
        (
            "WINDOW LAST 30 DAYS EVERY 1 SECOND",
            "hot: .*2,592,000 here, and 1,000,000 is the most; write EVERY 2592 MILLI",
        ),
    ],
)
def test_a_step_that_no_site_could_keep_is_refused_with_the_least_that_one_can(
    live: Live, window: str, words: str
) -> None:
    sentence = HOT.replace("WINDOW LAST 10 SECONDS EVERY 1 SECOND", window)
    with pytest.raises(SentenceError, match=words) as caught:
        live.ask(sentence)
    least = re.search("EVERY [0-9]+ [A-Z]+$", str(caught.value))
    assert least is not None
    live.ask(re.sub("EVERY [0-9]+ [A-Z]+", least[0], sentence))
    live.pump(0.2)
    assert shown(live)["problems"] == {}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (f"{OTHER}; {OTHER}", "statement 2 of 2: there is a watch named other already"),
        (f"{OTHER}; DROP WATCH hot; SHOW WATCH hot", "statement 3 of 3: there is no watch named hot; there are other"),
        ("PAUSE WATCH hot; ALTER WATCH hot SET WITHIN 3", "statement 2 of 2: .*WITHIN belongs"),
        ("DROP WATCH hot; DROP SITE north", "statement 2 of 2: site north is online"),
        ("DROP WATCH hot; DROP SITE nowhere", "statement 2 of 2: there is no site named nowhere"),
        (f"DROP WATCH hot; {HOT.replace('AVG(x)', 'AVG(z)')}", "statement 2 of 2: .*there is no column named z"),
        ("PAUSE WATCH HOT; RESUME WATCH hot; RESUME WATCH hot", "statement 3 of 3: hot is not paused"),
    ],
)
def test_a_script_with_an_error_anywhere_does_nothing(live: Live, script: str, words: str) -> None:
    live.ask(HOT)
    with pytest.raises(SentenceError, match=words + ".*nothing was done"):
        live.ask(script)
    (watch,) = live.ask("SHOW WATCHES")[0]["watches"]
    assert (watch["watch"], watch["status"]) == ("hot", "running")
    assert list(live.coordinator.watches) == [1]


def test_a_script_that_builds_on_itself(live: Live) -> None:
    live.ask(f"{HOT}; PAUSE WATCH hot; RESUME WATCH hot; ALTER WATCH hot SET THRESHOLD 9; DROP WATCH hot; {HOT}")
    assert [watch["status"] for watch in live.ask("SHOW WATCHES")[0]["watches"]] == ["running"]


def test_what_was_done_is_told_even_if_something_fails_after_it(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("tacit.runtime.coordinator.watch_rows", broken)
    with pytest.raises(RuntimeError):
        live.ask(f"{HOT}; SHOW WATCHES")
    live.pump(0.2)
    assert [list(agent.watches) for agent in live.agents.values()] == [[1], [1]]


def test_a_site_that_was_dropped_does_not_stand_in_the_way_of_a_watch(live: Live) -> None:
    live.coordinator.sites[live.numbers["south"]].tables["d"] = {"k": "string"}
    with pytest.raises(SentenceError, match=r"no column named x.*table d of site south is meant"):
        live.ask(HOT)
    live.coordinator.close(live.numbers.pop("south"), live.now)
    live.agents.pop("south").store.close()
    live.ask(f"DROP SITE south; {HOT}")
    live.crash_coordinator()
    assert live.ask("SHOW SITES")[0]["sites"][1]["tables"] == []
    live.ask(OTHER)
    live.start_site("south")  # it may come back
    feed(live, range(100, 130), 5)
    assert shown(live)["sites"] == ["north", "south"]


def test_a_site_with_a_problem_is_shown_and_does_not_hold_up_the_others(live: Live) -> None:
    live.agents["south"].tables["d"].columns = {"k": "string"}  # since it linked up its table has changed
    live.ask(HOT)
    feed(live, range(100, 130), 5, ("north",))
    assert "x" in shown(live)["problems"]["south"]
    assert (shown(live)["state"], shown(live)["sites"]) == ("stale", ["north"])
    assert [(each["site"], each["reason"]) for each in shown(live)["missing"]] == [
        ("south", "it cannot keep the watch")
    ]
    assert shown(live)["sites"] == ["north"]


def test_a_start_does_not_wait_for_ever(live: Live) -> None:
    live.coordinator.tuning = Tuning(gather=5.0)
    live.ask(HOT)
    feed(live, range(100, 130), 5, ("north",))
    if live.now <= 5:
        assert shown(live)["waiting_for"] == ["south"]
    for _ in range(20):  # it is there and has no rows: its panes pass with those of the other
        live.agents["south"].tick({"d": True})
        live.settle(1)
    assert "north" in shown(live)["sites"]
    feed(live, range(130, 160), 5)
    assert shown(live)["sites"] == ["north", "south"]


def test_a_site_whose_rows_have_no_time_does_not_hold_up_a_start_for_ever(live: Live) -> None:
    live.coordinator.tuning = Tuning(gather=5.0)
    live.ask(HOT)
    for first in range(100, 140, 10):
        batch = rows(HOT, range(first, first + 10), 5)
        timeless = RecordedBatch(batch._recording, batch._at[:0])
        timeless.no_time = 10
        live.batch("north", batch)
        live.batch("south", timeless)
        live.settle(12)
    assert (shown(live)["sites"], shown(live)["state"]) == (["north"], "stale")
    feed(live, range(140, 150), 5)
    feed(live, range(150, 160), 5)
    assert (shown(live)["sites"], shown(live)["problems"]) == (["north", "south"], {})


def test_a_site_without_any_row_closes_panes_by_its_clock_and_is_full_after_a_window(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.clock, live.wall_us = "wall", 100_000_000
    for name in SITES:
        live.crash_site(name)
    live.ask(HOT)
    states = []
    for second in range(100, 130):
        live.wall_us = (second + 1) * 1_000_000
        live.batch("north", rows(HOT, [second], 5))
        for _ in range(3):
            live.agents["south"].tick({"d": True})
            live.pump(0.5)
        states.append(shown(live)["state"])
        if second == 115:
            live.crash_site("south")  # what it knows of its windows stays
    assert (shown(live)["sites"], shown(live)["waiting_for"]) == ([*SITES], [])
    assert (states[0], states[-1], states == sorted(states)) == ("filling", "valid", True)  # f comes before v
    live.batch("south", rows(HOT, range(100, 105), 50))  # all of closed panes
    live.batch("south", rows(HOT, range(130, 133), 5))
    live.batch("north", rows(HOT, range(130, 133), 5))
    live.wall_us = 133_000_000
    live.settle(6)
    assert (shown(live)["state"], shown(live)["answer"][0]["value"]) == ("valid", pytest.approx(5))
    assert {row["site"]: row["late"] for row in live.ask("SHOW SITES")[0]["sites"]} == {"north": 0, "south": 5}


def test_a_site_that_speaks_in_the_name_of_another(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    north, south = live.numbers["north"], live.numbers["south"]
    hello = live.agents["south"].watches[1].machine.hello()
    with pytest.raises(ProtocolError, match=f"site {north} speaks in the name of site {south}"):
        live.coordinator.receive(north, 1, hello, live.now)


def test_a_site_that_names_groups_of_a_watch_without(live: Live) -> None:
    live.ask(HOT)
    with pytest.raises(ProtocolError, match="names groups of a watch that has none"):
        live.coordinator.receive(live.numbers["north"], 1, Name(("a",)), live.now)
    assert live.coordinator.receive(live.numbers["north"], 99, Name(("a",)), live.now) == []  # of no watch at all


def test_an_opening_of_another_version_or_another_name(live: Live) -> None:
    opening = Opening(VERSION + 1, "9.9", "north", "i", (TableOffer("d", ()),))
    with pytest.raises(ProtocolError, match="run the same release of tacit everywhere"):
        live.coordinator.open("north", opening, 0.0)
    with pytest.raises(ProtocolError, match="proved to be south calls itself north"):
        live.coordinator.open("south", Opening(VERSION, "1", "north", "i", ()), 0.0)


def test_garbled_frames_change_nothing(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    before = shown(live)
    for data in (b"\xff\xff\xff", b"\x0a\x05abc", b"\x0a\x03abc"):
        with pytest.raises(ProtocolError):
            live.agents["north"].receive(data)
    feed(live, range(130, 131), 5)
    assert {**shown(live), "pane": 0, "as_of": "", "cost": 0} == {**before, "pane": 0, "as_of": "", "cost": 0}


def test_altering_keeps_the_windows_and_what_was_said(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 11)
    live.ask("ALTER WATCH hot SET THRESHOLD 20")
    feed(live, range(130, 131), 11)
    assert shown(live)["state"] == "valid"  # its window is full: nothing was forgotten
    assert [alert["side"] for alert in live.alerts] == ["above", "below"]
    assert [watch.status for watch in live.coordinator.watches.values()] == ["running"]


def test_pausing_keeps_nothing_and_resuming_goes_on(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    live.ask("PAUSE WATCH hot")
    feed(live, range(130, 150), 11)
    assert (shown(live)["state"], live.alerts) == ("paused", [])
    live.ask("RESUME WATCH hot")
    feed(live, range(150, 152), 11)
    assert (shown(live)["state"], [alert["side"] for alert in live.alerts]) == ("valid", ["above"])


def test_a_watch_that_comes_while_rows_flow_fills_from_the_next_pane_on(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    live.ask(HOT.replace("WATCH hot", "WATCH late").replace("10 SECONDS", "20 SECONDS"))
    feed(live, range(130, 140), 5)
    late = shown(live, "late")
    assert late["state"] == "filling"
    assert live.agents["north"].watches[2].data.keeper.first == 130
    feed(live, range(140, 170), 5)
    assert shown(live, "late")["state"] == "valid"


LATE = HOT.replace("WATCH hot", "WATCH late").replace("10 SECONDS", "20 SECONDS")


@pytest.fixture
def asked(live: Live) -> list[tuple[int, int]]:
    """A watch runs, history is there, and this is what was asked of it: seconds from and to."""
    asked: list[tuple[int, int]] = []

    def history(lo_us: int, hi_us: int, through: int | None) -> RecordedBatch:
        asked.append((lo_us // 1_000_000, hi_us // 1_000_000))
        return rows(HOT, range(max(100, lo_us // 1_000_000), -(-hi_us // 1_000_000)), 5)

    live.ask(HOT)
    feed(live, range(100, 130), 5)
    for agent in live.agents.values():
        agent.tables["d"].history = history
    return asked


def test_history_fills_the_window_of_a_watch_that_comes_late(live: Live, asked: list[tuple[int, int]]) -> None:
    live.ask(LATE)
    feed(live, range(130, 133), 5)
    assert asked == [(109, 129)] * 2
    assert shown(live, "late")["state"] == "valid"


def test_history_is_read_although_the_clock_ticks_before_the_next_rows(
    live: Live, asked: list[tuple[int, int]]
) -> None:
    live.ask(LATE)
    for agent in live.agents.values():
        agent.tick({"d": True})
    feed(live, range(130, 133), 5)
    assert asked == [(109, 129)] * 2
    assert shown(live, "late")["state"] == "valid"


def test_history_of_an_idle_table_is_read_without_rows(live: Live, asked: list[tuple[int, int]]) -> None:
    live.ask(LATE)
    for agent in live.agents.values():
        agent.tick({"d": True})
        assert agent.wants_history("d")
        agent.fill("d")
        assert not agent.wants_history("d")
    assert asked == [(109, 129)] * 2
    feed(live, range(130, 133), 5)
    assert asked == [(109, 129)] * 2
    assert shown(live, "late")["state"] == "valid"


def test_history_is_read_again_when_spark_died_in_the_batch(live: Live, asked: list[tuple[int, int]]) -> None:
    live.ask(LATE)
    for name in SITES:
        broken = rows(HOT, range(130, 133), 5)
        broken.sample = None  # type: ignore[assignment]
        with pytest.raises(TypeError):
            live.batch(name, broken)
    feed(live, range(130, 133), 5)
    assert asked[-2:] == [(109, 129)] * 2
    assert shown(live, "late")["state"] == "valid"


def test_a_clock_that_leaps_over_years(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 11)
    year = 365 * 86_400
    feed(live, range(10 * year, 10 * year + 30), 5)
    live.settle(60)
    assert shown(live)["state"] == "valid"
    assert shown(live)["answer"][0]["side"] == "below"


def test_a_batch_that_comes_twice_and_batches_that_do_not_fit(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    agent = live.agents["north"]
    agent.take_batch("d", "checkpoint", 0, rows(HOT, range(100, 130), 99))
    assert agent.watches[1].data.events == 30
    with pytest.raises(OptionError, match="the checkpoint of table d is not the one"):
        agent.take_batch("d", "another", 1, rows(HOT, range(130, 131), 5))
    with pytest.raises(OptionError, match="batches 1 to 4 of table d never came"):
        agent.take_batch("d", "checkpoint", 5, rows(HOT, range(130, 131), 5))


def test_a_checkpoint_without_the_state_that_belongs_to_it(live: Live) -> None:
    with pytest.raises(OptionError, match="this site's state does not know of it; remove both"):
        live.agents["north"].take_batch("d", "checkpoint", 7, rows(HOT, range(100, 101), 5))


def test_a_dropped_watch_is_forgotten_everywhere(live: Live) -> None:
    live.ask(HOT)
    feed(live, range(100, 130), 5)
    live.ask("DROP WATCH hot")
    feed(live, range(130, 131), 5)
    for agent in live.agents.values():
        assert agent.watches == {}
        assert agent.store.watches() == []
        assert agent.store._database.execute("SELECT 1 FROM pieces WHERE scope LIKE 'data:%'").fetchall() == []
    assert live.ask("SHOW WATCHES")[0]["watches"] == []


def test_groups_have_the_same_answer_after_every_crash(live: Live) -> None:
    live.ask(BY_K)
    live.batch("north", rows(BY_K, range(100, 130), 1, keys=["a", "b"]))
    live.batch("south", rows(BY_K, range(100, 130), 2, keys=["c", "b"]))
    live.settle(10)
    wanted = {"a": 10.0, "b": 30.0, "c": 20.0}
    for crash in (live.crash_coordinator, lambda: live.crash_site("south"), live.crash_coordinator):
        found = {label(row["group"]): row["value"] for row in shown(live, "by_k")["answer"]}
        assert found == pytest.approx(wanted, abs=1)
        crash()
        live.settle(20)
    assert shown(live, "by_k")["state"] == "valid"


def test_numbers_of_groups_that_contradict_each_other(live: Live) -> None:
    live.ask(BY_K)
    live.batch("north", rows(BY_K, range(100, 130), 1, keys=["a", "b"]))
    live.batch("south", rows(BY_K, range(100, 130), 1, keys=["a", "b"]))
    live.settle(10)
    numbering = live.agents["north"].watches[1].numbering
    assert numbering is not None
    with pytest.raises(ProtocolError, match="left out the numbers"):
        numbering.learn(Numbers(9, ("z",)))
    with pytest.raises(ProtocolError, match="twice, and not alike"):
        numbering.learn(Numbers(0, ("b", "a")))


def test_a_store_of_another_release_and_one_that_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path / "old")
    store.commit([("UPDATE meta SET value = '0' WHERE key = 'format'", ())])
    store.close()
    with pytest.raises(OptionError, match="written by another release"):
        Store(tmp_path / "old")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "coordinator.sqlite").write_text("no database" * 100)
    with pytest.raises(OptionError, match="cannot be used as a coordinator's store"):
        Store(tmp_path / "none")


def test_a_commit_is_whole_or_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(Exception, match="no such table"):
        store.commit([("INSERT INTO meta VALUES ('a', '1')", ()), ("INSERT INTO nowhere VALUES (1)", ())])
    assert store.one("SELECT 1 FROM meta WHERE key = 'a'") is None
    assert [store.next_start(), store.next_start()] == [1, 2]


def test_old_rows_under_a_wall_clock_are_said_to_be_a_recording(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Time leaps from the rows to now: nothing of the recording would be in a window."""

    def complaints(clock: str, newest: int, now: int) -> list[str]:
        caplog.clear()
        live = Live(tmp_path / f"{clock}{newest}{now}", SITES, "d", COLUMNS)
        for agent in live.agents.values():
            agent.tables["d"].clock.mode = clock
        live.wall_us = now * 1_000_000
        live.ask(HOT)
        for batch in range(2):
            live.batch("north", rows(HOT, range(newest - 10 + 10 * batch, newest + 10 * batch), 5))
        return [message for message in caplog.messages if "its first rows are old" in message]

    day = 86_400
    (said,) = complaints("wall", 100 * day, 103 * day)
    assert "table d: its first rows are old (the newest is of 1970-04-10T23:59:59Z, 3 days ago)" in said
    assert 'write clock = "event"' in said
    assert complaints("wall", 100 * day, 100 * day + 60) == []
    assert complaints("event", 100 * day, 103 * day) == []
