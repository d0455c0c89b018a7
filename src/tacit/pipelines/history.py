"""What a table held before a watch began: rows between two instants, read once from files, as one batch.

The files hold rows as the table's source has them: the table's ``schema``, ``select`` and ``where`` are applied, and
for a table of files also its ``format`` and its ``options``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.batches import SparkBatch
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.file_streams import READ_AS, readable
from tacit.pipelines.files import SourceFile, files_inside, find_files
from tacit.pipelines.live_sources import TableSource, schema_of, shaped
from tacit.pipelines.session import session_beside
from tacit.pipelines.sources import read_files, scan_files
from tacit.pipelines.text_checks import holds_array, separator_of
from tacit.pipelines.time import time_column, utc
from tacit.vocabulary.errors import DataError

__all__ = ["check_history", "files_read", "open_files_of", "read_again", "read_history"]

_LOOKED_AT = 16  # files, when it is checked


def check_history(spark: SparkSession, source: TableSource, path: str, time: str) -> None:
    """Refuse a history that is not there, or whose first files are not like the table; one may still be empty."""
    session = session_beside(spark)
    with utc(session), one_sentence():
        files = _files(path)[:_LOOKED_AT]
        if files:
            time_column(open_files_of(session, source, path, files), time)


def read_history(
    spark: SparkSession, source: TableSource, path: str, time: str, lo_us: int, hi_us: int
) -> SparkBatch | None:
    """The rows of files with a time in [lo, hi); None where there is no file yet."""
    session = session_beside(spark)
    with utc(session), one_sentence():
        files = _files(path)
        if not files:
            return None
        frame = open_files_of(session, source, path, files)
        moment = time_column(frame, time).micros
        return SparkBatch(frame.where((moment >= sf.lit(lo_us)) & (moment < sf.lit(hi_us))), time)


def read_again(
    spark: SparkSession, source: TableSource, path: str, time: str, lo_us: int, checkpoint: Path, through: int | None
) -> SparkBatch | None:
    """The rows from ``lo_us`` on of the very files that a table was read from, up to a batch.

    DataError when one of them is gone: what is left would not be all.
    """
    session = session_beside(spark)
    with utc(session), one_sentence():
        wanted = set() if through is None else files_read(checkpoint, through)
        files = [file for file in _files(path) if file.path.absolute() in wanted]
        if not files:
            return None
        if gone := sorted(wanted - {file.path.absolute() for file in files}):
            raise DataError(f"{len(gone)} of the files that were read are gone, {gone[0]} for one")
        frame = open_files_of(session, source, path, files)
        return SparkBatch(frame.where(time_column(frame, time).micros >= sf.lit(lo_us)), time)


def files_read(checkpoint: Path, through: int) -> set[Path]:
    """The files that Spark read in the batches up to one, as its file source has noted in the checkpoint."""
    offsets = (checkpoint / "offsets" / str(through)).read_text().splitlines()
    newest = json.loads(offsets[-1])["logOffset"]
    found: set[Path] = set()
    for log in (checkpoint / "sources" / "0").iterdir():
        if log.name.removesuffix(".compact").isdigit():
            entries = [json.loads(line) for line in log.read_text().splitlines()[1:]]
            found.update(Path(unquote(urlsplit(each["path"]).path)) for each in entries if each["batchId"] <= newest)
    return found


def _files(path: str) -> Sequence[SourceFile]:
    folder = Path(path).expanduser()
    return find_files(path) if not folder.is_dir() or files_inside(folder) else ()


def open_files_of(spark: SparkSession, source: TableSource, path: str, files: Sequence[SourceFile]) -> DataFrame:
    """The rows of these files as the table has them: its format, options, schema, ``select`` and ``where``."""
    kind, is_file_table = files[0].kind, source.kind == "files"
    if is_file_table and source.format not in (None, kind):
        raise DataError(f"{path} has {kind} files, but the table's format is {source.format}")
    options = source.options if is_file_table else {}
    if source.schema is None:
        return shaped(read_files(spark, files, readable(options)), source)
    schema = schema_of(source.schema)
    chosen = dict(READ_AS[kind])
    if kind == "csv":
        chosen["sep"] = separator_of(files[0].path, options)
    if kind == "json" and any(holds_array(file.path) for file in files):
        chosen["multiLine"] = "true"
    reader = spark.read.format(kind).options(**{**chosen, **options}).schema(schema)
    return shaped(scan_files(reader, files), source)
