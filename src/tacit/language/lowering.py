"""Lowers what stands over aggregates: a tree of sqlglot to a tree over the statistics vector."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sqlglot import exp

from tacit.functions.expressions import Constant, Expression, Opaque
from tacit.language.aggregates import AGGREGATES, Aggregate, Call
from tacit.language.algebra import SCALARS, NoValueError, always_zero, binary, unary
from tacit.language.dialect import Margin, quoted
from tacit.language.places import Source, closest
from tacit.language.python_functions import PythonFunction
from tacit.language.refusals import refused_distinct, refused_function, refused_sketch
from tacit.language.rows import SKETCHED, Row, RowReader, function_name, has_aggregate, unwrapped
from tacit.language.spark_functions import ROW_FUNCTIONS
from tacit.language.synonyms import SYNONYMS
from tacit.language.vector import VectorBuilder
from tacit.vocabulary.errors import SentenceError

__all__ = ["Lowering"]

EXTREMES = {"max": "greatest", "min": "least"}

ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


class Lowering:
    """Lowers the expressions of one watch; ``names`` are the aliases known so far, ``keys`` the group keys."""

    def __init__(
        self,
        source: Source,
        rows: RowReader,
        vector: VectorBuilder,
        functions: Mapping[str, PythonFunction],
    ) -> None:
        self.source, self.rows, self.vector = source, rows, vector
        self.functions = {name.casefold(): (name, function) for name, function in functions.items()}
        self.names: dict[str, Expression] = {}
        self.keys: set[str] = set()

    def note_numbers(self, tree: exp.Expr) -> None:
        """Notes which row expressions are numbers, so that COUNT(x) shares its statistic with AVG(x)."""
        for call in tree.find_all(exp.Anonymous):
            aggregate = AGGREGATES.get(function_name(call))
            arguments = self.rows.texts.arguments(call) if aggregate else []
            for position, tokens in enumerate(arguments):
                if aggregate and aggregate.role(position, len(arguments)) == "number":
                    self.rows.mark_numeric(tokens)

    def constant(self, node: exp.Expr, what: str) -> float:
        """The value of an expression that must be a number whatever the data."""
        value = self.number(node)
        if not isinstance(value, Constant):
            raise self.source.error(f"{what} must be a number, not {quoted(node)}", node)
        return value.value

    def number(self, node: exp.Expr) -> Expression:
        """The tree over the statistics; an error where there is no number."""
        node = unwrapped(node)
        try:
            return self._number(node)
        except NoValueError:
            raise self.source.error(f"{quoted(node)} has no value", node) from None

    def _number(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Literal) and not node.is_string:
            return self._literal(node)
        if isinstance(node, exp.Neg):
            return unary("neg", self.number(node.this))
        if type(node) in ARITHMETIC:
            left, right = self.number(node.this), self.number(node.expression)
            if isinstance(node, exp.Div) and always_zero(right):
                divisor = quoted(unwrapped(node.expression))
                why = "" if divisor == "0" else f": {divisor} is 0"
                raise self.source.error(f"this division is always by zero{why}", node.expression)
            return binary(ARITHMETIC[type(node)], left, right)
        if isinstance(node, exp.Column):
            return self._name(node)
        if isinstance(node, exp.Filter):
            return self._filtered(node)
        if isinstance(node, exp.Anonymous):
            return self._function(node)
        if isinstance(node, exp.Cast) and (_is_double(node) or isinstance(unwrapped(node.this), exp.Literal)):
            return self.number(node.this)
        raise self._not_a_number(node)

    def _literal(self, node: exp.Literal) -> Constant:
        try:
            value = float(node.name)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.source.error(f"{node.name} is not a number that can be computed with", node)
        return Constant(value)

    def _name(self, column: exp.Column) -> Expression:
        name = column.name
        folded = name.casefold()
        if len(column.parts) == 1 and folded in self.names:
            return self.names[folded]
        if len(column.parts) == 1 and folded in self.keys:
            member = folded == self.rows.member
            nearest = "put a condition on it into WHERE"
            if member:
                nearest = "PRESENT, in an aggregate, says whether a row has it"
            raise self.source.error(
                f"{name} is what the rows are grouped by, not a number that is watched", column, nearest
            )
        meant = closest(name, self.names)
        nearest = f"did you mean {meant}?" if meant else f"write AVG({name}), or name it in GROUP BY"
        reason = f"{quoted(column)} stands outside an aggregate, and SELECT names no {name}"
        raise self.source.error(reason, column, nearest)

    # Functions

    def _function(self, call: exp.Anonymous, where: exp.Expr | None = None) -> Expression:
        name = function_name(call)
        if name in AGGREGATES:
            return self._aggregate(call, AGGREGATES[name], where)
        if name in SKETCHED:
            raise refused_sketch(self.source, name, call)
        if where is not None:
            raise self.source.error(f"FILTER belongs to an aggregate, and {name} is none", call)
        if name in self.functions:
            return self._python(call)
        if name in SCALARS:
            scalar = SCALARS[name]
            arguments = [self.number(argument) for argument in call.expressions]
            if len(arguments) < scalar.least or (scalar.most is not None and len(arguments) > scalar.most):
                raise self.source.error(f"{name} is written {scalar.usage}", call)
            return scalar.build(*arguments)
        if name in EXTREMES and len(call.expressions) > 1:
            wanted = EXTREMES[name]
            raise self.source.error(f"{name.upper()} takes one column of the rows", call, f"did you mean {wanted}?")
        refused = refused_function(self.source, name, call)
        if refused is not None:
            raise refused
        if name in ROW_FUNCTIONS:
            nearest = None if has_aggregate(call) else f"put it inside one, as in AVG({quoted(call)})"
            raise self.source.error(f"{name} works on one row, so it cannot stand over aggregates", call, nearest)
        known = [*(each.upper() for each in (*AGGREGATES, *sorted(SKETCHED))), *SCALARS, *self.functions]
        meant = SYNONYMS.get(name) or closest(name, known)
        hint = f"did you mean {meant}?" if meant else "over rows there are AVG, SUM, COUNT, STDDEV, CORR and others"
        raise self.source.error(f"there is no function named {name}", call, hint)

    def _python(self, call: exp.Anonymous) -> Expression:
        name, function = self.functions[function_name(call)]
        arguments = tuple(self.number(argument) for argument in call.expressions)
        if not arguments or (function.arity is not None and len(arguments) != function.arity):
            wanted = "at least one argument" if function.arity is None else f"{function.arity} argument(s)"
            raise self.source.error(f"{name} takes {wanted}, not {len(arguments)}", call)
        return Opaque(name, function.function, arguments, function.lipschitz, function.unsound)

    def _filtered(self, node: exp.Filter) -> Expression:
        call = unwrapped(node.this)
        if not isinstance(call, exp.Anonymous):
            raise self.source.error("FILTER belongs to an aggregate", node)
        condition = node.expression.this if isinstance(node.expression, exp.Where) else node.expression
        return self._function(call, condition)

    def _aggregate(self, call: exp.Anonymous, aggregate: Aggregate, where: exp.Expr | None) -> Expression:
        arguments = call.expressions
        texts = self.rows.texts
        filtered = self.rows.read(where, texts.condition(call), "boolean") if where is not None else None
        if function_name(call) == "count" and len(arguments) == 1:
            only = unwrapped(arguments[0])
            if isinstance(only, (exp.Star, exp.Literal)):
                return aggregate.lower(Call((), filtered, self.vector))
        for argument in arguments:
            if isinstance(argument, exp.Distinct):
                raise refused_distinct(self.source, call)
        enough = len(arguments) >= len(aggregate.roles)
        if not enough or (len(arguments) > len(aggregate.roles) and not aggregate.variadic):
            raise self.source.error(f"{function_name(call).upper()} is written {aggregate.usage}", call)
        pieces = texts.arguments(call)
        if len(pieces) != len(arguments) or not all(pieces):
            raise self.source.error(f"an argument of {function_name(call).upper()} is missing", call)
        rows: list[Row] = []
        for position, (argument, tokens) in enumerate(zip(arguments, pieces, strict=True)):
            rows.append(self.rows.read(argument, tokens, aggregate.role(position, len(arguments))))
        return aggregate.lower(Call(tuple(rows), filtered, self.vector))

    def _not_a_number(self, node: exp.Expr) -> SentenceError:
        text = quoted(node)
        error = self.source.error
        if isinstance(node, exp.Literal):
            return error(f"{text} is text where a number is expected", node)
        if isinstance(node, exp.Boolean):
            return error(f"{text} is a truth value where a number is expected", node)
        if isinstance(node, exp.Null):
            return error("NULL is no number, and nothing compared with it is ever met", node)
        if isinstance(node, (exp.Query, exp.Subquery)):
            return error("a watch has no subqueries", node, "write one watch for each question")
        if isinstance(node, exp.Window):
            return error("OVER is for one-off queries", node, "the watch's window is said with WINDOW LAST …")
        if isinstance(node, exp.WithinGroup):
            return refused_function(self.source, "percentile", node) or error("WITHIN GROUP cannot be kept", node)
        if isinstance(node, (exp.Case, exp.If)):
            return refused_function(self.source, "case", node) or error("CASE cannot be kept", node)
        if isinstance(node, exp.Alias):
            return error(f"did not expect {node.alias} here", node.args["alias"], "is a comma or an operator missing?")
        if isinstance(node, exp.BitwiseXor):
            return error("^ works on bits", node, "write power(x, y)")
        if isinstance(node, (exp.Mod, exp.IntDiv)):
            return refused_function(self.source, "mod", node) or error("% cannot be kept", node)
        if isinstance(node, (exp.Predicate, exp.Connector, exp.Not, Margin)):
            return error(f"{text} is a condition where a number is expected", node)
        return error(f"{text} cannot stand over aggregates", node)


def _is_double(node: exp.Cast) -> bool:
    return node.to.is_type("double") or node.to.is_type("float")
