"""A slow, obvious evaluation of a plan: SQLite sums the contributions, NumPy the trees; and where errors stand."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tacit.functions.evaluate import value
from tacit.language import WatchPlan, parse_watch
from tacit.vocabulary.errors import SentenceError

Rows = Sequence[Mapping[str, object]]


def watch(select: str, rest: str = "", goal: str | None = None) -> WatchPlan:
    """A plan with these outputs; the goal does not matter."""
    return parse_watch(f"CREATE WATCH w AS SELECT {select} FROM t {rest} {goal or 'ALERT WHEN COUNT(*) > 0'}")


def statistics(plan: WatchPlan, rows: Rows, *, side: str = "present", shift: float = 0.0) -> np.ndarray:
    """The statistics vector of the rows; the centres are the means of what they name, off by ``shift``."""
    with sqlite3.connect(":memory:") as base:
        base.create_function("isnan", 1, lambda x: int(isinstance(x, float) and math.isnan(x)))
        names = sorted({name for row in rows for name in row})
        base.execute(f"CREATE TABLE t ({', '.join(names)})")
        for row in rows:
            base.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", [row.get(name) for name in names])

        def total(function: str, text: str) -> float:
            text = re.sub(r"\b([01])D\b", r"\1.0", text)
            where = f" WHERE {plan.where}" if plan.where else ""
            found = base.execute(f"SELECT {function}({text}) FROM t{where}").fetchone()[0]
            return float(found or 0.0)

        centres = [total("avg", text) + shift for text in plan.centres]
        texts = [getattr(statistic, side).format(*centres) for statistic in plan.statistics]
        return np.array([total("sum", text) for text in texts])


def outputs(plan: WatchPlan, rows: Rows, *, shift: float = 0.0) -> dict[str, float]:
    """The value of every output over the rows."""
    point = statistics(plan, rows, shift=shift)[None, :]
    return {name: float(value(expression, point)[0]) for name, expression in plan.outputs}


def error_at(marked: str) -> str:
    """The message for a sentence that is wrong where ⟦ stands in it, which is checked."""
    offset = marked.index("⟦")
    text = marked.replace("⟦", "")
    with pytest.raises(SentenceError) as caught:
        parse_watch(text)
    before = text[:offset]
    assert (caught.value.line, caught.value.column) == (before.count("\n") + 1, offset - before.rfind("\n"))
    return str(caught.value)
