"""The tree of errors. Every error says whose fault it is, where, and what to do next.

    TacitError
    ├── InputError                the user's input is wrong (exit code 2)
    │   ├── SentenceError         the SQL: carries the line and the column
    │   ├── DataError             the data: a missing column, a wrong type, an empty file
    │   ├── OptionError           an option of a command or of a call
    │   └── MergeError            two summaries that cannot become one
    │       └── LineageMismatch   they differ in shape or seed
    ├── MachineError         the machine lacks something (Java, make, a supported Python)
    ├── ProtocolError             a message or a state that no correct peer produces
    └── ZoneError                 no zone of the wanted kind exists here; whoever asked uses the ball instead

>>> raise SentenceError("there is no column named so3", line=2, column=14, hint="did you mean so2?")
Traceback (most recent call last):
    ...
tacit.vocabulary.errors.SentenceError: line 2, column 14: there is no column named so3; did you mean so2?
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "InputError",
    "LineageMismatch",
    "MachineError",
    "MergeError",
    "OptionError",
    "ProtocolError",
    "SentenceError",
    "TacitError",
    "ZoneError",
]


class TacitError(Exception):
    """The root of every error that tacit raises on purpose."""

    exit_code = 1


class InputError(TacitError):
    """The user's input is wrong; nothing was changed."""

    exit_code = 2


class SentenceError(InputError):
    """The SQL sentence is wrong at a line and column (both counted from 1)."""

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        self.line, self.column, self.hint = line, column, hint
        place = f"line {line}, column {column}: " if line is not None and column is not None else ""
        super().__init__(place + message + (f"; {hint}" if hint else ""))


class DataError(InputError):
    """The data cannot be read as the sentence needs it."""


class OptionError(InputError):
    """An option has a value that cannot work."""


class MergeError(InputError):
    """Two summaries cannot become one: what they keep does not say what their union would need."""


class LineageMismatch(MergeError):  # noqa: N818 (the name that the house style gives it)
    """Two summaries differ in shape or seed, so that their cells mean different keys."""


class MachineError(TacitError):
    """The machine lacks something; the message says how to get it."""


class ProtocolError(TacitError):
    """A message or a state that no correct peer produces."""


class ZoneError(TacitError):
    """No zone of the wanted kind exists here. Nothing is lost: the ball method needs no zone."""
