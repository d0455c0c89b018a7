"""Functions on columns of sketch bytes, for DataFrames and (after :func:`register`) for SQL.

    ecm_estimate(sketch, key [, length])   how often the key came in the last ``length`` ticks: DOUBLE
    ecm_total(sketch [, length])           how many arrivals there were: DOUBLE
    ecm_self_join(sketch [, length])       the sum of the squares of all keys' counts: DOUBLE
    ecm_inner_product(a, b [, length])     the sum over all keys of the product of both counts: DOUBLE
    ecm_error(sketch)                      what a point query may err by, as a share of all arrivals: DOUBLE
    sketch_estimate(sketch, key)           how often the key came, of any sketch that counts keys: DOUBLE
    bloom_contains(sketch, key)            whether the key was put into a Bloom filter: BOOLEAN
    sketch_merge(a, b)                     both as one: BINARY
    sketch_merge_all(sketch)               all of a group as one, one level above them: BINARY (an aggregate)

NULL gives NULL; the aggregate leaves it out. Sketches are those of ``ecm_by`` or the bytes of any other of
``tacit.sketches``; what cannot be read, merged or asked is a DataError, MergeError or OptionError of one sentence.
Where one sketch is asked for many rows, :func:`estimates_of` sends it once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.functions import arrow_udf

from tacit.pipelines.sketch_answers import answer, check_length, estimate_known
from tacit.pipelines.sketch_tasks import shipped
from tacit.sketches import Sketch, load

__all__ = [
    "arrow_function",
    "bloom_contains",
    "ecm_error",
    "ecm_estimate",
    "ecm_inner_product",
    "ecm_self_join",
    "ecm_total",
    "estimates_of",
    "register",
    "sketch_estimate",
    "sketch_merge",
    "sketch_merge_all",
]

Given = Column | str
"""A column by its name, or an expression."""
Length = Column | int | None
"""How many ticks up to the latest time of a sketch; None is its whole window."""

_AGGREGATE = "sketch_merge_all"
_RETURNS: dict[str, st.DataType] = {
    "bloom_contains": st.BooleanType(),
    "ecm_error": st.DoubleType(),
    "ecm_estimate": st.DoubleType(),
    "ecm_inner_product": st.DoubleType(),
    "ecm_self_join": st.DoubleType(),
    "ecm_total": st.DoubleType(),
    "sketch_estimate": st.DoubleType(),
    "sketch_merge": st.BinaryType(),
    _AGGREGATE: st.BinaryType(),
}


def register(spark: SparkSession) -> None:
    """Make all functions known to the SQL of this session.

    ::

        register(spark)
        spark.sql("SELECT ecm_estimate(sketch_merge_all(sketch), '/index.html') FROM hourly WHERE day = '2026-07-01'")
    """
    for name in _RETURNS:
        spark.udf.register(name, _udf(name))


def ecm_estimate(sketch: Given, key: Given, length: Length = None) -> Column:
    """How often the key came in the last ``length`` ticks of an ECM-sketch."""
    return _call("ecm_estimate", sketch, key, length=length)


def ecm_total(sketch: Given, length: Length = None) -> Column:
    """How many arrivals an ECM-sketch has had in the last ``length`` ticks."""
    return _call("ecm_total", sketch, length=length)


def ecm_self_join(sketch: Given, length: Length = None) -> Column:
    """The sum of the squares of all keys' counts."""
    return _call("ecm_self_join", sketch, length=length)


def ecm_inner_product(a: Given, b: Given, length: Length = None) -> Column:
    """The sum over all keys of the product of their counts in both, at the later of both times."""
    return _call("ecm_inner_product", a, b, length=length)


def ecm_error(sketch: Given) -> Column:
    """What a point query may err by, after the merges that made the sketch, as a share of all arrivals."""
    return _call("ecm_error", sketch)


def sketch_estimate(sketch: Given, key: Given) -> Column:
    """How often the key came, of any sketch that counts keys."""
    return _call("sketch_estimate", sketch, key)


def bloom_contains(sketch: Given, key: Given) -> Column:
    """Whether the key was put into a Bloom filter: always right when it says no."""
    return _call("bloom_contains", sketch, key)


def sketch_merge(a: Given, b: Given) -> Column:
    """Both sketches as one."""
    return _call("sketch_merge", a, b)


def sketch_merge_all(sketch: Given) -> Column:
    """All sketches of a group as one, one level above the highest of them: an aggregate."""
    return _call(_AGGREGATE, sketch)


def estimates_of(sketch: Sketch | bytes, key: Given, length: int | None = None) -> Column:
    """How often the key of each row came, by one sketch, which is sent to each task once."""
    data = sketch.to_bytes() if isinstance(sketch, Sketch) else sketch
    check_length(load(data), length)  # what is no sketch is told now
    made: Column = arrow_function(shipped(estimate_known, bytes(data), length), st.DoubleType())(key)
    return made


def _call(name: str, *columns: Given, length: Length = None) -> Column:
    limit = [] if length is None else [length if isinstance(length, Column) else sf.lit(length)]
    made: Column = _udf(name)(*columns, *limit)
    return made


def arrow_function(function: Callable[..., Any], returns: st.DataType, *, aggregate: bool = False) -> Any:
    """A function on Arrow columns as one on Spark's columns."""
    # Spark tells aggregates from other functions by these.
    function.__annotations__ = {"columns": pa.Array, "named": pa.Array, "return": Any if aggregate else pa.Array}
    make: Any = arrow_udf
    return make(function, returns)


def _udf(name: str) -> Any:
    function = shipped(answer, name)
    function.__name__ = name  # what Spark calls the column
    return arrow_function(function, _RETURNS[name], aggregate=name == _AGGREGATE)
