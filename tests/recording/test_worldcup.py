"""World Cup logs: 20-byte records in network order, plain and compressed, become Parquet."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tacit.recording.worldcup import main, read_log, write_parquet
from tacit.vocabulary.errors import DataError

ROWS = [
    (893_964_000, 7, 42, 1_234, 0, 0b10_000010, 1, 0b011_00101),
    (893_964_001, 8, 43, 0xFFFFFFFF, 1, 0b00_000100, 2, 0b000_00001),
]


def log(path: Path) -> Path:
    data = b"".join(struct.pack(">IIIIBBBB", *row) for row in ROWS)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["wc_day1_1", "wc_day1_1.gz"])
def test_records_are_read_as_they_were_written(tmp_path: Path, name: str) -> None:
    (table,) = read_log(log(tmp_path / name))
    assert table.to_pylist() == [
        {"ts": 893_964_000, "client": 7, "url": 42, "bytes": 1_234, "method": 0, "status": 2, "type": 1, "server": 101,
         "region": 3},
        {"ts": 893_964_001, "client": 8, "url": 43, "bytes": None, "method": 1, "status": 4, "type": 2, "server": 1,
         "region": 0},
    ]  # fmt: skip


def test_the_command_writes_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(log(tmp_path / "wc_day1_1.gz")), "--out", str(tmp_path / "out")]) == 0
    assert "2 requests" in capsys.readouterr().out
    assert pq.read_table(tmp_path / "out" / "wc_day1_1.parquet").num_rows == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["wc_day1_1.parquet"]


def test_what_is_no_log_is_refused_and_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short, empty, packed = tmp_path / "short", tmp_path / "empty", tmp_path / "bad.gz"
    short.write_bytes(b"x" * 21)
    empty.write_bytes(b"")
    packed.write_bytes(b"no gzip at all")
    for path, reason in ((short, "middle of a record"), (empty, "no request"), (packed, "cannot read")):
        with pytest.raises(DataError, match=reason):
            write_parquet([path], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    assert main([str(tmp_path / "absent"), "--out", str(tmp_path / "out")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
