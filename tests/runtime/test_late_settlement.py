"""Panes that pass while a site is missing are settled once more when it is back, and alerts come late, not never."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live

END = 60
SENTENCES = {
    "threshold": "CREATE WATCH w AS SELECT SUM(x) AS s FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN s > 150",
    "groups": "CREATE WATCH w AS SELECT k, AVG(x) AS m FROM d GROUP BY k WINDOW LAST 5 SECONDS EVERY 1 SECOND"
    " ALERT WHEN m > 6",
    "ranking": "CREATE WATCH w AS SELECT k, SUM(x) AS s FROM d GROUP BY k WINDOW LAST 5 SECONDS EVERY 1 SECOND"
    " ORDER BY s DESC LIMIT 2",
    "having": "CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM d GROUP BY k HAVING COUNT(*) > 12 MARGIN 1"
    " WINDOW LAST 5 SECONDS EVERY 1 SECOND",
}
EXACT = ("threshold", "groups", "ranking")  # frequent keys have a margin


class Story:
    """Two sites whose rows change; what is fed to whom, and when, is up to the test."""

    def __init__(
        self, folder: Path, kind: str, *, names: tuple[str, ...] = ("north", "south"), clock: str = "event"
    ) -> None:
        self.sentence = SENTENCES[kind]
        self.live = Live(folder, names, "d", COLUMNS, clock=clock)
        self.live.ask(self.sentence)
        self.end = dict.fromkeys(names, 100)

    def feed(self, name: str, until: int) -> None:
        """Rows of a site through this second. South is high from 115 to 129, which north cannot know."""
        for second in range(self.end[name] + 1, until + 1):
            high = name == "south" and 115 <= second < 130
            keys = ("a", "b") if not high else ("a", "c", "c", "c")
            self.live.batch(name, rows(self.sentence, [second], 12.0 if high else 5.0, keys))
        self.end[name] = max(self.end[name], until)

    def pass_time(self, seconds: float, but: tuple[str, ...] = ()) -> None:
        for _ in range(int(seconds * 2)):
            for name, agent in self.live.agents.items():
                if name not in but:
                    agent.tick({})
            self.live.pump(0.5)

    @property
    def document(self) -> dict[str, Any]:
        return self.live.ask("SHOW WATCH w")[0]["watch"]

    def states(self) -> dict[int, str]:
        """The state in which each pane stands, as it is stored."""
        spans = self.live.store.all("SELECT first, last, state FROM spans ORDER BY first")
        return {pane: state for first, last, state in spans for pane in range(first, last + 1)}

    def said(self) -> dict[int, dict[str, Any]]:
        """What stands for each pane: sides by key, or lists."""
        changes = self.live.store.all("SELECT pane, key, side = 1 FROM changes ORDER BY pane")
        lists = self.live.store.all("SELECT pane, list, members FROM rankings ORDER BY pane")
        lists = [(pane, name, sorted(key for key, _ in json.loads(members))) for pane, name, members in lists]
        found, now = {}, {}
        for pane in sorted(self.states()):
            now = now | {key: value for at, key, value in [*changes, *lists] if at == pane}
            found[pane] = {key: value for key, value in now.items() if value}
        return found

    def told(self) -> list[tuple[int, Any, Any]]:
        """The alerts in the order in which they were raised."""
        raised = [json.loads(text) for (text,) in self.live.store.all("SELECT document FROM alerts ORDER BY seq")]
        return [each for each in raised if each["kind"] == "alert"]


def what(alert: dict[str, Any]) -> tuple[Any, ...]:
    members = json.dumps(sorted(json.dumps(key) for key, _ in alert.get("ranking", ())))
    return alert["pane"], json.dumps(alert["group"]), alert["side"], members


def undisturbed(folder: Path, kind: str) -> Story:
    story = Story(folder, kind)
    for until in range(105, 100 + END + 1, 5):
        for name in story.live.names:
            story.feed(name, until)
        story.live.settle(6)
    story.live.settle()
    return story


@pytest.mark.parametrize("crash", ["link", "site", "coordinator"])
@pytest.mark.parametrize("kind", SENTENCES)
def test_after_an_absence_all_panes_stand_as_if_nobody_had_been_missing(tmp_path: Path, kind: str, crash: str) -> None:
    twin, story = undisturbed(tmp_path / "twin", kind), Story(tmp_path / "live", kind)
    live = story.live
    for name in live.names:
        story.feed(name, 110)
    live.settle()
    live.cut("south")
    story.feed("north", 140)
    story.pass_time(30, but=("south",))
    away = story.document
    assert away["state"] == "stale"
    assert away["sites"] == ["north"]
    assert [(each["site"], each["reason"]) for each in away["missing"]] == [("south", "nothing was heard of it")]
    assert away["late"]["last"] == away["pane"] > 130
    if crash == "site":
        live.crash_site("south")
    elif crash == "coordinator":
        live.crash_coordinator()
        live.cut("south")
        story.pass_time(15, but=("south",))
    live.link_all()
    live.settle(4)
    story.feed("south", 125)
    live.settle(10)
    if crash == "coordinator":  # in the middle of late settlement
        live.crash_coordinator()
    for until in (140, 150, 160):
        story.feed("south", until)
        story.feed("north", until)
        live.settle()
    document = story.document
    assert (document["state"], document["missing"], document["late"], document["gaps"]) == ("valid", [], None, [])
    assert document["sites"] == ["north", "south"]
    states, expected = story.states(), twin.states()
    assert sorted(states) == sorted(expected)
    assert set(states.values()) <= {"valid", "filling"}
    if kind in EXACT:
        assert story.said() == twin.said()
        right = {what(alert) for alert in twin.told()}
        told = [what(alert) for alert in story.told()]
        assert right <= set(told), "an alert is lost"
        assert len(told) == len(set(told)), "an alert came twice"
        wrong = [alert for alert in story.told() if what(alert) not in right]
        assert all(alert["state"] == "stale" or alert.get("correction") for alert in wrong)
        assert any(alert["late"] for alert in story.told() if what(alert) in right)


@pytest.mark.parametrize("clock", ["event", "wall"])
def test_a_configured_site_that_comes_late_is_not_left_out(tmp_path: Path, clock: str) -> None:
    """A recording waits for it; where time is now the others go on, and what they say is made good."""
    story = Story(tmp_path, "threshold", clock=clock)
    live = story.live
    live.cut("south")  # its process never was there
    live.agents.pop("south").store.close()
    live.coordinator.tuning.gather = 5.0
    story.feed("north", 140)
    story.pass_time(20)
    away = story.document
    if clock == "event":
        assert (away["state"], away["waiting_for"]) == ("filling", ["south"])
    else:
        assert (away["state"], away["sites"]) == ("stale", ["north"])
        assert [(each["site"], each["reason"]) for each in away["missing"]] == [("south", "it has not come")]
    live.start_site("south")
    for until in (120, 140, 160):
        story.feed("south", until)
        live.settle(10)
    story.feed("north", 160)
    live.settle()
    assert (story.document["state"], story.document["sites"]) == ("valid", ["north", "south"])
    high = [alert for alert in story.told() if alert["side"] == "above" and not alert.get("correction")]
    late = clock == "wall"
    assert [(alert["late"], alert["sites"], alert["state"]) for alert in high] == [(late, ["north", "south"], "valid")]
    assert story.said() == undisturbed(tmp_path / "twin", "threshold").said()


def test_no_answer_is_valid_before_the_first_word_of_a_configured_site(tmp_path: Path) -> None:
    """Also after the coordinator started again, before its clock has ticked."""
    story = Story(tmp_path, "threshold", names=("north", "south", "west"), clock="wall")
    live = story.live
    live.cut("west")
    live.agents.pop("west").store.close()
    live.coordinator.tuning.gather = 5.0
    for until in (110, 120, 130):
        for name in ("north", "south"):
            story.feed(name, until)
        story.pass_time(8)
        live.crash_coordinator()
    assert set(story.states().values()) == {"stale"}


def test_a_recording_begins_without_a_site_that_was_dropped(tmp_path: Path) -> None:
    story = Story(tmp_path, "threshold")
    live = story.live
    live.cut("south")
    live.agents.pop("south").store.close()
    story.feed("north", 140)
    story.pass_time(20)
    assert story.document["waiting_for"] == ["south"]
    live.ask("DROP SITE south")
    story.pass_time(5)
    assert (story.document["state"], story.document["sites"]) == ("valid", ["north"])


def test_dropping_a_missing_site_settles_its_panes_without_it(tmp_path: Path) -> None:
    story = Story(tmp_path, "threshold")
    live = story.live
    for name in live.names:
        story.feed(name, 110)
    live.settle()
    live.cut("south")
    live.agents.pop("south").store.close()
    story.feed("north", 130)
    story.pass_time(30)
    assert story.document["state"] == "stale"
    live.ask("DROP SITE south")
    story.pass_time(5)
    assert (story.document["state"], story.document["sites"]) == ("valid", ["north"])
    assert set(story.states().values()) <= {"valid", "filling"}


def test_what_was_wrongly_told_of_a_provisional_pane_is_corrected(tmp_path: Path) -> None:
    """South was low all the time, but was last heard of when the sum was high because of it."""
    story = Story(tmp_path, "threshold")
    live = story.live
    for name in live.names:
        story.feed(name, 114)
    live.settle()
    live.cut("south")
    for second in range(115, 126):  # now north is high, and south's rows would have made up for it
        live.batch("north", rows(story.sentence, [second], 40.0))
        story.end["north"] = second
    story.pass_time(30, but=("south",))
    for second in range(115, 126):
        live.batch("south", rows(story.sentence, [second], -40.0))
        story.end["south"] = second
    assert [(alert["side"], alert["state"]) for alert in story.told()][-1:] == [("above", "stale")]
    live.link_all()
    live.settle()
    last = story.told()[-1]
    assert (last["side"], last["late"], last.get("correction")) == ("below", True, True)
    assert story.document["answer"][0]["side"] == "below"


def test_a_gap_is_published_where_a_site_has_lost_its_past(tmp_path: Path) -> None:
    import shutil

    story = Story(tmp_path, "threshold")
    live = story.live
    for name in live.names:
        story.feed(name, 110)
    live.settle()
    live.agents.pop("south").store.close()
    live.close_link("south")
    shutil.rmtree(tmp_path / "south")
    story.feed("north", 130)
    story.pass_time(30)
    live.start_site("south")
    live.batches["south"] = 0
    story.end["south"] = 120
    for until in (130, 150, 160):
        story.feed("south", until)
        story.feed("north", until)
        live.settle()
    document = story.document
    assert document["missing"] == []
    states = story.states()
    panes = sorted(states)
    assert panes == list(range(panes[0], panes[-1] + 1)), "every pane has a state"
    for gap in document["gaps"]:
        assert all(states[pane] == "unknown" for pane in range(gap["first"], gap["last"] + 1))
        assert gap["reason"] == "south cannot answer for these panes any more"


CHANGES = {
    "threshold": "ALTER WATCH w SET THRESHOLD 120",
    "groups": "ALTER WATCH w SET THRESHOLD 7",
    "ranking": "PAUSE WATCH w; RESUME WATCH w",
    "having": "PAUSE WATCH w; RESUME WATCH w",
}


@pytest.mark.parametrize("how", ["alter", "coordinator", "sites"])
@pytest.mark.parametrize("kind", SENTENCES)
def test_a_change_or_a_restart_on_a_quiet_stream_is_answered_at_once(tmp_path: Path, kind: str, how: str) -> None:
    """On an event clock the next pane may never come: the last one is answered anew."""
    story = Story(tmp_path, kind)
    live = story.live
    for name in live.names:
        story.feed(name, 120)
    live.settle()
    before = story.document
    if how == "alter":
        live.ask(CHANGES[kind])
    elif how == "coordinator":
        live.crash_coordinator()
    else:
        for name in live.names:
            live.crash_site(name)
    live.settle(10)
    after = story.document
    assert (after["state"], after["pane"]) == (before["state"], before["pane"])
    assert (after["gaps"], after["late"], after["missing"]) == ([], None, [])
    messages = after["cost"]["messages"]["by_kind"]
    live.settle(20)
    assert story.document["cost"]["messages"]["by_kind"] == messages, "all has been said"
    for name in live.names:
        story.feed(name, 130)
    live.settle()
    assert (story.document["state"], story.document["gaps"]) == ("valid", [])
    assert set(story.states().values()) <= {"valid", "filling"}
