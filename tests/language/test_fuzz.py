"""Whatever the text, the parser answers with a plan or with a SentenceError that points into it."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.language import PythonFunction, WatchPlan, describe, explain_text, parse, parse_watch
from tacit.vocabulary.errors import SentenceError

SENTENCES = [
    "CREATE WATCH pollution AS SELECT AVG(so2) / AVG(no2) AS ratio, AVG(no2) AS level FROM air\n"
    "WINDOW LAST 24 HOURS EVERY 1 HOUR ALERT WHEN ratio > 0.5 MARGIN 0.02 OR level > 250;",
    "CREATE WATCH spread AS SELECT STDDEV(pm25) AS s FROM air WINDOW LAST 1000 ROWS TRACK s WITHIN 3 PERCENT",
    "CREATE WATCH words AS SELECT term, INFORMATION_GAIN(array_contains(topics, 'earn'), PRESENT) AS gain FROM news\n"
    "WINDOW LAST 500 ROWS GROUP BY EACH(terms) AS term ALERT WHEN gain > 0.005",
    "EXPLAIN WATCH c AS SELECT hour(ts) AS h, CORR(a.x, a.y) AS c, f(ENTROPY(x > 1), 2) AS e FROM lake.air AS a\n"
    "WHERE x BETWEEN 1 AND 2 AND name LIKE 'a%' AND CASE WHEN f THEN 1 ELSE 0 END = 1 GROUP BY h, `b c`\n"
    "WINDOW SINCE START OF MONTH ALERT WHEN NOT (c BETWEEN 0.1 AND 0.9 MARGIN 0.01) AND -e < sqrt(COUNT(*))",
    "CREATE WATCH q AS SELECT SUM(CASE WHEN d > 3 THEN x END) FILTER (WHERE y IS NOT NULL) AS s, REGR_SLOPE(y, x) b,\n"
    "CHI_SQUARE(exists(l, v -> v > 2), m['k'] > 1) AS k FROM t TRACK s / greatest(b, k, 1) WITHIN 5",
    "CREATE WATCH talkers AS SELECT src, COUNT(*) AS packets FROM flows WINDOW LAST 33 MINUTES WHERE bytes > 9\n"
    "GROUP BY src HAVING packets > 10000 MARGIN 5 PERCENT SKETCH EPSILON 0.01 DELTA 0.02",
    "CREATE WATCH joined AS SELECT INNER_PRODUCT(requests.client, l.client) AS size FROM requests, lake.logins AS l\n"
    "WHERE requests.status = 200 AND (l.ok OR l.x BETWEEN 1 AND 2) TRACK size WITHIN 15 PERCENT SKETCH DELTA 0.1",
    "EXPLAIN WATCH p AS SELECT QUANTILE(latency, 0.99) AS p99 FROM t TRACK QUANTILE(latency, 0.99) WITHIN 1 PERCENT",
]
PIECES = sorted(
    {piece for sentence in SENTENCES for piece in re.findall(r"\w+|\S", sentence)}
    | {"HAVING", "ORDER BY", "LIMIT", "JOIN", "DISTINCT", "UNION", "OVER", "IN", "NULL", "TRUE", "'''", '"', "`", "--"}
    | {"/*", "*/", "{", "}", "[", "]", "::", "->", "||", "@", "?", "#", "$", "\\"}
    | {"INTERVAL", "CAST", "EXTRACT", "SELECT", "EXISTS", "0", "1e999", "0x1F", "5L", "é", "\n", "IGNORE NULLS", "AT"}
)
FUNCTIONS = {"f": PythonFunction(lambda *values: values[0], unsound=True)}


@st.composite
def mutated(draw: st.DrawFn) -> str:
    pieces = re.findall(r"\w+|\s+|\S", draw(st.sampled_from(SENTENCES)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        kind = draw(st.sampled_from(["delete", "replace", "insert", "swap", "repeat", "cut"]))
        if kind == "delete":
            del pieces[at : at + draw(st.integers(1, 3))]
        elif kind == "replace":
            pieces[at] = draw(st.sampled_from(PIECES))
        elif kind == "insert":
            pieces.insert(at, f" {draw(st.sampled_from(PIECES))} ")
        elif kind == "swap":
            other = draw(st.integers(0, len(pieces) - 1))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif kind == "repeat":
            pieces[at:at] = pieces[max(0, at - 3) : at]
        else:
            del pieces[at:]
        if not pieces:
            return ""
    return "".join(pieces)


def answer(text: str) -> tuple[WatchPlan, ...] | SentenceError:
    try:
        return parse(text, functions=FUNCTIONS)
    except SentenceError as error:
        return error


def check(text: str) -> None:
    found = answer(text)
    if isinstance(found, SentenceError):
        assert found.line is not None
        assert found.column is not None
        lines = text.split("\n")
        assert 1 <= found.line <= len(lines)
        assert 1 <= found.column <= len(lines[found.line - 1]) + 1
        assert str(found).isprintable()
        assert "sqlglot" not in str(found)
        return
    for plan in found:
        assert isinstance(plan, WatchPlan)
        assert plan.statistics or plan.keys
        assert parse_watch(plan.text, functions=FUNCTIONS).goal == plan.goal
        for statistic in plan.statistics:
            assert statistic.present.format(*range(len(plan.centres)))
            assert statistic.absent.format(*range(len(plan.centres)))
        assert describe(plan)["watch"] == plan.name
        assert explain_text(plan)


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_mutated_sentences(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_words_in_any_order(words: list[str]) -> None:
    check("CREATE WATCH w AS SELECT AVG(x) AS a FROM t ALERT WHEN " + " ".join(words))


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    check(text)
