"""SQL text to watch plans: the door of the language."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tacit.functions.expressions import Constant, Expression
from tacit.functions.goals import Goal, Track
from tacit.language.aggregates import AGGREGATES
from tacit.language.algebra import SCALARS
from tacit.language.clauses import Clause, Sentence, read_sentence, split_sentences
from tacit.language.conditions import lower_condition
from tacit.language.dialect import read_condition, tokenize
from tacit.language.grouping import Groups, read_groups, with_lists
from tacit.language.lowering import Lowering
from tacit.language.places import Source, closest
from tacit.language.plan import WatchPlan
from tacit.language.python_functions import PythonFunction
from tacit.language.ranking import RankingClause, check_alone, is_ranking
from tacit.language.refusals import refuse_clauses, refuse_from
from tacit.language.rows import RowReader
from tacit.language.selection import Item, read_selection
from tacit.language.texts import Texts
from tacit.language.tokens import is_word
from tacit.language.vector import VectorBuilder
from tacit.language.windows import read_window
from tacit.vocabulary.errors import OptionError

__all__ = ["check_functions", "parse", "parse_watch", "plan_of"]

JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "OUTER", ",")
CLAUSES = ("WINDOW", "WHERE", "GROUP BY", "ALERT", "TRACK", "EVERY")


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
        if name.casefold() in AGGREGATES or name.casefold() in SCALARS:
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
    table, table_names = _table(source, clauses["FROM"])
    window = read_window(source, clauses.get("WINDOW"), clauses.get("EVERY"))
    texts = Texts(source, sentence.tokens, table_names)
    items = read_selection(source, texts, clauses["SELECT"])
    plain = RowReader(source, texts, table_names, None, row_functions)
    ranking = RankingClause(source, sentence) if is_ranking(sentence) else None
    if ranking is None:
        check_alone(source, sentence, ("PER", "USING"))
    groups = read_groups(source, clauses.get("GROUP BY"), items, plain)
    per = 0
    if ranking is not None and ranking.per is not None:
        groups, per = with_lists(source, groups, Clause(*ranking.per), items, plain)
    rows = RowReader(source, texts, table_names, groups.member, row_functions)
    where = None
    if "WHERE" in clauses:
        tree = read_condition(source, clauses["WHERE"].tokens, clauses["WHERE"].keyword, margins=False)
        where = rows.read(tree, clauses["WHERE"].tokens, "boolean", where="WHERE").present
    vector = VectorBuilder(members=groups.member is not None)
    lowering = Lowering(source, rows, vector, functions)
    lowering.keys |= groups.key_names
    clause = _GoalClause(source, sentence) if ranking is None else ranking
    for tree in (*(item.tree for item in items), clause.tree):
        lowering.note_numbers(tree)
    outputs = _outputs(source, items, groups, lowering)
    goal = clause.lower(lowering) if isinstance(clause, _GoalClause) else clause.lower(lowering, groups, per, window)
    uses = sorted(plain.uses + rows.uses, key=lambda use: (use.line, use.column))
    return WatchPlan(
        name=sentence.name,
        text=sentence.text,
        table=table,
        outputs=outputs,
        goal=goal,
        statistics=tuple(vector.statistics),
        moments=tuple(vector.moments),
        centres=tuple(vector.centres),
        window=window,
        shifts=vector.shifts,
        where=where,
        grouping=groups.grouping,
        columns=tuple(dict.fromkeys(uses)),
        explain=sentence.explain,
    )


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


class _GoalClause:
    """ALERT WHEN or TRACK, read as trees before the aliases of SELECT are known."""

    def __init__(self, source: Source, sentence: Sentence) -> None:
        alert, track = sentence.clauses.get("ALERT"), sentence.clauses.get("TRACK")
        self.source, self.percent = source, False
        self.within: exp.Expr | None = None
        if alert and track:
            later = max(alert.keyword, track.keyword, key=lambda token: token.start)
            raise source.error("a watch either alerts or tracks", later, "write a second watch for the other")
        if alert:
            when = alert.tokens[0] if alert.tokens else None
            if when is None or not is_word(when, "WHEN"):
                place = when or source.end_of(alert.keyword)
                raise source.error("WHEN is missing after ALERT", place, "write ALERT WHEN …")
            self.tree = read_condition(source, alert.tokens[1:], when, margins=True)
        elif track:
            self._read_track(track)
        else:
            raise source.error(
                "the watch does not say what to keep",
                sentence.end,
                "end it with ALERT WHEN condition, with TRACK value WITHIN 5, or with ORDER BY score DESC LIMIT 20",
            )

    def _read_track(self, clause: Clause) -> None:
        tokens = list(clause.tokens)
        depth, at = 0, None
        for index, token in enumerate(tokens):
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if depth == 0 and token.token_type == TokenType.COMMA:
                raise self.source.error("a watch tracks one value", token, "write a second watch for the other")
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            grouped = following is not None and following.text.upper().startswith("GROUP")
            if depth == 0 and is_word(token, "WITHIN") and not grouped and at is None:
                at = index
        if at is None:
            last = tokens[-1] if tokens else clause.keyword
            raise self.source.error(
                "TRACK does not say how closely", self.source.end_of(last), "write WITHIN 5, or WITHIN 3 PERCENT"
            )
        amount = tokens[at + 1 :]
        self.percent = bool(amount) and (is_word(amount[-1], "PERCENT") or amount[-1].text == "%")
        self.tree = read_condition(self.source, tokens[:at], clause.keyword, margins=False)
        self.within = read_condition(self.source, amount[:-1] if self.percent else amount, tokens[at], margins=False)

    def lower(self, lowering: Lowering) -> Goal:
        if self.within is None:
            return lower_condition(lowering, self.tree)
        expression = lowering.number(self.tree)
        if isinstance(expression, Constant):
            raise self.source.error("what is tracked does not depend on the data", self.tree, "track an aggregate")
        within = lowering.constant(self.within, "WITHIN")
        if within <= 0:
            raise self.source.error(f"WITHIN {within:g} is not above 0", self.within, "an exact value cannot be kept")
        if self.percent and within >= 100:
            raise self.source.error(f"WITHIN {within:g} PERCENT promises nothing", self.within, "stay below 100")
        return Track(expression, within, self.percent)


def _no_from(source: Source, sentence: Sentence) -> Exception:
    for token in sentence.clauses["SELECT"].tokens:
        if token.token_type == TokenType.VAR and closest(token.text, ["FROM"]):
            return source.error(f"FROM is missing, and {token.text} looks like it", token, "did you mean FROM?")
    select = sentence.clauses["SELECT"]
    last = select.tokens[-1] if select.tokens else select.keyword
    return source.error("FROM is missing: the watch names no table", source.end_of(last), "write FROM table")


def _table(source: Source, clause: Clause) -> tuple[str, set[str]]:
    """The table's name, and the names that may stand before its columns."""
    rest = list(clause.tokens)
    if not rest:
        raise source.error("FROM names no table", source.end_of(clause.keyword))
    if rest[0].token_type == TokenType.L_PAREN:
        raise source.error("a watch has no subqueries", rest[0], "put the condition into WHERE")
    parts = [_name_part(source, rest.pop(0))]
    while rest and rest[0].token_type == TokenType.DOT:
        dot = rest.pop(0)
        if not rest:
            raise source.error("a name is missing after the dot", source.end_of(dot))
        parts.append(_name_part(source, rest.pop(0)))
    names = {parts[-1]}
    if rest:
        if is_word(rest[0], *JOINS):
            raise refuse_from(source, rest[0])
        explicit = is_word(rest[0], "AS")
        if explicit and len(rest) == 1:
            raise source.error("a name is missing after AS", source.end_of(rest[0]))
        meant = closest(rest[0].text, CLAUSES)
        if not explicit and len(rest) > 1 and meant:
            raise source.error(f"did not expect {rest[0].text} here", rest[0], f"did you mean {meant}?")
        rest = rest[explicit:]
        names = {_name_part(source, rest.pop(0))}
    if rest:
        if is_word(rest[0], *JOINS):
            raise refuse_from(source, rest[0])
        meant = closest(rest[0].text, CLAUSES)
        raise source.error(
            f"did not expect {rest[0].text} after the table", rest[0], f"did you mean {meant}?" if meant else None
        )
    return ".".join(parts), names


def _name_part(source: Source, token: Token) -> str:
    words = token.token_type == TokenType.IDENTIFIER or token.text.replace("_", "").isalnum()
    if not words or token.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING):
        raise source.error(f"expected the name of a table here, not {token.text}", token)
    return token.text
