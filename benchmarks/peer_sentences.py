"""The functions of the peer's streams as sentences that a user would write.

A site's vector is its last row; the mean of the sites' vectors is the mean over the last rows of all.
"""

from __future__ import annotations

from benchmarks.peer_streams import PeerStream
from tacit.functions.expressions import Binary, Constant, Expression, Unary, Variable

__all__ = ["AVERAGES", "SUMS", "sentence_of"]

SUMS, AVERAGES = "(SUM({}) / COUNT(*))", "AVG({})"
"""Two ways to write a mean. An average skips rows without a value, so each has a count of its own to be kept."""
_NAMES = {"log": "ln"}


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
    writer = _Writer(mean)
    value = writer.write(stream.expression)
    if stream.name == "entropy":  # the language has it as an aggregate
        value = f"ENTROPY({', '.join(f'x{k}' for k in range(stream.vectors.shape[2]))})"
    items = ", ".join([*writer.items, f"{value} AS f"])
    window = "WINDOW LAST 1 ROWS EVERY 1 SECOND"
    return f"CREATE WATCH {name} AS SELECT {items} FROM rounds {window} TRACK f WITHIN {stream.within!r}"


class _Writer:
    """Writes a tree; the cells of a network, which many others use, are items of SELECT with names of their own."""

    def __init__(self, mean: str) -> None:
        self.mean = mean
        self.items: list[str] = []
        self._cells: dict[int, str] = {}

    def write(self, tree: Expression) -> str:
        """The text of a tree."""
        match tree:
            case Variable(index):
                return self.mean.format(f"x{index}")
            case Constant(value):
                return repr(value) if value >= 0 else f"(- {-value!r})"
            case Unary("tanh", operand):
                if id(tree) not in self._cells:
                    text = f"tanh({self.write(operand)})"
                    self._cells[id(tree)] = f"cell{len(self._cells)}"
                    self.items.append(f"{text} AS {self._cells[id(tree)]}")
                return self._cells[id(tree)]
            case Unary("neg", operand):
                return f"(- {self.write(operand)})"
            case Unary("unit", operand):  # what the language cannot be told: the value is between -1 and 1
                return self.write(operand)
            case Unary(operator, operand):
                return f"{_NAMES.get(operator, operator)}({self.write(operand)})"
            case Binary("pow", left, right):
                return f"power({self.write(left)}, {self.write(right)})"
            case Binary("+"):
                return f"({' + '.join(self.write(part) for part in _terms(tree))})"
            case Binary(operator, left, right):
                return f"({self.write(left)} {operator} {self.write(right)})"
        raise TypeError(f"no sentence for {tree!r}")


def _terms(tree: Expression) -> list[Expression]:
    """The terms of a chain of sums, which needs no brackets."""
    if isinstance(tree, Binary) and tree.operator == "+":
        return [*_terms(tree.left), tree.right]
    return [tree]
