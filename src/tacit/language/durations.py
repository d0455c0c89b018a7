"""Lengths of time in the language's own words, where no sentence stands around them: ``10 seconds``, ``1.5 hours``."""

from __future__ import annotations

import re
from decimal import Decimal

from tacit.language.places import closest
from tacit.language.windows import LARGEST, UNFIXED_DAYS, UNITS_US
from tacit.vocabulary.errors import OptionError

__all__ = ["duration_us"]

_SHAPE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", re.ASCII)


def duration_us(text: str) -> int:
    """Microseconds; 0 is a length too.

    >>> duration_us("10 seconds"), duration_us("1.5 HOURS"), duration_us("0 seconds")
    (10000000, 5400000000, 0)
    >>> duration_us("10 secs")
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: 10 secs is not a length of time; did you mean 10 seconds?
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise OptionError(f"{text} is not a length of time; write a number and a unit, such as 10 seconds")
    number, word = Decimal(found[1]), found[2].upper()
    unit = word if word in UNITS_US else word[:-1] if word.endswith("S") else word
    if unit in UNFIXED_DAYS:
        raise OptionError(f"a {unit.lower()} has no fixed length; write {number * UNFIXED_DAYS[unit]} days")
    if unit not in UNITS_US:
        meant = closest(word, [f"{name}S" for name in UNITS_US], cutoff=0.4)
        hint = f"did you mean {number} {meant.lower()}?" if meant else "write a unit such as seconds, minutes or hours"
        raise OptionError(f"{text} is not a length of time; {hint}")
    length = number * UNITS_US[unit]
    if length != length.to_integral_value() or length > LARGEST:
        raise OptionError(f"{text} is too {'long' if length > LARGEST else 'fine; a microsecond is the smallest'}")
    return int(length)
