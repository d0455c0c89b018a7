"""``tacit replay sweep``: every combination is run, saved and drawn; wrong values change nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Tacit = Callable[..., Any]
Sentence = Callable[[str], Path]
HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM t WINDOW LAST 100 ROWS ALERT WHEN m > 10 MARGIN 0.2"
TRACK = "CREATE WATCH spread AS SELECT STDDEV(y) AS s FROM t TRACK s WITHIN 0.5"


@pytest.mark.usefixtures("spark")
def test_a_sweep_writes_a_table_and_a_plot(tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    vary = ["--vary", "threshold=8:12:3", "--vary", "protocol=coordinator,broadcast", "--vary", "sites=2,3"]
    done = tacit("replay", "sweep", sentence(HOT), *where, *vary, "--out", out, "--verify")
    assert (done.code, done.err) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == ["sweep.csv", "sweep.parquet", "sweep.png"]
    assert (out / "sweep.png").stat().st_size > 10_000
    rows = pq.read_table(out / "sweep.parquet").to_pylist()
    with (out / "sweep.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows) == 12
    combinations = {(row["threshold"], row["protocol"], row["sites"]) for row in rows}
    assert len(combinations) == 12
    assert {row["threshold"] for row in rows} == {8.0, 10.0, 12.0}
    assert all(row["missed"] == row["spurious"] == 0 for row in rows)
    assert {row["sites"]: row["updates"] for row in rows} == {2: 600, 3: 900}
    assert "threshold" in done.out
    assert "saved" in done.out


@pytest.mark.usefixtures("spark")
def test_a_sweep_of_windows_as_json_equals_single_replays(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path
) -> None:
    options = ["--vary", "window=50,100", "--out", tmp_path / "out", "--json"]
    rows = json.loads(tacit("replay", "sweep", sentence(HOT), *where, *options).out)
    assert [row["window"] for row in rows] == ["50", "100"]
    single = json.loads(tacit("replay", sentence(HOT), *where, "--json").out)
    assert rows[1]["messages"] == single["messages"]["total"]
    assert rows[1]["pane_messages"] == single["pane_shipping"]["messages"]


@pytest.mark.parametrize(
    ("text", "vary", "expected"),
    [
        (HOT, ["threshold"], "has no values; write threshold=v1,v2"),
        (HOT, ["colour=red"], "that cannot be varied; choose threshold, margin"),
        (HOT, ["threshold=low,high"], "--vary threshold: 'low' is not a number"),
        (HOT, ["threshold=1:2"], "'1:2' is not first:last:count"),
        (HOT, ["margin=-1"], "--vary margin: -1 is negative"),
        (HOT, ["window=0"], "a window of 0 has no length"),
        (HOT, ["window=1 moon"], "the units are"),
        (HOT, ["window=100:2h:3"], "goes from rows to time"),
        (HOT, ["sites=2.5"], "'2.5' is not a whole number"),
        (HOT, ["protocol=gossip"], "gossip keeps rankings"),
        (HOT, ["within=1"], "hot tracks nothing"),
        (TRACK, ["threshold=1"], "spread has none; vary within"),
        (HOT, ["margin=0", "margin=1"], "--vary margin is said 2 times"),
        (HOT, ["threshold=0:1:200", "margin=0:1:100"], "20,000 runs; at most 10,000"),
        (HOT + ";" + TRACK, ["threshold=1"], "holds 2 watches; a sweep varies one"),
        (HOT + " OR m < 1", ["threshold=1"], "hot has several comparisons"),
    ],
)
def test_wrong_values_change_nothing(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path, text: str, vary: list[str], expected: str
) -> None:
    words = [word for each in vary for word in ("--vary", each)]
    done = tacit("replay", "sweep", sentence(text), *where, *words, "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert expected in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("vary", "expected"),
    [("sites=2,7", "cannot take 7 sites: the data has 3"), ("groups=2", "the watch has no groups")],
)
def test_more_than_the_data_has(
    tacit: Tacit, sentence: Sentence, where: list[str], tmp_path: Path, vary: str, expected: str
) -> None:
    done = tacit("replay", "sweep", sentence(HOT), *where, "--vary", vary, "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert not (tmp_path / "out").exists()
