"""What a coordinator must not forget, in one SQLite file: sites, watches, books, answers, alerts, ledger.

The service collects writes while it works and commits them together (``commit``, in a thread of its own); whatever
follows from them is sent after that. WAL and full synchronisation: what was committed survives a crash of the process
and of the machine.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from tacit.vocabulary import OptionError
from tacit.vocabulary.arrays import AnyArray

__all__ = ["Store", "Write", "has_watches", "pack", "unpack"]

_FILE = "coordinator.sqlite"

FORMAT = 4

Write = tuple[str, tuple[Any, ...]]
"""One SQL statement with its values."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sites (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tables TEXT NOT NULL, seen REAL NOT NULL);
CREATE TABLE IF NOT EXISTS watches (
    number INTEGER PRIMARY KEY, lineage INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
    protocol TEXT NOT NULL, status TEXT NOT NULL, created REAL NOT NULL,
    begin INTEGER, centres BLOB, units BLOB, settled INTEGER, final INTEGER, front INTEGER,
    clock INTEGER NOT NULL DEFAULT 0,
    versions BLOB, roster TEXT NOT NULL DEFAULT '[]', sessions TEXT NOT NULL DEFAULT '{}',
    gone TEXT NOT NULL DEFAULT '{}', full_from TEXT NOT NULL DEFAULT '{}',
    zones BLOB, spread BLOB);
CREATE TABLE IF NOT EXISTS groups (watch INTEGER, number INTEGER, key TEXT NOT NULL, PRIMARY KEY (watch, number))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS books (
    watch INTEGER, site INTEGER, collected BLOB, weights BLOB, slack BLOB, used BLOB, PRIMARY KEY (watch, site))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spans (
    watch INTEGER, first INTEGER, last INTEGER, state TEXT NOT NULL, stale TEXT NOT NULL, roster TEXT NOT NULL,
    PRIMARY KEY (watch, first)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    lineage INTEGER, pane INTEGER, key TEXT, side INTEGER, value REAL, compared TEXT,
    PRIMARY KEY (lineage, pane, key))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rankings (
    lineage INTEGER, pane INTEGER, list TEXT, members TEXT NOT NULL, PRIMARY KEY (lineage, list, pane)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS changes_by_key ON changes (lineage, key, pane);
CREATE TABLE IF NOT EXISTS alerts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, watch TEXT NOT NULL, document TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'alert');
CREATE INDEX IF NOT EXISTS alerts_by_watch ON alerts (watch, seq);
CREATE INDEX IF NOT EXISTS alerts_by_kind ON alerts (kind, seq);
CREATE TABLE IF NOT EXISTS deliveries (
    sink TEXT, id TEXT, seq INTEGER NOT NULL, PRIMARY KEY (sink, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS set_aside (
    sink TEXT, id TEXT, reason TEXT NOT NULL, PRIMARY KEY (sink, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger (
    watch INTEGER, source INTEGER, target INTEGER, kind TEXT, messages INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (watch, source, target, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ended (watch INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS counts (lineage INTEGER PRIMARY KEY, counted BLOB NOT NULL);
"""


class Store:
    """The file ``coordinator.sqlite`` in the state folder. One thread at a time writes, one at a time reads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / _FILE
        try:
            self._database = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
            self._reader = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            self._opened = self.path.stat()
            found = self.one("SELECT value FROM meta WHERE key = 'format'")
        except sqlite3.DatabaseError as error:
            raise OptionError(f"{self.path} cannot be used as a coordinator's store: {error}") from None
        if found is None:
            born = {"format": str(FORMAT), "life": uuid.uuid4().hex}
            self.commit([("INSERT INTO meta VALUES (?, ?)", each) for each in born.items()])
        elif found[0] != str(FORMAT):
            raise OptionError(f"{self.path} was written by another release of tacit (format {found[0]}, not {FORMAT})")

    @property
    def life(self) -> str:
        """The same for as long as the file is: what it counts means nothing to whoever knew another one."""
        found = self.one("SELECT value FROM meta WHERE key = 'life'")
        assert found is not None
        return str(found[0])

    def commit(self, writes: Iterable[Write]) -> None:
        """All of it or nothing."""
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            for sql, together in groupby(writes, key=itemgetter(0)):
                database.executemany(sql, map(itemgetter(1), together))
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Every row that a query gives."""
        return self._reader.execute(sql, values).fetchall()

    def one(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row, if any."""
        row: tuple[Any, ...] | None = self._reader.execute(sql, values).fetchone()
        return row

    def next_start(self) -> int:
        """How often a coordinator has started on this store, this time included: numbers of requests begin anew."""
        found = self.one("SELECT value FROM meta WHERE key = 'starts'")
        starts = 1 if found is None else int(found[0]) + 1
        self.commit([("INSERT OR REPLACE INTO meta VALUES ('starts', ?)", (str(starts),))])
        return starts

    @property
    def is_gone(self) -> bool:
        """Was the file removed, or another one put in its place, since it was opened? Writing to it goes on unseen."""
        try:
            return not os.path.samestat(self._opened, self.path.stat())
        except OSError:
            return True

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()
        self._database.close()


def has_watches(folder: Path) -> bool:
    """Has the store in a state folder ever had a watch? It is only looked at; one that is damaged counts as one."""
    path = folder / _FILE
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("SELECT 1 FROM watches LIMIT 1").fetchone() is not None
    except sqlite3.DatabaseError:
        return True


def pack(array: AnyArray) -> bytes:
    """An array of numbers as bytes, with its shape and kind.

    >>> unpack(pack(np.array([[1.0, 2.0]])))
    array([[1., 2.]])
    """
    head = json.dumps([array.dtype.str, array.shape]).encode()
    return len(head).to_bytes(2, "little") + head + np.ascontiguousarray(array).tobytes()


def unpack(data: bytes) -> AnyArray:
    """The array that ``pack`` made bytes of."""
    size = int.from_bytes(data[:2], "little")
    kind, shape = json.loads(data[2 : 2 + size])
    return np.frombuffer(data[2 + size :], dtype=kind).reshape(shape).copy()
