"""Where the rows of a live table come from: a folder that grows, a Kafka topic, Spark's rate source, or Python.

Each becomes a streaming DataFrame without state. What a source needs is checked before anything runs; rows that come
later and do not fit the schema have NULL in place of what does not fit, as Spark reads them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.pipelines.failures import one_sentence
from tacit.pipelines.file_streams import open_files
from tacit.vocabulary.errors import OptionError

__all__ = ["KINDS", "TableSource", "open_source", "packages_for", "schema_of", "shaped"]

KINDS = ("files", "kafka", "rate", "python")
_KAFKA_FORMATS = ("json", "csv")


@dataclass(frozen=True, slots=True)
class TableSource:
    """How a table is read. ``options`` go to Spark's reader as they are; ``select`` makes the table's columns.

    A batch may be read more than once, so ``select`` must give a row the same values each time: no ``rand()``.
    """

    kind: str  # "files", "kafka", "rate", "python"
    path: str | None = None  # files: the folder; python: a folder to import from
    format: str | None = None  # files: parquet, csv, json (by file name unless told); kafka: json (unless told), csv
    schema: str | None = None  # Spark's DDL, as in "ts TIMESTAMP, value DOUBLE"; kafka needs it
    servers: str | None = None  # kafka: host:port, several with commas between
    topic: str | None = None  # kafka
    starting: str = "earliest"  # kafka: where a table without a checkpoint starts, earliest or latest
    files_per_batch: int | None = None  # files: at most so many in a batch
    rows_per_second: int = 1  # rate
    function: str | None = None  # python: "module:function", called with the session
    select: tuple[str, ...] = ()  # Spark SQL expressions, each with its name, as in "value % 10 AS device"
    options: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None  # Spark SQL: only these rows belong to the table


def packages_for(source: TableSource) -> tuple[str, ...]:
    """The Java packages that a source needs beside Spark, for ``open_session(packages=…)``.

    >>> packages_for(TableSource("rate"))
    ()
    """
    if source.kind != "kafka":
        return ()
    return (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}",)


def open_source(spark: SparkSession, source: TableSource) -> DataFrame:
    """The streaming DataFrame of a source; nothing runs yet."""
    opened = {"files": _files, "kafka": _kafka, "rate": _rate, "python": _python}.get(source.kind)
    if opened is None:
        raise OptionError(f"a table's kind is {source.kind!r}, but must be one of {', '.join(KINDS)}")
    with one_sentence():
        return shaped(opened(spark, source), source)


def shaped(frame: DataFrame, source: TableSource) -> DataFrame:
    """The table's columns and rows, of what its source has."""
    frame = frame.selectExpr(*source.select) if source.select else frame
    return frame.where(source.where) if source.where else frame


def _files(spark: SparkSession, source: TableSource) -> DataFrame:
    if not source.path:
        raise OptionError("a table of files needs path, the folder that the files come into")
    if source.files_per_batch is not None and source.files_per_batch < 1:
        raise OptionError(f"files_per_batch is {source.files_per_batch}, but must be at least 1")
    schema = None if source.schema is None else schema_of(source.schema)
    options = dict(source.options)
    if source.files_per_batch is not None:
        options["maxFilesPerTrigger"] = str(source.files_per_batch)
    return open_files(spark, source.path, kind=source.format, schema=schema, options=options)


def _kafka(spark: SparkSession, source: TableSource) -> DataFrame:
    """The columns are those of the schema; ``select`` also sees ``kafka``: key, topic, partition, offset, timestamp."""
    for name, value in (("servers", source.servers), ("topic", source.topic), ("schema", source.schema)):
        if not value:
            raise OptionError(f"a Kafka table needs {name}")
    if source.starting not in ("earliest", "latest"):
        raise OptionError(f"a Kafka table starts at {source.starting!r}, but must start at earliest or latest")
    kind = (source.format or "json").lower()
    if kind not in _KAFKA_FORMATS:
        raise OptionError(f"a Kafka table's format is {source.format!r}, but must be json or csv")
    schema = schema_of(source.schema or "")
    wanted = {
        "kafka.bootstrap.servers": source.servers or "",
        "subscribe": source.topic or "",
        "startingOffsets": source.starting,
        **source.options,
    }
    reader = spark.readStream.format("kafka").options(**wanted)
    try:
        messages = reader.load()
    except PySparkException as error:
        if "Failed to find data source: kafka" in str(error).replace("the data", "data"):
            raise OptionError(
                f"Spark was started without its Kafka connector; start it with packages {packages_for(source)[0]}"
            ) from None
        raise
    text = sf.col("value").cast("string")
    parsed = sf.from_json(text, schema) if kind == "json" else sf.from_csv(text, source.schema or "")
    about = sf.struct(sf.col("key").cast("string").alias("key"), "topic", "partition", "offset", "timestamp")
    rows = messages.select(parsed.alias("row"), about.alias("kafka"))
    return rows.select("row.*", "kafka") if source.select else rows.select("row.*")


def _rate(spark: SparkSession, source: TableSource) -> DataFrame:
    """Spark's test source: columns timestamp and value, a number that counts up."""
    if source.rows_per_second < 1:
        raise OptionError(f"rows_per_second is {source.rows_per_second}, but must be at least 1")
    reader = spark.readStream.format("rate").option("rowsPerSecond", source.rows_per_second)
    return reader.options(**source.options).load()


def _python(spark: SparkSession, source: TableSource) -> DataFrame:
    name = source.function or ""
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise OptionError(f"a Python table needs function, written module:function, and has {name!r}")
    if source.path and source.path not in sys.path:
        sys.path.insert(0, source.path)
    try:
        called = reduce(getattr, function.split("."), importlib.import_module(module))
    except ImportError as error:
        raise OptionError(f"the function {name} cannot be imported: {error}") from error
    except AttributeError:
        raise OptionError(f"the module {module} has no function {function}") from None
    if not callable(called):
        raise OptionError(f"{name} is not a function")
    try:
        frame = called(spark)
    except PySparkException:
        raise
    except Exception as error:
        raise OptionError(f"the function {name} failed: {type(error).__name__}: {error}") from error
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        what = "a DataFrame that does not stream" if isinstance(frame, DataFrame) else type(frame).__name__
        raise OptionError(f"the function {name} returned {what}; it must return one made with spark.readStream")
    return frame


def schema_of(text: str) -> st.StructType:
    """Columns written in Spark's DDL."""
    try:
        schema = st.DataType.fromDDL(text)
    except PySparkException:
        raise OptionError(f"the schema {text!r} cannot be read; write it as in 'ts TIMESTAMP, value DOUBLE'") from None
    if not isinstance(schema, st.StructType) or not schema.fields:
        raise OptionError(f"the schema {text!r} has no columns; write it as in 'ts TIMESTAMP, value DOUBLE'")
    return schema
