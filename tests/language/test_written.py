"""The text of each comparison, as it was written."""

from __future__ import annotations

import pytest

from tacit.functions.goals import comparisons
from tacit.language.sentence import parse_watch

WRITTEN = {
    "a > 1": ["a > 1"],
    "(a + n) * 2 > 5 MARGIN 1 OR 3>n": ["(a + n) * 2 > 5", "3>n"],
    "NOT (a > 1 OR /* why */ n\n  < 2)": ["NOT a > 1", "NOT n < 2"],
    "a BETWEEN 1 AND 2 MARGIN 0.1 AND n > 4": ["a BETWEEN 1 AND 2", "a BETWEEN 1 AND 2", "n > 4"],
    "a NOT BETWEEN 1 AND 2": ["a NOT BETWEEN 1 AND 2"] * 2,
    "NOT a NOT BETWEEN 1 AND 2": ["NOT a NOT BETWEEN 1 AND 2"] * 2,
    "((a)) > 5": ["((a)) > 5"],
    "-a > 5 AND (n<1 OR NOT ((a + 1) < 4))": ["-a > 5", "n<1", "NOT (a + 1) < 4"],
    "AVG(x) FILTER (WHERE y > 1 AND x < 2) > 3": ["AVG(x) FILTER (WHERE y > 1 AND x < 2) > 3"],
    "a > AVG(CASE WHEN x > 1 OR y < 2 THEN 1 ELSE 0 END) -- or so": [
        "a > AVG(CASE WHEN x > 1 OR y < 2 THEN 1 ELSE 0 END)"
    ],
    "NOT NOT a > 4": ["a > 4"],
}


@pytest.mark.parametrize("condition", WRITTEN)
def test_a_comparison_knows_what_was_written(condition: str) -> None:
    plan = parse_watch(f"CREATE WATCH w AS SELECT AVG(x) AS a, COUNT(*) AS n FROM t ALERT WHEN {condition}")
    assert [each.text for each in comparisons(plan.goal)] == WRITTEN[condition]


def test_the_text_says_nothing_about_what_is_meant() -> None:
    goals = [parse_watch(f"CREATE WATCH w AS SELECT AVG(x) AS a FROM t ALERT WHEN {c}").goal for c in ("a>1", "1 < a")]
    assert goals[0] == goals[1]
