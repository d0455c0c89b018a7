"""The functions of the peer's streams as sentences that a user would write.

A site's vector is its last row; the mean of the sites' vectors is the mean over the last rows of all.
"""

from __future__ import annotations

from benchmarks.peer_streams import PeerStream
from tacit.functions.expressions import Binary, Constant, Expression, Unary, Variable

__all__ = ["AVERAGES", "SUMS", "sentence_of"]

_NAMES = {"log": "ln"}


SUMS, AVERAGES = "(SUM({}) / COUNT(*))", "AVG({})"
"""Two ways to write a mean. An average skips rows without a value, so each has a count of its own to be kept."""


def sentence_of(stream: PeerStream, mean: str = SUMS) -> str:
    """TRACK the stream's function of the means, by panes of one round.

    >>> import numpy as np
    >>> flat = PeerStream("flat", np.zeros((2, 2, 2)), Variable(1) - 2.0 * Variable(0), 0.5)
    >>> for mean in (SUMS, AVERAGES):
    ...     print(sentence_of(flat, mean).split(" FROM ")[0])
    CREATE WATCH flat AS SELECT ((SUM(x1) / COUNT(*)) - (2.0 * (SUM(x0) / COUNT(*)))) AS f
    CREATE WATCH flat AS SELECT (AVG(x1) - (2.0 * AVG(x0))) AS f
    """
    name = "".join(letter if letter.isalnum() else "_" for letter in stream.name)
    value = _sql(stream.expression, mean)
    if stream.name == "entropy":  # the language has it as an aggregate
        value = f"ENTROPY({', '.join(f'x{k}' for k in range(stream.vectors.shape[2]))})"
    window = "WINDOW LAST 1 ROWS EVERY 1 SECOND"
    return f"CREATE WATCH {name} AS SELECT {value} AS f FROM rounds {window} TRACK f WITHIN {stream.within!r}"


def _sql(tree: Expression, mean: str) -> str:
    match tree:
        case Variable(index):
            return mean.format(f"x{index}")
        case Constant(value):
            return repr(value) if value >= 0 else f"(- {-value!r})"
        case Unary("neg", operand):
            return f"(- {_sql(operand, mean)})"
        case Unary("unit", operand):  # what the language cannot be told: the value is between -1 and 1
            return _sql(operand, mean)
        case Unary(operator, operand):
            return f"{_NAMES.get(operator, operator)}({_sql(operand, mean)})"
        case Binary("pow", left, right):
            return f"power({_sql(left, mean)}, {_sql(right, mean)})"
        case Binary(operator, left, right):
            return f"({_sql(left, mean)} {operator} {_sql(right, mean)})"
    raise TypeError(f"no sentence for {tree!r}")
