"""ORDER BY … LIMIT: what is kept, and what is said when it cannot be."""

from __future__ import annotations

import pytest

from tacit.functions.expressions import Variable
from tacit.functions.goals import Top
from tacit.language import parse_watch
from tacit.language.altering import altered
from tacit.language.explain import describe, explain_text
from tacit.language.statements import parse_statements
from tacit.vocabulary.errors import SentenceError

START = "CREATE WATCH w AS SELECT url, COUNT(*) AS hits FROM visits GROUP BY url"


@pytest.mark.parametrize(
    ("rest", "goal", "keys"),
    [
        ("ORDER BY hits DESC LIMIT 20", Top(Variable(0), 20), ("url",)),
        ("ORDER BY hits DESC LIMIT 20 WITHIN 50", Top(Variable(0), 20, within=50.0), ("url",)),
        ("ORDER BY hits LIMIT 3", Top(Variable(0), 3, largest=False), ("url",)),
        ("ORDER BY COUNT(*) ASC LIMIT 3", Top(Variable(0), 3, largest=False), ("url",)),
        ("ORDER BY hits DESC LIMIT 3 PER region", Top(Variable(0), 3, per=1), ("url", "region")),
        ("ORDER BY hits DESC LIMIT 3 PER region, hour(t)", Top(Variable(0), 3, per=2), ("url", "region", "hour(t)")),
        ("ORDER BY hits DESC LIMIT 3 PER region WITHIN 2", Top(Variable(0), 3, within=2.0, per=1), ("url", "region")),
        ("ORDER BY hits DESC LIMIT 3 WINDOW LAST 1 MINUTE USING topico", Top(Variable(0), 3, using="topico"), ("url",)),
        (
            "ORDER BY hits DESC LIMIT 3 WITHIN 2 RANKED WITHIN 5 PER region",
            Top(Variable(0), 3, within=2.0, per=1, ranked=5.0),
            ("url", "region"),
        ),
    ],
)
def test_a_ranking_is_understood(rest, goal, keys):
    plan = parse_watch(f"{START} {rest}")
    assert plan.goal == goal
    assert plan.grouping is not None
    assert plan.grouping.expressions == keys


def test_a_list_may_be_among_the_groups():
    plan = parse_watch(
        "CREATE WATCH w AS SELECT url, region, SUM(bytes) AS volume FROM visits WHERE status = 200"
        " GROUP BY region, url ORDER BY volume DESC LIMIT 3 PER region"
    )
    assert plan.grouping.expressions == ("url", "region")
    assert plan.goal.per == 1
    assert plan.where == "status = 200"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{START} ORDER BY hits DESC⟦", ("how many",)),
        (f"{START} ⟦LIMIT 3", ("ranked by", "ORDER BY")),
        (f"{START} ORDER BY hits DESC LIMIT ⟦0", ("above 0",)),
        (f"{START} ORDER BY hits DESC LIMIT ⟦many", ("whole number",)),
        (f"{START} ORDER BY hits DESC LIMIT ⟦200000", ("100,000",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 ⟦WITHN 5", ("did you mean WITHIN?",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 WITHIN⟦", ("number is missing",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 WITHIN ⟦-1", ("below 0",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 WITHIN 5 ⟦PERCENT", ("unit of its scores",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 ⟦RANKED", ("RANKED WITHIN 5",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 USING ⟦gossip", ("coordinator or USING topico",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 ⟦PER url", ("something to rank",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 ⟦ALERT WHEN hits > 3", ("tells every change",)),
        (f"{START} ORDER BY hits DESC LIMIT 3 ⟦TRACK hits WITHIN 3", ("tells every change",)),
        (f"{START} ORDER BY ⟦url DESC LIMIT 3", ("grouped by",)),
        (f"{START} ORDER BY hits DESC, ⟦url LIMIT 3", ("equal scores",)),
        (f"{START} ORDER BY hits DESC LIMIT ⟦'5'", ("whole number",)),
        (f"{START} ORDER BY hits DESC LIMIT 5 ⟦USING topico", ("rows of some time",)),
        (f"{START} WINDOW LAST 1 MINUTE ORDER BY hits DESC LIMIT 5 ⟦WITHIN 3 USING topico", ("promises no error",)),
        (f"{START} ORDER BY hits DESC LIMIT 5 USING ⟦'topico'", ("USING topico",)),
        (f"{START} ORDER BY hits DESC ⟦NULLS LAST LIMIT 3", ("never NULL",)),
        (f"{START} ORDER BY ⟦DESC LIMIT 3", ("did not expect DESC",)),
        (f"{START} ORDER BY ⟦AVG(x) DESC LIMIT 3", ("does not add up", "SUM(x)")),
        (f"{START} ORDER BY ⟦hits + 1 DESC LIMIT 3", ("does not add up",)),
        (f"{START} ALERT WHEN hits > 3 ⟦PER region", ("belongs to a ranking",)),
        (f"{START} ALERT WHEN hits > 3 ⟦USING topico", ("belongs to a ranking",)),
        ("CREATE WATCH w AS SELECT COUNT(*) AS n FROM t ⟦ORDER BY n LIMIT 3", ("needs groups",)),
        (
            "CREATE WATCH w AS SELECT m, COUNT(*) AS n FROM t GROUP BY EACH(ms) AS m ⟦ORDER BY n LIMIT 3",
            ("members of lists",),
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_is(text, parts):
    at = text.index("⟦")
    with pytest.raises(SentenceError) as caught:
        parse_watch(text.replace("⟦", ""))
    assert all(part in str(caught.value) for part in parts)
    if not text.endswith("⟦"):
        assert caught.value.column == at + 1


def test_explain_says_which_protocol_and_why():
    plan = parse_watch(f"EXPLAIN {START.removeprefix('CREATE ')} ORDER BY hits DESC LIMIT 20 WITHIN 50")
    assert "the 20 groups with the largest hits, within 50 (ranking)" in explain_text(plan)
    assert "coordinator: sites speak when" in explain_text(plan)
    assert describe(plan)["shape"] == "ranking"
    smallest = parse_watch(f"{START} ORDER BY hits LIMIT 1")
    assert "may be the smallest" in explain_text(smallest)


@pytest.mark.parametrize(
    ("rest", "after"),
    [
        ("ORDER BY hits DESC LIMIT 20", "ORDER BY hits DESC LIMIT 20 WITHIN 7"),
        ("ORDER BY hits DESC LIMIT 20 WITHIN 50", "ORDER BY hits DESC LIMIT 20 WITHIN 7"),
        ("ORDER BY hits DESC LIMIT 9 WITHIN 5 RANKED WITHIN 5", "ORDER BY hits DESC LIMIT 9 WITHIN 7 RANKED WITHIN 5"),
        ("ORDER BY hits DESC LIMIT 9 RANKED WITHIN 5", "ORDER BY hits DESC LIMIT 9 WITHIN 7 RANKED WITHIN 5"),
    ],
)
def test_the_error_of_a_ranking_can_be_altered(rest, after):
    (statement,) = parse_statements("ALTER WATCH w SET WITHIN 7")
    assert altered(f"{START} {rest}", statement) == f"{START} {after}"


@pytest.mark.parametrize("change", ["MARGIN 3", "THRESHOLD 3", "WITHIN 3 PERCENT"])
def test_what_a_ranking_does_not_have_cannot_be_altered(change):
    (statement,) = parse_statements(f"ALTER WATCH w SET {change}")
    with pytest.raises(SentenceError):
        altered(f"{START} ORDER BY hits DESC LIMIT 20", statement)


def test_topico_adds_up_what_cannot_be_negative() -> None:
    window = "WINDOW LAST 15 SECONDS EVERY 5 SECONDS"
    score = f"SELECT k, {{}} AS n FROM t {window} GROUP BY k ORDER BY n DESC LIMIT 3 USING topico"
    parse_watch("CREATE WATCH w AS " + score.format("2 * COUNT(*) + COUNT_IF(x > 1)"))
    for wrong in ("SUM(x)", "COUNT(*) - COUNT_IF(x > 1)"):
        with pytest.raises(SentenceError, match="topico adds up what cannot be negative"):
            parse_watch("CREATE WATCH w AS " + score.format(wrong))
    with pytest.raises(SentenceError, match="topico finds the largest"):
        parse_watch("CREATE WATCH w AS " + score.format("COUNT(*)").replace("DESC", "ASC"))


def test_explain_names_the_lists() -> None:
    plan = parse_watch("CREATE WATCH w AS SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 1 PER r")
    text = explain_text(plan)
    assert "the group with the largest n" in text
    assert "one per k, in a list of its own for each r" in text
