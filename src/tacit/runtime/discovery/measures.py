"""Which columns are measured: numbers that are worth watching, and that never tell sites apart."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.runtime.discovery.sample import Column, Sample
from tacit.vocabulary.arrays import FloatArray

__all__ = ["WATCHED", "measures_of", "plain_name", "values_of"]

WATCHED = 2  # measures that the suggested watches look at
UNFIT = re.compile(
    r"(^|_)(id|no|nr|num|index|idx|row|key|code|lat|latitude|lon|lng|longitude|year|month|day|hour|minute|second|"
    r"weekday|[sd]?port|zip|version|seq|sequence|src|dst|source|target|status|pid)$"
)


def measures_of(sample: Sample, time: str, site: str | None) -> list[str]:
    """The columns that are worth watching, the best first: fractions before whole numbers, as they stand."""
    found: list[tuple[bool, str]] = []
    for column in sample.columns:
        if column.name in (time, site) or UNFIT.search(plain_name(column.name)):
            continue
        floating = pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
        if (floating or pa.types.is_integer(column.type)) and _varies(sample, column, floating):
            found.append((not floating, column.name))
    return [name for _whole, name in sorted(found, key=lambda each: each[0])]


def _varies(sample: Sample, column: Column, floating: bool) -> bool:
    values = values_of(sample, column.name)
    known = values[np.isfinite(values)]
    if len(known) < 2 or len(known) < 0.5 * len(values) or known.min() == known.max():
        return False
    counter = not floating and len(np.unique(known)) == len(known) and bool(np.all(np.diff(np.sort(known)) == 1))
    return not counter


def values_of(sample: Sample, name: str) -> FloatArray:
    """The numbers of a column, nan where there is none."""
    return np.asarray(pc.cast(sample.rows[name], pa.float64()).fill_null(float("nan")).to_numpy(), dtype=np.float64)


def plain_name(name: str) -> str:
    """A name that needs no quotation marks."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
    return plain if plain and not plain[0].isdigit() else f"c_{plain}"
