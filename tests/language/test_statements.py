"""Statements beside CREATE WATCH: what they say, and what is said when they are wrong."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.language import (
    AlterWatch,
    Change,
    CreateWatch,
    DropWatch,
    ExplainWatch,
    PauseWatch,
    ResumeWatch,
    ShowAlerts,
    ShowChanges,
    ShowSites,
    ShowWatch,
    ShowWatches,
    Statement,
    parse_statements,
    parse_watch,
)
from tacit.vocabulary.errors import SentenceError

WATCH = "CREATE WATCH w AS SELECT AVG(x) AS a FROM t ALERT WHEN a > 1"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("DROP WATCH w", DropWatch("w")),
        ("drop watch if exists w;", DropWatch("w", if_exists=True)),
        ("DROP WATCH if", DropWatch("if")),
        ("PAUSE WATCH `a b`", PauseWatch("a b")),
        ('DROP WATCH "a b"', DropWatch("a b")),
        ("Resume Watch w -- again", ResumeWatch("w")),
        ("SHOW WATCHES;", ShowWatches()),
        ("SHOW /* all */ SITES", ShowSites()),
        ("SHOW WATCH watch", ShowWatch("watch")),
        ("SHOW ALERTS", ShowAlerts()),
        ("SHOW ALERTS FOR w", ShowAlerts("w")),
        ("show changes for w limit 5", ShowChanges("w", 5)),
        ("SHOW ALERTS LIMIT 5", ShowAlerts(None, 5)),
        ("SHOW ALERTS FOR limit LIMIT 5", ShowAlerts("limit", 5)),
        ("ALTER WATCH w SET MARGIN 0.1", AlterWatch("w", (Change("margin", Decimal("0.1")),))),
        ("ALTER WATCH w SET THRESHOLD -5", AlterWatch("w", (Change("threshold", Decimal(-5)),))),
        ("ALTER WATCH w SET WITHIN 3", AlterWatch("w", (Change("within", Decimal(3)),))),
        ("ALTER WATCH w SET WITHIN 3 PERCENT", AlterWatch("w", (Change("within", Decimal(3), True),))),
        ("ALTER WATCH w SET within 3 %", AlterWatch("w", (Change("within", Decimal(3), True),))),
        (
            "ALTER WATCH w SET MARGIN 0, THRESHOLD 1e3",
            AlterWatch("w", (Change("margin", Decimal(0)), Change("threshold", Decimal(1000)))),
        ),
        ("EXPLAIN WATCH w", ExplainWatch("w")),
    ],
)
def test_a_statement(text: str, statement: Statement) -> None:
    assert parse_statements(text) == (statement,)


def test_watches_are_read_by_the_parser_of_watches() -> None:
    create, explain = parse_statements(f"{WATCH};\nEXPLAIN {WATCH}")
    assert create == CreateWatch(parse_watch(WATCH))
    assert isinstance(explain, ExplainWatch)
    assert explain.plan is not None
    assert explain.name == "w"


@pytest.mark.parametrize("name", ["a b", "`", "Grüße", "x" * 128, "a-b.c/d"])
def test_a_name_in_double_quotes_or_backticks(name: str) -> None:
    doubled = name.replace("`", "``")
    for written in (f'"{name}"', f"`{doubled}`"):
        (create,) = parse_statements(WATCH.replace("WATCH w", f"WATCH {written}"))
        assert isinstance(create, CreateWatch)
        assert create.plan.name == name
        assert parse_statements(f"DROP WATCH {written}") == (DropWatch(name),)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"`{'n' * 129}`", "the name of the watch has 129 characters, and 128 is the most"),
        ("n" * 2_000, "the name of the watch has 2,000 characters, and 128 is the most"),
        ('"a\tb"', r"a character in it that cannot be shown (U+0009)"),
        ('" a"', 'begins or ends with a blank; write "a"'),
        ('""', "the name of the watch is empty"),
    ],
)
def test_a_new_name_is_one_that_can_be_shown_and_sent(name: str, words: str) -> None:
    with pytest.raises(SentenceError, match=re.escape(words)) as caught:
        parse_statements(WATCH.replace("WATCH w", f"WATCH {name}"))
    assert (caught.value.line, caught.value.column) == (1, 14)
    if name != '""':
        parse_statements(f"DROP WATCH {name}")  # one of an earlier release can still be dropped


def test_a_statement_and_a_script_that_are_too_long_are_refused_before_they_are_read() -> None:
    long = WATCH.replace("ALERT", f"WHERE x IN ({', '.join(map(str, range(20_000)))}) ALERT")
    with pytest.raises(SentenceError, match=r"this statement has [\d,]+ characters, and 100,000 is the most"):
        parse_statements(f"SHOW WATCHES; {long}")
    with pytest.raises(SentenceError, match="1,000,000 at once; send them in parts"):
        parse_statements("SHOW WATCHES;" * 100_000)


def test_comments_alone_are_no_statements_and_no_mistake() -> None:
    assert parse_statements("-- later\n/* DROP WATCH w */ --") == ()


def test_a_script_keeps_its_order() -> None:
    text = f"DROP WATCH IF EXISTS w;; {WATCH}; PAUSE WATCH w; ALTER WATCH w SET MARGIN 0.10;"
    kinds = [type(statement).__name__ for statement in parse_statements(text)]
    assert kinds == ["DropWatch", "CreateWatch", "PauseWatch", "AlterWatch"]


def test_a_number_stays_as_it_was_written_and_knows_its_place() -> None:
    (alter,) = parse_statements("ALTER WATCH w\n  SET MARGIN 0.10")
    assert isinstance(alter, AlterWatch)
    assert (str(alter.changes[0].number), alter.changes[0].line, alter.changes[0].column) == ("0.10", 2, 7)


# Each case: the statement with ⟦ where the error points, and parts of the message.
CASES = [
    ("⟦", "no statement", "SHOW WATCHES"),
    ("⟦hello", "starts with CREATE", "SHOW WATCHES lists"),
    ("⟦DRP WATCH w", "did you mean DROP?"),
    ("⟦DELETE WATCH w", "write DROP WATCH name"),
    ("⟦STOP WATCH w", "write PAUSE WATCH name"),
    ("⟦UNPAUSE WATCH w", "write RESUME WATCH name"),
    ("⟦DESCRIBE w", "write SHOW WATCH name"),
    ("⟦LIST WATCHES", "write SHOW WATCHES"),
    ("⟦SELECT 1", "answers once"),
    ("DROP⟦", "WATCH is missing after DROP", "write DROP WATCH name"),
    ("DROP ⟦TABLE w", "expected WATCH after DROP, not TABLE"),
    ("DROP ⟦WATHC w", "did you mean WATCH?"),
    ("DROP WATCH⟦", "a name is missing after WATCH"),
    ("DROP WATCH ⟦'w'", "is a text", "double quotes"),
    ("DROP WATCH ⟦5", "expected a name here, not 5"),
    ("DROP WATCH w ⟦v", "did not expect v here"),
    ("DROP WATCH my⟦-watch", "did not expect - after my", '"my-…"'),
    ("DROP WATCH IF ⟦EXIST w", "did you mean EXISTS?"),
    ("DROP WATCH IF EXISTS⟦", "a name is missing after EXISTS"),
    ("DROP WATCH w ⟦CREATE WATCH v AS SELECT 1", "second sentence", "end the first with ;"),
    ("PAUSE ⟦w", "expected WATCH after PAUSE, not w", "write PAUSE WATCH name"),
    ("RESUME WATCH⟦;", "a name is missing"),
    ("SHOW⟦", "WATCHES, WATCH, SITES, ALERTS or CHANGES is missing after SHOW"),
    ("SHOW ⟦TABLES", "expected WATCHES, WATCH, SITES, ALERTS or CHANGES"),
    ("SHOW ⟦SITE", "did you mean SITES?"),
    ("SHOW ⟦ALERT", "did you mean ALERTS?"),
    ("SHOW WATCH⟦", "a name is missing", "SHOW WATCHES for all"),
    ("SHOW ALERTS ⟦OF w", "did not expect OF here", "FOR or LIMIT may follow"),
    ("SHOW ALERTS LIMIT 5 ⟦FOR w", "FOR comes earlier"),
    ("SHOW ALERTS LIMIT ⟦0", "not above 0"),
    ("SHOW ALERTS LIMIT ⟦1.5", "whole number", "write LIMIT 10"),
    ("SHOW ALERTS LIMIT⟦", "a number is missing after LIMIT"),
    ("SHOW ALERTS FOR⟦", "a name is missing after FOR"),
    ("ALTER WATCH w⟦", "SET is missing after w", "ALTER WATCH w SET MARGIN 0.1"),
    ("ALTER WATCH w SET⟦", "a change is missing after SET"),
    ("ALTER WATCH w SET ⟦WINDOW LAST 1 HOUR", "expected MARGIN, THRESHOLD or WITHIN", "drop it and create it anew"),
    ("ALTER WATCH w SET ⟦MARGN 1", "did you mean MARGIN?"),
    ("ALTER WATCH w SET ⟦EPSILON 1", "did you mean WITHIN?"),
    ("ALTER WATCH w SET MARGIN ⟦= 1", "written without it"),
    ("ALTER WATCH w SET MARGIN ⟦-1", "is negative"),
    ("ALTER WATCH w SET MARGIN⟦", "a number is missing after MARGIN"),
    ("ALTER WATCH w SET MARGIN ⟦a", "expected a number after MARGIN, not a"),
    ("ALTER WATCH w SET MARGIN 1 ⟦+ 1", "did not expect + here"),
    ("ALTER WATCH w SET MARGIN 1 ⟦PERCENT", "not a share"),
    ("ALTER WATCH w SET MARGIN 1 ⟦THRESHOLD 2", "a comma is missing"),
    ("ALTER WATCH w SET MARGIN 1, ⟦MARGIN 2", "set twice"),
    ("ALTER WATCH w SET MARGIN 1,⟦", "a change is missing after ,"),
    ("ALTER WATCH w SET THRESHOLD ⟦1e999", "too large"),
    ("ALTER WATCH w SET WITHIN ⟦-1", "below 0"),
    ("ALTER WATCH w SET ⟦LIMIT 5", "drop it and create it anew"),
    ("ALTER WATCH w SET WITHIN ⟦100 PERCENT", "promises nothing"),
    ("ALTER WATCH w SET WITHIN 5 ⟦PERCENTS", "did you mean PERCENT?"),
    ("ALTER WATCH w SET MARGIN ⟦−1", "not a sign of SQL"),
    ("SHOW WATCHES;\n  DROP ⟦WTCH w", "did you mean WATCH?"),
    ("CREATE WATCH w AS SELECT ⟦AVGE(x) AS a FROM t ALERT WHEN a > 1", "did you mean AVG?"),
    ("EXPLAIN WATCH ⟦'w'", "is a text"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].replace("⟦", "")[:60] or "empty")
def test_error(case: tuple[str, ...]) -> None:
    marked, *parts = case
    offset, text = marked.index("⟦"), marked.replace("⟦", "")
    with pytest.raises(SentenceError) as caught:
        parse_statements(text)
    for part in parts:
        assert part in str(caught.value)
    before = text[:offset]
    assert (caught.value.line, caught.value.column) == (before.count("\n") + 1, offset - before.rfind("\n"))


TEXTS = [re.sub("⟦", "", case[0]) for case in CASES] + ["DROP WATCH IF EXISTS w", "ALTER WATCH w SET WITHIN 3 PERCENT"]
PIECES = sorted({piece for text in TEXTS for piece in re.findall(r"\w+|\S", text)} | {"`", "'", "(", ")", "--", "/*"})


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(["", "DROP ", "SHOW ", "ALTER WATCH w SET "]))
def test_any_text_is_understood_or_refused_at_a_place_in_it(pieces: list[str], start: str) -> None:
    text = start + " ".join(pieces)
    answer = _answer(text)
    if isinstance(answer, SentenceError):
        assert answer.line == 1
        assert answer.column is not None
        assert 1 <= answer.column <= len(text) + 1


def _answer(text: str) -> tuple[Statement, ...] | SentenceError:
    try:
        return parse_statements(text)
    except SentenceError as error:
        return error
