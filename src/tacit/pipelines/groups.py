"""Groups as dense numbers, in the order of their keys.

Only rows that count (WHERE holds, time and site known) make groups. A key is found again by its text: a broadcast
join gives each row its group's number, and a map held by the plan gives each member of a list its own (Spark looks
such maps up by hash). NULL keys form a group, as in Spark; a NULL inside a list is no member.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.language.plan import ByKey, ByMember
from tacit.vocabulary.errors import SentenceError
from tacit.vocabulary.keys import group_label

__all__ = [
    "GROUP",
    "MEMBERS",
    "Groups",
    "attach_key",
    "attach_members",
    "find_groups",
    "group_columns",
    "group_text",
    "key_columns",
    "member_key",
    "member_texts",
    "with_index",
]

GROUP_MISSING = -1  # the group of rows that do not count
GROUP, MEMBERS = "__tacit_group", "__tacit_members"  # what attach_key and attach_members add
_KEY, _LIST = "__tacit_key", "__tacit_list"
_WHOLE = 2.0**53  # up to here a DOUBLE has one text of its own as a whole number


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a recording: ``texts`` tell them apart, ``labels`` are for people."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


def group_columns(grouping: ByKey | ByMember | None, counts: Column) -> dict[str, Column]:
    """The columns that later steps need, computed beside the user's own, in rows that count."""
    if isinstance(grouping, ByMember):
        return {_LIST: sf.when(counts, sf.expr(grouping.expression))}
    if isinstance(grouping, ByKey):
        return {_key(index): sf.when(counts, sf.expr(text)) for index, text in enumerate(grouping.expressions)}
    return {}


def key_columns(grouping: ByKey) -> list[str]:
    """The names of the columns that :func:`group_columns` makes of the keys."""
    return [_key(index) for index in range(len(grouping.expressions))]


def group_text(frame: DataFrame, grouping: ByKey) -> Column:
    """One text for the keys of a row, which no other keys have; ``frame`` has the columns of the keys."""
    names = key_columns(grouping)
    for name, text in zip(names, grouping.expressions, strict=True):
        _check_kind(frame.schema[name].dataType, text)
    return _joined(frame, grouping)


def find_groups(counting: DataFrame, grouping: ByKey | ByMember) -> Groups:
    """The distinct keys, or members, of rows that count."""
    if isinstance(grouping, ByMember):
        _check_list(counting, grouping)
        typed = counting.select(sf.explode(_LIST).alias("value")).where(sf.col("value").isNotNull()).distinct()
        found = typed.orderBy("value").select(_text(typed, "value").alias("label")).toArrow()
        labels = tuple(dict.fromkeys(found.column("label").to_pylist()))
        return Groups(labels, labels)
    names = key_columns(grouping)
    for name, text in zip(names, grouping.expressions, strict=True):
        _check_kind(counting.schema[name].dataType, text)
    typed = counting.select(*names).distinct()
    texts = [_text(typed, name).alias(name) for name in names]
    found = typed.orderBy(*names).select(_joined(typed, grouping).alias("text"), *texts).toArrow()
    parts = zip(*(found.column(name).to_pylist() for name in names), strict=True)
    named = [group_label(key) for key in parts]
    unique = dict(zip(found.column("text").to_pylist(), named, strict=True))
    return Groups(tuple(unique), tuple(unique.values()))


def attach_key(spark: SparkSession, frame: DataFrame, grouping: ByKey, groups: Groups) -> DataFrame:
    """Adds the number of each row's group."""
    keyed = frame.withColumn(_KEY, _joined(frame, grouping))
    return with_index(spark, keyed, _KEY, groups.texts, GROUP)


def attach_members(frame: DataFrame, groups: Groups) -> DataFrame:
    """Adds the sorted numbers of the groups whose member the row has; the same member twice is one."""
    numbers = sf.from_json(
        sf.lit(json.dumps({text: index for index, text in enumerate(groups.texts)})), "map<string,int>"
    )
    found = sf.transform(_texts(frame), lambda text: sf.try_element_at(numbers, text))
    known = sf.array_sort(sf.array_distinct(sf.filter(found, lambda number: number.isNotNull())))
    return frame.withColumn(MEMBERS, sf.coalesce(known, sf.array().cast("array<int>")))


def member_texts(frame: DataFrame, grouping: ByMember) -> Column:
    """The texts of a row's members, none twice; ``frame`` has the column of the list. A row that lacks a list has none.

    Texts tell members apart as in a recording (:func:`attach_members`).
    """
    _check_list(frame, grouping)
    return sf.coalesce(sf.array_distinct(_texts(frame)), sf.array().cast("array<string>"))


def member_key(text: str) -> str:
    """What a member is called between sites: as the one key of a GROUP BY is.

    >>> member_key('a "b"')
    '["a \\\\"b\\\\""]'
    """
    return json.dumps([text], ensure_ascii=False)


def with_index(spark: SparkSession, frame: DataFrame, key: str, texts: tuple[str, ...], name: str) -> DataFrame:
    """Adds ``name``, the place of the text column ``key`` in ``texts``, or -1."""
    numbers = pa.array(range(len(texts)), pa.int32())
    dictionary = spark.createDataFrame(pa.table({key: pa.array(texts, pa.string()), name: numbers}))
    joined = frame.join(sf.broadcast(dictionary), key, "left")
    return joined.withColumn(name, sf.coalesce(sf.col(name), sf.lit(GROUP_MISSING)).cast("int"))


def _check_list(frame: DataFrame, grouping: ByMember) -> None:
    kind = frame.schema[_LIST].dataType
    if not isinstance(kind, st.ArrayType):
        raise SentenceError(f"EACH needs a list and {grouping.expression} is {kind.simpleString()}")
    _check_kind(kind.elementType, f"EACH({grouping.expression})")


def _texts(frame: DataFrame) -> Column:
    """The members of a row's list as texts, without NULL; NULL where there is no list."""
    kind = frame.schema[_LIST].dataType
    assert isinstance(kind, st.ArrayType)
    texts = sf.transform(_LIST, lambda value: _plain(value, kind.elementType).cast("string"))
    return sf.filter(texts, lambda text: text.isNotNull())


def _check_kind(kind: st.DataType, text: str) -> None:
    """Maps and variants have neither an order nor one text for equal values."""
    words = kind.simpleString()
    if "map<" in words or "variant" in words:
        raise SentenceError(f"{text} cannot be grouped by: it is {words}")


def _key(index: int) -> str:
    return f"{_KEY}{index}"


def _joined(frame: DataFrame, grouping: ByKey) -> Column:
    """Several keys as one text that no other keys have."""
    text = _same if grouping.alike else _text
    return sf.to_json(sf.array(*(text(frame, name) for name in key_columns(grouping))))


def _same(frame: DataFrame, name: str) -> Column:
    """The text of a key that equal numbers of all types have: 1 of 1, 1.0 and 1.00."""
    kind, value, text = frame.schema[name].dataType, sf.col(name), _text(frame, name)
    if isinstance(kind, (st.FloatType, st.DoubleType)):
        whole = value.between(-_WHOLE, _WHOLE) & (value % sf.lit(1.0) == 0)
        return sf.when(whole, value.cast("bigint").cast("string")).otherwise(text)
    if isinstance(kind, st.DecimalType) and kind.scale > 0:
        return sf.regexp_replace(text, r"\.?0+$", "")
    return text


def _text(frame: DataFrame, name: str) -> Column:
    return _plain(sf.col(name), frame.schema[name].dataType).cast("string")


def _plain(value: Column, kind: st.DataType) -> Column:
    """-0.0 and 0.0 are one key in SQL, with two texts."""
    if isinstance(kind, (st.FloatType, st.DoubleType)):
        return sf.when(value == 0, sf.lit(0.0)).otherwise(value)
    return value
