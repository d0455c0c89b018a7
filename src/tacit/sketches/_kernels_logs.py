"""What cells hold as lists of (time, how many), newest first, one list per cell: how they are split and merged.

All lists stand one after the other; those of a cell are at ``offsets[cell]:offsets[cell + 1]``.
"""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf
from tacit.sketches._kernels_append import LONG_AGO

__all__ = ["between_ends", "halve", "live_most", "merge_lists", "oldest_of", "times_from_gaps", "times_to_gaps"]


@leaf()
def halve(offsets, times, sizes, starts, horizon, new_offsets, new_times, new_sizes):  # type: ignore[no-untyped-def]
    """Buckets as arrivals: half of each at its end, half at its start, which is the end of the next older one.

    A bucket of one is at its end. The oldest starts at ``starts``; when that has expired, its half is left out.
    """
    made = 0
    for cell in range(len(starts)):
        new_offsets[cell] = made
        carried = np.int64(0)
        lo, hi = offsets[cell], offsets[cell + 1]
        for j in range(lo, hi):
            early = sizes[j] // 2
            new_times[made], new_sizes[made] = times[j], carried + sizes[j] - early
            made += 1
            carried = early
        if carried > 0 and starts[cell] > horizon:
            new_times[made], new_sizes[made] = starts[cell], carried
            made += 1
    new_offsets[len(starts)] = made


@leaf()
def between_ends(time, following, size, newer):  # type: ignore[no-untyped-def]
    """Where a merged bucket of this size ends: its newest arrival came at ``time``, the next one at ``following``.

    ``newer`` is the size of the bucket that the next one is in; ``exponential_histogram`` says why it ends there.
    """
    if newer == 1:
        return time
    parts = 1 + size // newer
    return time + (following - time + time % parts) // parts


@leaf()
def merge_lists(  # type: ignore[no-untyped-def]
    one_offsets, one_times, one_sizes, two_offsets, two_times, two_sizes, offsets, times, sizes
):
    """Two lists per cell become one, newest first; what came at the same time is put together."""
    made = 0
    for cell in range(len(one_offsets) - 1):
        offsets[cell] = made
        i, last_i = one_offsets[cell], one_offsets[cell + 1]
        j, last_j = two_offsets[cell], two_offsets[cell + 1]
        while i < last_i or j < last_j:
            if j == last_j or (i < last_i and one_times[i] >= two_times[j]):
                time, size = one_times[i], one_sizes[i]
                i += 1
            else:
                time, size = two_times[j], two_sizes[j]
                j += 1
            if made > offsets[cell] and times[made - 1] == time:
                sizes[made - 1] += size
            else:
                times[made], sizes[made] = time, size
                made += 1
    offsets[len(one_offsets) - 1] = made


@leaf()
def live_most(offsets, sizes, totals):  # type: ignore[no-untyped-def]
    """The sum of each list into ``totals``; returns the largest of them."""
    most = np.int64(0)
    for cell in range(len(totals)):
        total = np.int64(0)
        for j in range(offsets[cell], offsets[cell + 1]):
            total += sizes[j]
        totals[cell] = total
        most = max(most, total)
    return most


@leaf()
def oldest_of(offsets, times, oldest):  # type: ignore[no-untyped-def]
    """The last time of each list; long ago when it is empty."""
    for cell in range(len(oldest)):
        last = offsets[cell + 1] - 1
        oldest[cell] = times[last] if last >= offsets[cell] else LONG_AGO


@leaf()
def times_to_gaps(offsets, times, now, gaps):  # type: ignore[no-untyped-def]
    """Each time as how long before the one before it in its list it was; the newest as how long before now."""
    for cell in range(len(offsets) - 1):
        before = np.int64(now)
        for j in range(offsets[cell], offsets[cell + 1]):
            gaps[j] = np.uint64(before - times[j])
            before = times[j]


@leaf()
def times_from_gaps(offsets, gaps, now, horizon, times):  # type: ignore[no-untyped-def]
    """The times again; -1 when one would have expired, else 0."""
    for cell in range(len(offsets) - 1):
        before = np.int64(now)
        for j in range(offsets[cell], offsets[cell + 1]):
            if gaps[j] >= np.uint64(before - horizon):
                return -1
            before -= np.int64(gaps[j])
            times[j] = before
    return 0
