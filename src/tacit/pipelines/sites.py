"""Which site a row belongs to: ``COLUMN``, ``hash:COLUMN:N`` or ``round_robin:N``.

- ``COLUMN``: one site per distinct value, named by its text, in the order of the names.
- ``hash:COLUMN:N``: ``pmod(xxhash64(value), N)``, whole numbers hashed as bigint and fractions as double so that every
  file format gives the same sites.
- ``round_robin:N``: the row's place in the total order (before WHERE) modulo N. Spark writes rows in that order and
  whoever loads them counts, in NumPy; a window over one partition would do the same slowly.

The sites of the last two are named "0" … "N-1" and all exist, also those without rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from tacit.pipelines.columns import column, resolve
from tacit.pipelines.order import canonical
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["SITES_MAX", "SiteRule", "parse_site", "site_key", "site_names"]

SITES_MAX = 10_000
_FORMS = "write COLUMN, hash:COLUMN:N or round_robin:N"


@dataclass(frozen=True, slots=True)
class SiteRule:
    """How rows are given to sites; ``count`` is None where the data decides it."""

    kind: str  # "column", "hash", "round_robin"
    column: str | None = None
    count: int | None = None


def parse_site(text: str) -> SiteRule:
    """Read a site assignment.

    >>> parse_site("hash:client:12")
    SiteRule(kind='hash', column='client', count=12)
    >>> parse_site("round_robin:1")
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: the site assignment 'round_robin:1' makes 1 site; a watch needs at least 2
    """
    kind, _, rest = text.strip().partition(":")
    if kind not in ("hash", "round_robin"):
        if not text.strip():
            raise OptionError(f"the site assignment is empty; {_FORMS}")
        return SiteRule("column", text.strip())
    name, _, number = rest.rpartition(":") if kind == "hash" else ("", "", rest)
    if kind == "hash" and not name:
        raise OptionError(f"the site assignment '{text}' needs a column and a number of sites; {_FORMS}")
    try:
        count = int(number)
    except ValueError:
        raise OptionError(f"the site assignment '{text}' needs a whole number of sites; {_FORMS}") from None
    if count < 2:
        raise OptionError(
            f"the site assignment '{text}' makes {count} site{'s' * (count != 1)}; a watch needs at least 2"
        )
    if count > SITES_MAX:
        raise OptionError(f"the site assignment '{text}' makes {count:,} sites; at most {SITES_MAX:,} are allowed")
    return SiteRule(kind, name or None, count)


def site_key(frame: DataFrame, rule: SiteRule) -> Column:
    """What tells sites apart: a name (column), an index (hash), or 0 (round robin); NULL where a row has no site."""
    if rule.column is None:
        return sf.lit(0)
    name = resolve(frame, rule.column, role="site")
    if rule.kind == "hash":
        index = sf.pmod(sf.xxhash64(canonical(frame.schema[name])), sf.lit(rule.count))
        return sf.when(column(name).isNotNull(), index.cast("int"))
    return column(name).cast("string")


def site_names(rule: SiteRule, keys: list[str]) -> tuple[str, ...]:
    """The names of the sites, given the distinct keys of the rows."""
    if rule.count is not None:
        return tuple(str(index) for index in range(rule.count))
    if len(keys) > SITES_MAX:
        raise DataError(
            f"the site column {rule.column} has more than {SITES_MAX:,} values; group them with hash:{rule.column}:N"
        )
    if len(keys) == 1:
        raise DataError(
            f"the site column {rule.column} has one value, '{keys[0]}'; a watch needs at least 2 sites, "
            "and round_robin:N makes them"
        )
    return tuple(sorted(keys))
