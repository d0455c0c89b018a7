"""``tacit.connect`` against a real coordinator with light sites."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

import tacit
from tacit.api.answers import Change, Row
from tacit.transport.grpc_client import follow
from tests.runtime.light import PATIENCE_S, LightSystem, rows, until

HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"


@pytest.fixture
def system(tmp_path: Path) -> Iterator[LightSystem]:
    with LightSystem(tmp_path) as made:
        made.site("north")
        made.site("south")
        # A watch begins with the sites that are there, and one that comes later adds no rows of before.
        until(lambda: [site["tables"] for site in made.runner.ask({"status": True})["sites"]] == [["d"], ["d"]])
        yield made


def followed(client: tacit.Client, name: str, **options: bool) -> Queue[Change | Exception]:
    """Changes as they come, from a thread."""
    news: Queue[Change | Exception] = Queue()

    def read() -> None:
        try:
            for change in client.follow(name, **options):
                news.put(change)
        except tacit.TacitError as error:
            news.put(error)

    threading.Thread(target=read, daemon=True).start()
    return news


def alerts_until(news: Queue[Change | Exception], count: int) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    while len(found) < count:
        change = news.get(timeout=PATIENCE_S)
        assert isinstance(change, Change)
        found += [(alert["side"], alert["value"]) for alert in change.alerts]
    return found


def test_the_life_of_a_watch(system: LightSystem) -> None:
    with tacit.connect(system.address) as client:
        assert client.execute(HOT) == [{"statement": "create", "watch": "hot", "done": True, "note": None}]
        news = followed(client, "hot")
        assert news.get(timeout=PATIENCE_S).answer.state == "filling"
        system.feed(HOT, range(100, 130), 5)
        until(lambda: client.answer("hot").state == "valid")
        answer = client.answer("hot")
        assert (answer.value, answer.met, answer.rows) == (5.0, False, {(): Row(5.0, "below", False)})
        assert answer.as_of is not None
        assert (answer.guarantee, answer.stale) == ("right at every pane", ())
        system.feed(HOT, range(130, 160), 11)
        assert [side for side, _ in alerts_until(news, 1)] == ["above"]
        until(lambda: client.answer("hot").met)
        client.execute("ALTER WATCH hot SET THRESHOLD 20")
        system.feed(HOT, range(160, 170), 11)
        assert [side for side, _ in alerts_until(news, 1)] == ["below"]
        assert client.watch("hot")["text"].endswith("m > 20")
        client.execute("PAUSE WATCH hot")
        assert client.answer("hot").state == "paused"
        system.feed(HOT, range(170, 190), 30)
        client.execute("RESUME WATCH hot")
        system.feed(HOT, range(190, 200), 30)
        assert [side for side, _ in alerts_until(news, 1)] == ["above"]
        assert [alert["side"] for alert in client.alerts("hot")] == ["above", "below", "above"]
        assert len(client.alerts(limit=2)) == 2
        client.execute("DROP WATCH hot")
        while not isinstance(ended := news.get(timeout=PATIENCE_S), Exception):
            pass
        assert isinstance(ended, tacit.SentenceError)
        assert client.watches() == []


def test_groups(system: LightSystem) -> None:
    sentence = (
        "CREATE WATCH by_k AS SELECT k, SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND"
        " GROUP BY k TRACK s WITHIN 1"
    )
    client = tacit.connect(system.address)
    client.execute(sentence)
    for site in system.sites.values():
        site.feed(rows(sentence, range(10, 40), 1, keys=["a", "b"]))
    until(lambda: client.answer("by_k").state == "valid")
    answer = client.answer("by_k")
    assert answer.value is None
    assert {group: row.value for group, row in answer.rows.items()} == pytest.approx({("a",): 20, ("b",): 20}, abs=1)


def test_a_tracked_value_makes_changes_and_no_alerts(tmp_path: Path) -> None:
    """Sinks choose whether they get them; followers do, and so does who asks."""
    sentence = "CREATE WATCH m AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK m WITHIN 1"
    sinks = [
        {"kind": "file", "name": "few", "path": "few.jsonl"},
        {"kind": "file", "name": "all", "path": "all.jsonl", "changes": True},
    ]
    with LightSystem(tmp_path, sinks) as system:
        site = system.site("north")
        with tacit.connect(system.address) as client:
            client.execute(f"{sentence}; {HOT}")
            until(lambda: len(site.agent.watches) == 2)
            news = followed(client, "m")
            for step in range(5):
                system.feed(HOT, range(100 + step * 10, 110 + step * 10), 5 + 5 * step)
            until(lambda: client.alerts("hot") and len(client.changes("m")) >= 3)
            told: list[str] = []
            while len(told) < 3:
                change = news.get(timeout=PATIENCE_S)
                assert isinstance(change, Change)
                assert change.alerts == ()
                told += [each["id"] for each in change.changes]
            assert client.alerts("m") == client.changes("hot") == []
            assert client.watch("m")["alert_count"] == 0
            changes = {each["id"] for each in client.changes()}
            assert {each["kind"] for each in client.changes()} == {"change"}
            until(lambda: changes <= _sunk(tmp_path / "all.jsonl") and _sunk(tmp_path / "few.jsonl"))
            assert not changes & _sunk(tmp_path / "few.jsonl")


def _sunk(path: Path) -> set[str]:
    return {json.loads(line)["id"] for line in path.read_text().splitlines()} if path.exists() else set()


def test_a_follower_outlives_its_coordinator(system: LightSystem) -> None:
    client = tacit.connect(system.address)
    client.execute(HOT)
    patient, impatient = followed(client, "hot", reconnect=True), followed(client, "hot")
    for news in (patient, impatient):  # both are there before the coordinator goes
        assert isinstance(news.get(timeout=PATIENCE_S), Change)
    system.feed(HOT, range(100, 130), 5)
    until(lambda: client.answer("hot").state == "valid")
    system.stop_coordinator()
    while not isinstance(ended := impatient.get(timeout=PATIENCE_S), Exception):
        pass
    assert "the coordinator stops" in str(ended)
    system.feed(HOT, range(130, 160), 11)
    system.start_coordinator()
    assert [side for side, _ in alerts_until(patient, 1)] == ["above"]


def test_alerts_that_were_raised_while_a_follower_was_away_come_when_it_is_back(system: LightSystem) -> None:
    client = tacit.connect(system.address)
    client.execute(HOT)
    system.feed(HOT, range(100, 130), 5)
    until(lambda: client.answer("hot").state == "valid")
    documents = client.documents("hot")
    newest = next(documents)["newest"]
    documents.close()  # type: ignore[attr-defined]
    for before, level in enumerate((11, 5, 11)):
        first = 130 + 30 * before
        system.feed(HOT, range(first, first + 30), level)
        until(lambda before=before: len(client.alerts("hot")) > before)
    late = follow(system.address, {"watch": "hot", "after": newest})
    assert [alert["side"] for alert in next(late)["alerts"]] == ["above", "below", "above"]
    late.close()


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SHOW WATCH nothing", "there is no watch named nothing; there is none yet"),
        ("CREATE WATCH a AS SELECT MAX(x) AS m FROM d ALERT WHEN m > 1", "MAX"),
        ("CREATE WATCH a AS SELECT AVG(z) AS m FROM d ALERT WHEN m > 1", "z"),
        ("FOO", "a statement starts with"),
        ("", "there is no statement here"),
    ],
)
def test_what_is_refused(system: LightSystem, sql: str, words: str) -> None:
    with pytest.raises(tacit.SentenceError, match=words):
        tacit.connect(system.address).execute(sql)
    with pytest.raises(tacit.SentenceError, match="there is no watch named"):
        next(tacit.connect(system.address).follow("nothing"))


def test_nobody_there_and_a_wrong_token(tmp_path: Path) -> None:
    with LightSystem(tmp_path, tokens={"clients": {"desk": "right"}, "sites": {"north": "its own"}}) as system:
        assert tacit.connect(system.address, token="right").watches() == []
        for token, words in (("wrong", "not one that this coordinator accepts"), (None, "asks for a token")):
            with pytest.raises(tacit.TacitError, match=words):
                tacit.connect(system.address, token=token).watches()
            with pytest.raises(tacit.TacitError, match=words):
                next(tacit.connect(system.address, token=token).follow("hot", reconnect=True))
        site = system.site("north", token="right")
        until(lambda: any("client's token" in reason for reason in site.reasons))
    with pytest.raises(tacit.TacitError, match=r"no coordinator listens at .*; start it with `tacit coordinator`"):
        tacit.connect(system.address).watches()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"address": "nowhere"}, "is no address"),
        ({"address": "192.0.2.1:7070", "token": "t"}, "for everyone to read"),
        ({"certificate": "a.pem"}, "give both"),
    ],
)
def test_options_that_cannot_work(options: dict[str, str], words: str) -> None:
    with pytest.raises(tacit.OptionError, match=words):
        tacit.connect(**options)  # type: ignore[arg-type]
