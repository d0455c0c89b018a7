"""Tables of a site: where rows come from, which column is their time, and what makes that time pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

from tacit.language.durations import duration_us
from tacit.runtime.config_types import DataPath, Duration, Seconds, Section, Text

__all__ = [
    "SOURCES",
    "AnyTable",
    "FileTable",
    "KafkaTable",
    "PythonTable",
    "RateTable",
    "Table",
    "merged_table",
    "source_of",
]

Option = str | int | float | bool
NO_BACKFILL = ""
"""What `backfill = false` is read as."""


def _path_or_false(value: Any, path: ValidatorFunctionWrapHandler) -> str:
    return NO_BACKFILL if value is False else str(path(value))


Backfill = Annotated[DataPath, WrapValidator(_path_or_false)]
Whole = Annotated[int, Field(gt=0)]


class AnyTable(Section):
    """A table, whatever its source. `source` is `files`, `kafka`, `rate` or `python`; the other keys depend on it."""

    time: Text = Field(
        description="The column that says when a row happened: a timestamp, or a number of seconds since 1970. UTC.",
        examples=["ts"],
    )
    watermark: Duration = Field(
        "10 seconds", description="How late a row may come: a pane is closed when time has passed it by this much."
    )
    clock: Literal["wall", "event"] = Field(
        "wall",
        description="What makes time pass at an idle site: `wall`, the clock of the machine; `event`, only the data, "
        "here and elsewhere (for recorded data, whose time is not now).",
    )
    idle_seconds: Seconds = Field(
        5.0, description="After how long without rows a site counts as idle, so that its clock goes on without them."
    )
    trigger_seconds: Seconds = Field(1.0, description="How often Spark looks for new rows.")
    where: Text | None = Field(
        None,
        description="A Spark SQL condition: only these rows belong to this site.",
        examples=["station = 'Aoti'"],
    )
    backfill: Backfill | None = Field(
        None,
        description="Where the history is read from with which a watch that is created later begins, so that its "
        "window is full at once. Without it a table of files is read again itself; `false` leaves windows to the rows "
        "to come.",
        examples=["history/air"],
    )
    keep_megabytes: Whole = Field(
        1024,
        description="How much a site keeps of the panes of each watch that are not settled for good, because another "
        "site is missing. Beyond it the oldest go (`wall`), or the table is read no further until they are (`event`).",
    )
    late_rows: DataPath | None = Field(
        None,
        description="A file to which rows are written that came after their panes were closed: a line of JSON each.",
        examples=["late/{site}.jsonl"],
    )
    select: tuple[Text, ...] = Field(
        (),
        description="The columns, as Spark SQL over those of the source; without it, all as they are.",
        examples=[["CAST(ms / 1000 AS DOUBLE) AS ts", "so2"]],
    )

    @property
    def watermark_us(self) -> int:
        """The delay of the watermark, in microseconds."""
        return duration_us(self.watermark)


def _options(example: dict[str, Option]) -> Any:
    return Field(
        default_factory=dict,
        repr=False,
        description="Further options of Spark's reader, as they are.",
        examples=[example],
    )


class FileTable(AnyTable):
    """`source = "files"`: a folder of files that grows. Files are read once each; move them in when they are whole."""

    source: Literal["files"] = Field(description="`files`.", examples=["files"])
    path: DataPath = Field(description="The folder.", examples=["data/{site}"])
    format: Literal["parquet", "csv", "json"] | None = Field(
        None,
        description="What the files are; without it, what their names say. Only files with names of the format are "
        "read (`.parquet`; `.csv`; `.json`, `.jsonl`, `.ndjson`; text also with `.gz` or `.bz2` behind it); for others "
        'give a pattern, as in `options = { pathGlobFilter = "*.txt" }`.',
        examples=["csv"],
    )
    schema_text: Text | None = Field(
        None,
        alias="schema",
        description="The columns and their types, as Spark writes them; without it, those of the files that are there "
        "at first, so a folder that starts empty needs it.",
        examples=["ts TIMESTAMP, so2 DOUBLE"],
    )
    max_files_per_trigger: Whole | None = Field(
        None, description="The most files that one look takes in; without it, all that are there.", examples=[10]
    )
    options: Mapping[str, Option] = _options({"sep": ";"})


class KafkaTable(AnyTable):
    """`source = "kafka"`: a topic. Spark needs its connector: see `packages` of `[spark]`."""

    source: Literal["kafka"] = Field(description="`kafka`.", examples=["kafka"])
    servers: Text = Field(description="Brokers to ask first, separated by commas.", examples=["kafka1:9092"])
    topic: Text = Field(description="The topic.", examples=["air.{site}"])
    value_format: Literal["json", "csv"] = Field("json", description="What a message holds: one row.")
    schema_text: Text = Field(
        alias="schema",
        description="The columns of a message and their types, as Spark writes them.",
        examples=["ts TIMESTAMP, so2 DOUBLE"],
    )
    starting_offsets: Literal["earliest", "latest"] = Field(
        "earliest", description="Where the first start begins. Later starts go on where the site was."
    )
    options: Mapping[str, Option] = _options({"kafka.security.protocol": "SSL"})


class RateTable(AnyTable):
    """`source = "rate"`: rows that Spark makes up, for trying things out: `timestamp` and `value`, a counter."""

    source: Literal["rate"] = Field(description="`rate`.", examples=["rate"])
    rows_per_second: Whole = Field(10, description="How many rows a second.")
    select: tuple[Text, ...] = Field(
        ("timestamp AS ts", "CAST(value AS DOUBLE) AS value"),
        description="The columns, as Spark SQL over `timestamp` and `value`.",
    )
    time: Text = Field("ts", description="The column that says when a row happened.")
    options: Mapping[str, Option] = _options({"numPartitions": 2})


class PythonTable(AnyTable):
    """`source = "python"`: a function that is given the Spark session and returns a streaming DataFrame."""

    source: Literal["python"] = Field(description="`python`.", examples=["python"])
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")] = Field(
        description="`module:function`, called as `function(spark)`.", examples=["our_sources:air"]
    )
    path: DataPath = Field(
        ".", validate_default=True, description="The folder that the module is imported from; `.` is the file's own."
    )


Table = Annotated[FileTable | KafkaTable | RateTable | PythonTable, Field(discriminator="source")]
SOURCES: dict[str, type[Section]] = {
    "files": FileTable,
    "kafka": KafkaTable,
    "rate": RateTable,
    "python": PythonTable,
}


def merged_table(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A site's table: the defaults of the table, and what the site says. A site whose rows come from another kind of
    source takes over only what tables of any kind have.

    >>> merged_table({"source": "files", "path": "a", "time": "ts"}, {"path": "b"})
    {'source': 'files', 'path': 'b', 'time': 'ts'}
    >>> merged_table({"source": "files", "path": "a", "time": "ts"}, {"source": "rate"})
    {'time': 'ts', 'source': 'rate'}
    """
    changed = "source" in own and own["source"] != defaults.get("source")
    common = AnyTable.model_fields.keys() - {"select"}
    return {**{key: value for key, value in defaults.items() if not changed or key in common}, **own}


def source_of(table: Table) -> dict[str, Any]:
    """What Spark is told of a table: the fields of ``TableSource`` of the pipelines, by their names."""
    common = {"kind": table.source, "select": table.select}
    match table:
        case FileTable():
            return {
                **common,
                "path": table.path,
                "format": table.format,
                "schema": table.schema_text,
                "files_per_batch": table.max_files_per_trigger,
                "options": _texts(table.options),
            }
        case KafkaTable():
            return {
                **common,
                "servers": table.servers,
                "topic": table.topic,
                "format": table.value_format,
                "schema": table.schema_text,
                "starting": table.starting_offsets,
                "options": _texts(table.options),
            }
        case RateTable():
            return {**common, "rows_per_second": table.rows_per_second, "options": _texts(table.options)}
        case PythonTable():
            return {**common, "path": table.path, "function": table.function}


def _texts(options: Mapping[str, Option]) -> dict[str, str]:
    """Spark's options are texts; its truth values are in small letters."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}
