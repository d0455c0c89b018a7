"""A count over a sliding window in little space: the deterministic wave of Gibbons and Tirthapura.

Implements section 4.2 of the seed's ECM paper. Arrivals are numbered: the rank of the newest is their number T. Of some
ranks the time is *known*: of all multiples of 2^l among the last M 2^(l + 1) ranks, for each level l = 0, 1, 2, ...; M
is a power of two, and at least ceil(1 / (2 epsilon)) + 1.

**Guarantee.** Let x arrivals be in a range: the ranks above r = T - x. If p <= r < q are the known ranks around (rank 0
came before all), then T - q < x <= T - p, and the middle of what is possible errs by at most (q - p - 1) / 2. Let l be
the least level with x <= (2 M - 1) 2^l. The multiple of 2^l at or below r is above r - 2^l >= T - M 2^(l + 1), so it is
known, and so is the next: q - p <= 2^l. For l = 0 the answer is exact. Else x > (2 M - 1) 2^(l - 1), so the error is
less than 2^(l - 1) < x / (2 M - 1) <= epsilon x.

How many levels there are follows from what is in the window, not from how long the stream is: the top level, which
holds all multiples of its power, is raised before it would forget one that has not expired.

**Merging.** What lies between two known ranks p < q is a bucket as in ``exponential_histogram``. Its size is a power of
two; if it is 2^l >= 2, then q - 2^(l - 1) is not known, so it is at most T - M 2^l. So newer than the bucket are T - q
>= (M - 1/2) 2^l >= 2^(l - 1) / epsilon arrivals: its half is at most epsilon times these. That is the invariant of
exponential histograms, and waves are merged in the same way, with the same ends and the same error.
"""

from __future__ import annotations

from typing import ClassVar

from tacit.sketches.cells import Cells
from tacit.sketches.wave_cells import WaveCells
from tacit.sketches.window_counter import WindowCounter

__all__ = ["DeterministicWave"]


class DeterministicWave(WindowCounter):
    """Counts the arrivals of any range that ends now, with a relative error of at most ``error``; certain, not likely.

    Space grows with log(arrivals in the window) / epsilon, time for an arrival does not grow. Answers depend on the
    arrivals alone: not on how they were handed over, and not on whether the counter was written to bytes in between.

    >>> from tacit.sketches.window import SlidingWindow
    >>> hour = DeterministicWave(window=SlidingWindow(3600), epsilon=0.1)
    >>> hour.update_many(range(10_000))
    >>> hour.estimate(), hour.lower_bound(), hour.upper_bound()
    (3472.5, 3345.0, 3600.0)
    >>> hour.estimate(5), hour.estimate(60, now=10_030)
    (5.0, 29.5)
    """

    KIND: ClassVar[int] = 5
    CELLS: ClassVar[type[Cells]] = WaveCells
