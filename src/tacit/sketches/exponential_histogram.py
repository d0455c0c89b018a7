"""A count over a sliding window in little space: the exponential histogram of Datar, Gionis, Indyk and Motwani.

Implements section 3 of the seed's ECM paper, as corrected in ALGORITHMS.md section 4. Arrivals are kept in *buckets*,
of which only the end (the time of the newest arrival) and the size (a power of two) are known. With k = ceil(1 /
epsilon), and bucket 1 the newest, there are always k or k + 1 buckets of size 1, and ceil(k / 2) or one more of each
larger size but the largest; which of both follows from the number of arrivals.

**Invariant.** C_j <= 2 epsilon times the sum of the newer buckets' sizes for every bucket of size C_j >= 2. Proof: let
C_j be 2^m. Newer are at least k buckets of size 1 and ceil(k / 2) of each of the sizes 2 ... 2^(m - 1), which together
hold at least k + (k / 2)(2^m - 2) = k 2^(m - 1) arrivals, and 2 epsilon k 2^(m - 1) >= 2^m as epsilon k >= 1.

**Guarantee.** Let a range begin after ``start``. Buckets that end after it and are not the oldest of these lie in it
wholly: S arrivals. The oldest, of size C, has 1 to C arrivals in it. So the truth x is between S + 1 and S + C, the
estimate is the middle, and errs by at most (C - 1) / 2 <= epsilon S <= epsilon x. Buckets of one arrival are exact; so
is a range that begins before the first arrival of all.

**Merging** (Theorem 4 of the seed, corrected): half of a bucket's arrivals are taken to have come at its end, half at
its start, which is the end of the next *older* bucket; those of a bucket of one at its end. A range gets S + C / 2 of
them, which errs by at most C / 2 <= epsilon x; the merged histogram adds its own epsilon of that. After h levels of
merging the error is at most (1 + epsilon)^(h + 1) - 1.

**Where merged buckets end.** What is merged comes in lumps. Between the newest arrival of a bucket, at t, and the
oldest of the next newer one, at u, there is often a long time in which nothing is taken to have come. A range that
begins there has the S newer arrivals. If buckets ended at t, it would get S - D / 2, where D is the size of the newer
bucket: too little each time, and with every level again. So a merged bucket of C >= 2 ends at t + (u - t) D / (C + D):
ranges that begin before get S + C / 2, the others S - D / 2, on average S. (Where D is 1 what is newer is exact, and t
is right. Of whole numbers the one below or above is taken, in turns with t.)

All arrivals of a bucket are still at or before its end, and all newer ones at or after it: that is all that the
guarantee needs. Let x arrivals of a merge be in a range, and C be the size of the oldest bucket that ends after its
start. Newer ones are in it, older ones are not: S <= x <= S + C. The estimate and the next level's half of the bucket
are S + C / 2, and err by at most C / 2 <= epsilon S <= epsilon x. Only the lower bound is S where it was S + 1, since
the bucket may end after the start and have nothing there. It stays so when arrivals follow: of two buckets that become
one the later end is kept.
"""

from __future__ import annotations

from typing import ClassVar

from tacit.sketches.cells import Cells
from tacit.sketches.histogram_cells import HistogramCells
from tacit.sketches.window_counter import WindowCounter

__all__ = ["ExponentialHistogram"]


class ExponentialHistogram(WindowCounter):
    """Counts the arrivals of any range that ends now, with a relative error of at most ``error``; certain, not likely.

    Space grows with log(arrivals in the window) / epsilon. Answers depend on the arrivals alone: not on how they were
    handed over, and not on whether the counter was written to bytes in between.

    >>> from tacit.sketches.window import SlidingWindow
    >>> hour = ExponentialHistogram(window=SlidingWindow(3600), epsilon=0.1)
    >>> hour.update_many(range(10_000))
    >>> hour.estimate(), hour.lower_bound(), hour.upper_bound()
    (3600.5, 3345.0, 3856.0)
    >>> hour.estimate(5), hour.estimate(60, now=10_030)
    (5.0, 30.5)

    In a window by rows each row counts or does not:

    >>> last = ExponentialHistogram(window=SlidingWindow(4, by="rows"), epsilon=0.1)
    >>> last.update_many(counts=[True, True, False, True, False])
    >>> last.estimate()
    2.0
    """

    KIND: ClassVar[int] = 4
    CELLS: ClassVar[type[Cells]] = HistogramCells
