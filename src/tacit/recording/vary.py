"""What a sweep varies: ``name=v1,v2,…`` or ``name=first:last:count``, and how each value changes a replay.

threshold, margin    of a watch with one comparison         within      of a watch that tracks
window               rows (500) or a duration (1h)          sites       the first n of the data's sites
groups               that many, drawn with the seed         protocol, policy, step, seed

Another window keeps the watch's step (EVERY), so that one thing varies. A default step that is longer than a window
gives way to that window's own default; one that was written is never changed, and such a window is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions.goals import Comparison, Top, Track
from tacit.language.plan import Every, WatchPlan, Window
from tacit.language.windows import CALENDAR_US, default_step
from tacit.recording.settings import Settings
from tacit.vocabulary.errors import OptionError

__all__ = ["PARAMETERS", "Length", "Value", "Variation", "changed_plan", "changed_settings", "read_variation"]

_UNITS_US = {
    "us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000,
    "w": 604_800_000_000,
}  # fmt: skip
_UNIT_NAMES = {
    "second": "s", "sec": "s", "m": "min", "minute": "min", "hour": "h", "day": "d", "week": "w", "millisecond": "ms",
}  # fmt: skip
_LENGTH = re.compile(r"^(\d+(?:\.\d+)?)\s*([a-z]*)$")


@dataclass(frozen=True, slots=True, order=True)
class Length:
    """A window's length: rows or microseconds, and how it was written."""

    amount: int
    rows: bool
    text: str

    def __str__(self) -> str:
        return self.text


Value = float | int | str | Length


@dataclass(frozen=True, slots=True)
class Variation:
    """One parameter and the values it takes."""

    name: str
    values: tuple[Value, ...]

    @property
    def is_number(self) -> bool:
        """Can the values stand on one axis? Names cannot, nor windows of rows beside windows of time."""
        kinds = {value.rows for value in self.values if isinstance(value, Length)}
        return len(kinds) < 2 and not any(isinstance(value, str) for value in self.values)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise OptionError(f"'{text}' is not a number") from None
    if not math.isfinite(number):
        raise OptionError(f"'{text}' is not a finite number")
    return number


def _count(text: str) -> int:
    number = _number(text)
    if number != int(number) or number < 0:
        raise OptionError(f"'{text}' is not a whole number")
    return int(number)


def _length(text: str) -> Length:
    found = _LENGTH.match(text.strip().lower())
    if found is None:
        raise OptionError(f"'{text}' is not a window; write rows (500) or a duration (90s, 15min, 1h, 7d)")
    number, unit = float(found[1]), found[2]
    if unit in ("", "row", "rows"):
        amount, rows = number, True
    else:
        unit = unit if unit in _UNITS_US else _UNIT_NAMES.get(unit.removesuffix("s"), unit)
        if unit not in _UNITS_US:
            raise OptionError(f"'{text}' is not a window; the units are us, ms, s, min, h, d and w")
        amount, rows = number * _UNITS_US[unit], False
    if amount < 1 or amount != int(amount):
        raise OptionError(f"a window of {text} has no length" if amount < 1 else f"'{text}' is not a whole window")
    return Length(int(amount), rows, text.strip())


PARAMETERS: dict[str, Callable[[str], Value]] = {
    "threshold": _number, "margin": _number, "within": _number, "window": _length, "sites": _count, "groups": _count,
    "protocol": str.strip, "policy": str.strip, "step": str.strip, "seed": _count,
}  # fmt: skip


def read_variation(text: str) -> Variation:
    """Read one ``--vary``.

    >>> read_variation("threshold=0.1:0.5:3").values
    (0.1, 0.3, 0.5)
    >>> [str(length) for length in read_variation("window=100,1h").values]
    ['100', '1h']
    """
    name, equals, listed = (part.strip() for part in text.partition("="))
    if not equals or not listed:
        raise OptionError(f"--vary {text} has no values; write {name or 'threshold'}=v1,v2,… or first:last:count")
    if name not in PARAMETERS:
        raise OptionError(f"--vary {name}: that cannot be varied; choose {', '.join(PARAMETERS)}")
    read = PARAMETERS[name]
    try:
        parts = [part for part in listed.split(",") if part.strip()]
        values = _range(read, listed) if ":" in listed else tuple(read(part) for part in parts)
    except OptionError as error:
        raise OptionError(f"--vary {name}: {error}") from None
    return Variation(name, tuple(dict.fromkeys(values)))


def _range(read: Callable[[str], Value], listed: str) -> tuple[Value, ...]:
    parts = [part.strip() for part in listed.split(":")]
    if len(parts) != 3:
        raise OptionError(f"'{listed}' is not first:last:count")
    first, last, count = read(parts[0]), read(parts[1]), _count(parts[2])
    if count < 1 or count > 100_000:
        raise OptionError(f"{count} values cannot be run; count is at least 1")
    if isinstance(first, str) or isinstance(last, str):
        raise OptionError(f"'{listed}': names have no range; list them with commas")
    if isinstance(first, Length) and isinstance(last, Length):
        if first.rows != last.rows:
            raise OptionError(f"'{listed}' goes from rows to time")
        amounts = np.rint(np.linspace(first.amount, last.amount, count)).astype(int).tolist()
        return tuple(Length(amount, first.rows, _length_text(amount, first.rows)) for amount in amounts)
    assert isinstance(first, (int, float))
    assert isinstance(last, (int, float))
    numbers = [float(f"{number:.12g}") for number in np.linspace(first, last, count)]
    return tuple(round(number) for number in numbers) if isinstance(first, int) else tuple(numbers)


def _length_text(amount: int, rows: bool) -> str:
    if rows:
        return str(amount)
    for unit, size in sorted(_UNITS_US.items(), key=lambda pair: -pair[1]):
        if amount % size == 0:
            return f"{amount // size}{unit}"
    return f"{amount}us"


def changed_plan(plan: WatchPlan, name: str, value: Value) -> WatchPlan:
    """The plan with this parameter set; OptionError where the watch has no such parameter."""
    if name == "window":
        assert isinstance(value, Length)
        return replace(plan, window=_resized(plan.name, plan.window, value))
    goal = plan.goal
    if name == "within":
        assert isinstance(value, float)
        if isinstance(goal, Top):
            if value < 0:
                raise OptionError(f"--vary within: {value:g} is below 0")
            return replace(plan, goal=replace(goal, within=value))
        if not isinstance(goal, Track):
            raise OptionError(f"--vary within: {plan.name} tracks nothing; vary threshold or margin")
        if value <= 0 or (goal.percent and value >= 100):
            raise OptionError(f"--vary within: {value:g} is not {'between 0 and 100' if goal.percent else 'above 0'}")
        return replace(plan, goal=replace(goal, within=value))
    if name in ("threshold", "margin"):
        if isinstance(goal, Track | Top):
            raise OptionError(f"--vary {name}: {plan.name} has none; vary within")
        if not isinstance(goal, Comparison):
            raise OptionError(f"--vary {name}: {plan.name} has several comparisons; a sweep varies the {name} of one")
        assert isinstance(value, float)
        if name == "margin" and value < 0:
            raise OptionError(f"--vary margin: {value:g} is negative")
        changed = replace(goal, threshold=value) if name == "threshold" else replace(goal, margin=value)
        return replace(plan, goal=changed)
    return plan


def _resized(name: str, window: Window, length: Length) -> Window:
    """Another length with the same step; the default of that length where a default step does not fit into it."""
    kind = "rows" if length.rows else "time"
    rows, duration_us = (length.amount, None) if length.rows else (None, length.amount)
    every = window.every
    if not _fits(every, length):
        if every != _default(window):
            raise OptionError(
                f"--vary window: {length} has no room for the step of {name}, EVERY {_step_text(every)}; "
                "choose longer windows, or leave EVERY out of the watch"
            )
        every = default_step(kind, length.amount)
    return Window(kind, every, rows, duration_us)


def _fits(every: Every, length: Length) -> bool:
    if every.rows is not None:
        return length.rows and every.rows <= length.amount
    return length.rows or (every.duration_us or 0) <= length.amount


def _default(window: Window) -> Every:
    lengths = {"rows": window.rows, "time": window.duration_us, "since": CALENDAR_US.get(window.unit or "")}
    return default_step(window.kind, lengths.get(window.kind))


def _step_text(every: Every) -> str:
    if every.rows is not None:
        return f"{every.rows} ROWS"
    return _length_text(every.duration_us or 0, rows=False)


def changed_settings(settings: Settings, name: str, value: Value) -> Settings:
    """The settings with this parameter set."""
    match name, value:
        case "protocol", str():
            return replace(settings, protocol=value).checked()
        case "policy", str():
            return replace(settings, policy=value).checked()
        case "step", str():
            return replace(settings, step=value).checked()
        case "seed", int():
            return replace(settings, seed=value)
    return settings
