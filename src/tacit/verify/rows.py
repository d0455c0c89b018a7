"""The rows of all sites as the judge has them: a table of DuckDB for every table of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from tacit.vocabulary.errors import OptionError

__all__ = ["Rows", "Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """One table of one site: how late its rows may come, and what makes its time pass."""

    site: str
    watermark_us: int
    clock: str


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows that there are, as of when they were read. ``sources`` are by the name of the table."""

    database: duckdb.DuckDBPyConnection
    sources: dict[str, tuple[Source, ...]]
    names: dict[str, str]  # what the table is called in the database

    def sites(self, table: str) -> tuple[str, ...]:
        """The sites that have this table."""
        return tuple(source.site for source in self.sources[self._found(table)])

    def of(self, table: str) -> tuple[Source, ...]:
        """The table at each of its sites."""
        return self.sources[self._found(table)]

    def relation(self, table: str) -> str:
        """What to write after FROM."""
        return self.names[self._found(table)]

    def oldest(self, table: str) -> int | None:
        """The time of the first row."""
        found = self.database.execute(f"SELECT min(__t) FROM {self.relation(table)}").fetchall()[0][0]
        return None if found is None else int(found)

    def newest(self, table: str, site: str) -> int | None:
        """The time of a site's last row."""
        query = f"SELECT max(__t) FROM {self.relation(table)} WHERE __site = ?"
        found = self.database.execute(query, [site]).fetchall()[0][0]
        return None if found is None else int(found)

    def _found(self, table: str) -> str:
        for name in self.sources:
            if name.casefold() == table.casefold():
                return name
        raise OptionError(f"no site of the configuration has a table {table}; it has {', '.join(self.sources)}")
