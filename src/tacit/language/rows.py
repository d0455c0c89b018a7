"""Row expressions: what stands inside an aggregate, in WHERE and in GROUP BY. Spark computes them.

Reading one checks that every function in it is Spark's and answers the same each time, notes the columns it uses with
their places and roles, and gives its text. Under GROUP BY EACH a row counts in every group, and PRESENT becomes
TRUE in the text for a group whose member the row has and FALSE in the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.language.dialect import TacitParser, quoted
from tacit.language.places import Source, closest
from tacit.language.plan import ColumnUse
from tacit.language.spark_functions import AGGREGATE_FUNCTIONS, FOREIGN, NUMERIC_FUNCTIONS, ROW_FUNCTIONS, UNREPEATABLE
from tacit.language.texts import Texts
from tacit.language.tokens import Tokens

__all__ = ["OUR_AGGREGATES", "SKETCHED", "Row", "RowReader", "function_name", "has_aggregate", "unwrapped"]

SKETCHED = frozenset({"self_join_size", "inner_product", "quantile"})  # aggregates that are read off sketches
OUR_AGGREGATES = frozenset({"entropy", "chi_square", "information_gain"}) | SKETCHED
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg)
SAME_ROLE = {"coalesce", "nvl", "ifnull", "nullif", "least", "greatest", "nullifzero", "zeroifnull"}
TRUTH_FUNCTIONS = {
    "array_contains", "arrays_overlap", "contains", "endswith", "equal_null", "exists", "forall", "ilike", "isnan",
    "isnotnull", "isnull", "like", "map_contains_key", "regexp_like", "rlike", "startswith",
}  # fmt: skip
UNIT_FUNCTIONS = {"date_add", "date_diff", "dateadd", "datediff", "timestampadd", "timestampdiff"}
NONNEGATIVE_FUNCTIONS = {"abs", "sqrt", "exp", "length", "size", "cardinality", "char_length", "hour", "day", "month"}
RESERVED = {"AND", "BETWEEN", "ELSE", "END", "FROM", "HAVING", "IN", "IS", "LIKE", "NOT", "OR", "THEN", "WHEN", "WHERE"}
PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")
NEVER_IN_A_ROW = (
    *(exp.Star, exp.Placeholder, exp.Parameter, exp.Filter, exp.Order, exp.Limit),
    *(exp.HavingMax, exp.IgnoreNulls, exp.RespectNulls),
)
CLOCKS = tuple(set(TacitParser.NO_PAREN_FUNCTIONS.values()))


@dataclass(frozen=True, slots=True)
class Row:
    """A row expression: its Spark SQL where the member is present and absent, and what is known of its values."""

    shown: str
    present: str
    absent: str
    truth: bool = False  # it is a condition: true, false or NULL
    nonnegative: bool = False  # never below 0
    numeric: bool = False  # surely a number: an arithmetic shape, or used as a number elsewhere in the watch


class RowReader:
    """Reads the row expressions of one watch and gathers the columns they use.

    With ``owners``, the tables by the names that stand for them, every column must say whose it is.
    """

    def __init__(
        self,
        source: Source,
        texts: Texts,
        tables: Collection[str],
        member: str | None = None,
        extra_functions: Collection[str] = (),
        owners: Mapping[str, str] | None = None,
    ) -> None:
        self.source, self.texts = source, texts
        self.uses: list[ColumnUse] = []
        self.named: list[str] = []  # by which name each of these columns said whose it is, where there are owners
        self._owners = {name.casefold(): table for name, table in (owners or {}).items()}
        self.member = member.casefold() if member is not None else None
        self._tables = {table.casefold() for table in tables}
        self._known = ROW_FUNCTIONS | {name.casefold() for name in extra_functions}
        self._shown: dict[str, str] = {}
        self._numeric: set[str] = set()

    def mark_numeric(self, tokens: Tokens) -> None:
        """Notes that the watch uses this row expression as a number somewhere."""
        self._numeric.add(self.texts.normal(tokens))

    def read(self, node: exp.Expr, tokens: Tokens, role: str, *, where: str = "an aggregate") -> Row:
        """Checks a tree and gives its text; ``where`` names the place for messages ("an aggregate", "WHERE" …)."""
        node = unwrapped(node)
        if isinstance(node, exp.Tuple):
            raise self.source.error("a list cannot stand here", node)
        self._check(node, role, where)
        normal = self.texts.normal(tokens)
        shown = self._shown.setdefault(normal, self.texts.write(tokens))
        present = absent = shown
        if self.member is not None:
            present = self._shown.setdefault(f"present {normal}", self.texts.write(tokens, present=True))
            absent = self._shown.setdefault(f"absent {normal}", self.texts.write(tokens, present=False))
        numeric = role == "number" or isinstance(node, ARITHMETIC) or normal in self._numeric
        truth = _is_truth(node, self.member is not None)
        return Row(shown, present, absent, truth, _is_nonnegative(node), numeric)

    # What may stand in a row expression

    def _check(self, node: exp.Expr, role: str, where: str) -> None:
        if isinstance(node, exp.Column):
            return self._check_column(node, role, where)
        if isinstance(node, exp.Anonymous):
            return self._check_function(node, role, where)
        self._refuse(node, role, where)
        if isinstance(node, exp.Paren):
            self._check(node.this, role, where)
        elif isinstance(node, ARITHMETIC):
            operands = list(node.iter_expressions())
            dates = any(_is_temporal(unwrapped(operand)) for operand in operands)
            for operand in operands:
                if _is_truth(unwrapped(operand), False):
                    raise self.source.error(
                        "a condition is not a number here", operand, "write CASE WHEN … THEN 1 ELSE 0 END"
                    )
                self._check(operand, "any" if dates else "number", where)
        elif isinstance(node, (exp.And, exp.Or, exp.Not)):
            for operand in node.iter_expressions():
                self._check(operand, "boolean", where)
        elif isinstance(node, (exp.Case, exp.If)):
            self._check_choice(node, role, where)
        elif not isinstance(node, exp.DataType):
            for child in node.iter_expressions():
                self._check(child, "any", where)

    def _check_choice(self, node: exp.Case | exp.If, role: str, where: str) -> None:
        subject = node.this if isinstance(node, exp.Case) else None
        if subject is not None:
            self._check(subject, "any", where)
        for branch in node.args.get("ifs") or [node]:
            self._check(branch.this, "boolean" if subject is None else "any", where)
            if branch.args.get("true") is not None:
                self._check(branch.args["true"], role, where)
        for key in ("default", "false"):
            if node.args.get(key) is not None:
                self._check(node.args[key], role, where)

    def _check_column(self, column: exp.Column, role: str, where: str) -> None:
        parts = column.parts
        if isinstance(column.this, exp.Star):
            raise self.source.error("* names no single value", column)
        table: str | None = None
        if len(parts) > 1 and parts[0].name.casefold() in self._tables:
            name, parts = parts[0].name.casefold(), parts[1:]
            table = self._owners.get(name)
            self.named.append(name)
        elif self._owners:
            written = quoted(column)
            raise self.source.error(
                f"{written} does not say of which table it is",
                column,
                "write " + " or ".join(f"{name}.{written}" for name in self._owners),
            )
        root = parts[0]
        if not root.args.get("quoted"):
            if root.name.upper() in RESERVED:
                raise self.source.error(f"did not expect {root.name} here", column, "is something missing before it?")
            if not PLAIN_NAME.fullmatch(root.name):
                nearest = f"write it in backquotes: `{root.name}`"
                raise self.source.error(f"{root.name} is a name of unusual letters", column, nearest)
        if len(parts) == 1 and self.member is not None:
            if _is_present(column):
                if where != "an aggregate":
                    raise self.source.error(
                        f"PRESENT has no meaning in {where}", column, "it belongs inside an aggregate"
                    )
                return
            if root.name.casefold() == self.member:
                raise self.source.error(
                    f"{root.name} names the group, not a value of the row",
                    column,
                    "PRESENT says whether the row has the group's member",
                )
        line, place = self.source.place(root)
        self.uses.append(ColumnUse(root.name, line, place, role if len(parts) == 1 else "any", table))

    def _check_function(self, call: exp.Anonymous, role: str, where: str) -> None:
        name = function_name(call)
        if name in AGGREGATE_FUNCTIONS or name in OUR_AGGREGATES:
            if where == "an aggregate":
                raise self.source.error(
                    f"{name.upper()} stands inside another aggregate", call, "an aggregate takes values of one row"
                )
            raise self.source.error(
                f"{name.upper()} cannot stand in {where}, which looks at one row",
                call,
                "a condition on aggregates belongs in ALERT WHEN",
            )
        if name in UNREPEATABLE or (name == "unix_timestamp" and not call.expressions):
            raise self.source.error(
                f"{name} gives another answer each time, so a row would not count the same at every reading", call
            )
        if name in FOREIGN:
            raise self.source.error(f"{name} runs code by its name, which a watch may not", call)
        if name not in self._known:
            meant = closest(name, self._known)
            raise self.source.error(
                f"there is no function named {name}",
                call,
                f"did you mean {meant}?" if meant else "nor has Spark SQL one",
            )
        unit = len(call.expressions) == 3 and name in UNIT_FUNCTIONS  # the first argument is a word such as DAY
        for argument in call.expressions[unit:]:
            inherited = role if name in SAME_ROLE else "number" if name in NUMERIC_FUNCTIONS else "any"
            self._check(argument, inherited, where)

    def _refuse(self, node: exp.Expr, role: str, where: str) -> None:
        if isinstance(node, (exp.Query, exp.Subquery, exp.Exists)):
            raise self.source.error("a watch has no subqueries", node, "put the condition into WHERE")
        if isinstance(node, exp.Window):
            nearest = "the watch's window is said with WINDOW LAST …"
            raise self.source.error("OVER is for one-off queries", node, nearest)
        if isinstance(node, exp.Alias):
            raise self.source.error(
                f"did not expect {node.alias} here", node.args["alias"], "is a comma or an operator missing before it?"
            )
        if isinstance(node, exp.Distinct):
            raise self.source.error("DISTINCT cannot be kept as a sum", node, "leave DISTINCT out")
        if isinstance(node, NEVER_IN_A_ROW):
            raise self.source.error(f"{quoted(node)} cannot stand inside {where}", node)
        if isinstance(node, exp.In) and not node.expressions:
            raise self.source.error("a list in parentheses is missing after IN", node)
        if isinstance(node, exp.Literal) and not node.is_string and not _is_finite(node.name):
            raise self.source.error(f"{node.name} is not a number that can be computed with", node)
        if isinstance(node, (exp.Div, exp.Mod, exp.IntDiv)) and _is_zero(unwrapped(node.expression)):
            raise self.source.error("this division is always by zero", node.expression)
        if isinstance(node, CLOCKS):
            raise self.source.error("the present moment gives another answer each time", node)
        if role == "number" and isinstance(node, exp.Literal) and node.is_string:
            raise self.source.error(f"{quoted(node)} is text where a number is expected", node)
        numeric = isinstance(node, ARITHMETIC) or (isinstance(node, exp.Literal) and not node.is_string)
        if role == "boolean" and numeric:
            raise self.source.error(f"{quoted(node)} is a number where a condition is expected", node)


def unwrapped(node: exp.Expr) -> exp.Expr:
    """The tree without its outer parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def function_name(call: exp.Anonymous) -> str:
    return str(call.name).casefold()


def has_aggregate(node: exp.Expr) -> bool:
    return any(
        function_name(call) in AGGREGATE_FUNCTIONS or function_name(call) in OUR_AGGREGATES
        for call in node.find_all(exp.Anonymous)
    )


def _is_present(column: exp.Column) -> bool:
    return len(column.parts) == 1 and column.name.upper() == "PRESENT" and not column.this.args.get("quoted")


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and _is_finite(node.name) and float(node.name) == 0


def _is_temporal(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return node.to.this in exp.DataType.TEMPORAL_TYPES
    return isinstance(node, exp.Interval)


def _is_truth(node: exp.Expr, member: bool) -> bool:
    if isinstance(node, exp.Column):
        return member and _is_present(node)
    if isinstance(node, exp.Anonymous):
        return function_name(node) in TRUTH_FUNCTIONS
    return isinstance(node, (exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.RegexpLike))


def _is_nonnegative(node: exp.Expr) -> bool:
    """Surely never below 0, seen from the shape alone."""
    node = unwrapped(node)
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, exp.Anonymous):
        return function_name(node) in NONNEGATIVE_FUNCTIONS
    if isinstance(node, exp.Mul):
        both = _is_nonnegative(node.this) and _is_nonnegative(node.expression)
        return both or unwrapped(node.this) == unwrapped(node.expression)
    if isinstance(node, (exp.Add, exp.Div)):
        return _is_nonnegative(node.this) and _is_nonnegative(node.expression)
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        results += [node.args["default"]] if node.args.get("default") is not None else []
        return all(_is_nonnegative(result) for result in results)
    return _is_truth(node, False)
