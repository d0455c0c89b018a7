"""The loader: what a prepared folder says becomes arrays, and a folder that is none is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.recording.stream import Recording, load
from tacit.vocabulary.errors import DataError


def folder_of(tmp_path: Path, parts: list[dict[str, Any]], **meta: Any) -> Path:
    """A prepared folder written without Spark."""
    (tmp_path / "events").mkdir()
    rows = kept = 0
    for number, columns in enumerate(parts):
        table = pa.table(columns)
        table = table.append_column("key", pa.array(range(table.num_rows), pa.int64()))
        rows, kept = rows + table.num_rows, kept + sum(table.column("keep").to_pylist())
        pq.write_table(table, tmp_path / "events" / f"part-{number:05d}-x.parquet")
    story = {
        "sites": ["a", "b"],
        "site_rule": {"kind": "column", "column": "s", "count": None},
        "groups": None,
        "keys": None,
        "grouping": None,
        "statistics": ["sum"],
        "centres": [],
        "rows": rows,
        "kept": kept,
        "left_out": {"no_time": 2, "no_site": 0},
    }
    (tmp_path / "meta.json").write_text(json.dumps(story | meta))
    return tmp_path


def int32(*values: int) -> pa.Array:
    return pa.array(values, pa.int32())


def test_parts_in_name_order_and_where(tmp_path: Path) -> None:
    parts = [
        {"t": [1, 2], "keep": [True, False], "site": int32(0, 1), "p0": [1.0, 2.0]},
        {"t": [2, 9], "keep": [True, True], "site": int32(1, 0), "p0": [3.0, 4.0]},
    ]
    got = load(folder_of(tmp_path, parts))
    assert got.t.tolist() == [1, 2, 9]
    assert got.site.tolist() == [0, 1, 0]
    assert got.present.tolist() == [[1.0], [3.0], [4.0]]
    assert (got.rows, got.kept, got.left_out, len(got)) == (4, 3, {"no_time": 2, "no_site": 0}, 3)
    for array, kind in ((got.t, np.int64), (got.site, np.int32), (got.present, np.float64)):
        assert array.dtype == kind
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_round_robin_counts_before_where(tmp_path: Path) -> None:
    parts = [{"t": [1, 2, 3, 4], "keep": [True, False, False, True], "p0": [1.0] * 4}]
    rule = {"kind": "round_robin", "column": None, "count": 3}
    got = load(folder_of(tmp_path, parts, site_rule=rule, sites=["0", "1", "2"]))
    assert got.site.tolist() == [0, 0]
    assert got.t.tolist() == [1, 4]


def test_members_across_parts(tmp_path: Path) -> None:
    lists = pa.list_(pa.int32())
    parts = [
        {
            "t": [1, 2],
            "keep": [False, True],
            "site": int32(0, 1),
            "p0": [1.0, 1.0],
            "a0": [0.5, 0.25],
            "members": pa.array([[0, 1], [2]], lists),
        },
        {
            "t": [3, 4],
            "keep": [True, True],
            "site": int32(0, 1),
            "p0": [1.0, 1.0],
            "a0": [0.5, 0.125],
            "members": pa.array([[], [0, 2]], lists),
        },
    ]
    got = load(folder_of(tmp_path, parts, grouping="member", groups=["x", "y", "z"]))
    assert got.member_ptr is not None
    assert got.member is not None
    assert got.absent is not None
    assert got.member_ptr.tolist() == [0, 1, 1, 3]
    assert got.member.tolist() == [2, 0, 2]
    assert got.absent[:, 0].tolist() == [0.25, 0.5, 0.125]


def test_keys(tmp_path: Path) -> None:
    parts = [{"t": [1, 2], "keep": [True, False], "site": int32(0, 1), "p0": [1.0, 1.0], "grp": int32(1, -1)}]
    got = load(folder_of(tmp_path, parts, grouping="key", groups=["x", "y"]))
    assert got.group is not None
    assert got.group.tolist() == [1]


def test_from_arrays_with_members() -> None:
    got = Recording.from_arrays([0, 1], [1, 0], [1.0, 1.0], members=[[2, 0, 2], []], absent=[0.0, 1.0])
    assert got.groups == ("0", "1", "2")
    assert got.member_ptr is not None
    assert got.member is not None
    assert (got.member_ptr.tolist(), got.member.tolist()) == ([0, 2, 2], [0, 2])
    assert Recording.from_arrays([], [], np.empty((0, 2)), sites=["a", "b"]).dimension == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"t": [3, 2, 1]}, "the recording's events are not in the order of time"),
        ({"site": [0, 1]}, "the arrays of the recording have different lengths"),
        ({"site": [0, 1, 5], "sites": ["a", "b"]}, "an event of the recording has a site without a name"),
        ({"group": [0, 1, 2], "groups": ["x"]}, "an event of the recording has a group without a name"),
        ({"present": [1.0, np.inf, 2.0]}, "a contribution of the recording is not finite"),
        ({"statistics": ["a", "b"]}, "the recording has other contributions than it has statistics"),
    ],
)
def test_arrays_that_do_not_fit(change: dict[str, Any], sentence: str) -> None:
    arrays: dict[str, Any] = {"t": [1, 2, 3], "site": [0, 1, 0], "present": [1.0, 2.0, 3.0]}
    with pytest.raises(DataError) as caught:
        Recording.from_arrays(**(arrays | change))
    assert str(caught.value) == sentence


def test_folders_that_are_no_recording(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == f"{tmp_path} is not a prepared recording"
    folder = folder_of(tmp_path, [{"t": [1], "keep": [True], "site": int32(0), "p0": [1.0]}], rows=2)
    with pytest.raises(DataError) as caught:
        load(folder)
    assert str(caught.value) == f"{folder} has 1 of its 2 rows; prepare it again"
