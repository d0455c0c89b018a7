"""Whether times never go back: asked of every block of arrivals, so in few steps."""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf

__all__ = ["survey"]


@leaf()
def survey(times):  # type: ignore[no-untyped-def]
    """The bits of all steps from one time to the next (negative when one goes back), and those of all magnitudes."""
    steps = magnitudes = np.int64(0)
    before = times[0]
    for i in range(np.uint64(len(times))):
        time = times[i]
        steps |= time - before
        magnitudes |= time ^ (time >> 63)
        before = time
    return steps, magnitudes
