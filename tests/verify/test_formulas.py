"""Aggregates and conditions, as the judge computes them, against the textbook definitions of the twin."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.verify.formulas import Formulas, holds
from tacit.verify.question import question_of
from tacit.verify.values import groups_at
from tests.twin import aggregates as twin
from tests.verify.recordings import SITES, rows_of

pytest.importorskip("duckdb")

Rows = list[dict[str, Any]]


def _data() -> Rows:
    dice = np.random.default_rng(5)
    rows: Rows = []
    for place in range(60):
        rows.append(
            {
                "ts": place / 60,
                "x": None if place % 7 == 0 else math.nan if place % 11 == 0 else float(1e3 + dice.normal()),
                "y": None if place % 5 == 0 else float(dice.normal()),
                "z": float(dice.random()),
                "c": bool(dice.random() < 0.4),
                "d": None if place % 9 == 0 else bool(dice.random() < 0.6),
            }
        )
    return rows


CASES: dict[str, Callable[[Rows], float]] = {
    "SUM(x)": lambda rows: twin.total(rows, "x"),
    "SUM(x) FILTER (WHERE y > 0)": lambda rows: twin.total([r for r in rows if (r["y"] or 0) > 0], "x"),
    "COUNT(*)": lambda rows: twin.count(rows),
    "COUNT(x, y)": lambda rows: twin.count(rows, "x", "y"),
    "COUNT_IF(c)": lambda rows: twin.count_if(rows, lambda r: r["c"]),
    "AVG(x)": lambda rows: twin.mean(rows, "x"),
    "AVG(d)": lambda rows: twin.mean(rows, lambda r: None if r["d"] is None else float(r["d"])),
    "VAR_POP(x)": lambda rows: twin.variance(rows, "x"),
    "VARIANCE(x)": lambda rows: twin.variance(rows, "x", fewer=1),
    "STDDEV_POP(x)": lambda rows: twin.deviation(rows, "x"),
    "STDDEV(x)": lambda rows: twin.deviation(rows, "x", fewer=1),
    "COVAR_POP(x, y)": lambda rows: twin.covariance(rows, "x", "y"),
    "COVAR_SAMP(x, y)": lambda rows: twin.covariance(rows, "x", "y", fewer=1),
    "CORR(x, y)": lambda rows: twin.correlation(rows, "x", "y"),
    "REGR_SLOPE(y, x)": lambda rows: twin.slope(rows, "y", "x"),
    "ENTROPY(c)": lambda rows: twin.entropy_of(rows, lambda r: r["c"]),
    "ENTROPY(z, z + 1)": lambda rows: twin.entropy(
        twin.total(rows, "z"), twin.total(rows, lambda r: float(r["z"]) + 1)
    ),
    "INFORMATION_GAIN(c, x > 1000)": lambda rows: twin.information_gain(
        [r for r in rows if r["x"] is not None], lambda r: r["c"], lambda r: r["x"] > 1000 or math.isnan(r["x"])
    ),
    "CHI_SQUARE(c, z > 0.5)": lambda rows: twin.chi_square(rows, lambda r: r["c"], lambda r: r["z"] > 0.5),
    "abs(-SUM(y)) + power(AVG(z), 2) * log(2, 8)": lambda rows: (
        abs(twin.total(rows, "y")) + 3 * twin.mean(rows, "z") ** 2
    ),
    "AVG(x) / COUNT_IF(x < 0)": lambda rows: math.nan,
}


@pytest.mark.parametrize("text", CASES)
def test_a_value_is_that_of_the_textbook(text: str, tmp_path: Path) -> None:
    rows = _data()
    asked = question_of(
        f"CREATE WATCH w AS SELECT {text} AS v FROM readings WINDOW LAST 1 SECOND EVERY 1 SECOND TRACK v WITHIN 1"
    )
    formulas = Formulas(asked.items, asked.aliases)
    assert asked.goal is not None
    formulas.add(asked.goal)
    groups = groups_at(rows_of(tmp_path, {"north": rows[::2], "south": rows[1::2]}), asked, formulas, [0, 5], SITES)
    for pane, counted in ((0, rows), (5, [])):
        truth, found = CASES[text](counted), formulas.value(asked.goal, groups.rows(pane)[()])
        if math.isnan(truth):
            assert found is None
        else:
            assert found == pytest.approx(truth, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("condition", "eased", "plain", "tightened"),
    [
        ("s > 10 MARGIN 2", True, False, False),
        ("s > 8 MARGIN 2", True, True, False),
        ("NOT (s > 8 MARGIN 2)", True, False, False),
        ("s BETWEEN 8 AND 11 MARGIN 2", True, True, False),
        ("NOT s BETWEEN 8 AND 11 MARGIN 2", True, False, False),
        ("s < 5 OR n > 1", True, True, True),
        ("NOT (s < 5 OR n > 1)", False, False, False),
        ("s / 0.5 > n * 2 MARGIN 13", True, True, True),
        ("s / (n - 2) > 0", False, False, False),
        ("NOT (s / (n - 2) > 0)", False, False, False),
    ],
)  # fmt: skip
def test_a_condition_is_eased_and_tightened_by_its_margins(
    condition: str, eased: bool, plain: bool, tightened: bool, tmp_path: Path
) -> None:
    asked = question_of(
        "CREATE WATCH w AS SELECT SUM(x) AS s, COUNT(*) AS n FROM readings WINDOW LAST 1 SECOND EVERY 1 SECOND"
        f" ALERT WHEN {condition}"
    )
    formulas = Formulas(asked.items, asked.aliases)
    for item in asked.items.values():
        formulas.add(item)
    rows = rows_of(tmp_path, {"north": [{"ts": 0.0, "x": 4.0}, {"ts": 0.5, "x": 5.0}]})
    row = groups_at(rows, asked, formulas, [0], SITES).rows(0)[()]
    assert asked.goal is not None
    found = [holds(formulas, asked.goal, row, leniency) for leniency in (1, 0, -1)]
    assert found == [eased, plain, tightened]
