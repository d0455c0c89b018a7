"""The binary logs of the 1998 World Cup's web site (Internet Traffic Archive) as Parquet.

    python -m tacit.recording.worldcup wc_day46_*.gz --out requests

A record is 20 bytes, in network order: time (seconds since 1970), client, object, size of the answer (all ones:
none), and one byte each for method, status, type of file and server. The upper three bits of the server's byte name
its region, all eight the server. The columns are ``ts, client, url, bytes, method, status, type, server, region``;
``url`` is the object's number, and ``status`` is the number of the answer's kind in the log's own table (its upper
two bits, the version of HTTP, are left out).
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.vocabulary.errors import DataError, TacitError

__all__ = ["RECORD", "read_log", "write_parquet"]

RECORD = np.dtype(
    [
        ("ts", ">u4"), ("client", ">u4"), ("url", ">u4"), ("bytes", ">u4"),
        ("method", "u1"), ("status", "u1"), ("type", "u1"), ("server", "u1"),
    ]
)  # fmt: skip
_NO_SIZE = 0xFFFFFFFF
_RECORDS = 1 << 20


def read_log(path: Path | str) -> Iterator[pa.Table]:
    """The requests of one log, plain or compressed with gzip, some at a time; DataError for what is no such log."""
    path = Path(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while block := file.read(_RECORDS * RECORD.itemsize):
                if len(block) % RECORD.itemsize:
                    raise DataError(f"{path} ends in the middle of a record: it is no World Cup log, or was cut short")
                yield _table(np.frombuffer(block, dtype=RECORD))
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {path}: {str(error).lower()}") from None


def write_parquet(logs: Sequence[Path | str], out: Path | str) -> int:
    """Write every log as a Parquet file into the folder; returns how many requests there are.

    A file is there when it is whole: it is written beside its place and moved.
    """
    folder, total = Path(out), 0
    folder.mkdir(parents=True, exist_ok=True)
    for log in map(Path, logs):
        place = folder / f"{log.name.removesuffix('.gz')}.parquet"
        draft = place.with_suffix(".draft")
        try:
            writer: pq.ParquetWriter | None = None
            for table in read_log(log):
                writer = writer or pq.ParquetWriter(draft, table.schema)
                writer.write_table(table)
                total += table.num_rows
            if writer is None:
                raise DataError(f"{log} holds no request")
            writer.close()
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)
    return total


def _table(records: np.ndarray) -> pa.Table:
    columns = {name: records[name].astype(records[name].dtype.newbyteorder("=")) for name in RECORD.names or ()}
    sizes = columns["bytes"].astype(np.int64)
    return pa.table(
        {
            "ts": columns["ts"].astype(np.int64),
            "client": columns["client"].astype(np.int64),
            "url": columns["url"].astype(np.int64),
            "bytes": pa.array(sizes, mask=sizes == _NO_SIZE),
            "method": columns["method"],
            "status": columns["status"] & 0x3F,
            "type": columns["type"],
            "server": columns["server"],
            "region": columns["server"] >> 5,
        }
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 2 when something given is wrong."""
    options = argparse.ArgumentParser(
        prog="python -m tacit.recording.worldcup", description="World Cup 1998 binary logs to Parquet"
    )
    options.add_argument("logs", nargs="+", metavar="LOG", help="binary logs, plain or .gz")
    options.add_argument("--out", required=True, metavar="FOLDER", help="where the Parquet files go")
    chosen = options.parse_args(arguments)
    try:
        total = write_parquet(chosen.logs, chosen.out)
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr)
        return 2
    print(f"{total:,} requests; replay them with --data {chosen.out} --site server --time ts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
