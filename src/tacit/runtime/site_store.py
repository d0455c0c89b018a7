"""What a site must not forget, in one SQLite file: its windows, how far each table was read, and its watches.

One transaction per micro-batch holds the windows and the number of the batch: a batch that Spark runs a second time is
known, and changes nothing. Nothing is said to the coordinator before what it rests on is here.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tacit.runtime.blobs import Change
from tacit.vocabulary import OptionError

__all__ = ["SiteStore"]

FORMAT = "1"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pieces (scope TEXT, key TEXT, blob BLOB NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (source TEXT PRIMARY KEY, checkpoint TEXT NOT NULL, batch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS watches (number INTEGER PRIMARY KEY, envelope BLOB NOT NULL, settled INTEGER);
"""


class SiteStore:
    """The file ``site.sqlite`` in a site's state folder. Use it under the agent's lock."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "site.sqlite"
        try:
            self._database = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
            found = self._meta("format")
        except sqlite3.DatabaseError as error:
            raise OptionError(f"{self.path} cannot be used as a site's store: {error}") from None
        if found not in (None, FORMAT):
            raise OptionError(f"{self.path} was written by another release of tacit (format {found}, not {FORMAT})")
        self.instance = self._meta("instance") or uuid.uuid4().hex
        # It grows with every start, also of a site whose state was removed in between: the clock sees to that.
        self.session = max(int(self._meta("session") or 0) + 1, int(time.time()))
        self._put({"format": FORMAT, "instance": self.instance, "session": str(self.session)})

    def next_session(self) -> None:
        """A watch goes back to what is stored, as after a start."""
        self.session += 1
        self._put({"session": str(self.session)})

    @property
    def serves(self) -> str | None:
        """The life of the coordinator whose watches these are."""
        return self._meta("serves")

    @serves.setter
    def serves(self, life: str) -> None:
        self._put({"serves": life})

    def batch_of(self, table: str) -> tuple[str, int] | None:
        """The checkpoint and the last micro-batch of a table that is in the windows."""
        row: tuple[str, int] | None = self._database.execute(
            "SELECT checkpoint, batch FROM batches WHERE source = ?", (table,)
        ).fetchone()
        return row

    def last_batch(self, table: str) -> int | None:
        """The number of that micro-batch."""
        known = self.batch_of(table)
        return None if known is None else known[1]

    def has_batch(self, table: str, checkpoint: str, number: int) -> bool:
        """Is this micro-batch in the windows already? OptionError when it does not fit what is here."""
        known = self.batch_of(table)
        if known is None:
            if number > 0:
                raise OptionError(
                    f"Spark has read table {table} up to batch {number} before, and this site's state does not know of"
                    " it; remove both and start again: tacit reset"
                )
            return False
        if known[0] != checkpoint:
            raise OptionError(
                f"the checkpoint of table {table} is not the one that this site's state was made with; remove both and"
                " start again: tacit reset"
            )
        if number > known[1] + 1:
            raise OptionError(
                f"batches {known[1] + 1} to {number - 1} of table {table} never came; remove the site's state and its"
                " checkpoint and start again: tacit reset"
            )
        return number <= known[1]

    def pieces(self, scope: str) -> dict[str, bytes]:
        """All that was saved under a scope."""
        rows = self._database.execute("SELECT key, blob FROM pieces WHERE scope = ?", (scope,))
        return {key: bytes(blob) for key, blob in rows}

    def piece(self, scope: str, key: str) -> bytes | None:
        """One of them, if there is such a one."""
        row = self._database.execute("SELECT blob FROM pieces WHERE scope = ? AND key = ?", (scope, key)).fetchone()
        return None if row is None else bytes(row[0])

    def scopes(self, prefix: str) -> list[str]:
        """The scopes with this beginning under which something is saved."""
        rows = self._database.execute("SELECT DISTINCT scope FROM pieces")
        return [scope for (scope,) in rows if scope.startswith(prefix)]

    def watches(self) -> list[tuple[int, bytes, int | None]]:
        """The watches that the coordinator installed, as it said them, and how far each was settled."""
        return self._database.execute("SELECT number, envelope, settled FROM watches ORDER BY number").fetchall()

    def save(
        self,
        changes: Mapping[str, Iterable[Change]],
        *,
        batch: tuple[str, str, int] | None = None,
        settled: Mapping[int, int] | None = None,
    ) -> None:
        """One transaction: pieces by scope, (table, checkpoint, batch) when a batch was read, settled panes."""
        writes: list[tuple[str, tuple[Any, ...]]] = []
        for scope, pieces in changes.items():
            for piece in pieces:
                if piece.blob is None:
                    writes.append(("DELETE FROM pieces WHERE scope = ? AND key = ?", (scope, piece.key)))
                else:
                    writes.append(("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?)", (scope, piece.key, piece.blob)))
        if batch is not None:
            writes.append(("INSERT OR REPLACE INTO batches VALUES (?, ?, ?)", batch))
        for number, pane in (settled or {}).items():
            writes.append(("UPDATE watches SET settled = ? WHERE number = ?", (pane, number)))
        self._write(writes)

    def install(self, number: int, envelope: bytes) -> None:
        """Remember a watch."""
        self._write(
            [
                (
                    "INSERT INTO watches VALUES (?, ?, NULL)"
                    " ON CONFLICT (number) DO UPDATE SET envelope = excluded.envelope",
                    (number, envelope),
                )
            ]
        )

    def forget(self, numbers: Iterable[int], scopes: Iterable[str]) -> None:
        """Forget watches and what was saved for them."""
        self._write(
            [
                *(("DELETE FROM watches WHERE number = ?", (number,)) for number in numbers),
                *(("DELETE FROM pieces WHERE scope = ?", (scope,)) for scope in scopes),
            ]
        )

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _meta(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, values: Mapping[str, str]) -> None:
        self._write([("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value)) for key, value in values.items()])

    def _write(self, writes: list[tuple[str, tuple[Any, ...]]]) -> None:
        if not writes:
            return
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for sql, values in writes:
                self._database.execute(sql, values)
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")
