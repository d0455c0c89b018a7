"""``tacit init`` on folders as people have them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.functions.goals import Comparison, Track
from tacit.language import parse
from tacit.runtime.config import load_config
from tacit.runtime.config_tables import FileTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = Callable[..., Any]
OLD = datetime(2020, 1, 1, tzinfo=UTC)


def readings(sites: int = 3, rows: int = 400, start: datetime = OLD, site: str | None = None) -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    return {
        "no": list(range(rows)),
        "station": [site or f"st {k % sites}" for k in range(rows)],
        "ts": [(start + timedelta(minutes=10 * (k // sites))).replace(tzinfo=None) for k in range(rows)],
        "PM2.5": np.round(rng.gamma(2.0, 20.0, rows), 2).tolist(),
        "hits": rng.integers(0, 50, rows).tolist(),
    }


def write_csv(path: Path, columns: dict[str, list[Any]], delimiter: str = ",") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_a_site_column_in_csv(tacit: Command, tmp_path: Path) -> None:
    write_csv(tmp_path / "air" / "a.csv", readings(), ";")
    done = tacit("init", tmp_path / "air", "--out", tmp_path / "tacit.toml")
    assert done.code == 0, done.err
    assert "time   ts: it holds timestamps, and is called ts" in done.out
    assert "sites  3: st_0, st_1, st_2; station is called as a site is" in done.out
    assert 'clock  "event"' in done.out
    assert "next: tacit up" in done.out
    config = load_config(tmp_path / "tacit.toml")
    table = config.table_of("st_1", "air")
    assert isinstance(table, FileTable)
    assert (table.path, table.format, table.time) == (str(tmp_path / "air"), "csv", "ts")
    assert table.schema_text == "no BIGINT, station STRING, ts TIMESTAMP, `PM2.5` DOUBLE, hits DOUBLE"
    assert table.options == {"header": True, "sep": ";"}
    assert (table.where, table.clock) == ("station = 'st 1'", "event")
    assert "# The newest row that was seen is of 2020-01-01" in (tmp_path / "tacit.toml").read_text()


def test_the_watches_make_sense_for_the_data(tacit: Command, tmp_path: Path) -> None:
    columns = readings(rows=3000)
    write_csv(tmp_path / "air" / "a.csv", columns)
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "tacit.toml").code == 0
    config = load_config(tmp_path / "tacit.toml")
    (path,) = config.coordinator.watches
    threshold, tracking = parse(path.read_text(encoding="utf-8"))
    assert threshold.table == tracking.table == "air"
    assert isinstance(threshold.goal, Comparison)
    assert min(columns["PM2.5"]) < threshold.goal.threshold < max(columns["PM2.5"])
    assert threshold.goal.threshold > float(np.mean(columns["PM2.5"]))
    assert threshold.goal.margin > 0
    assert isinstance(tracking.goal, Track)
    assert [use.name for use in (*threshold.columns, *tracking.columns)] == ["PM2.5", "hits"]  # not the row's number


def test_types_hold_for_rows_that_the_sample_did_not_see(tacit: Command, tmp_path: Path) -> None:
    rows = 200_000
    columns: dict[str, list[Any]] = {
        "ts": list(range(1_577_836_800, 1_577_836_800 + rows)),
        "site": [f"s{k % 2}" for k in range(rows)],
        "order_id": [k % 9 for k in range(rows)],
        "batch_id": [k % 9 for k in range(rows)],
        "lane_id": [k % 9 for k in range(rows)],
        "mass": [k % 7 for k in range(rows)],
    }
    columns["batch_id"][rows // 2] = 0.5
    columns["lane_id"][rows // 2] = "B7"
    write_csv(tmp_path / "belt" / "a.csv", columns)
    assert tacit("init", tmp_path / "belt", "--out", tmp_path / "t.toml").code == 0
    table = load_config(tmp_path / "t.toml").table_of("s0", "belt")
    assert isinstance(table, FileTable)
    assert table.schema_text == (
        "ts BIGINT, site STRING, order_id BIGINT, batch_id DOUBLE, lane_id STRING, mass DOUBLE"
    )


def test_each_subfolder_is_a_site(tacit: Command, tmp_path: Path) -> None:
    for name in ("north", "south"):
        write_parquet(tmp_path / "data" / name / "a.parquet", readings(site=name))
        write_parquet(tmp_path / "data" / name / "b.parquet", readings(site=name))
    out = tmp_path / "tacit.toml"
    assert tacit("init", tmp_path / "data", "--out", out).code == 0
    config = load_config(out)
    assert list(config.sites) == ["north", "south"]
    (name,) = config.site("north").tables
    table = config.table_of("north", name)
    assert isinstance(table, FileTable)
    assert (table.path, table.format, table.where) == (str(tmp_path / "data" / "north"), "parquet", None)
    assert 'path = "data/{site}"' in out.read_text()


def test_subfolders_that_name_a_value_of_the_site(tacit: Command, tmp_path: Path) -> None:
    for name in ("Tian tan", "Aoti"):
        write_parquet(tmp_path / "air" / f"station={name}" / "a.parquet", readings(site=name))
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml").code == 0
    config = load_config(tmp_path / "t.toml")
    assert list(config.sites) == ["Aoti", "Tian_tan"]
    table = config.table_of("Tian_tan", "air")
    assert isinstance(table, FileTable)
    assert table.path == str(tmp_path / "air" / "station=Tian tan")


def test_subfolders_of_years_are_not_sites(tacit: Command, tmp_path: Path) -> None:
    for year in ("2019", "2020"):
        write_csv(tmp_path / "air" / year / "a.csv", readings())
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml").code == 0
    table = load_config(tmp_path / "t.toml").table_of("st_0", "air")
    assert isinstance(table, FileTable)
    assert table.options["recursiveFileLookup"] is True


def test_data_of_now_lives_by_the_clock(tacit: Command, tmp_path: Path) -> None:
    write_parquet(tmp_path / "air" / "a.parquet", readings(start=datetime.now(UTC) - timedelta(hours=22)))
    done = tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml", "--json")
    assert json.loads(done.out)["clock"] == "wall"
    assert load_config(tmp_path / "t.toml").table_of("st_0", "air").clock == "wall"


def test_the_newest_row_may_be_at_the_end_of_a_long_file(tacit: Command, tmp_path: Path) -> None:
    rows = 60_000
    columns = {
        "host": [f"h{k * 3 // rows}" for k in range(rows)],  # sorted by site: the start holds one of them
        "time": [1_577_836_800 + k for k in range(rows - 1)] + [int(datetime.now(UTC).timestamp())],
        "text": ["x" * 40] * rows,
        "load": [float(k % 7) for k in range(rows)],
    }
    write_csv(tmp_path / "hosts" / "a.csv", columns)
    write_parquet(tmp_path / "hosts2" / "a.parquet", columns)
    for folder in ("hosts", "hosts2"):
        done = tacit("init", tmp_path / folder, "--out", tmp_path / "t.toml", "--json", "--force")
        found = json.loads(done.out)
        assert (found["clock"], found["sites"]["names"]) == ("wall", ["h0", "h1", "h2"])
        assert "seconds since 1970" in found["time"]["why"]


@pytest.mark.parametrize("array", [False, True])
def test_json(tacit: Command, tmp_path: Path, array: bool) -> None:
    (tmp_path / "visits").mkdir()
    rows = [
        {"at": (OLD + timedelta(seconds=k)).isoformat(), "region": k % 2, "ms": k * 1.5, "tags": ["a"]}
        for k in range(50)
    ]
    text = json.dumps(rows) if array else "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "visits" / "a.json").write_text(text)
    done = tacit("init", tmp_path / "visits", "--out", tmp_path / "t.toml", "--json")
    found = json.loads(done.out)
    assert found["time"]["column"] == "at"
    assert found["sites"]["names"] == ["0", "1"]
    table = load_config(tmp_path / "t.toml").table_of("1", "visits")
    assert isinstance(table, FileTable)
    assert table.where == "region = 1"
    assert table.schema_text == "at TIMESTAMP, region BIGINT, ms DOUBLE, tags ARRAY<STRING>"
    assert table.options == ({"multiLine": True} if array else {})


def test_packed_files(tacit: Command, tmp_path: Path) -> None:
    write_csv(tmp_path / "air" / "a.csv.gz", readings())
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml").code == 0


def test_what_is_asked_for_wins(tacit: Command, tmp_path: Path) -> None:
    columns = readings()
    write_parquet(
        tmp_path / "air" / "a.parquet", {**columns, "kind": [f"k'{k % 2}\\" for k in range(400)], "t": columns["hits"]}
    )
    out = tmp_path / "t.toml"
    assert tacit("init", tmp_path / "air", "--out", out, "--site", "kind", "--time", "t").code == 0
    config = load_config(out)
    assert list(config.sites) == ["k_0_", "k_1_"]
    table = config.table_of("k_0_", "air")
    assert (table.where, table.time) == ("kind = 'k\\'0\\\\'", "t")
    assert tacit("init", tmp_path / "air", "--out", out, "--sites", 2, "--force").code == 0
    assert load_config(out).table_of("site2", "air").where == "pmod(xxhash64(ts), 2) = 1"
    assert tacit("init", tmp_path / "air", "--out", out, "--site", "hits", "--sites", 2, "--force").code == 0
    assert load_config(out).table_of("site1", "air").where == "pmod(xxhash64(hits), 2) = 0"


def test_rows_without_numbers_are_counted(tacit: Command, tmp_path: Path) -> None:
    columns = {name: readings()[name] for name in ("no", "station", "ts")}
    write_parquet(tmp_path / "air" / "a.parquet", columns)
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml").code == 0
    assert "COUNT(*)" in (tmp_path / "watches.sql").read_text()
    assert len(parse((tmp_path / "watches.sql").read_text())) == 2


def test_nothing_is_written_over_unless_told(tacit: Command, tmp_path: Path) -> None:
    write_parquet(tmp_path / "air" / "a.parquet", readings())
    (tmp_path / "watches.sql").write_text("mine")
    done = tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml")
    assert done.code == 2
    assert "watches.sql is there already; say --force" in done.err
    assert not (tmp_path / "t.toml").exists()
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml", "--force").code == 0
    assert (tmp_path / "watches.sql").read_text() != "mine"


def without(*names: str) -> dict[str, list[Any]]:
    return {name: values for name, values in readings().items() if name not in names}


PARTS = {"year": [2020] * 9, "month": [1] * 9, "day": [1] * 9, "hour": list(range(9)), "x": [0.5] * 9}


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (
            without("ts"),
            [],
            "no column looks like a time; say which with --time COLUMN. The columns are no (BIGINT), st",
        ),
        (PARTS, [], "year, month, day, hour are parts of one; write one column of them"),
        (
            {"ts": [1_700_000_000_123] * 3, "x": [1.0] * 3},
            [],
            "(ts: its numbers look like milliseconds, and tacit reads",
        ),
        (without("station"), [], "nothing says which rows belong to which site; say --site COLUMN"),
        (without("station"), [], "say --site COLUMN, or --sites 4"),  # hits is measured, and tells no sites apart
        (
            without("station") | {"floor": [k % 7 for k in range(400)], "team": [f"t{k % 5}" for k in range(400)]},
            [],
            "say --site COLUMN, such as team or floor, or --sites 4",
        ),
        (readings(), ["--time", "tss"], "--time tss: the data has no such column; did you mean ts?"),
        (readings(), ["--time", "station"], "--time station: its texts are not times"),
        (readings(), ["--site", "stat"], "did you mean station?"),
        (readings(), ["--site", "PM2.5"], "not by DOUBLE"),
        (
            readings(),
            ["--site", "no"],
            "has more than 64 values; spread them over fewer sites with --site no --sites 8",
        ),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(
    tacit: Command, tmp_path: Path, columns: dict[str, list[Any]], options: list[str], said: str
) -> None:
    write_parquet(tmp_path / "air" / "a.parquet", columns)
    done = tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml", *options)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "t.toml").exists()


def test_folders_that_cannot_be_read(tacit: Command, tmp_path: Path) -> None:
    def said(folder: Path) -> str:
        done = tacit("init", folder, "--out", tmp_path / "t.toml")
        assert done.code == 2
        return str(done.err)

    (tmp_path / "empty").mkdir()
    assert "holds no data file; tacit reads .parquet, .csv" in said(tmp_path / "empty")
    assert "does not exist" in said(tmp_path / "none")
    write_csv(tmp_path / "mixed" / "a.csv", readings())
    assert "is a file; name the folder" in said(tmp_path / "mixed" / "a.csv")
    write_parquet(tmp_path / "mixed" / "b.parquet", readings())
    assert "the data mixes kinds" in said(tmp_path / "mixed")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.parquet").write_text("no")
    assert "a.parquet is not a readable parquet file" in said(tmp_path / "broken")
    write_csv(tmp_path / "headless" / "a.csv", {"1": [1], "2.5": [2]})
    assert "does not start with the names of its columns" in said(tmp_path / "headless")
    write_csv(tmp_path / "differ" / "a.csv", readings())
    write_csv(tmp_path / "differ" / "b.csv", without("hits"))
    assert "have different columns: column hits is only in one of them" in said(tmp_path / "differ")
    write_csv(tmp_path / "rowless" / "a.csv", readings(rows=0))
    assert "there are no rows" in said(tmp_path / "rowless")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_spark_reads_what_was_written(spark: SparkSession, tacit: Command, tmp_path: Path, form: str) -> None:
    columns = readings()
    (write_csv if form == "csv" else write_parquet)(tmp_path / "air" / f"a.{form}", columns)
    assert tacit("init", tmp_path / "air", "--out", tmp_path / "t.toml").code == 0
    config = load_config(tmp_path / "t.toml")
    counts = {}
    for site in config.sites:
        table = config.table_of(site, "air")
        assert isinstance(table, FileTable)
        assert table.where is not None
        reader = spark.read.format(table.format).options(**table.options)
        if table.schema_text is not None:
            reader = reader.schema(table.schema_text)
        frame = reader.load(table.path).where(table.where)
        counts[site] = frame.where("ts IS NOT NULL AND `PM2.5` IS NOT NULL").count()
    assert counts == {"st_0": 134, "st_1": 133, "st_2": 133}
