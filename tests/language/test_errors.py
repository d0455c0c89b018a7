"""Wrong sentences: what is said, at which line and column, and what to do next."""

from __future__ import annotations

import pytest

from tacit.language import PythonFunction, parse, parse_watch
from tacit.language.aggregates import AGGREGATES
from tacit.language.algebra import SCALARS
from tacit.language.rows import SKETCHED
from tacit.language.synonyms import SYNONYMS
from tacit.vocabulary.errors import SentenceError

# Each case: the sentence with ⟦ where the error points, and parts of the message.
# "~" stands for a start that is right: AVG(x) is a, AVG(y) is b.
START = "CREATE WATCH w AS SELECT AVG(x) AS a, AVG(y) AS b FROM t"

CASES = [
    # the header
    ("⟦", "no sentence", "CREATE WATCH name AS"),
    ("⟦-- only a comment", "no sentence"),
    ("⟦hello", "starts with CREATE WATCH"),
    ("⟦CRATE WATCH w AS SELECT 1", "did you mean CREATE?"),
    ("⟦SELECT AVG(x) FROM t", "answers once", "CREATE WATCH name AS"),
    ("⟦DROP WATCH w", "coordinator"),
    ("CREATE ⟦WACH w AS SELECT AVG(x) FROM t", "did you mean WATCH?"),
    ("CREATE⟦", "ends where WATCH is expected"),
    ("CREATE WATCH ⟦AS SELECT AVG(x) FROM t", "no name"),
    ("CREATE WATCH ⟦'w' AS SELECT AVG(x) FROM t", "'w' is a text", 'write "w"'),
    ("CREATE WATCH ⟦5 AS SELECT AVG(x) FROM t", "not the number 5"),
    ("CREATE WATCH my⟦-watch AS SELECT AVG(x) FROM t", "did not expect - after my", '"my-…"'),
    ("CREATE WATCH w ⟦SELECT AVG(x) FROM t", "expected AS"),
    ("CREATE WATCH w⟦", "ends where AS is expected"),
    ("CREATE WATCH w AS ⟦SELCT AVG(x) FROM t", "did you mean SELECT?"),
    ("CREATE WATCH w AS ⟦WITH q AS (SELECT 1) SELECT AVG(x) FROM q", "without WITH"),
    ("CREATE ⟦OR REPLACE WATCH w AS SELECT 1", "cannot be replaced"),
    ("CREATE WATCH ⟦IF NOT EXISTS w AS SELECT 1", "IF NOT EXISTS"),
    ("EXPLAIN WATCH w⟦", "not said here", "EXPLAIN WATCH w AS SELECT"),
    ("EXPLAIN⟦", "ends where WATCH is expected"),
    # the list of SELECT
    ("CREATE WATCH w AS SELECT⟦ FROM t ALERT WHEN a > 1", "missing after SELECT"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a,⟦ FROM t ALERT WHEN a > 1", "missing after the comma"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a, ⟦, AVG(y) AS b FROM t ALERT WHEN a > 1", "missing before the comma"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a ⟦AVG(y) AS b FROM t ALERT WHEN a > 1", "is a comma"),
    ("CREATE WATCH w AS SELECT AVG(x) ⟦AVG(y) FROM t ALERT WHEN a > 1", "is a comma"),
    ("CREATE WATCH w AS SELECT AVG(x) AS⟦ FROM t ALERT WHEN a > 1", "name is missing after AS"),
    ("CREATE WATCH w AS SELECT AVG(x) / ⟦AS a FROM t ALERT WHEN a > 1", "missing before AS"),
    ("CREATE WATCH w AS SELECT AVG⟦(x FROM t ALERT WHEN a > 1", "never closed", ") is missing"),
    ("CREATE WATCH w AS SELECT AVG(x)⟦) FROM t ALERT WHEN a > 1", "closes nothing"),
    ("CREATE WATCH w AS SELECT ⟦* FROM t ALERT WHEN a > 1", "cannot select *"),
    ("CREATE WATCH w AS SELECT ⟦DISTINCT AVG(x) AS a FROM t ALERT WHEN a > 1", "leave DISTINCT out"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a, ⟦AVG(y) AS A FROM t ALERT WHEN a > 1", "twice"),
    ("CREATE WATCH w AS SELECT ⟦x FROM t ALERT WHEN COUNT(*) > 1", "outside an aggregate", "AVG(x)"),
    ("CREATE WATCH w AS SELECT AVG(x) + ⟦y AS a FROM t ALERT WHEN a > 1", "outside an aggregate"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a ⟦FORM t ALERT WHEN a > 1", "did you mean FROM?"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a⟦ ALERT WHEN a > 1", "FROM is missing"),
    # functions
    ("CREATE WATCH w AS SELECT ⟦AVGE(x) AS a FROM t ALERT WHEN a > 1", "no function named avge", "did you mean AVG?"),
    *(
        (f"CREATE WATCH w AS SELECT ⟦{other} AS a FROM t ALERT WHEN a > 1", f"did you mean {ours}?")
        for other, ours in {
            "AVERAGE(x)": "AVG", "STDEV(x)": "STDDEV", "STDEVP(x)": "STDDEV_POP", "VAR(x)": "VAR_SAMP",
            "CORREL(x, y)": "CORR", "correlation(x, y)": "CORR", "COV(x, y)": "COVAR_POP", "CountIf(x > 1)": "COUNT_IF",
            "SLOPE(y, x)": "REGR_SLOPE", "MUTUAL_INFORMATION(x, y)": "INFORMATION_GAIN", "CHI2(x, y)": "CHI_SQUARE",
            "F2(x)": "SELF_JOIN_SIZE", "JOIN_SIZE(x, y)": "INNER_PRODUCT", "SELF_JOIN_SZE(x)": "SELF_JOIN_SIZE",
            "SQUARE(AVG(x))": "power(x, 2)", "MAX(AVG(x), 1)": "greatest", "min(AVG(x), AVG(y))": "least",
        }.items()
    ),
    ("CREATE WATCH w AS SELECT ⟦MAXIMUM(x) AS a FROM t ALERT WHEN a > 1", "cannot be kept", "COUNT_IF(x > 10)"),
    ("CREATE WATCH w AS SELECT ⟦P95(x) AS a FROM t ALERT WHEN a > 1", "quantile"),
    ("CREATE WATCH w AS SELECT ⟦COUNT_DISTINCT(x) AS a FROM t ALERT WHEN a > 1", "cannot be counted by adding"),
    ("CREATE WATCH w AS SELECT ⟦frobnicate(AVG(x)) AS a FROM t ALERT WHEN a > 1", "no function named frobnicate"),
    ("CREATE WATCH w AS SELECT AVG(⟦lenght(x)) AS a FROM t ALERT WHEN a > 1", "did you mean length?"),
    ("CREATE WATCH w AS SELECT ⟦AVG(x, y) AS a FROM t ALERT WHEN a > 1", "written AVG(x)"),
    ("CREATE WATCH w AS SELECT ⟦AVG() AS a FROM t ALERT WHEN a > 1", "written AVG(x)"),
    ("CREATE WATCH w AS SELECT ⟦CORR(x) AS a FROM t ALERT WHEN a > 1", "written CORR(x, y)"),
    ("CREATE WATCH w AS SELECT AVG(⟦*) AS a FROM t ALERT WHEN a > 1", "* cannot stand inside an aggregate"),
    ("CREATE WATCH w AS SELECT ⟦abs(AVG(x), 2) AS a FROM t ALERT WHEN a > 1", "written abs(x)"),
    ("CREATE WATCH w AS SELECT AVG(⟦SUM(x)) AS a FROM t ALERT WHEN a > 1", "inside another aggregate"),
    ("CREATE WATCH w AS SELECT ⟦hour(t) AS a FROM t ALERT WHEN a > 1", "works on one row", "AVG(hour(t))"),
    ("CREATE WATCH w AS SELECT AVG(⟦'abc') AS a FROM t ALERT WHEN a > 1", "is text"),
    ("CREATE WATCH w AS SELECT AVG(x + ⟦'abc') AS a FROM t ALERT WHEN a > 1", "is text"),
    ("CREATE WATCH w AS SELECT AVG(⟦(x > 1) * 2) AS a FROM t ALERT WHEN a > 1", "condition is not a number"),
    ("CREATE WATCH w AS SELECT AVG(x ⟦y) AS a FROM t ALERT WHEN a > 1", "is a comma"),
    ("CREATE WATCH w AS SELECT AVG(⟦rand()) AS a FROM t ALERT WHEN a > 1", "another answer each time"),
    ("CREATE WATCH w AS SELECT AVG(⟦reflect('a', 'b')) AS a FROM t ALERT WHEN a > 1", "runs code"),
    # no value
    ("CREATE WATCH w AS SELECT AVG(x) / ⟦0 AS a FROM t ALERT WHEN a > 1", "always by zero"),
    ("CREATE WATCH w AS SELECT AVG(x) / ⟦(2 - 2) AS a FROM t ALERT WHEN a > 1", "always by zero: 2 - 2 is 0"),
    ("CREATE WATCH w AS SELECT AVG(x) / ⟦(AVG(y) - AVG(y)) AS a FROM t ALERT WHEN a > 1", "always by zero"),
    ("CREATE WATCH w AS SELECT AVG(x) * ⟦sqrt(-1) AS a FROM t ALERT WHEN a > 1", "sqrt(-1) has no value"),
    # what cannot be kept
    ("CREATE WATCH w AS SELECT ⟦MAX(x) AS a FROM t ALERT WHEN a > 1", "cannot be kept", "COUNT_IF(x > 10)"),
    ("CREATE WATCH w AS SELECT ⟦MEDIAN(x) AS a FROM t ALERT WHEN a > 1", "quantile", "AVG(x > 10) > 0.5"),
    ("CREATE WATCH w AS SELECT ⟦percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM t ALERT WHEN a > 1", "quantile"),
    ("CREATE WATCH w AS SELECT ⟦COUNT(DISTINCT x) AS a FROM t ALERT WHEN a > 1", "sketches"),
    ("CREATE WATCH w AS SELECT ⟦SKEWNESS(x) AS a FROM t ALERT WHEN a > 1", "moments"),
    ("CREATE WATCH w AS SELECT ⟦ROUND(AVG(x)) AS a FROM t ALERT WHEN a > 1", "jumps", "MARGIN"),
    ("CREATE WATCH w AS SELECT ⟦CASE WHEN AVG(x) > 1 THEN 2 ELSE 3 END AS a FROM t ALERT WHEN a > 1", "jumps"),
    ("CREATE WATCH w AS SELECT ⟦COALESCE(AVG(x), 0) AS a FROM t ALERT WHEN a > 1", "jumps"),
    ("CREATE WATCH w AS SELECT ⟦AVG(x) ^ 2 AS a FROM t ALERT WHEN a > 1", "power(x, y)"),
    ("CREATE WATCH w AS SELECT ⟦AVG(x) OVER (PARTITION BY y) AS a FROM t ALERT WHEN a > 1", "OVER"),
    ("CREATE WATCH w AS SELECT AVG(⟦(SELECT 1)) AS a FROM t ALERT WHEN a > 1", "subqueries"),
    ("~ GROUP BY k ORDER BY ⟦a DESC LIMIT 20", "does not add up", "SUM(x)"),
    ("~ ⟦UNION SELECT 1", "one table"),
    # FROM
    ("CREATE WATCH w AS SELECT AVG(x) AS a FROM ⟦(SELECT 1) ALERT WHEN a > 1", "subqueries"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a FROM t⟦, u ALERT WHEN a > 1", "one table"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a FROM t ⟦JOIN u ON t.k = u.k ALERT WHEN a > 1", "without joins"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a FROM⟦ ALERT WHEN a > 1", "names no table"),
    ("CREATE WATCH w AS SELECT AVG(x) AS a FROM ⟦'t' ALERT WHEN a > 1", "name of a table"),
    # misspelt keywords
    ("~ ⟦WINDW LAST 10 ROWS ALERT WHEN a > 1", "did you mean WINDOW?"),
    ("~ ⟦WHRE x > 1 ALERT WHEN a > 1", "did you mean WHERE?"),
    ("~ WHERE x > 1 ⟦ALRT WHEN a > 1", "did you mean ALERT?"),
    ("~ WINDOW LAST 9 ROWS ⟦ALRT WHEN a > 1", "did you mean ALERT?"),
    ("~ WINDOW ⟦LATS 10 ROWS ALERT WHEN a > 1", "did you mean LAST?"),
    ("~ ⟦GROUP k ALERT WHEN a > 1", "did you mean GROUP BY?"),
    ("~ ALERT WHEN a > 1 ⟦ADN b > 2", "did you mean AND?"),
    # texts, names and comments that do not end
    ("~ WHERE k = ⟦'abc ALERT WHEN a > 1", "never ends"),
    ("~ WHERE ⟦`k = 1 ALERT WHEN a > 1", "never ends"),
    ("~ ⟦/* why ALERT WHEN a > 1", "comment", "never ends"),
    # WHERE
    ("~ WHERE⟦ ALERT WHEN a > 1", "nothing follows WHERE"),
    ("~ WHERE ⟦x + 1 ALERT WHEN a > 1", "where a condition is expected"),
    ("~ WHERE ⟦AVG(x) > 1 ALERT WHEN a > 1", "belongs in ALERT WHEN"),
    ("~ WHERE ⟦CASE WHEN x > 1 THEN 1 ALERT WHEN a > 1", "END is missing"),
    ("~ WHERE x > 1 ⟦WHERE y > 1 ALERT WHEN a > 1", "second time"),
    ("~ WHERE x ⟦NOT NULL ALERT WHEN a > 1", "IS is missing"),
    ("~ WHERE x > ⟦> 1 ALERT WHEN a > 1", "missing before >"),
    ("~ WHERE ⟦IS NOT NULL ALERT WHEN a > 1", "did not expect IS"),
    ("~ WHERE ⟦x IN ALERT WHEN a > 1", "list in parentheses"),
    ("~ WHERE ⟦é > 1 ALERT WHEN a > 1", "`é`"),
    ("CREATE WATCH w AS SELECT AVG(⟦x IGNORE NULLS) AS a FROM t ALERT WHEN a > 1", "cannot stand"),
    ("~ WHERE CASE WHEN x > 1 y ⟦END = 1 ALERT WHEN a > 1", "THEN is missing"),
    ("~ WHERE array_contains(⟦, 1) ALERT WHEN a > 1", "missing before the comma"),
    ("~ WHERE array_contains(l, ⟦) ALERT WHEN a > 1", "missing after the comma"),
    # windows
    ("~ WINDOW ⟦24 HOURS ALERT WHEN a > 1", "WINDOW LAST 24 HOURS"),
    ("~ WINDOW LAST ⟦0 ROWS ALERT WHEN a > 1", "not a positive length"),
    ("~ WINDOW LAST ⟦-5 HOURS ALERT WHEN a > 1", "not a positive length"),
    ("~ WINDOW LAST ⟦2.5 ROWS ALERT WHEN a > 1", "not a number of rows"),
    ("~ WINDOW LAST 5⟦ ALERT WHEN a > 1", "a unit of time"),
    ("~ WINDOW LAST 15 ⟦MINUTS ALERT WHEN a > 1", "did you mean MINUTES?"),
    ("~ WINDOW LAST 2 ⟦MONTHS ALERT WHEN a > 1", "no fixed length", "LAST 30 DAYS"),
    ("~ WINDOW LAST ⟦0.0000001 SECONDS ALERT WHEN a > 1", "microsecond"),
    ("~ WINDOW SINCE ⟦NOON ALERT WHEN a > 1", "MIDNIGHT"),
    ("~ WINDOW SINCE START OF ⟦CENTURY ALERT WHEN a > 1", "MINUTE, HOUR, DAY, WEEK, MONTH or YEAR"),
    ("~ WINDOW LAST 1 HOUR EVERY ⟦2 HOURS ALERT WHEN a > 1", "longer than the window"),
    ("~ WINDOW LAST 9 ROWS EVERY ⟦10 ROWS ALERT WHEN a > 1", "longer than the window"),
    ("~ WINDOW LAST 1 HOUR EVERY ⟦10 ROWS ALERT WHEN a > 1", "stretch of time"),
    ("~ WINDOW SINCE MIDNIGHT EVERY ⟦2 DAYS ALERT WHEN a > 1", "longer than the window"),
    ("~ WINDOW LAST 9 ROWS EVERY ⟦0 ROWS ALERT WHEN a > 1", "not a positive length"),
    # groups
    ("~ GROUP BY⟦ ALERT WHEN a > 1", "missing after GROUP BY"),
    ("~ GROUP BY ⟦EACH(l) ALERT WHEN a > 1", "EACH(list) AS member"),
    ("~ GROUP BY EACH(l) AS m, ⟦k ALERT WHEN a > 1", "only key"),
    ("~ GROUP BY ⟦9 ALERT WHEN a > 1", "no item 9"),
    ("~ GROUP BY ⟦AVG(x) ALERT WHEN a > 1", "not an aggregate"),
    ("~ GROUP BY ⟦ROLLUP(k) ALERT WHEN a > 1", "list the keys"),
    ("~ GROUP BY k ALERT WHEN ⟦k > 1", "grouped by", "WHERE"),
    ("~ GROUP BY EACH(l) AS m ALERT WHEN COUNT_IF(⟦m = 'a') > 1", "names the group", "PRESENT"),
    ("~ GROUP BY EACH(l) AS m WHERE ⟦PRESENT ALERT WHEN a > 1", "no meaning in WHERE"),
    # goals
    ("~⟦", "does not say what to keep", "ALERT WHEN"),
    ("~ ALERT ⟦IF a > 1", "WHEN is missing"),
    ("~ ALERT ⟦a > 1", "WHEN is missing"),
    ("~ ALERT WHEN⟦", "nothing follows WHEN"),
    ("~ ALERT WHEN ⟦a", "number, not a condition"),
    ("~ ALERT WHEN a >⟦", "missing after >"),
    ("~ ALERT WHEN ⟦ratio > 1", "SELECT names no ratio"),
    ("~ ALERT WHEN a > ⟦'high'", "is text"),
    ("~ ALERT WHEN a > ⟦TRUE", "truth value"),
    ("~ ALERT WHEN a > ⟦NULL", "NULL"),
    ("~ ALERT WHEN a > ⟦1e999", "not a number"),
    ("~ ALERT WHEN ⟦a = 1", "cannot be kept", "BETWEEN"),
    ("~ ALERT WHEN ⟦a <> 1", "cannot be kept", "a > 1, or a < 1"),
    ("~ ALERT WHEN ⟦a = 1 MARGIN 0.1", "cannot be kept", "BETWEEN"),
    ("~ ALERT WHEN ⟦a IS NULL", "cannot be kept"),
    ("~ ALERT WHEN ⟦a IN (1, 2)", "cannot be kept", "BETWEEN"),
    ("~ ALERT WHEN ⟦1 < a < 3", "do not chain", "BETWEEN"),
    ("~ ALERT WHEN ⟦1 > 2", "does not depend on the data"),
    ("~ ALERT WHEN a > 1 MARGIN ⟦-1", "negative"),
    ("~ ALERT WHEN a > 1 MARGIN ⟦b", "must be a number"),
    ("~ ALERT WHEN a > 1 MARGIN⟦", "missing after MARGIN"),
    ("~ ALERT WHEN a > 1 MARGIN 5 ⟦PERCENT", "not a share"),
    ("~ ALERT WHEN (a > 1 OR b > 1) MARGIN ⟦2", "one comparison"),
    ("~ ALERT WHEN a > 1⟦, b > 2", "AND or OR"),
    ("~ ALERT WHEN a > 1 ⟦TRACK a WITHIN 5", "either alerts or tracks"),
    ("~ TRACK a⟦", "how closely", "WITHIN 5"),
    ("~ TRACK a WITHIN⟦", "nothing follows WITHIN"),
    ("~ TRACK a WITHIN ⟦0", "not above 0"),
    ("~ TRACK a WITHIN ⟦-2", "not above 0"),
    ("~ TRACK a WITHIN ⟦100 PERCENT", "promises nothing"),
    ("~ TRACK a WITHIN 5⟦, b WITHIN 3", "one value"),
    ("~ TRACK ⟦a > 1 WITHIN 2", "condition where a number"),
    ("~ TRACK ⟦5 WITHIN 2", "does not depend on the data"),
    # almost right
    ("~ ALERT WHEN a > ⟦“10”", "“ is a typographic quotation mark", "write ' instead"),
    ("~ WHERE k = ⟦‘x’ ALERT WHEN a > 1", "typographic"),
    ("~ ALERT WHEN a > ⟦−1", "− is not a sign of SQL", "write - instead"),
    ("~ ALERT WHEN a ⟦≥ 1", "write >= instead"),
    ("CREATE WATCH w AS SELECT AVG⟦（x） AS a FROM t ALERT WHEN a > 1", "write ( instead"),
    ("~ ⟦ALARM WHEN a > 1", "did you mean ALERT?"),
    ("~ WINDOW LAST 9 ROWS ⟦ALARM WHEN a > 1", "did you mean ALERT?"),
    ("~ WINDOW LAST 9 ROWS ⟦WHEN a > 1", "ALERT is missing before WHEN"),
    ("~ ⟦WHEN a > 1", "ALERT is missing before WHEN"),
    ("~ ALERT WHEN a > 1 ⟦CREATE WATCH v AS SELECT AVG(x) AS a FROM t ALERT WHEN a > 1", "second sentence", "with ;"),
    ("~ ALERT WHEN a ⟦=> 1", "did you mean >=?"),
    ("~ ALERT WHEN a > 10⟦,5", "decimals are written with a point"),
    ("~ ALERT WHEN a > 1 MARGIN ⟦= 2", "written without it"),
    ("~ ALERT WHEN a > 1 ⟦WITHIN 2", "a condition has a MARGIN"),
    ("~ ALERT WHEN a > 1 ⟦WITH MARGIN 2", "right after the comparison"),
    ("~ WINDOW LAST ROWS ⟦100 ALERT WHEN a > 1", "the number comes first: 100 ROWS"),
    ("CREATE WATCH w AS SELECT AVG(x / ⟦0) AS a FROM t ALERT WHEN a > 1", "always by zero"),
    ("CREATE WATCH w AS SELECT AVG(x % ⟦(0.0)) AS a FROM t ALERT WHEN a > 1", "always by zero"),
    # places on later lines
    ("CREATE WATCH w AS\n  SELECT AVG(x) AS a\n  FROM t\n  ALERT WHEN a > 1 AND\n    ⟦bb > 2", "bb"),
    ("~ ALERT WHEN a > 1;\n\n  CREATE WATCH v AS SELECT ⟦AVGE(x) AS a FROM t ALERT WHEN a > 1", "avge"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].replace("⟦", "")[:60] or "empty")
def test_error(case: tuple[str, ...]) -> None:
    marked, *parts = case
    marked = marked.replace("~", START)
    offset = marked.index("⟦")
    text = marked.replace("⟦", "")
    with pytest.raises(SentenceError) as caught:
        parse(text)
    error = caught.value
    for part in parts:
        assert part in str(error)
    before = text[:offset]
    assert (error.line, error.column) == (before.count("\n") + 1, offset - before.rfind("\n"))
    assert "\x1b" not in str(error)
    assert "sqlglot" not in str(error)
    assert error.exit_code == 2


def test_two_watches_where_one_is_expected() -> None:
    with pytest.raises(SentenceError, match="line 2, column 1: one watch is expected"):
        parse_watch(f"{START} ALERT WHEN a > 1;\n{START} ALERT WHEN a > 1")


def test_arguments_of_a_python_function() -> None:
    functions = {"f": PythonFunction(lambda x: x, arity=1, unsound=True)}
    with pytest.raises(SentenceError, match="f takes 1 argument"):
        parse_watch("CREATE WATCH w AS SELECT f(AVG(x), 1) AS a FROM t ALERT WHEN a > 1", functions=functions)


@pytest.mark.parametrize("piece", ["(" * 500 + "1" + ")" * 500, " + ".join(["AVG(x)"] * 5000), "- " * 3000 + "1"])
def test_very_deep_sentences(piece: str) -> None:
    with pytest.raises(SentenceError, match="nested too deeply"):
        parse_watch(f"CREATE WATCH w AS SELECT AVG(x) AS a FROM t ALERT WHEN a > {piece}")


def test_a_synonym_never_stands_for_what_exists_and_always_leads_to_it() -> None:
    for other, ours in SYNONYMS.items():
        assert other not in AGGREGATES
        assert other not in SCALARS
        assert other not in SKETCHED
        assert ours.partition("(")[0].casefold() in {*AGGREGATES, *SCALARS, *SKETCHED}


def test_typographic_letters_are_welcome_in_texts_and_quoted_names() -> None:
    plan = parse_watch("CREATE WATCH w AS SELECT AVG(`x−y`) AS a FROM t WHERE k = '“≥”' ALERT WHEN a > 1")
    assert [use.name for use in plan.columns] == ["x−y", "k"]


def test_WHEN_belongs_to_CASE_too() -> None:
    parse_watch("CREATE WATCH w AS SELECT AVG(CASE WHEN x > 1 THEN 1 ELSE 0 END) AS a FROM t ALERT WHEN a > 1")
