"""``tacit demo``: several shapes of watches over several kinds of data, and not one wrong answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tacit = Callable[..., Any]


@pytest.mark.usefixtures("spark")
def test_the_demo_is_right_and_draws_everything(tacit: Tacit, tmp_path: Path) -> None:
    done = tacit("demo", "--seconds", 10, "--out", tmp_path / "out", "--json")
    assert (done.code, done.err) == (0, "")
    reports = json.loads(done.out)
    assert len(reports) == 8
    assert [(report["missed"], report["spurious"]) for report in reports] == [(0, 0)] * 8
    assert sum(report["groups"] is not None for report in reports) == 2
    pictures = sorted((tmp_path / "out").iterdir())
    assert [path.stem for path in pictures] == sorted(report["watch"] for report in reports)
    assert all(path.stat().st_size > 10_000 for path in pictures)


def test_a_file_in_the_way_of_the_pictures(tacit: Tacit, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    done = tacit("demo", "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert "is not a folder" in done.err
