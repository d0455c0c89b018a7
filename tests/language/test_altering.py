"""ALTER WATCH edits the sentence's own words, and only where the meaning is plain."""

from __future__ import annotations

import pytest

from tacit.functions.goals import Comparison, Track
from tacit.language import AlterWatch, altered, parse_statements, parse_watch
from tacit.vocabulary.errors import SentenceError

START = "CREATE WATCH w AS SELECT AVG(x) AS a, AVG(y) AS b, 5 AS c, AVG(z) AS margin FROM t\n"


def alter(goal: str, change: str) -> str:
    (statement,) = parse_statements(f"ALTER WATCH w SET {change}")
    assert isinstance(statement, AlterWatch)
    text = altered(START + goal, statement)
    assert text.startswith(START)
    parse_watch(text)
    return text.removeprefix(START)


@pytest.mark.parametrize(
    ("goal", "change", "after"),
    [
        ("ALERT WHEN a > 5", "THRESHOLD 7", "ALERT WHEN a > 7"),
        ("ALERT WHEN a > 5", "MARGIN 0.10", "ALERT WHEN a > 5 MARGIN 0.10"),
        ("ALERT WHEN a > 5 MARGIN 1", "MARGIN 0", "ALERT WHEN a > 5 MARGIN 0"),
        ("ALERT WHEN a>5", "THRESHOLD -7", "ALERT WHEN a> -7"),
        ("ALERT WHEN 5 < a MARGIN 2", "THRESHOLD 7", "ALERT WHEN 7 < a MARGIN 2"),
        ("ALERT WHEN a > 5 * 2 /* ten */ MARGIN 3", "THRESHOLD 7, MARGIN 1", "ALERT WHEN a > 7 /* ten */ MARGIN 1"),
        ("ALERT WHEN a > 5 -- five\n EVERY 9 HOURS", "MARGIN 1", "ALERT WHEN a > 5 MARGIN 1 -- five\n EVERY 9 HOURS"),
        ("ALERT WHEN NOT (a > 5) MARGIN 1", "THRESHOLD 7", "ALERT WHEN NOT (a > 7) MARGIN 1"),
        ("ALERT WHEN NOT (a > 5) MARGIN 1", "MARGIN 2", "ALERT WHEN NOT (a > 5) MARGIN 2"),
        ("ALERT WHEN (a > 5 MARGIN 2)", "MARGIN 3", "ALERT WHEN (a > 5 MARGIN 3)"),
        ("ALERT WHEN ((a > 5))", "MARGIN 3", "ALERT WHEN ((a > 5 MARGIN 3))"),
        ("ALERT WHEN COUNT_IF(x > 10) >= 1", "THRESHOLD 7", "ALERT WHEN COUNT_IF(x > 10) >= 7"),
        ("ALERT WHEN SUM(x BETWEEN 1 AND 2) >= 1", "MARGIN 7", "ALERT WHEN SUM(x BETWEEN 1 AND 2) >= 1 MARGIN 7"),
        ("ALERT WHEN (a + b) * 2 > (3)", "THRESHOLD 7", "ALERT WHEN (a + b) * 2 > 7"),
        ("ALERT WHEN a > c", "THRESHOLD 7", "ALERT WHEN a > 7"),
        ("ALERT WHEN a > b", "MARGIN 7", "ALERT WHEN a > b MARGIN 7"),
        ("ALERT WHEN margin > 5 MARGIN 1", "MARGIN 7", "ALERT WHEN margin > 5 MARGIN 7"),
        ("ALERT WHEN 5 < margin", "MARGIN 7", "ALERT WHEN 5 < margin MARGIN 7"),
        ("ALERT WHEN 5 < margin", "THRESHOLD 7", "ALERT WHEN 7 < margin"),
        ("ALERT WHEN a BETWEEN 1 AND 2", "MARGIN 7", "ALERT WHEN a BETWEEN 1 AND 2 MARGIN 7"),
        ("ALERT WHEN NOT a BETWEEN 1 AND 2 MARGIN 1", "MARGIN 7", "ALERT WHEN NOT a BETWEEN 1 AND 2 MARGIN 7"),
        ("TRACK a WITHIN 5", "WITHIN 3", "TRACK a WITHIN 3"),
        ("TRACK a WITHIN 5", "WITHIN 3 PERCENT", "TRACK a WITHIN 3 PERCENT"),
        ("TRACK a WITHIN 5 PERCENT WINDOW LAST 9 ROWS", "WITHIN 3", "TRACK a WITHIN 3 WINDOW LAST 9 ROWS"),
        ("TRACK a / b WITHIN 2 + 3", "WITHIN 3", "TRACK a / b WITHIN 3"),
    ],
)  # fmt: skip
def test_the_number_is_replaced_and_nothing_else(goal: str, change: str, after: str) -> None:
    assert alter(goal, change) == after


def test_what_is_stored_means_what_was_asked() -> None:
    goal = parse_watch(START + alter("ALERT WHEN 5 < a", "THRESHOLD -1.5, MARGIN 0.25")).goal
    assert isinstance(goal, Comparison)
    assert (goal.operator, goal.threshold, goal.margin) == (">", -1.5, 0.25)
    track = parse_watch(START + alter("TRACK a WITHIN 5", "WITHIN 3 PERCENT")).goal
    assert isinstance(track, Track)
    assert (track.within, track.percent) == (3.0, True)


@pytest.mark.parametrize(
    ("goal", "change", "said"),
    [
        ("ALERT WHEN a > 5 OR b > 6", "THRESHOLD 7", "several comparisons, and THRESHOLD does not say which"),
        ("ALERT WHEN a > 5 OR b > 6", "MARGIN 7", "several comparisons, and MARGIN does not say which"),
        ("ALERT WHEN a BETWEEN 1 AND 2", "THRESHOLD 7", "several comparisons"),
        ("ALERT WHEN a > b", "THRESHOLD 7", "both depend on the data"),
        ("ALERT WHEN a > 5", "WITHIN 7", "WITHIN belongs to a watch that tracks"),
        ("TRACK a WITHIN 5", "THRESHOLD 7", "has no THRESHOLD; its error is changed with SET WITHIN"),
        ("TRACK a WITHIN 5", "MARGIN 7", "has no MARGIN"),
        ("TRACK a WITHIN 5", "WITHIN 0", "not above 0; an exact value cannot be kept"),
    ],
)
def test_what_is_not_plain_is_refused_at_its_place(goal: str, change: str, said: str) -> None:
    with pytest.raises(SentenceError, match=said) as caught:
        alter(goal, change)
    assert (caught.value.line, caught.value.column) == (1, len("ALTER WATCH w SET ") + 1)
    if "several" in said:
        assert "drop the watch and create it" in str(caught.value)


def test_a_second_change_that_fails_points_at_itself() -> None:
    with pytest.raises(SentenceError, match="WITHIN") as caught:
        alter("ALERT WHEN a > 5", "THRESHOLD 7, WITHIN 3")
    assert caught.value.column == len("ALTER WATCH w SET THRESHOLD 7, ") + 1
