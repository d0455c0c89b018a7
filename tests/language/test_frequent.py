"""GROUP BY … HAVING COUNT(*) > n: what is kept, and what is said when it cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.functions.expressions import Variable
from tacit.functions.goals import Accuracy, Frequent
from tacit.language import SketchKey, altered, describe, explain_text, parse_statements, parse_watch
from tacit.language.plan import ByKey
from tacit.language.shape import can_fit, protocol_for
from tacit.vocabulary.errors import OptionError, SentenceError
from tests.language.twins import error_at

START = "CREATE WATCH w AS SELECT src, COUNT(*) AS n FROM flows GROUP BY src"
USUAL = Accuracy(0.01, 0.01)


def test_the_sentence_of_the_design() -> None:
    plan = parse_watch(
        "CREATE WATCH talkers AS\n"
        "  SELECT src, COUNT(*) AS packets FROM flows WINDOW LAST 33 MINUTES\n"
        "  GROUP BY src HAVING COUNT(*) > 10000 MARGIN 500\n"
        "  SKETCH EPSILON 0.01 DELTA 0.01;"
    )
    assert plan.goal == Frequent(10_000.0, 500.0, USUAL)
    assert plan.grouping == ByKey(("src",), ("src",))
    assert plan.keys == (SketchKey("flows", "src"),)
    assert plan.outputs == (("packets", Variable(0)),)
    assert [each.name for each in plan.statistics] == ["count(*)"]
    assert plan.window.duration_us == 33 * 60 * 1_000_000
    assert plan.tables == ("flows",)


@pytest.mark.parametrize(
    ("rest", "goal"),
    [
        ("HAVING n > 10", Frequent(10.0, 0.0, USUAL)),
        ("HAVING N > 10.5", Frequent(10.5, 0.0, USUAL)),
        ("HAVING COUNT(1) >= 10", Frequent(9.0, 0.0, USUAL)),
        ("HAVING n >= 10.5", Frequent(10.0, 0.0, USUAL)),
        ("HAVING 10 < n", Frequent(10.0, 0.0, USUAL)),
        ("HAVING 10 <= n", Frequent(9.0, 0.0, USUAL)),
        ("HAVING NOT n <= 10", Frequent(10.0, 0.0, USUAL)),
        ("HAVING NOT (n < 10) MARGIN 2", Frequent(9.0, 2.0, USUAL)),
        ("HAVING (n > 10) MARGIN 2", Frequent(10.0, 2.0, USUAL)),
        ("HAVING n > 2 * 100 MARGIN 5 + 5", Frequent(200.0, 10.0, USUAL)),
        ("HAVING n > 200 MARGIN 5 PERCENT", Frequent(200.0, 10.0, USUAL)),
        ("HAVING n >= 200 MARGIN 5 %", Frequent(199.0, 10.0, USUAL)),
        ("HAVING (n > 200 MARGIN 5 PERCENT)", Frequent(200.0, 10.0, USUAL)),
        ("HAVING n > 10 SKETCH", Frequent(10.0, 0.0, USUAL)),
        ("HAVING n > 10 SKETCH EPSILON 0.1", Frequent(10.0, 0.0, Accuracy(0.1, 0.01))),
        ("HAVING n > 10 SKETCH DELTA 0.1", Frequent(10.0, 0.0, Accuracy(0.01, 0.1))),
        ("SKETCH DELTA 0.2 EPSILON 1e-3 HAVING n > 10", Frequent(10.0, 0.0, Accuracy(0.001, 0.2))),
        ("HAVING n > 10 MARGIN 5 % SKETCH DELTA 0.1", Frequent(10.0, 0.5, Accuracy(0.01, 0.1))),
    ],
)
def test_frequent_items_are_understood(rest: str, goal: Frequent) -> None:
    plan = parse_watch(f"{START} {rest}")
    assert plan.goal == goal
    assert parse_watch(plan.text) == plan


def test_a_key_may_be_an_expression_with_a_where_before_it() -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT hour(f.t) AS h FROM lake.flows f WHERE f.bytes > 9 GROUP BY h"
        " WINDOW LAST 500 ROWS EVERY 1 SECOND HAVING COUNT(*) > 10"
    )
    assert plan.grouping == ByKey(("hour(t)",), ("h",))
    assert plan.keys == (SketchKey("lake.flows", "hour(t)", "bytes > 9"),)
    assert plan.outputs == ()
    assert [use.name for use in plan.columns] == ["t", "bytes"]


@pytest.mark.parametrize("window", ["LAST 1 HOUR EVERY 1 MINUTE", "LAST 100 ROWS", "SINCE MIDNIGHT", "ALL"])
def test_all_windows_are_there(window: str) -> None:
    plan = parse_watch(f"{START} HAVING n > 10 WINDOW {window}")
    assert plan.window == parse_watch(f"{START} ALERT WHEN n > 10 WINDOW {window}").window


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{START} HAVING ⟦n < 10", ("nearly every key", "HAVING COUNT(*) > 10")),
        (f"{START} HAVING ⟦COUNT(*) <= 10", ("nearly every key",)),
        (f"{START} HAVING ⟦NOT n > 10", ("nearly every key",)),
        (f"{START} HAVING ⟦n > 0", ("every key that is there has a row", "HAVING COUNT(*) > 10000")),
        (f"{START} HAVING ⟦n >= 1", ("every key that is there has a row",)),
        (f"{START} HAVING ⟦n = 10", ("more than so many rows", "HAVING COUNT(*) > 10000")),
        (f"{START} HAVING ⟦n BETWEEN 1 AND 5", ("more than so many rows",)),
        (f"{START} HAVING ⟦COUNT(*) IN (1, 2)", ("more than so many rows",)),
        (f"{START} HAVING ⟦SUM(x) > 10", ("a sketch counts rows", "ORDER BY SUM(x) DESC LIMIT 20", "ALERT WHEN")),
        (f"{START} HAVING ⟦AVG(x) > 10", ("a sketch counts rows", "ALERT WHEN AVG(x) > 1000")),
        (f"{START} HAVING ⟦COUNT(x) > 10", ("a sketch counts rows", "into WHERE")),
        (f"{START} HAVING ⟦COUNT_IF(x > 1) > 10", ("a sketch counts rows", "into WHERE")),
        (f"{START} HAVING ⟦COUNT(*) FILTER (WHERE x > 1) > 10", ("nothing else", "into WHERE")),
        (f"{START} HAVING COUNT(*) > 10 AND ⟦MAX(x) > 1", ("a sketch counts rows",)),
        (f"{START} HAVING ⟦n > 10 OR n > 20", ("one number",)),
        (f"{START} HAVING ⟦n / 2 > 10", ("computes with the count",)),
        (f"{START} HAVING ⟦QUANTILE(x, 0.5) > 10", ("read off a sketch", "TRACK")),
        (f"{START} HAVING ⟦src > 10", ("grouped by", "WHERE")),
        (f"{START} HAVING ⟦n", ("not a condition",)),
        (f"{START} HAVING⟦", ("nothing follows HAVING",)),
        (f"{START} HAVING n > 10 MARGIN⟦", ("missing after MARGIN",)),
        (f"{START} HAVING n > 10 MARGIN ⟦10", ("promises nothing", "stay below 10")),
        (f"{START} HAVING n > 10 MARGIN ⟦100 PERCENT", ("promises nothing", "stay below 100")),
        (f"{START} HAVING n > 10 MARGIN ⟦-1", ("negative",)),
        (f"{START} HAVING n > 10 ⟦PERCENT", ("belongs to MARGIN",)),
        (f"{START} HAVING n > 10 ⟦ORDER BY n DESC LIMIT 3", ("without an order", "without HAVING")),
        (f"{START} HAVING n > 10 ⟦LIMIT 3", ("every key that passes", "without HAVING")),
        (f"{START} HAVING n > 10 ⟦ALERT WHEN n > 3", ("told by itself", "leave ALERT out")),
        (f"{START} HAVING n > 10 ⟦TRACK n WITHIN 3", ("told by itself", "leave TRACK out")),
        (f"{START} HAVING n > 10 ⟦USING topico", ("belongs to a ranking",)),
        (f"{START} HAVING n > 10 ⟦PER region", ("belongs to a ranking",)),
        ("CREATE WATCH w AS SELECT COUNT(*) AS n FROM t ⟦HAVING n > 10", ("needs groups", "GROUP BY key HAVING")),
        (
            "CREATE WATCH w AS SELECT a, b FROM t GROUP BY a, ⟦b HAVING COUNT(*) > 10",
            ("one key", "GROUP BY concat_ws(' ', a, b)"),
        ),
        ("CREATE WATCH w AS SELECT m FROM t GROUP BY ⟦EACH(ms) AS m HAVING COUNT(*) > 10", ("members of lists",)),
        ("CREATE WATCH w AS SELECT k, ⟦SUM(b) AS v FROM t GROUP BY k HAVING v > 10", ("a sketch counts rows", "rank")),
        (
            "CREATE WATCH w AS SELECT k, ⟦COUNT(*) * 2 AS v FROM t GROUP BY k HAVING v > 10",
            ("SELECT the key and COUNT(*)",),
        ),
        ("CREATE WATCH w AS SELECT k FROM t⟦, u GROUP BY k HAVING COUNT(*) > 10", ("one table",)),
        # SKETCH
        (f"{START} HAVING n > 10 SKETCH EPSILON ⟦2", ("not between 0 and 1", "EPSILON 0.01")),
        (f"{START} HAVING n > 10 SKETCH EPSILON ⟦0", ("not between 0 and 1",)),
        (f"{START} HAVING n > 10 SKETCH DELTA ⟦1", ("not between 0 and 1",)),
        (f"{START} HAVING n > 10 SKETCH DELTA ⟦-0.5", ("DELTA -0.5 is not between",)),
        (f"{START} HAVING n > 10 SKETCH EPSILON ⟦= 0.1", ("without it",)),
        (f"{START} HAVING n > 10 SKETCH EPSILON 5 ⟦PERCENT", ("not a percentage", "write EPSILON 0.05")),
        (f"{START} HAVING n > 10 SKETCH EPSILON⟦", ("a number is missing",)),
        (f"{START} HAVING n > 10 SKETCH EPSILON ⟦x", ("expected a number",)),
        (f"{START} HAVING n > 10 SKETCH ⟦EPSILN 0.1", ("did you mean EPSILON?",)),
        (f"{START} HAVING n > 10 SKETCH ⟦ERROR 0.1", ("did you mean EPSILON?",)),
        (f"{START} HAVING n > 10 SKETCH ⟦0.1", ("SKETCH EPSILON 0.01 DELTA 0.01",)),
        (f"{START} HAVING n > 10 SKETCH DELTA 0.1 ⟦DELTA 0.2", ("second time",)),
        (f"{START} HAVING n > 10 SKETCH EPSILON ⟦1e-9", ("more than a site keeps", "larger EPSILON")),
        (f"{START} HAVING n > 10 SKETCH EPSILON ⟦5e-324", ("less than a sketch can have, which is 1e-09",)),
        (f"{START} HAVING n > 10 SKETCH DELTA ⟦1e-30", ("less than a sketch can have, which is 1e-09",)),
        (f"{START} HAVING n > 10 ⟦SKECTH EPSILON 0.1", ("did you mean SKETCH?",)),
        (f"{START} ALERT WHEN n > 10 ⟦SKETCH EPSILON 0.1", ("needs no sketch", "leave SKETCH out")),
        (f"{START} ORDER BY n DESC LIMIT 3 ⟦SKETCH EPSILON 0.1", ("needs no sketch",)),
    ],
)
def test_what_is_wrong_is_said_where_it_is(text: str, parts: tuple[str, ...]) -> None:
    message = error_at(text)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("rest", "change", "after"),
    [
        ("HAVING COUNT(*) > 10000 MARGIN 500", "THRESHOLD 20000", "HAVING COUNT(*) > 20000 MARGIN 500"),
        ("HAVING COUNT(*) > 10000 MARGIN 500", "MARGIN 1000", "HAVING COUNT(*) > 10000 MARGIN 1000"),
        ("HAVING n >= 10000 SKETCH DELTA 0.1", "MARGIN 1000", "HAVING n >= 10000 MARGIN 1000 SKETCH DELTA 0.1"),
        ("HAVING 10000 <= n", "THRESHOLD 20000", "HAVING 20000 <= n"),
        ("HAVING n > 10000 MARGIN 5 PERCENT", "THRESHOLD 20000", "HAVING n > 20000 MARGIN 5 PERCENT"),
        ("HAVING (n > 10000 MARGIN 5 PERCENT)", "THRESHOLD 20000", "HAVING (n > 20000 MARGIN 5 PERCENT)"),
        ("HAVING n > 10000 MARGIN 5 PERCENT", "MARGIN 1000", "HAVING n > 10000 MARGIN 1000"),
        ("HAVING n > 10000 MARGIN 500", "THRESHOLD 400, MARGIN 20", "HAVING n > 400 MARGIN 20"),
        ("HAVING n > 400 MARGIN 20", "MARGIN 500, THRESHOLD 10000", "HAVING n > 10000 MARGIN 500"),
    ],
)
def test_threshold_and_margin_can_be_altered(rest: str, change: str, after: str) -> None:
    (statement,) = parse_statements(f"ALTER WATCH w SET {change}")
    text = altered(f"{START} {rest}", statement)  # type: ignore[arg-type]
    assert text == f"{START} {after}"
    assert isinstance(parse_watch(text).goal, Frequent)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("WITHIN 3", "WITHIN belongs to a watch that tracks; it has SET THRESHOLD"),
        ("WITHIN 3 PERCENT", "WITHIN belongs to a watch that tracks"),
        ("THRESHOLD 500", "THRESHOLD 500 does not fit w: a threshold is at least 1, and above the margin"),
        ("THRESHOLD -5", "does not fit"),
        ("MARGIN 10000", "MARGIN 10000 does not fit"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(change: str, said: str) -> None:
    (statement,) = parse_statements(f"ALTER WATCH w SET {change}")
    with pytest.raises(SentenceError, match=said) as caught:
        altered(f"{START} HAVING n > 10000 MARGIN 500", statement)  # type: ignore[arg-type]
    assert (caught.value.line, caught.value.column) == (1, len("ALTER WATCH w SET ") + 1)


def test_explain_says_what_a_site_keeps_and_what_is_promised() -> None:
    plan = parse_watch(f"EXPLAIN {START.removeprefix('CREATE ')} HAVING n > 12345678 MARGIN 500")
    text = explain_text(plan)
    assert "the keys with more than 12,345,678 rows, margin 500 (frequent items)" in text
    assert "n           count(*), as the sketches estimate it" in text
    assert "groups      one per src" in text
    assert "each site   a sketch of 5 rows by 512 counters (epsilon 0.01, delta 0.01)" in text
    assert "with probability at least 0.99 a key in the answer has more than 12,345,178 - 0.01 * rows," in text
    assert "a key outside it fewer than 12,346,178 + 0.01 * rows (rows: of all sites in the window)" in text
    found = describe(plan)
    assert (found["shape"], found["margins"], found["zones"]) == ("frequent items", [500.0], None)
    sketch = found["sketch"]
    assert isinstance(sketch, dict)
    assert (sketch["rows"], sketch["counters"]) == (5, 512)


def test_frequent_items_have_a_protocol_of_their_own_whatever_is_asked() -> None:
    plan = parse_watch(f"{START} HAVING n > 10")
    assert {protocol_for(plan, asked) for asked in ("auto", "coordinator", "recentre", "fitted")} == {"frequent"}
    assert not can_fit(plan)


@given(
    threshold=st.integers(2, 10**9),
    share=st.integers(0, 99),
    strict=st.booleans(),
    epsilon=st.integers(1, 999),
    delta=st.integers(1, 999),
    swapped=st.booleans(),
)
def test_any_numbers_are_read_as_they_are_written(
    threshold: int, share: int, strict: bool, epsilon: int, delta: int, swapped: bool
) -> None:
    sketch = [f"EPSILON {epsilon / 1000}", f"DELTA {delta / 1000}"]
    margin = threshold * share // 100
    text = (
        f"{START} HAVING n {'>' if strict else '>='} {threshold} MARGIN {margin}"
        f" SKETCH {' '.join(sketch[::-1] if swapped else sketch)}"
    )
    least = threshold if strict else threshold - 1
    if margin >= least:
        with pytest.raises(SentenceError, match="promises nothing"):
            parse_watch(text)
        return
    plan = parse_watch(text)
    assert plan.goal == Frequent(least, margin, Accuracy(epsilon / 1000, delta / 1000))
    assert parse_watch(plan.text) == plan
    (statement,) = parse_statements(f"ALTER WATCH w SET THRESHOLD {threshold + 1}, MARGIN 0")
    again = parse_watch(altered(text, statement))  # type: ignore[arg-type]
    assert again.goal == Frequent(least + 1, 0.0, plan.goal.accuracy)


@pytest.mark.parametrize(("threshold", "margin"), [(0.0, 0.0), (float("inf"), 0.0), (5.0, 5.0), (5.0, -1.0)])
def test_a_goal_checks_itself(threshold: float, margin: float) -> None:
    with pytest.raises(OptionError):
        Frequent(threshold, margin, USUAL)
