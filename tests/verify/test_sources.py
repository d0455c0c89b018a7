"""What the judge reads is what a site reads: the formats, and the keys of a table that say how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.runtime.config import load_config
from tacit.vocabulary.errors import OptionError
from tests.verify.recordings import SITES, config_of

pytest.importorskip("duckdb")
from tacit.verify.sources import read_sources

SECOND = 1_000_000
NOON_US = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z


def _read(folder: Path, columns: str = "*", **table: Any) -> list[tuple[Any, ...]]:
    rows = read_sources(config_of(folder, **table), ["readings"])
    return rows.database.execute(
        f"SELECT __site, __t, {columns} FROM {rows.relation('readings')} ORDER BY __t, __site"
    ).fetchall()


def _folders(folder: Path) -> Path:
    for site in SITES:
        (folder / site).mkdir()
    return folder / "north"


def test_csv_with_a_schema_and_a_separator_of_its_own(tmp_path: Path) -> None:
    north = _folders(tmp_path)
    (north / "a.csv").write_text('ts;x;name\n2026-01-01T12:00:00Z;1.5;"a;b"\n2026-01-01 12:00:01;bad;\n;7;no time\n')
    schema = "ts TIMESTAMP, x DOUBLE, name STRING, more BIGINT"
    said = _read(tmp_path, "x, name, more", format="csv", schema=schema, options={"sep": ";"})
    assert said == [("north", NOON_US, 1.5, "a;b", None), ("north", NOON_US + SECOND, None, None, None)]


def test_json_lines_and_seconds_as_numbers(tmp_path: Path) -> None:
    north = _folders(tmp_path)
    lines = [{"ts": 1.25, "tags": ["a", "b"]}, {"ts": 2, "tags": None}]
    (north / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert _read(tmp_path, "tags", format="json") == [("north", 1_250_000, ["a", "b"]), ("north", 2_000_000, None)]


def test_instants_with_another_zone_are_in_utc(tmp_path: Path) -> None:
    north = _folders(tmp_path)
    times = pa.array([NOON_US], pa.timestamp("us", tz="Asia/Tokyo"))
    pq.write_table(pa.table({"ts": times}), north / "a.parquet")
    assert _read(tmp_path, "hour(ts)") == [("north", NOON_US, 12)]


def test_select_and_where_of_the_table_apply(tmp_path: Path) -> None:
    north = _folders(tmp_path)
    pq.write_table(pa.table({"ms": [1000, 2000, 3000], "k": ["a", "b", "a"]}), north / "a.parquet")
    said = _read(tmp_path, "k", select=["CAST(ms / 1000 AS DOUBLE) AS ts", "upper(k) AS k"], where="k <> 'B'")
    assert said == [("north", 1_000_000, "A"), ("north", 3_000_000, "A")]


def test_only_whole_files_of_the_format_are_read(tmp_path: Path) -> None:
    north = _folders(tmp_path)
    for name in ("a.parquet", "b.parquet.part", "_c.parquet", ".d.parquet"):
        pq.write_table(pa.table({"ts": [1.0]}), north / name)
    (north / "deep").mkdir()
    pq.write_table(pa.table({"ts": [2.0]}), north / "deep" / "e.parquet")
    assert [t for _, t, *_ in _read(tmp_path)] == [1_000_000, 2_000_000]
    pq.write_table(pa.table({"ts": [3.0]}), north / "f.dat")
    assert [t for _, t, *_ in _read(tmp_path, options={"pathGlobFilter": "*.dat"})] == [3_000_000]


def test_every_site_has_its_own_rows_of_every_table(tmp_path: Path) -> None:
    lines = ['source = "files"\nformat = "parquet"\ntime = "ts"']
    text = "".join(f'[tables.{name}]\n{lines[0]}\npath = "{name}/{{site}}"\n' for name in ("one", "two"))
    (tmp_path / "tacit.toml").write_text(text + "".join(f"[sites.{site}]\n" for site in SITES))
    for place, name in enumerate(("one", "two")):
        for site in SITES:
            (tmp_path / name / site).mkdir(parents=True)
            pq.write_table(pa.table({"ts": [float(place)]}), tmp_path / name / site / "a.parquet")
    rows = read_sources(load_config(tmp_path / "tacit.toml"), ["one", "two"])
    for place, name in enumerate(("one", "two")):
        query = f"SELECT __site, __t FROM {rows.relation(name)} ORDER BY __site"
        assert rows.database.execute(query).fetchall() == [(site, place * SECOND) for site in SITES]


def test_other_sources_are_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text('[tables.readings]\nsource = "rate"\n[sites.north]\n')
    with pytest.raises(OptionError, match="is of source rate: the judge reads files only"):
        read_sources(load_config(tmp_path / "tacit.toml"), ["readings"])
