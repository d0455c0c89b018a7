"""A running coordinator with light sites, judged through the client."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.runtime import published
from tacit.runtime.config import load_config
from tacit.runtime.config_models import Config
from tacit.runtime.store import Store
from tacit.verify.following import Follower
from tests.runtime.light import LightSystem, until

pytest.importorskip("duckdb")

SITES = ("north", "south")
HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"
PARTS = ((range(100, 130), 5.0), (range(130, 145), 20.0), (range(145, 160), 1.0))


@pytest.fixture
def system(tmp_path: Path) -> Iterator[LightSystem]:
    with LightSystem(tmp_path / "live") as made:
        for site in SITES:
            made.site(site)
        until(lambda: [site["tables"] for site in made.runner.ask({"status": True})["sites"]] == [["d"], ["d"]])
        yield made


def _config(folder: Path) -> Config:
    """Where the rows that are fed can be read."""
    lines = [
        '[tables.d]\nsource = "files"\npath = "data/{site}"\nformat = "parquet"\ntime = "ts"\nclock = "event"',
        'watermark = "0 seconds"', *(f"[sites.{site}]" for site in SITES),
    ]  # fmt: skip
    (folder / "tacit.toml").write_text("\n".join(lines))
    return load_config(folder / "tacit.toml")


def _write(folder: Path, parts: Any = PARTS) -> None:
    rows = [{"ts": float(second), "x": x, "k": "a"} for seconds, x in parts for second in seconds]
    for site in SITES:
        (folder / "data" / site).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), folder / "data" / site / "a.parquet")


def test_a_system_is_followed_to_the_end_of_its_data_and_judged(system: LightSystem, tmp_path: Path) -> None:
    _write(tmp_path)
    with tacit.connect(system.address) as client:
        client.execute(HOT)
        follower = Follower(_config(tmp_path), client, sleep=lambda _: time.sleep(0.2))
        for seconds, x in PARTS:
            system.feed(HOT, seconds, x)
            follower.look()
        until(lambda: (client.answer("hot").pane or 0) >= 158)
        follower.follow(None, until_end=True)
        (verdict,) = follower.verdicts()
    assert verdict.is_good, verdict
    assert (verdict.panes, verdict.crossings, verdict.alerts, verdict.before) == (59, 2, 2, 0)


def test_rows_that_no_site_has_seen_make_its_answers_wrong(system: LightSystem, tmp_path: Path) -> None:
    _write(tmp_path, ((range(100, 120), 5.0), (range(120, 125), 1000.0), (range(125, 160), 5.0)))
    with tacit.connect(system.address) as client:
        client.execute(HOT)
        for seconds, _ in PARTS:
            system.feed(HOT, seconds, 5.0)
        until(lambda: (client.answer("hot").pane or 0) >= 158)
        (verdict,) = Follower(_config(tmp_path), client).verdicts()
    assert len(verdict.wrong) == 14
    assert [each.split(":")[0] for each in verdict.lost] == ["pane 120", "pane 134"]


def test_what_was_called_valid_and_is_changed_later_is_noticed(system: LightSystem, tmp_path: Path) -> None:
    _write(tmp_path)
    with tacit.connect(system.address) as client:
        client.execute(HOT)
        follower = Follower(_config(tmp_path), client)
        for seconds, x in PARTS:
            system.feed(HOT, seconds, x)
        until(lambda: (client.answer("hot").pane or 0) >= 158)
        follower.look()
        store = Store(system.config.coordinator.state)
        store.commit([("UPDATE changes SET value = value + 1 WHERE pane > 130", ())])
        store.close()
        (verdict,) = follower.verdicts()
    assert verdict.revised == 28
    assert verdict.is_good  # neither of the two answers is beyond its promise: on which side they are is the same


def test_what_was_called_valid_and_wrong_is_wrong_also_if_it_is_mended_later(
    system: LightSystem, tmp_path: Path
) -> None:
    _write(tmp_path)
    with tacit.connect(system.address) as client:
        client.execute(HOT)
        follower = Follower(_config(tmp_path), client)
        for seconds, x in PARTS:
            system.feed(HOT, seconds, x)
        until(lambda: (client.answer("hot").pane or 0) >= 158)
        store = Store(system.config.coordinator.state)
        store.commit([("UPDATE changes SET side = 1 - side WHERE pane > 130", ())])
        follower.look()
        store.commit([("UPDATE changes SET side = 1 - side WHERE pane > 130", ())])
        store.close()
        (verdict,) = follower.verdicts()
    assert verdict.revised > 0
    assert all("valid when it was looked at" in each for each in verdict.wrong)
    assert verdict.wrong


def test_pages_hold_everything_once(system: LightSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    with tacit.connect(system.address) as client:
        client.execute(HOT.replace("ALERT WHEN m > 8", "TRACK m WITHIN 0.1"))
        for seconds, x in PARTS:
            system.feed(HOT, seconds, x)
        until(lambda: (client.answer("hot").pane or 0) >= 158)
        (whole,) = client.published("hot")
        monkeypatch.setattr(published, "_ROWS", 3)
        pages = list(client.published("hot"))
    assert len(pages) > 3
    for part in ("changes", "alerts"):
        assert [each for page in pages for each in page[part]] == whole[part]
    panes = [pane for page in pages for span in page["spans"] for pane in range(span["first"], span["last"] + 1)]
    assert panes == [pane for span in whole["spans"] for pane in range(span["first"], span["last"] + 1)]
    assert json.dumps(whole)
