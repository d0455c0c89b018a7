"""Sums by sub-pane and group for many watches in one pass over a batch.

Watches with the same GROUP BY form a family. A family is one native aggregation: its rows are grouped by the keys and
by sub-panes of the greatest length that divides those of all its watches; a watch with WHERE adds up what its rows
contribute and 0 for others; what two watches have in common is added up once. NumPy then cuts the result apart and
puts the sub-panes together to those of each watch.

Under GROUP BY EACH a row becomes several: one without a member, which adds what the row adds to groups whose member it
lacks, and one for each of its members, which adds what it adds to that group beyond this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from tacit.functions.statistics import Statistic
from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.pipelines.contributions import formatted, passing, value_text
from tacit.pipelines.groups import group_columns, group_text, member_key, member_texts
from tacit.vocabulary import FloatArray, IntArray
from tacit.vocabulary.batches import LARGEST, PaneDeltas
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.errors import DataError, InputError

__all__ = ["SUB", "TIME", "Family", "Wanted", "check_values", "counts_of", "families", "numbered"]

TIME = "__tacit_t"  # the name of the column of times, in microseconds, that a batch has beside the user's
SUB = "__tacit_sub"  # the column of sub-panes that an aggregation has; NULL is that of the rows without a time
_TEXT, _TEXTS = "__tacit_text", "__tacit_texts"
_FINER_MAX = 16  # sub-panes are not cut into more pieces than this for the sake of one pass
_ONE = ("1", "1D")

Wanted = tuple[WatchPlan, tuple[float, ...], int]
"""A watch, the centres its contributions are taken around, and the length of its sub-panes in microseconds."""


@dataclass(frozen=True, slots=True)
class Family:
    """Watches of one aggregation, and which column of it holds what."""

    members: tuple[Wanted, ...]
    places: tuple[int, ...]  # of the members among all that were wanted
    sub_us: int
    counted: dict[str | None, str]  # WHERE -> how many rows pass it
    summed: dict[tuple[str | None, str, str], str]  # (WHERE, present, absent) -> the sum of contributions

    def aggregate(self, base: DataFrame, *more: Column) -> DataFrame:
        """The one aggregation, with ``more`` aggregates over all rows of a sub-pane, those included that do not count.

        Rows that no watch counts have the keys NULL; rows without a time are a sub-pane NULL.
        """
        # Texts rather than Column objects: each of those costs several calls to Java, and this is built for each batch.
        marks = {where: f"{name}_" if where else f"{TIME} IS NOT NULL" for where, name in self.counted.items()}
        marked = [f"{TIME} IS NOT NULL AND {passing(where)} AS {marks[where]}" for where in marks if where]
        rows = base.selectExpr("*", f"{_floor_div(TIME, self.sub_us)} AS {SUB}", *marked)
        grouping = self.members[0][0].grouping
        if grouping is not None:
            keys = group_columns(grouping, sf.expr(" OR ".join(marks.values())))
            rows = rows.withColumns(keys)
        else:
            keys = {}
        totals = [
            f"count_if({marks[where]}) AS {name}" if where else f"count(*) AS {name}"
            for where, name in self.counted.items()
        ]
        if isinstance(grouping, ByMember):
            return self._by_member(rows, grouping, marks, totals, more)
        sums = [f"sum({value_text(text, marks[where])}) AS {name}" for (where, text, _), name in self.summed.items()]
        result = rows.groupBy(SUB, *keys).agg(*map(sf.expr, (*totals, *sums)), *more)
        if isinstance(grouping, ByKey):
            result = result.withColumn(_TEXT, group_text(result, grouping))
        return result

    def _by_member(
        self,
        rows: DataFrame,
        grouping: ByMember,
        marks: Mapping[str | None, str],
        totals: Sequence[str],
        more: Sequence[Column],
    ) -> DataFrame:
        """The aggregation over rows and their members; ``more`` is over rows, and so beside no member."""
        # Contributions are worked out once for a row, whatever the length of its list.
        parts = [
            f"coalesce({value_text(text, marks[where])}, 0D) AS {name}{mark}"
            for (where, present, absent), name in self.summed.items()
            for mark, text in (("p", present), ("a", absent))
        ]
        texts = sf.concat(sf.array(sf.lit(None).cast("string")), member_texts(rows, grouping))
        spread = rows.withColumn(_TEXTS, texts).selectExpr("*", *parts)
        spread = spread.selectExpr("*", f"explode({_TEXTS}) AS {_TEXT}")
        sums = [
            f"sum(CASE WHEN {_TEXT} IS NULL THEN {name}a ELSE {name}p - {name}a END) AS {name}"
            for name in self.summed.values()
        ]
        result = spread.groupBy(SUB, _TEXT).agg(*map(sf.expr, (*totals, *sums)), *more)
        known = {SUB, _TEXT, *self.counted.values(), *self.summed.values()}
        alone = {name: sf.when(sf.col(_TEXT).isNull(), sf.col(name)) for name in result.columns if name not in known}
        return result.withColumns(alone) if alone else result

    def cut(self, table: pa.Table) -> list[PaneDeltas | InputError]:
        """What the aggregation says to each member: DataError where its sums are too large."""
        table = table.filter(table.column(SUB).is_valid())
        sub = table.column(SUB).to_numpy()
        group, keys = numbered(table.column(_TEXT)) if _TEXT in table.column_names else (np.zeros_like(sub), ("",))
        if isinstance(self.members[0][0].grouping, ByMember):  # what has no text is what no member has
            keys = (*map(member_key, keys), "")
        outcomes: list[PaneDeltas | InputError] = []
        for member in self.members:
            try:
                outcomes.append(self._cut_one(table, member, sub, group, keys))
            except DataError as error:
                outcomes.append(error)
        return outcomes

    def _cut_one(
        self, table: pa.Table, member: Wanted, sub: IntArray, group: IntArray, keys: tuple[str, ...]
    ) -> PaneDeltas:
        plan, centres, sub_us = member
        rows = table.column(self.counted[plan.where]).to_numpy()
        (used,) = np.nonzero(rows)
        sums = np.empty((len(used), len(plan.statistics)))
        for index, each in enumerate(plan.statistics):
            text = _texts(plan, each, centres)
            column = self.counted[plan.where] if text is None else self.summed[plan.where, *text]
            sums[:, index] = table.column(column).fill_null(0).to_numpy()[used]  # a sum of nothing is NULL
        check_values(plan, sums, sub[used] * self.sub_us)
        return _put_together(sub[used] * self.sub_us // sub_us, group[used], rows[used], sums, keys)


def families(wanted: Sequence[Wanted]) -> list[Family]:
    """The watches by what they are grouped by; the lengths of their sub-panes must nearly divide each other."""
    found: list[tuple[list[int], int]] = []
    for place, (plan, _, sub_us) in enumerate(wanted):
        for index, (places, together) in enumerate(found):
            finest = math.gcd(together, sub_us)
            same = wanted[places[0]][0].grouping == plan.grouping
            if same and min(sub_us, *(wanted[each][2] for each in places)) <= finest * _FINER_MAX:
                found[index] = ([*places, place], finest)
                break
        else:
            found.append(([place], sub_us))
    return [_family([wanted[place] for place in places], places, sub_us) for places, sub_us in found]


def _family(members: Sequence[Wanted], places: Sequence[int], sub_us: int) -> Family:
    counted: dict[str | None, str] = {}
    summed: dict[tuple[str | None, str, str], str] = {}
    for plan, centres, _ in members:
        counted.setdefault(plan.where, f"__tacit_n{len(counted)}")
        for each in plan.statistics:
            text = _texts(plan, each, centres)
            if text is not None:
                summed.setdefault((plan.where, *text), f"__tacit_s{len(summed)}")
    return Family(tuple(members), tuple(places), sub_us, counted, summed)


def _floor_div(text: str, length: int) -> str:
    """Spark SQL of how often a length goes into a whole number, also below 0 and without a sum that may overflow."""
    return f"CASE WHEN {text} >= 0 THEN {text} div {length}L ELSE ({text} + 1L) div {length}L - 1L END"


def _texts(plan: WatchPlan, statistic: Statistic, centres: tuple[float, ...]) -> tuple[str, str] | None:
    """What rows add that have the member, and that have not; None where it is 1, so that their number is the sum."""
    present = formatted(statistic.present, centres)
    if isinstance(plan.grouping, ByMember):
        return present, formatted(statistic.absent, centres)
    return None if present in _ONE else (present, "")


def counts_of(where: str | None) -> Column:
    """Whether a row counts: it has a time and passes WHERE."""
    return sf.expr(f"{TIME} IS NOT NULL AND {passing(where)}")


def numbered(texts: pa.ChunkedArray) -> tuple[IntArray, tuple[str, ...]]:
    """The texts as numbers, in the order of the texts; a missing text is the number of no text."""
    encoded = texts.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk
        return np.zeros(0, dtype=np.int64), ()
    names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names) + 1, dtype=np.int64)
    rank[order], rank[-1] = np.arange(len(names)), len(names)
    places = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return rank[places], tuple(names[place] for place in order)


def check_values(plan: WatchPlan, values: FloatArray, times: IntArray | None = None) -> None:
    """An infinite contribution would stay in every later sum of its window; DataError names the statistic.

    ``times`` are those of the sums in microseconds, where they are known, to say when it was.
    """
    if len(values) == 0:
        return
    sizes = np.abs(values)  # nan, from infinities of both signs, stays
    for column, each in zip(sizes.T, plan.statistics, strict=True):
        bad = np.flatnonzero(~(column <= LARGEST))
        if not len(bad):
            continue
        at = "" if times is None else f" at {iso_time(int(times[bad].min()))}"
        where = f"watch {plan.name}, table {plan.table}{at}"
        if np.isfinite(column[bad]).all():
            what = f"the values of {each.name} are too large to be added up; divide them by a power of ten"
        else:
            what = f"the values of {each.name} add up to infinity; leave rows that are so large out with WHERE"
        raise DataError(f"{where}: {what}")


def _put_together(
    sub: IntArray, group: IntArray, rows: IntArray, sums: FloatArray, keys: tuple[str, ...]
) -> PaneDeltas:
    """One row per sub-pane and group, in that order; the keys are those of its groups."""
    if len(sub) == 0:
        return PaneDeltas(sub, group, rows, sums, keys if keys == ("",) else ())
    order = np.lexsort((group, sub))
    sub, group = sub[order], group[order]
    starts = np.flatnonzero(np.append(True, (sub[1:] != sub[:-1]) | (group[1:] != group[:-1])))
    rows, sums = np.add.reduceat(rows[order], starts), np.add.reduceat(sums[order], starts, axis=0)
    present, group = np.unique(group[starts], return_inverse=True)
    return PaneDeltas(sub[starts], group.astype(np.int64), rows, sums, tuple(keys[each] for each in present.tolist()))
