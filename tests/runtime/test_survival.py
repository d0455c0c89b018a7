"""What a coordinator's books survive: kills while all are asked anew, changes while a site is away, old copies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit.protocols.settlement import Phase
from tacit.runtime.reports import answer_document
from tests.runtime.played import BEGIN, Played

PROTOCOLS = ["coordinator", "broadcast"]
ABC = {0: 20.0, 1: 20.0, 2: 80.0}


def _settled(folder: Path, names: str, values: dict[int, float], **options: str) -> Played:
    """Five panes after its start."""
    played = Played(folder, names, **options)
    played.step(BEGIN, dict.fromkeys(values, 0.0))
    played.steps(BEGIN + 1, BEGIN + 5, values)
    assert played.answer == (BEGIN + 4, "valid", sum(values.values()) > 100)
    return played


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_killed_while_a_site_leaves_the_others_are_asked_anew(tmp_path: Path, protocol: str) -> None:
    played = _settled(tmp_path, "abc", ABC, protocol=protocol)
    played.lose("c")
    played.close(BEGIN + 5, {0: 20.0, 1: 20.0})
    played.coordinator.ask("DROP SITE c", played.now)
    played.beat()
    assert played.watch.settlement is not None
    assert played.watch.settlement.phase is Phase.COLLECTING
    played.commit()
    played.crash_coordinator()
    played.steps(BEGIN + 6, BEGIN + 12, {0: 90.0, 1: 20.0})
    assert played.answer == (BEGIN + 11, "valid", True)
    assert played.raised == [(BEGIN + 1, "above", 120.0), (BEGIN + 5, "below", 40.0), (BEGIN + 6, "above", 110.0)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_killed_at_its_very_first_collection_it_starts_over(tmp_path: Path, protocol: str) -> None:
    played = Played(tmp_path, "ab", protocol=protocol)
    played.close(BEGIN, {0: 0.0, 1: 0.0})
    played.beat()
    assert played.watch.settlement is not None
    assert played.watch.settlement.phase is Phase.COLLECTING
    played.commit()
    played.crash_coordinator()
    played.steps(BEGIN + 1, BEGIN + 10, {0: 60.0, 1: 50.0})
    assert played.answer == (BEGIN + 9, "valid", True)


@pytest.mark.parametrize("deeds", [["ALTER WATCH hot SET THRESHOLD 99"], ["PAUSE WATCH hot", "RESUME WATCH hot"]])
@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_site_that_is_away_still_counts_after_a_change(
    tmp_path: Path, deeds: list[str], crashes: bool, protocol: str
) -> None:
    played = _settled(tmp_path, "abc", ABC, protocol=protocol)
    away = played.lose("c")
    played.steps(BEGIN + 5, BEGIN + 20, {0: 20.0, 1: 20.0})
    assert played.answer == (BEGIN + 19, "stale", True)
    document = answer_document(played.coordinator, played.watch, played.now)
    assert document["stale"] == [{"site": "c", "seconds": 15.0}]
    for deed in deeds:
        played.coordinator.ask(deed, played.now)
        played.commit()
        if crashes:
            played.crash_coordinator()
    played.make_sites()
    played.steps(BEGIN + 20, BEGIN + 40, {0: 20.0, 1: 25.0})
    assert played.answer == (BEGIN + 39, "stale", True)
    played.come_back("c")
    played.make_sites()
    assert played.sites[2] is not away
    for site in (0, 1):
        played.sites[site].closed = BEGIN + 39
    played.steps(BEGIN + 40, BEGIN + 45, {0: 20.0, 1: 25.0, 2: 60.0})
    assert played.answer == (BEGIN + 44, "valid", True)
    played.steps(BEGIN + 45, BEGIN + 48, {0: 20.0, 1: 25.0, 2: 30.0})
    assert played.answer == (BEGIN + 47, "valid", False)
    assert played.raised == [(BEGIN + 1, "above", 120.0), (BEGIN + 45, "below", 75.0)]


def test_a_site_that_was_sent_away_may_come_back(tmp_path: Path) -> None:
    played = _settled(tmp_path, "abc", ABC)
    cut = played.lose("c")
    played.carry(played.coordinator.ask("DROP SITE c", played.now)[1])
    played.steps(BEGIN + 5, BEGIN + 8, {0: 20.0, 1: 20.0})
    assert played.answer == (BEGIN + 7, "valid", False)
    played.come_back("c")
    played.sites[2] = cut
    for pane in range(BEGIN + 5, BEGIN + 8):
        played.close(pane, {2: 80.0})
    played.steps(BEGIN + 8, BEGIN + 14, ABC)
    assert played.answer == (BEGIN + 13, "valid", True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_books_from_a_backup_are_made_new(tmp_path: Path, protocol: str) -> None:
    played = _settled(tmp_path / "now", "ab", {0: 20.0, 1: 20.0}, protocol=protocol)
    played.store.close()
    shutil.copytree(tmp_path / "now", tmp_path / "backup")
    played.crash_coordinator()
    played.steps(BEGIN + 5, BEGIN + 10, {0: 70.0, 1: 70.0})
    assert played.answer == (BEGIN + 9, "valid", True)
    played.folder = tmp_path / "backup"
    played.crash_coordinator()
    played.steps(BEGIN + 10, BEGIN + 20, {0: 30.0, 1: 30.0})
    assert played.answer == (BEGIN + 19, "valid", False)
