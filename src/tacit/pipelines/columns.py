"""Columns by name, as Spark matches them (case does not matter), with a suggestion when there is none."""

from __future__ import annotations

from difflib import get_close_matches

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from tacit.vocabulary.errors import DataError

__all__ = ["column", "resolve"]

_SHOWN = 12


def resolve(frame: DataFrame, name: str, *, role: str) -> str:
    """The frame's own spelling of the column ``name``; DataError names what it was wanted for and what is near."""
    wanted = name.strip().strip("`")
    if not wanted:
        raise DataError(f"the name of the {role} column is empty; the columns are {_shown(frame)}")
    if (alike := frame.columns.count(wanted)) > 1:
        raise DataError(f"{alike} columns are named {wanted}, and the {role} is taken from one; rename the others")
    if alike:
        return wanted
    found = [each for each in frame.columns if each.lower() == wanted.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(f"the {role} column {wanted} could be any of {', '.join(found)}; write one of them exactly")
    lowered = {each.lower(): each for each in frame.columns}
    near = get_close_matches(wanted.lower(), lowered, n=1)
    hint = f"did you mean {lowered[near[0]]}?" if near else f"the columns are {_shown(frame)}"
    raise DataError(f"there is no column named {wanted} to take the {role} from; {hint}")


def _shown(frame: DataFrame) -> str:
    return ", ".join(frame.columns[:_SHOWN]) + (", …" if len(frame.columns) > _SHOWN else "")


def column(name: str) -> Column:
    """The column of exactly this name, dots and all."""
    return sf.col("`" + name.replace("`", "``") + "`")
