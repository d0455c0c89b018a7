"""How kernels are compiled.

Division by 0 gives an infinity or nan, as in NumPy, and no exception: kernels then need no error paths, which halves
the time to compile them. Small functions are left to LLVM to inline: doing it earlier only makes compilation slower.
Loops are not turned into vector instructions: nearly all of ours run over the few components of a vector, and what
surrounds such a loop when it is vectorised costs more than the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numba
from numba.core import config

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

__all__ = ["kernel", "leaf"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(**options: Any) -> Callable[[F], Dispatcher[F]]:
    """Compile the function when it is first called, and keep the machine code."""
    njit: Any = numba.njit
    settings: Any = config
    options = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": True} | options

    def decorate(function: F) -> Dispatcher[F]:
        dispatcher: Any = njit(function, **options)
        compile_it = dispatcher.compile

        def compile_without_vectors(signature: object) -> object:
            before, settings.LOOP_VECTORIZE = settings.LOOP_VECTORIZE, 0
            try:
                return compile_it(signature)
            finally:
                settings.LOOP_VECTORIZE = before

        dispatcher.compile = compile_without_vectors
        kept: Dispatcher[F] = dispatcher
        return kept

    return decorate


leaf = partial(kernel, _nrt=False)
"""For functions that make no array: references are not counted, which in them would cost more than the work."""
