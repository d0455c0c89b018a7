"""The sentence as a whole: headers, clauses in any order, names, scripts."""

from __future__ import annotations

import pytest

from tacit.functions.expressions import Opaque, Variable
from tacit.functions.goals import AnyOf, Comparison, Track
from tacit.language import ByKey, ByMember, Every, PythonFunction, Window, parse, parse_watch
from tacit.vocabulary.errors import OptionError

POLLUTION = """
CREATE WATCH pollution AS
  SELECT AVG(so2) / AVG(no2) AS ratio, AVG(no2) AS level FROM air
  WINDOW LAST 24 HOURS EVERY 1 HOUR
  ALERT WHEN ratio > 0.5 MARGIN 0.02 OR level > 250;   -- any expression over aggregates
"""
HOUR_US = 3_600_000_000


def test_the_whole_plan() -> None:
    plan = parse_watch(POLLUTION)
    assert (plan.name, plan.table, plan.where, plan.grouping, plan.explain) == ("pollution", "air", None, None, False)
    assert plan.text.startswith("CREATE WATCH pollution")
    assert plan.text.endswith("level > 250")
    assert [name for name, _ in plan.outputs] == ["ratio", "level"]
    assert plan.window == Window("time", Every(duration_us=HOUR_US), duration_us=24 * HOUR_US)
    ratio, level = (expression for _, expression in plan.outputs)
    assert plan.goal == AnyOf((Comparison(ratio, ">", 0.5, 0.02), Comparison(level, ">", 250.0)))
    assert [(use.name, use.line, use.column, use.role) for use in plan.columns] == [
        ("so2", 3, 14, "number"),
        ("no2", 3, 25, "number"),
        ("no2", 3, 44, "number"),
    ]


CLAUSES = ("FROM air", "WINDOW LAST 9 ROWS", "EVERY 3 ROWS", "WHERE so2 > 1", "GROUP BY station", "ALERT WHEN a > 1")


@pytest.mark.parametrize("turn", range(len(CLAUSES)))
def test_clauses_in_any_order(turn: int) -> None:
    turned = CLAUSES[turn:] + CLAUSES[:turn]
    for order in (turned, turned[::-1]):
        plan = parse_watch(f"CREATE WATCH w AS SELECT AVG(so2) AS a {' '.join(order)}")
        assert (plan.table, plan.where) == ("air", "so2 > 1")
        assert plan.grouping == ByKey(("station",), ("station",))
        assert plan.window == Window("rows", Every(rows=3), rows=9)


@pytest.mark.parametrize(
    ("text", "explain"),
    [
        ("CREATE WATCH w AS {}", False),
        ("create watch w as {}", False),
        ("EXPLAIN WATCH w AS {}", True),
        ("EXPLAIN WATCH CREATE WATCH w AS {}", True),
        ("EXPLAIN CREATE WATCH w AS {}", True),
        ("CREATE WATCH `w` AS {} ;", False),
    ],
)
def test_headers(text: str, explain: bool) -> None:
    plan = parse_watch(text.format("SELECT AVG(x) AS a FROM t ALERT WHEN a > 1"))
    assert (plan.name, plan.explain) == ("w", explain)


def test_a_script_has_several_sentences_and_comments() -> None:
    script = f"""-- first; not a sentence
    {POLLUTION} ; ;
    /* second; */ CREATE WATCH spread AS SELECT STDDEV(pm25) AS s FROM air WINDOW LAST 1000 ROWS TRACK s WITHIN 5;
    EXPLAIN WATCH spread AS SELECT STDDEV(pm25) AS s FROM air TRACK s WITHIN 3 PERCENT"""
    plans = parse(script)
    assert [(plan.name, plan.explain) for plan in plans] == [
        ("pollution", False),
        ("spread", False),
        ("spread", True),
    ]
    tracks = [plan.goal for plan in plans[1:]]
    assert all(isinstance(goal, Track) for goal in tracks)
    assert [(goal.within, goal.percent) for goal in tracks if isinstance(goal, Track)] == [(5.0, False), (3.0, True)]
    assert plans[1].columns[0].line == 8


def test_aliases_are_known_in_later_items_and_in_the_goal() -> None:
    plan = parse_watch("CREATE WATCH w AS SELECT AVG(x) AS a, AVG(y) b, a / B AS r FROM t ALERT WHEN R + COUNT(*) > 1")
    outputs = dict(plan.outputs)
    assert str(outputs["r"]) == f"({outputs['a']} / {outputs['b']})"
    assert isinstance(plan.goal, Comparison)
    assert str(plan.goal.expression) == f"({outputs['r']} + x4)"


def test_outputs_without_an_alias_are_named_by_their_text() -> None:
    plan = parse_watch("CREATE WATCH w AS SELECT avg( x ), 2*count(*) FROM t ALERT WHEN COUNT(*) > 1")
    assert [name for name, _ in plan.outputs] == ["avg( x )", "2*count(*)"]


@pytest.mark.parametrize("name", ["window", "alert", "track", "every", "margin", "within", "per", "sketch", "last"])
def test_keywords_may_be_columns(name: str) -> None:
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT {name}, AVG({name}) AS m, SUM(t.{name}) AS s FROM t "
        f"WHERE {name} > 1 AND NOT {name} IS NULL GROUP BY {name} WINDOW LAST 5 ROWS ALERT WHEN m > 1 MARGIN 0.5"
    )
    assert plan.where == f"{name} > 1 AND NOT {name} IS NULL"
    assert plan.grouping == ByKey((name,), (name,))
    assert {use.name for use in plan.columns} == {name}


def test_row_expressions_reach_spark_as_written() -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT SUM(air.x DIV 2 /* half */ + 5L) AS a FROM lake.air\n"
        "WHERE name = 'it''s' -- why\n AND  a.b[0] IS NOT DISTINCT FROM array(1,2)[1] ALERT WHEN a > 1"
    )
    assert plan.table == "lake.air"
    assert "CAST(x DIV 2 + 5L AS DOUBLE)" in plan.statistics[0].present
    assert plan.where == "name = 'it''s' AND a.b[0] IS NOT DISTINCT FROM array(1,2)[1]"
    assert [(use.name, use.role) for use in plan.columns] == [("x", "number"), ("name", "any"), ("a", "any")]


def test_table_aliases() -> None:
    for source in ("air AS a", "air a"):
        plan = parse_watch(f"CREATE WATCH w AS SELECT AVG(a.so2) AS m FROM {source} ALERT WHEN m > 1")
        assert plan.table == "air"
        assert plan.statistics[0].name == "sum(so2)"


def test_roles_of_columns() -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT AVG(CASE WHEN ok AND n > 1 THEN x ELSE y + 1 END) AS a, COUNT(name) AS c,\n"
        "COUNT_IF(flag) AS f, SUM(sqrt(z)) AS s, AVG(datediff(day, d, e)) AS g, COUNT_IF(exists(l, v -> v > q)) AS h\n"
        "FROM t WHERE good ALERT WHEN a > 1"
    )
    assert {use.name: use.role for use in plan.columns} == {
        "ok": "boolean", "n": "any", "x": "number", "y": "number", "name": "any", "flag": "boolean", "z": "number",
        "d": "any", "e": "any", "l": "any", "q": "any", "good": "boolean",
    }  # fmt: skip


def test_keys() -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT hour(ts) AS h, Station, COUNT(*) AS n FROM t GROUP BY h, 2, year(ts) ALERT WHEN n > 1"
    )
    assert plan.grouping == ByKey(("hour(ts)", "Station", "year(ts)"), ("h", "Station", "year(ts)"))
    assert [name for name, _ in plan.outputs] == ["n"]


def test_members() -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT term, COUNT_IF(PRESENT) AS n FROM t GROUP BY EACH(split(body, ' ')) AS term "
        "ALERT WHEN n > 1"
    )
    assert plan.grouping == ByMember("split(body, ' ')", "term")
    assert plan.statistics[0].present == "CASE WHEN TRUE THEN 1D ELSE 0D END"


def test_python_functions() -> None:
    def distance(a: object, b: object) -> object:
        return a

    functions = {"Distance": PythonFunction(distance, arity=2, lipschitz=1.5)}
    plan = parse_watch("CREATE WATCH w AS SELECT distance(AVG(x), 2) AS d FROM t ALERT WHEN d > 1", functions=functions)
    ((_, expression),) = plan.outputs
    assert isinstance(expression, Opaque)
    assert (expression.name, expression.function, expression.lipschitz) == ("Distance", distance, 1.5)
    with pytest.raises(OptionError, match="already a function"):
        parse_watch(POLLUTION, functions={"sqrt": PythonFunction(distance, unsound=True)})


def test_functions_of_the_session() -> None:
    text = "CREATE WATCH w AS SELECT AVG(mine(x)) AS a FROM t ALERT WHEN a > 1"
    assert parse_watch(text, row_functions=["Mine"]).statistics[0].name == "sum(mine(x))"


def test_count_of_text_asks_for_no_number() -> None:
    (count,) = parse_watch("CREATE WATCH w AS SELECT COUNT(name) AS n FROM t ALERT WHEN n > 1").statistics
    assert "CAST(name AS DOUBLE)" not in count.present


def test_constants_are_folded() -> None:
    plan = parse_watch("CREATE WATCH w AS SELECT SUM(x) AS s FROM t ALERT WHEN 2 * (3 + 4) - sqrt(16) < s")
    assert plan.goal == Comparison(Variable(0), ">", 10.0)
