"""Builds the statistics vector of a watch: one component per different contribution, found again by its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.functions.expressions import Variable
from tacit.functions.statistics import Moment, Shift, Statistic
from tacit.language.rows import Row

__all__ = ["VectorBuilder"]


Population = tuple[str, ...]
"""Which rows a sum is over: those in which all of these have a value and the FILTER holds."""


class VectorBuilder:
    """Gathers statistics, centres and moment facts while the aggregates of a watch are lowered.

    Row texts have their braces doubled, so that ``str.format`` with the centres works on every contribution.

    >>> builder = VectorBuilder(members=False)
    >>> builder.add("count(*)", lambda: "1D", [], count=True)
    Variable(index=0)
    """

    def __init__(self, *, members: bool) -> None:
        self.statistics: list[Statistic] = []
        self.moments: list[Moment] = []
        self.centres: list[str] = []
        self._members = members
        self._indices: dict[tuple[str, str], int] = {}
        self._counts: dict[Population, int] = {}
        self._centred: dict[int, tuple[Population, tuple[int, ...]]] = {}

    def add(
        self,
        name: str,
        contribution: Callable[..., str],
        rows: Sequence[Row],
        *,
        where: Row | None = None,
        nonnegative: bool = False,
        count: bool = False,
    ) -> Variable:
        """The component whose contribution is that text of the rows' texts; 0 where ``where`` is not true."""

        def text(side: str) -> str:
            inner = contribution(*(_escaped(getattr(row, side)) for row in rows))
            if where is None:
                return inner
            return f"CASE WHEN {_escaped(getattr(where, side))} THEN {inner} ELSE 0D END"

        present = text("present")
        absent = text("absent") if self._members else "0"
        key = (present, absent)
        if key not in self._indices:
            self._indices[key] = len(self.statistics)
            shown = f"{name} where {where.shown}" if where else name
            self.statistics.append(Statistic(shown, present, absent, nonnegative=nonnegative or count, count=count))
        return Variable(self._indices[key])

    def centre(self, row: Row) -> str:
        """The placeholder of the rough mean of a row expression."""
        value = f"CAST({row.present} AS DOUBLE)"
        text = f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"
        if text not in self.centres:
            self.centres.append(text)
        return f"{{{self.centres.index(text)}}}"

    def counts(self, rows: Population, count: Variable) -> None:
        """Notes that the component counts these rows."""
        self._counts[rows] = count.index

    def centred(self, rows: Population, placeholders: Sequence[str], component: Variable) -> None:
        """Notes that the component is summed over these rows around these centres."""
        self._centred[component.index] = rows, tuple(int(text[1:-1]) for text in placeholders)

    @property
    def shifts(self) -> tuple[Shift, ...]:
        """How each centred component moves to other centres. Whoever sums products also sums factors and counts."""
        firsts = {(rows, at[0]): index for index, (rows, at) in self._centred.items() if len(at) == 1}
        return tuple(
            Shift(index, at, self._counts[rows], tuple(firsts[rows, k] for k in at) if len(at) > 1 else ())
            for index, (rows, at) in self._centred.items()
        )

    def moment(self, count: Variable, first: Variable, square: Variable) -> None:
        """Notes that count * square >= first^2, and that the square is what its name says."""
        fact = Moment(count.index, first.index, square.index)
        if fact not in self.moments:
            self.moments.append(fact)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
