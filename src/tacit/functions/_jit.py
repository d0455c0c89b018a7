"""How the kernels of this room are compiled.

Division by 0 gives an infinity or nan, as in NumPy, and no exception: kernels then need no error paths, which halves
the time to compile them. Small functions are left to LLVM to inline: doing it earlier only makes compilation slower.
"""

from __future__ import annotations

from functools import partial

from numba import njit

__all__ = ["kernel"]

kernel = partial(njit, cache=True, nogil=True, error_model="numpy")
