"""Types that hold for all rows of text files, and for those to come, where the sample saw only some.

Spark makes NULL of a fraction in a column of whole numbers, without a word. So a measure is a DOUBLE even if all its
values were whole so far, and other whole numbers (ids, codes) are looked at in all rows before they are called so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from tacit.runtime.discovery.layout import Layout
from tacit.runtime.discovery.sample import Column, Sample
from tacit.runtime.discovery.scan import scan

__all__ = ["settle_types"]


def settle_types(layout: Layout, sample: Sample, measures: Collection[str]) -> Sample:
    """The sample with the types that the table gets; Parquet files know theirs."""
    if layout.kind == "parquet":
        return sample
    return replace(sample, columns=tuple(_settled(layout, sample, column, measures) for column in sample.columns))


def _settled(layout: Layout, sample: Sample, column: Column, measures: Collection[str]) -> Column:
    if not pa.types.is_integer(column.type):
        return column
    if column.name in measures:
        return replace(column, spark="DOUBLE")
    for kind, spark in ((pa.int64(), "BIGINT"), (pa.float64(), "DOUBLE")):
        if _fits(layout, sample, column.name, kind):
            return replace(column, spark=spark)
    return replace(column, spark="STRING")


def _fits(layout: Layout, sample: Sample, name: str, kind: pa.DataType) -> bool:
    try:
        for _batch in scan(layout, sample, name, kind):
            pass
    except NotImplementedError:  # not to be read in pieces, so the sample is all there is to go by
        return True
    except (pa.ArrowException, OSError, ValueError):
        return False
    return True
