"""What a coordinator knows after a restart, and what it says when its store is taken away from under it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tacit.runtime import service
from tacit.runtime.locks import foreign_entries
from tests.runtime.light import LightSystem, until

HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"


def silence(system: LightSystem, name: str) -> float:
    """For how many seconds nothing was heard of a site, as users are shown it."""
    (sites,) = system.runner.ask({"sql": "SHOW SITES"})["results"]
    return next(float(site["seen_seconds_ago"]) for site in sites["sites"] if site["site"] == name)


def test_a_site_is_silent_since_it_was_last_heard_and_not_since_a_restart(tmp_path: Path) -> None:
    with LightSystem(tmp_path, lease_seconds=0.5) as system:
        for name in ("north", "south"):
            system.site(name)
        system.runner.ask({"sql": HOT})
        system.feed(HOT, range(100, 130), 5)
        until(lambda: system.watch("hot")["state"] == "valid")
        system.sites.pop("south").stop()
        before = until(lambda: (found := silence(system, "south")) > 1.5 and found)
        system.stop_coordinator()
        system.start_coordinator()
        assert silence(system, "south") >= before
        stale = until(lambda: [each for each in system.watch("hot")["stale"] if each["site"] == "south"])
        assert stale[0]["seconds"] >= before
        assert until(lambda: silence(system, "north") < 0.5)


def test_a_store_that_is_taken_away_is_complained_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service, "_LEDGER_S", 0.05)

    def complaints() -> list[Any]:
        return [record for record in caplog.records if "was removed or replaced" in record.getMessage()]

    with LightSystem(tmp_path) as system:
        system.site("north")
        system.runner.ask({"sql": HOT})
        system.feed(HOT, range(100, 130), 5)
        until(lambda: system.watch("hot")["state"] == "valid")
        state = system.config.coordinator.state
        assert foreign_entries(state) == []
        assert complaints() == []
        shutil.rmtree(state)
        until(complaints)
        assert "tacit watch list --json" in complaints()[0].getMessage()
        system.feed(HOT, range(130, 150), 11)  # what it knows it still tells
        until(lambda: system.watch("hot")["answer"][0]["met"])
        assert len(complaints()) == 1  # once a minute
