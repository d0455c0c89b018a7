"""The total order of a recording: (time, hash of the row), the same from every file format and layout.

Spark's xxhash64 of a number depends on its width, and JSON lists columns by the alphabet; so columns are hashed by
name order, whole numbers as bigint and fractions as double. The time column is left out: it is the first key.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.pipelines.columns import column

__all__ = ["canonical", "row_hash"]

_PLAIN = (st.StringType, st.BooleanType, st.BinaryType, st.DateType, st.TimestampType, st.TimestampNTZType, st.NullType)


def row_hash(frame: DataFrame, *, leave_out: str) -> Column:
    """xxhash64 of every column but one, each in its canonical type."""
    fields = sorted((field for field in frame.schema if field.name != leave_out), key=lambda field: field.name)
    # A frame of one column has nothing else to hash: the time alone orders it.
    return sf.xxhash64(*(canonical(field) for field in fields)) if fields else sf.lit(0).cast("bigint")


def canonical(field: st.StructField) -> Column:
    """A field's value in the type that all file formats agree on."""
    wanted = _canonical_type(field.dataType)
    value = column(field.name)
    return value if wanted == field.dataType else value.cast(wanted)


def _canonical_type(kind: st.DataType) -> st.DataType:
    if isinstance(kind, st.IntegralType):
        return st.LongType()
    if isinstance(kind, st.FractionalType):
        return st.DoubleType()
    if isinstance(kind, st.ArrayType):
        element = _canonical_type(kind.elementType)
        return st.ArrayType(element, kind.containsNull)
    if isinstance(kind, _PLAIN):
        return kind
    return st.StringType()  # maps, structs, variants, intervals: their text
