"""SQL text to watch plans: the door of the language."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot.tokenizer_core import Token, TokenType

from tacit.functions.expressions import Expression, Variable
from tacit.functions.goals import Goal, SketchGoal, Top
from tacit.language.accuracy import refuse_sketch_clause
from tacit.language.aggregates import AGGREGATES
from tacit.language.algebra import SCALARS
from tacit.language.clauses import Clause, Sentence, read_sentence, split_sentences
from tacit.language.conjuncts import where_by_table
from tacit.language.dialect import read_condition, tokenize
from tacit.language.frequent import HavingClause
from tacit.language.goal_clause import GoalClause
from tacit.language.grouping import Groups, read_groups, with_lists
from tacit.language.lowering import Lowering
from tacit.language.places import Source, closest
from tacit.language.plan import ColumnUse, WatchPlan, Window
from tacit.language.python_functions import PythonFunction
from tacit.language.ranking import RankingClause, check_alone, is_ranking
from tacit.language.refusals import refuse_clauses
from tacit.language.rows import SKETCHED, RowReader
from tacit.language.selection import Item, read_selection
from tacit.language.sketching import SketchReader, names_sketch
from tacit.language.tables import Table, read_tables
from tacit.language.texts import Texts
from tacit.language.vector import VectorBuilder
from tacit.language.windows import read_window
from tacit.vocabulary.errors import OptionError

__all__ = ["check_functions", "parse", "parse_watch", "plan_of"]


def parse(
    text: str,
    *,
    functions: Mapping[str, PythonFunction] | None = None,
    row_functions: Collection[str] = (),
) -> tuple[WatchPlan, ...]:
    """The watches of a script, in order; sentences are separated by semicolons.

    ``functions`` are Python functions that may stand over aggregates; ``row_functions`` names functions that the
    Spark session has beside its own. Raises SentenceError, and nothing else, for a sentence that is wrong.

    >>> [plan.name for plan in parse("CREATE WATCH a AS SELECT AVG(x) AS m FROM t ALERT WHEN m > 1;")]
    ['a']
    """
    check_functions(functions or {})
    source = Source(text)
    sentences = split_sentences(tokenize(source))
    if not sentences:
        raise source.error("there is no sentence here", 0, "write CREATE WATCH name AS SELECT … ALERT WHEN …")
    return tuple(plan_of(source, tokens, functions or {}, row_functions) for tokens in sentences)


def parse_watch(
    text: str,
    *,
    functions: Mapping[str, PythonFunction] | None = None,
    row_functions: Collection[str] = (),
) -> WatchPlan:
    """The one watch of a text; see ``parse``.

    >>> plan = parse_watch('''CREATE WATCH pollution AS
    ...   SELECT AVG(so2) / AVG(no2) AS ratio FROM air
    ...   WINDOW LAST 24 HOURS EVERY 1 HOUR
    ...   ALERT WHEN ratio > 0.5 MARGIN 0.02''')
    >>> [statistic.name for statistic in plan.statistics]
    ['sum(so2)', 'count(so2)', 'sum(no2)', 'count(no2)']
    >>> str(plan.goal.expression), plan.goal.threshold, plan.goal.margin
    ('((x0 / x1) / (x2 / x3))', 0.5, 0.02)
    """
    plans = parse(text, functions=functions, row_functions=row_functions)
    if len(plans) > 1:
        source = Source(text)
        raise source.error("one watch is expected here, and this is a second", split_sentences(tokenize(source))[1][0])
    return plans[0]


def check_functions(functions: Mapping[str, PythonFunction]) -> None:
    """Raises for a Python function whose name the language has already."""
    for name in functions:
        if name.casefold() in {*AGGREGATES, *SCALARS, *SKETCHED}:
            raise OptionError(f"{name} is already a function of the language; give yours another name")


def plan_of(
    source: Source, tokens: list[Token], functions: Mapping[str, PythonFunction], row_functions: Collection[str]
) -> WatchPlan:
    """The plan of one sentence, given as its tokens."""
    try:
        return _plan(source, read_sentence(source, tokens), functions, row_functions)
    except RecursionError:
        raise source.error("this sentence is nested too deeply", tokens[0], "break it into several watches") from None


def _plan(
    source: Source, sentence: Sentence, functions: Mapping[str, PythonFunction], row_functions: Collection[str]
) -> WatchPlan:
    clauses = sentence.clauses
    refuse_clauses(source, clauses)
    if "FROM" not in clauses:
        raise _no_from(source, sentence)
    several = "HAVING" not in clauses and names_sketch(sentence, "inner_product")
    tables = read_tables(source, clauses["FROM"], several=several)
    window = read_window(source, clauses.get("WINDOW"), clauses.get("EVERY"))
    texts = Texts(source, sentence.tokens, {table.alias for table in tables})
    items = read_selection(source, texts, clauses["SELECT"])
    if "HAVING" not in clauses and names_sketch(sentence):
        return _sketch_plan(source, sentence, functions, row_functions, tables, window, texts, items)
    (table,) = tables
    plain = RowReader(source, texts, {table.alias}, None, row_functions)
    clause = _goal_clause(source, sentence)
    groups = read_groups(source, clauses.get("GROUP BY"), items, plain)
    per = 0
    if isinstance(clause, RankingClause) and clause.per is not None:
        groups, per = with_lists(source, groups, Clause(*clause.per), items, plain)
    rows = RowReader(source, texts, {table.alias}, groups.member, row_functions)
    where = _where(source, clauses, rows)
    vector = VectorBuilder(members=groups.member is not None)
    lowering = Lowering(source, rows, vector, functions)
    lowering.keys |= groups.key_names
    for tree in (*(item.tree for item in items), clause.tree):
        lowering.note_numbers(tree)
    outputs = _outputs(source, items, groups, lowering)
    goal: Goal | Top | SketchGoal
    if isinstance(clause, RankingClause):
        goal = clause.lower(lowering, groups, per, window)
    elif isinstance(clause, HavingClause):
        goal = clause.lower(lowering, groups, items)
    else:
        goal = clause.lower(lowering)
    return WatchPlan(
        name=sentence.name,
        text=sentence.text,
        table=table.name,
        outputs=outputs,
        goal=goal,
        statistics=tuple(vector.statistics),
        moments=tuple(vector.moments),
        centres=tuple(vector.centres),
        window=window,
        shifts=vector.shifts,
        where=where,
        grouping=groups.grouping,
        columns=_in_order(plain.uses + rows.uses),
        explain=sentence.explain,
    )


def _sketch_plan(
    source: Source,
    sentence: Sentence,
    functions: Mapping[str, PythonFunction],
    row_functions: Collection[str],
    tables: tuple[Table, ...],
    window: Window,
    texts: Texts,
    items: list[Item],
) -> WatchPlan:
    """The plan of a watch whose one value is read off sketches."""
    clauses = sentence.clauses
    owners = {table.alias: table.name for table in tables} if len(tables) > 1 else None
    rows = RowReader(source, texts, {table.alias for table in tables}, None, row_functions, owners)
    if owners is None:
        wheres = {tables[0].alias.casefold(): _where(source, clauses, rows)}
    else:
        wheres = where_by_table(source, clauses.get("WHERE"), tables, rows)
    lowering = Lowering(source, rows, VectorBuilder(members=False), functions)
    reader = SketchReader(source, sentence, tables, rows, lowering, wheres)
    name, call = reader.selected(items)
    reader.refuse_clauses(name, call)
    clause = GoalClause(source, sentence)
    assert clause.within is not None
    goal, keys = reader.goal(name, call, clause.tree, clause.within, percent=clause.percent)
    reader.check_window(window)
    return WatchPlan(
        name=sentence.name,
        text=sentence.text,
        table=tables[0].name,
        outputs=((name, Variable(0)),),
        goal=goal,
        statistics=(),
        moments=(),
        centres=(),
        window=window,
        where=wheres[tables[0].alias.casefold()],
        arguments=keys,
        columns=_in_order(rows.uses),
        explain=sentence.explain,
    )


def _goal_clause(source: Source, sentence: Sentence) -> GoalClause | RankingClause | HavingClause:
    """What the watch says it keeps."""
    if "HAVING" in sentence.clauses:
        return HavingClause(source, sentence)
    refuse_sketch_clause(source, sentence)
    if is_ranking(sentence):
        return RankingClause(source, sentence)
    check_alone(source, sentence, ("PER", "USING"))
    return GoalClause(source, sentence)


def _where(source: Source, clauses: Mapping[str, Clause], rows: RowReader) -> str | None:
    """WHERE of a sentence with one table, as Spark SQL."""
    if "WHERE" not in clauses:
        return None
    tree = read_condition(source, clauses["WHERE"].tokens, clauses["WHERE"].keyword, margins=False)
    return rows.read(tree, clauses["WHERE"].tokens, "boolean", where="WHERE").present


def _in_order(uses: list[ColumnUse]) -> tuple[ColumnUse, ...]:
    return tuple(dict.fromkeys(sorted(uses, key=lambda use: (use.line, use.column))))


def _outputs(
    source: Source, items: list[Item], groups: Groups, lowering: Lowering
) -> tuple[tuple[str, Expression], ...]:
    outputs: list[tuple[str, Expression]] = []
    taken: set[str] = set()
    for item in items:
        folded = item.name.casefold()
        if folded in taken:
            raise source.error(f"SELECT names {item.name} twice", item.tree, "give one of them another name with AS")
        taken.add(folded)
        if groups.is_key(item, lowering.rows):
            continue
        expression = lowering.number(item.tree)
        outputs.append((item.name, expression))
        lowering.names[folded] = expression
    return tuple(outputs)


def _no_from(source: Source, sentence: Sentence) -> Exception:
    for token in sentence.clauses["SELECT"].tokens:
        if token.token_type == TokenType.VAR and closest(token.text, ["FROM"]):
            return source.error(f"FROM is missing, and {token.text} looks like it", token, "did you mean FROM?")
    select = sentence.clauses["SELECT"]
    last = select.tokens[-1] if select.tokens else select.keyword
    return source.error("FROM is missing: the watch names no table", source.end_of(last), "write FROM table")
