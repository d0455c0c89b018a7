"""Every sentence that the language accepts runs: made up sentences, planned, and replayed over a few rows.

What cannot be kept is refused when it is written: by the parser (SentenceError), or, where it depends on how the watch
is replayed, by the options (OptionError). Nothing else may come out, and no answer may be wrong.
"""

from __future__ import annotations

import json
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tacit.functions.goals import SketchGoal, Top
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.language.recorded import recorded_plans
from tacit.recording.run import check_fit, replay_prepared
from tacit.recording.settings import Settings
from tacit.recording.sides import join_sides
from tacit.recording.stream import Recording
from tacit.vocabulary.errors import OptionError, SentenceError
from tests.runtime.recordings import recorded

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # made up formulas leave the range of doubles
ROWS, SITES = 40, ("a", "b", "c")
NUMBERS = st.sampled_from(["0", "1", "2", "0.5", "3.25", "10", "100", "1e6", "1e-9", "7"])
COLUMNS = st.sampled_from(["x", "y", "x + y", "2 * x - y", "x * y", "CASE WHEN x > 3 THEN y END", "z"])
TESTS = st.sampled_from(["x > 3", "y < 5", "x > y", "z > 1", "x > 100", "k = 'k1'"])
ONE = ("SUM", "AVG", "COUNT", "VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "MEAN")
TWO = ("CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE")
OF_TESTS = ("INFORMATION_GAIN", "CHI_SQUARE")
SCALARS = ("abs", "sqrt", "exp", "ln", "log2", "sin", "cos", "tanh", "sigmoid", "negative", "log10")
WINDOWS = (
    "", "WINDOW LAST 10 ROWS", "WINDOW LAST 10 ROWS EVERY 2 ROWS", "WINDOW LAST 20 SECONDS EVERY 5 SECONDS",
    "WINDOW LAST 10 ROWS EVERY 3 SECONDS", "WINDOW SINCE START OF MINUTE EVERY 10 SECONDS",
    "WINDOW ALL EVERY 4 SECONDS",
    "WINDOW LAST 1 ROWS", "WINDOW LAST 7 SECONDS EVERY 2 SECONDS",
)  # fmt: skip


@st.composite
def aggregates(draw: st.DrawFn, present: bool) -> str:
    kind = draw(st.sampled_from(["one", "one", "one", "two", "tests", "star", "if", "entropy", "many"]))
    tests = st.one_of(TESTS, st.just("PRESENT")) if present else TESTS
    match kind:
        case "one":
            text = f"{draw(st.sampled_from(ONE))}({draw(COLUMNS)})"
        case "two":
            text = f"{draw(st.sampled_from(TWO))}({draw(COLUMNS)}, {draw(COLUMNS)})"
        case "tests":
            text = f"{draw(st.sampled_from(OF_TESTS))}({draw(tests)}, {draw(tests)})"
        case "star":
            text = "COUNT(*)"
        case "if":
            text = f"COUNT_IF({draw(tests)})"
        case "entropy":
            text = draw(st.sampled_from([f"ENTROPY({draw(tests)})", "ENTROPY(abs(x), abs(y), 1)"]))
        case _:  # sums of many averages: more statistics than zones are made for
            text = "(" + " + ".join(f"AVG(x + {k} * y)" for k in range(draw(st.sampled_from([6, 18, 26])))) + ")"
    return f"{text} FILTER (WHERE {draw(tests)})" if kind != "many" and draw(st.integers(0, 5)) == 0 else text


def values(present: bool) -> st.SearchStrategy[str]:
    def more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
            st.builds("{}({})".format, st.sampled_from(SCALARS), inner),
            st.builds("{}({}, {})".format, st.sampled_from(["least", "greatest", "power"]), inner, NUMBERS),
        )

    return st.recursive(st.one_of(aggregates(present), aggregates(present), NUMBERS), more, max_leaves=4)


@st.composite
def conditions(draw: st.DrawFn, present: bool, depth: int = 0) -> str:
    kind = draw(st.sampled_from(["one", "one", "between", "join", "not"] if depth < 2 else ["one"]))
    margin = draw(st.sampled_from(["", "", " MARGIN 0.5", " MARGIN 0", " MARGIN 3"]))
    match kind:
        case "join":
            word = draw(st.sampled_from(["AND", "OR"]))
            return f"({draw(conditions(present, depth + 1))} {word} {draw(conditions(present, depth + 1))})"
        case "not":
            return f"NOT ({draw(conditions(present, depth + 1))})"
        case "between":
            return f"{draw(values(present))} BETWEEN {draw(NUMBERS)} AND {draw(NUMBERS)}{margin}"
    operator = draw(st.sampled_from([">", ">=", "<", "<="]))
    other = draw(st.one_of(NUMBERS, NUMBERS, values(present)))
    return f"{draw(values(present))} {operator} {other}{margin}"


@st.composite
def sentences(draw: st.DrawFn) -> str:
    window = draw(st.sampled_from(WINDOWS))
    where = draw(st.sampled_from(["", "", "WHERE x > 1", "WHERE k <> 'k0'"]))
    kind = draw(st.sampled_from(["alert", "alert", "track", "track", "top", "frequent", "sketch"]))
    percent = draw(st.sampled_from(["", " PERCENT"]))
    within = draw(st.sampled_from(["0.5", "5", "0.001", "20", "0"]))
    match kind:
        case "top":
            score = draw(st.sampled_from(["COUNT(*)", "SUM(x)", "SUM(x) + 2 * COUNT(*)", "AVG(x)", "SUM(x * y)"]))
            more = draw(st.sampled_from(["", " WITHIN 2", " RANKED WITHIN 1", " WITHIN 3 RANKED WITHIN 2"]))
            order = draw(st.sampled_from(["DESC", "ASC", ""]))
            return (
                f"CREATE WATCH w AS SELECT k, {score} AS s FROM t {where} {window} GROUP BY k"
                f" ORDER BY s {order} LIMIT {draw(st.integers(1, 4))}{more}"
            )
        case "frequent":
            sketch = draw(st.sampled_from(["", " SKETCH EPSILON 0.1", " SKETCH EPSILON 0.2 DELTA 0.3"]))
            count = draw(st.sampled_from(["3", "5 MARGIN 2", "10 MARGIN 20 PERCENT"]))
            return f"CREATE WATCH w AS SELECT k FROM t {where} {window} GROUP BY k HAVING COUNT(*) > {count}{sketch}"
        case "sketch":
            value = draw(st.sampled_from(["SELF_JOIN_SIZE(k)", "QUANTILE(x, 0.5)", "QUANTILE(x + y, 0.99)"]))
            return f"CREATE WATCH w AS SELECT {value} AS s FROM t {where} {window} TRACK s WITHIN {within}{percent}"
    group = draw(st.sampled_from(["", "", "", "k", "each"]))
    present = group == "each"
    value = draw(values(present))
    columns, grouping = {
        "": ("", ""), "k": ("k, ", "GROUP BY k"), "each": ("m, ", "GROUP BY EACH(l) AS m"),
    }[group]  # fmt: skip
    goal = f"TRACK v WITHIN {within}{percent}"
    if kind == "alert":
        goal = f"ALERT WHEN {draw(conditions(present))}"
    return f"CREATE WATCH w AS SELECT {columns}{value} AS v FROM t {where} {window} {grouping} {goal}"


def rows_of(plan: WatchPlan, seed: int) -> Recording:
    """Forty rows at three sites: small numbers, with NULLs among them."""
    dice = np.random.default_rng(seed)
    t = np.sort(dice.integers(0, 90, ROWS)).astype(np.int64) * 1_000_000
    owners = dice.integers(0, len(SITES), ROWS).astype(np.int32)
    columns = {
        "x": dice.integers(0, 9, ROWS).tolist(),
        "y": dice.integers(1, 7, ROWS).tolist(),
        "z": [None if each < 2 else int(each) for each in dice.integers(0, 8, ROWS)],
        "k": [f"k{each}" for each in dice.integers(0, 4, ROWS)],
        "l": [[f"w{each}" for each in row[: dice.integers(4)]] for row in dice.integers(0, 5, (ROWS, 3))],
    }

    def of(part: WatchPlan) -> Recording:
        lists = type(part.grouping).__name__ == "ByMember"
        return recorded(part, t, owners, columns if lists else {k: v for k, v in columns.items() if k != "l"}, SITES)

    parts = [of(part) for part in recorded_plans(plan)]
    return join_sides(*parts) if len(parts) > 1 else parts[0]


def run_everyway(text: str, seed: int) -> None:
    """Parse it, and if it is accepted, replay it by events and by panes with every protocol that there is."""
    try:
        plan = parse_watch(text)
    except SentenceError:
        return  # refused when it is written; tests/language/test_fuzz.py looks at the words
    recording = rows_of(plan, seed)
    if not len(recording):
        return
    own = isinstance(plan.goal, SketchGoal | Top)
    ways = [("auto", "auto")] if own else [("auto", "auto"), ("recentre", "auto"), ("broadcast", "auto"),
                                           ("coordinator", "fitted")]  # fmt: skip
    for protocol, zone in ways:
        for step in ("pane", "event"):
            asked = Settings(protocol, step, zone, verify=True).checked()
            try:
                check_fit(plan, asked)
            except OptionError:
                if own:
                    continue  # a sketch and panes that do not divide its window
                raise
            report = replay_prepared(plan, recording, 0.0, asked).replay.report
            assert (report.missed, report.spurious) == (0, 0), (text, seed, protocol, zone, step)
            json.dumps(replace(report, max_error=None).as_dict(), default=str)


@pytest.mark.middle
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(sentences(), st.integers(0, 10_000))
def test_an_accepted_sentence_runs(text: str, seed: int) -> None:
    run_everyway(text, seed)


FOUND = (  # by made up sentences
    ("SELECT AVG(x) AS v FROM t ALERT WHEN exp(COUNT(*)) < 3.25 MARGIN 3", 145),  # a zone without faces
    ("SELECT {many} - COUNT(*) - power(COUNT(*), 100) AS v FROM t TRACK v WITHIN 5 PERCENT", 57_933),  # a tiny zone
)


@pytest.mark.parametrize(("text", "seed"), FOUND)
def test_what_once_failed_runs(text: str, seed: int) -> None:
    many = " + ".join(f"AVG(x + {k} * y)" for k in range(18))
    run_everyway(f"CREATE WATCH w AS {text.format(many=many)}", seed)


@pytest.mark.long
@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(sentences(), st.integers(0, 1_000_000))
def test_every_accepted_sentence_runs(text: str, seed: int) -> None:
    run_everyway(text, seed)
