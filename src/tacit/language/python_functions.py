"""Python functions that a watch may name over its aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tacit.vocabulary.errors import OptionError

__all__ = ["PythonFunction"]


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of arrays of argument values, with what is known of it.

    ``lipschitz`` bounds how fast it changes, in the Euclidean norm of its arguments. Without one no silence can be
    proved, so ``unsound=True`` must be said, and every answer that rests on the function then says so.

    >>> PythonFunction(lambda x, y: x * y)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: a Python function needs lipschitz=… (a proved bound) or unsound=True
    """

    function: Callable[..., object]
    arity: int | None = None
    lipschitz: float | None = None
    unsound: bool = False

    def __post_init__(self) -> None:
        if self.lipschitz is None and not self.unsound:
            raise OptionError("a Python function needs lipschitz=… (a proved bound) or unsound=True")
        if self.lipschitz is not None and not (math.isfinite(self.lipschitz) and self.lipschitz >= 0):
            raise OptionError(f"lipschitz={self.lipschitz} is not a bound; give a number that is 0 or more")
        if self.arity is not None and self.arity < 1:
            raise OptionError(f"arity={self.arity}: a Python function takes at least one argument")
