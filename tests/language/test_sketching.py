"""SELF_JOIN_SIZE, INNER_PRODUCT and QUANTILE: what is kept, and what is said when it cannot be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.functions.expressions import Variable
from tacit.functions.goals import Accuracy, InnerProduct, Quantile, SelfJoin
from tacit.language import (
    PythonFunction,
    SketchKey,
    altered,
    check_columns,
    describe,
    explain_text,
    parse_statements,
    parse_watch,
    sketch_guarantee,
)
from tacit.language.shape import can_fit, protocol_for
from tacit.vocabulary.errors import OptionError, SentenceError
from tests.language.twins import error_at

SELF = "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(c) AS f2 FROM t"
BOTH = "CREATE WATCH w AS SELECT INNER_PRODUCT(a.c, b.c) AS s FROM a, b"
RANK = "CREATE WATCH w AS SELECT QUANTILE(x, 0.9) AS q FROM t"
END = "TRACK s WITHIN 15 PERCENT"


def keys(text: str) -> list[tuple[str, str, str | None]]:
    return [(key.table, key.expression, key.where) for key in parse_watch(text).keys]


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (f"{SELF} TRACK f2 WITHIN 15 PERCENT", SelfJoin(0.15, Accuracy(0.05, 0.05))),
        (f"{SELF} TRACK F2 WITHIN 15 %", SelfJoin(0.15, Accuracy(0.05, 0.05))),
        (f"{SELF} TRACK self_join_size( c ) WITHIN 15 PERCENT", SelfJoin(0.15, Accuracy(0.05, 0.05))),
        (f"{SELF} TRACK f2 WITHIN 10 + 5 PERCENT", SelfJoin(0.15, Accuracy(0.05, 0.05))),
        (
            f"{SELF} WINDOW LAST 1 HOUR TRACK f2 WITHIN 15 PERCENT SKETCH EPSILON 0.15 DELTA 0.2",
            SelfJoin(0.15, Accuracy(0.15, 0.2)),
        ),
        (f"{SELF} TRACK f2 WITHIN 15 % SKETCH DELTA 0.2", SelfJoin(0.15, Accuracy(0.05, 0.2))),
        (f"{BOTH} {END}", InnerProduct(0.15, Accuracy(0.05, 0.05))),
        (f"{BOTH} {END} SKETCH EPSILON 0.1", InnerProduct(0.15, Accuracy(0.1, 0.05))),
        (f"{RANK} TRACK q WITHIN 1 PERCENT", Quantile(0.9, 0.01, Accuracy(0.01, 0.01))),
        (f"{RANK} TRACK QUANTILE(x, 0.90) WITHIN 1 PERCENT", Quantile(0.9, 0.01, Accuracy(0.01, 0.01))),
        (f"{RANK} TRACK q WITHIN 1 PERCENT SKETCH DELTA 0.5", Quantile(0.9, 0.01, Accuracy(0.01, 0.5))),
    ],
)
def test_a_value_of_the_sketches_is_understood(text: str, goal: object) -> None:
    plan = parse_watch(text)
    assert plan.goal == goal
    assert plan.statistics == ()
    assert plan.grouping is None
    assert plan.outputs == ((plan.outputs[0][0], Variable(0)),)
    assert parse_watch(plan.text) == plan


def test_the_key_has_its_condition_and_says_when_it_is_missing() -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(lower(v.client)) FROM lake.visits v WHERE v.status=200 "
        "TRACK SELF_JOIN_SIZE(lower(client)) WITHIN 9 PERCENT"
    )
    (key,) = plan.keys
    assert (key.table, key.expression, key.where) == ("lake.visits", "lower(client)", "status=200")
    assert key.missing is not None
    assert key.missing.startswith("(lower(client)) IS NULL OR ")
    assert (plan.table, plan.where, plan.outputs[0][0]) == (
        "lake.visits",
        "status=200",
        "SELF_JOIN_SIZE(lower(client))",
    )
    assert [use.name for use in plan.columns] == ["client", "status", "client"]
    quantile = parse_watch(f"{RANK} TRACK q WITHIN 1 PERCENT")
    assert quantile.keys == (SketchKey("t", "x", None, "CAST(x AS DOUBLE) IS NULL OR isnan(CAST(x AS DOUBLE))"),)
    assert quantile.columns[0].role == "number"


@pytest.mark.parametrize(
    ("select", "rest", "found"),
    [
        ("requests.client, logins.client", "", [("requests", "client", None), ("logins", "client", None)]),
        ("LOGINS.client, requests.c", "", [("logins", "client", None), ("requests", "c", None)]),
        (
            "requests.a + requests.b, logins.c",
            "WHERE requests.x > 1 AND logins.y BETWEEN 1 AND 2 AND requests.z = 'a AND b'",
            [("requests", "a + b", "(x > 1) AND (z = 'a AND b')"), ("logins", "c", "y BETWEEN 1 AND 2")],
        ),
        (
            "requests.c, logins.c",
            "WHERE ((requests.x > 1 OR requests.y) AND (logins.x AND NOT logins.y))",
            [("requests", "c", "x > 1 OR y"), ("logins", "c", "(x) AND (NOT y)")],
        ),
        (
            "requests.c, logins.c",
            "WHERE CASE WHEN logins.x > 1 AND logins.y > 2 THEN TRUE ELSE FALSE END AND 1 = 1",
            [
                ("requests", "c", "1 = 1"),
                ("logins", "c", "(CASE WHEN x > 1 AND y > 2 THEN TRUE ELSE FALSE END) AND (1 = 1)"),
            ],
        ),
    ],
)
def test_an_inner_product_of_two_tables(select: str, rest: str, found: list[tuple[str, str, str | None]]) -> None:
    text = f"CREATE WATCH w AS SELECT INNER_PRODUCT({select}) AS s FROM requests, logins {rest} {END}"
    assert keys(text) == found
    plan = parse_watch(text)
    assert plan.table == "requests"
    assert plan.where == next(where for table, _, where in found if table == "requests")
    assert plan.tables == ("requests", "logins")


def test_an_inner_product_within_one_table() -> None:
    start = "CREATE WATCH w AS SELECT INNER_PRODUCT"
    assert keys(f"{start}(src, dst) AS s FROM flows WHERE x > 1 AND y > 2 {END}") == [
        ("flows", "src", "x > 1 AND y > 2"),
        ("flows", "dst", "x > 1 AND y > 2"),
    ]
    twice = f"{start}(a.src, b.dst) AS s FROM lake.flows a, lake.flows AS b WHERE b.up {END}"
    assert keys(twice) == [("lake.flows", "src", None), ("lake.flows", "dst", "up")]
    assert parse_watch(twice).tables == ("lake.flows",)


def test_columns_are_looked_up_in_their_own_table() -> None:
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT INNER_PRODUCT(requests.client, l.who) AS s FROM requests, logins l WHERE l.ok {END}"
    )
    assert [(use.name, use.table) for use in plan.columns] == [
        ("client", "requests"),
        ("who", "logins"),
        ("ok", "logins"),
    ]
    check_columns(plan, {"client": "string"})
    check_columns(plan, {"who": "string", "ok": "boolean"}, table="logins")
    with pytest.raises(SentenceError, match="no column named client"):
        check_columns(plan, {"klient": "string"}, table="requests")
    with pytest.raises(SentenceError, match="ok is of type string where a condition"):
        check_columns(plan, {"who": "string", "ok": "string"}, table="logins")
    one = parse_watch(f"{RANK} TRACK q WITHIN 1 PERCENT")
    with pytest.raises(SentenceError, match="x is of type string where a number"):
        check_columns(one, {"x": "string"})


@pytest.mark.parametrize("window", ["LAST 1 HOUR EVERY 1 MINUTE", "LAST 100 ROWS", "SINCE START OF WEEK", "ALL"])
@pytest.mark.parametrize("text", [f"{SELF} TRACK f2 WITHIN 15 PERCENT", f"{RANK} TRACK q WITHIN 1 PERCENT"])
def test_all_windows_are_there(text: str, window: str) -> None:
    usual = f"CREATE WATCH w AS SELECT AVG(x) AS a FROM t WINDOW {window} ALERT WHEN a > 10"
    assert parse_watch(f"{text} WINDOW {window}").window == parse_watch(usual).window


def test_two_tables_step_by_time() -> None:
    plan = parse_watch(f"{BOTH} WINDOW LAST 100 ROWS EVERY 1 SECOND {END}")
    assert plan.window.rows == 100
    assert parse_watch(f"{BOTH} {END}").window.kind == "all"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{SELF}⟦", ("does not say what to keep", "TRACK f2 WITHIN 15 PERCENT")),
        (f"{SELF} TRACK f2⟦", ("how closely",)),
        (f"{SELF} TRACK f2 WITHIN ⟦15", ("a share of what it counts", "WITHIN 15 PERCENT")),
        (f"{SELF} TRACK f2 WITHIN ⟦0 PERCENT", ("not above 0",)),
        (f"{SELF} TRACK f2 WITHIN ⟦100 PERCENT", ("promises nothing",)),
        (f"{SELF} TRACK f2 WITHIN ⟦x PERCENT", ("outside an aggregate",)),
        (f"{SELF} TRACK ⟦f2 * 2 WITHIN 15 PERCENT", ("as it is", "TRACK f2")),
        (f"{SELF} TRACK ⟦AVG(x) WITHIN 15 PERCENT", ("as it is", "TRACK f2")),
        (f"{SELF} TRACK ⟦SELF_JOIN_SIZE(d) WITHIN 15 PERCENT", ("a second", "TRACK f2")),
        (f"{SELF} TRACK ⟦SELF_JOIN_SIZE(c) + 1 WITHIN 15 PERCENT", ("arithmetic", "SELECT SELF_JOIN_SIZE(x) AS v")),
        (f"{SELF} ⟦ALERT WHEN f2 > 3", ("which side", "TRACK f2 WITHIN 15 PERCENT")),
        (f"{RANK} ⟦ALERT WHEN q > 3", ("which side", "TRACK q WITHIN 1 PERCENT")),
        (f"{SELF} ⟦GROUP BY k TRACK f2 WITHIN 15 PERCENT", ("not for every group", "WHERE")),
        (f"{SELF} ⟦ORDER BY f2 DESC LIMIT 3", ("not ranked", "TRACK f2")),
        (f"{SELF} TRACK f2 WITHIN 15 PERCENT ⟦USING topico", ("belongs to a ranking",)),
        (f"{SELF} ⟦TRACK f2 WITHIN 15 PERCENT HAVING COUNT(*) > 3", ("leave TRACK out",)),
        (f"{SELF} TRACK f2 WITHIN 15 PERCENT ⟦SKECTH EPSILON 0.1", ("did you mean SKETCH?",)),
        (f"{SELF} TRACK f2 WITHIN 15 PERCENT SKETCH EPSILON ⟦7", ("not between 0 and 1",)),
        (f"{SELF} WHERE ⟦SELF_JOIN_SIZE(c) > 1 TRACK f2 WITHIN 15 PERCENT", ("cannot stand in WHERE",)),
        ("~ SELF_JOIN_SIZE(c) AS f, ⟦AVG(x) AS a FROM t TRACK f WITHIN 5 PERCENT", ("one value",)),
        ("~ AVG(x) AS a FROM t TRACK ⟦SELF_JOIN_SIZE(c) WITHIN 5 PERCENT", ("tracked alone",)),
        (
            "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(c) AS f, ⟦QUANTILE(x, 0.5) AS q FROM t TRACK f WITHIN 5 PERCENT",
            ("a second", "second watch"),
        ),
        ("~ sqrt(⟦SELF_JOIN_SIZE(c)) AS f FROM t TRACK f WITHIN 5 PERCENT", ("tracked alone",)),
        ("~ AVG(x) AS a FROM t ALERT WHEN a > ⟦SELF_JOIN_SIZE(c)", ("in a condition",)),
        ("~ ⟦SELF_JOIN_SIZE(c) FILTER (WHERE x > 1) AS f FROM t TRACK f WITHIN 5 %", ("WHERE",)),
        ("~ ⟦SELF_JOIN_SIZE(a, b) AS f FROM t TRACK f WITHIN 5 PERCENT", ("concat_ws(' ', a, b)",)),
        ("~ ⟦SELF_JOIN_SIZE() AS f FROM t TRACK f WITHIN 5 PERCENT", ("SELF_JOIN_SIZE(x)",)),
        ("~ SELF_JOIN_SIZE(⟦5) AS f FROM t TRACK f WITHIN 5 PERCENT", ("the same in every row",)),
        ("~ SELF_JOIN_SIZE(⟦AVG(x)) AS f FROM t TRACK f WITHIN 5 PERCENT", ("another aggregate",)),
        ("~ SELF_JOIN_SIZE(t.c) AS f FROM t⟦, u TRACK f WITHIN 5 PERCENT", ("one table",)),
        # two tables
        (f"{BOTH} TRACK s WITHIN ⟦15", ("a share of what it counts",)),
        (f"{BOTH} WHERE ⟦x > 1 {END}", ("of which table", "a.x or b.x")),
        (f"{BOTH} WHERE a.y AND ⟦a.c = b.c {END}", ("names a and b", "joins by its arguments")),
        (f"{BOTH} WHERE ⟦a.x > 1 OR b.y > 2 {END}", ("names a and b",)),
        (f"{BOTH} ⟦WINDOW LAST 100 ROWS {END}", ("not counted together", "EVERY 1 SECOND")),
        (f"{BOTH} WINDOW LAST 100 ROWS ⟦EVERY 10 ROWS {END}", ("not counted together",)),
        (f"~ ⟦INNER_PRODUCT(a.c, a.d) AS s FROM a, b {END}", ("nothing of b", "leave b out")),
        (f"~ INNER_PRODUCT(⟦a.c + b.d, a.d) AS s FROM a, b {END}", ("names a and b",)),
        (f"~ INNER_PRODUCT(⟦c, d) AS s FROM a, b {END}", ("of which table", "a.c or b.c")),
        (f"~ INNER_PRODUCT(a.c, ⟦1 + 1) AS s FROM a, b {END}", ("the same in every row",)),
        (f"~ INNER_PRODUCT(a.c, b.d) AS s FROM a, b⟦, c {END}", ("of two tables",)),
        (f"~ INNER_PRODUCT(a.c, b.d) AS s FROM a ⟦JOIN b {END}", ("no joins", "FROM requests,")),
        (f"~ INNER_PRODUCT(a.c, b.d) AS s FROM a, ⟦A {END}", ("stands for two tables",)),
        (f"~ ⟦INNER_PRODUCT(a.c) AS s FROM a {END}", ("INNER_PRODUCT(x, y)",)),
        (f"~ INNER_PRODUCT(a.c, b.d) AS s FROM a,⟦ WINDOW LAST 1 HOUR {END}", ("missing after",)),
        # quantiles
        (f"{RANK} TRACK q WITHIN ⟦5", ("percent of the rows", "WITHIN 1 PERCENT")),
        ("~ ⟦QUANTILE(x) AS q FROM t TRACK q WITHIN 1 PERCENT", ("QUANTILE(x, 0.99)",)),
        ("~ QUANTILE(x, ⟦99) AS q FROM t TRACK q WITHIN 1 PERCENT", ("write 0.99",)),
        ("~ QUANTILE(x, ⟦1) AS q FROM t TRACK q WITHIN 1 PERCENT", ("extremes",)),
        ("~ QUANTILE(x, ⟦-0.5) AS q FROM t TRACK q WITHIN 1 PERCENT", ("between 0 and 1",)),
        ("~ ⟦QUANTILE(x, y) AS q FROM t TRACK q WITHIN 1 PERCENT", ("comes second",)),
        ("~ QUANTILE(⟦'x', 0.5) AS q FROM t TRACK q WITHIN 1 PERCENT", ("is text",)),
        ("~ ⟦MEDIAN(x) AS q FROM t TRACK q WITHIN 1 PERCENT", ("QUANTILE(x, 0.5)",)),
        ("~ ⟦MODE(x) AS q FROM t TRACK q WITHIN 1", ("HAVING COUNT(*) > 1000",)),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_is(text: str, parts: tuple[str, ...]) -> None:
    message = error_at(text.replace("~", "CREATE WATCH w AS SELECT"))
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (f"{SELF} TRACK f2 WITHIN 15 PERCENT", f"{SELF} TRACK f2 WITHIN 7.5 PERCENT"),
        (f"{SELF} TRACK f2 WITHIN 15 % SKETCH DELTA 0.1", f"{SELF} TRACK f2 WITHIN 7.5 PERCENT SKETCH DELTA 0.1"),
        (f"{BOTH} {END} WINDOW ALL", f"{BOTH} TRACK s WITHIN 7.5 PERCENT WINDOW ALL"),
        (f"{RANK} TRACK QUANTILE(x, 0.9) WITHIN 1 PERCENT", f"{RANK} TRACK QUANTILE(x, 0.9) WITHIN 7.5 PERCENT"),
    ],
)
def test_how_closely_can_be_altered(text: str, after: str) -> None:
    (statement,) = parse_statements("ALTER WATCH w SET WITHIN 7.5 PERCENT")
    assert altered(text, statement) == after  # type: ignore[arg-type]
    assert parse_watch(after).goal.within == 0.075  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("WITHIN 3", "off by a share of what it counts; SET WITHIN 3 PERCENT"),
        ("WITHIN 0 PERCENT", "not above 0"),
        ("MARGIN 3", "has no MARGIN"),
        ("THRESHOLD 3", "has no THRESHOLD"),
    ],
)
@pytest.mark.parametrize("text", [f"{SELF} TRACK f2 WITHIN 15 %", f"{BOTH} {END}", f"{RANK} TRACK q WITHIN 1 %"])
def test_what_a_sketch_does_not_have_cannot_be_altered(text: str, change: str, said: str) -> None:
    (statement,) = parse_statements(f"ALTER WATCH w SET {change}")
    with pytest.raises(SentenceError, match=said) as caught:
        altered(text, statement)  # type: ignore[arg-type]
    assert caught.value.column == len("ALTER WATCH w SET ") + 1


def test_explain_of_a_self_join_size() -> None:
    text = explain_text(parse_watch(f"{SELF} WHERE x > 1 TRACK f2 WITHIN 15 PERCENT SKETCH EPSILON 0.1 DELTA 0.1"))
    for part in (
        "watch w on t\n",
        "f2 within 15 percent (self-join size)",
        "f2          self_join_size(c), as the sketches estimate it",
        "where       x > 1",
        "counts      c\n",
        "each site   a sketch of 3 rows by 32 counters (epsilon 0.1, delta 0.1)",
        "with probability at least 0.9 off by at most 15 percent of (the truth + 0.1 * rows^2),",
        "and 0.1 * rows^2 more (rows: of all sites in the window)",
    ):
        assert part in text


def test_explain_of_an_inner_product_and_of_a_quantile() -> None:
    text = explain_text(parse_watch(f"{BOTH} WHERE a.x > 1 {END}"))
    for part in (
        "watch w on a and b\n",
        "counts      c of a where x > 1\n",
        "c of b\n",
        "two sketches of 3 rows by 64",
    ):
        assert part in text
    text = explain_text(parse_watch(f"{RANK} TRACK q WITHIN 1 PERCENT"))
    assert "quantile(x, 0.9), as the sketches estimate it" in text
    assert "of each pane at most 100 values, evenly by rank (epsilon 0.01)" in text
    assert "its rank is within 1 percent of the rows of the rank asked for," in text


@pytest.mark.parametrize(
    ("text", "shape", "protocol"),
    [
        (f"{SELF} TRACK f2 WITHIN 15 PERCENT", "self-join size", "self_join"),
        (f"{BOTH} {END}", "inner product", "inner_product"),
        (f"{RANK} TRACK q WITHIN 1 PERCENT", "quantile", "quantile"),
    ],
)
def test_described_as_plain_values_and_kept_by_its_own_protocol(text: str, shape: str, protocol: str) -> None:
    plan = parse_watch(text)
    found = describe(plan)
    assert json.loads(json.dumps(found)) == found
    assert (found["shape"], found["zones"], found["forms"]) == (shape, None, [])
    sketch = found["sketch"]
    assert isinstance(sketch, dict)
    assert sketch["guarantee"] == sketch_guarantee(plan.goal)  # type: ignore[arg-type]
    assert protocol_for(plan, "auto") == protocol_for(plan, "recentre") == protocol
    assert not can_fit(plan)


def test_no_python_function_takes_their_names() -> None:
    functions = {"Quantile": PythonFunction(lambda x: x, unsound=True)}
    with pytest.raises(OptionError, match="already a function of the language"):
        parse_watch(f"{SELF} TRACK f2 WITHIN 15 PERCENT", functions=functions)


NAMES = st.sampled_from(["x", "y", "`b c`", "window", "sketch", "epsilon"])
ATOMS = st.one_of(
    st.builds("{{t}}.{} > {}".format, NAMES, st.integers(0, 9)),
    st.builds("{{t}}.{} BETWEEN {} AND {}".format, NAMES, st.integers(0, 4), st.integers(5, 9)),
    st.builds("({{t}}.{} IS NULL OR {{t}}.{} = 'AND')".format, NAMES, NAMES),
    st.builds("NOT {{t}}.{} LIKE 'or%'".format, NAMES),
)


@given(st.lists(st.tuples(st.sampled_from("ab"), ATOMS), min_size=1, max_size=6), st.booleans())
def test_every_condition_goes_to_its_table_and_none_is_lost(conditions: list[tuple[str, str]], nested: bool) -> None:
    written = [atom.format(t=table) for table, atom in conditions]
    where = f"{written[0]} AND ({' AND '.join(written[1:])})" if nested and written[1:] else " AND ".join(written)
    found = {key.table: key.where for key in parse_watch(f"{BOTH} WHERE {where} {END}").keys}
    for table in "ab":
        own = [atom.format(t="?").replace("?.", "") for owner, atom in conditions if owner == table]
        own = [atom[1:-1] if atom.startswith("(") else atom for atom in own]
        assert found[table] == (own[0] if len(own) == 1 else " AND ".join(f"({atom})" for atom in own) or None)


@pytest.mark.parametrize("within", [0.0, 1.0, -0.1, float("nan")])
def test_goals_check_themselves(within: float) -> None:
    accuracy = Accuracy(0.1, 0.1)
    for make in (SelfJoin, InnerProduct, lambda share, sure: Quantile(0.5, share, sure)):
        with pytest.raises(OptionError, match="within is between 0 and 1"):
            make(within, accuracy)
    with pytest.raises(OptionError, match="phi is between"):
        Quantile(within, 0.5, accuracy)
    with pytest.raises(OptionError, match="epsilon is between"):
        Accuracy(within, 0.5)
