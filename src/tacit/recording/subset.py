"""Smaller recordings from one prepared recording: the first n sites or rows, or some of the groups.

Sweeps over the number of sites and of groups use them, so that data is prepared once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.recording.stream import Recording
from tacit.vocabulary import BoolArray, IntArray
from tacit.vocabulary.errors import OptionError

__all__ = ["draw_groups", "first_rows", "first_sites", "take_groups"]


def first_sites(recording: Recording, count: int) -> Recording:
    """Only the first ``count`` sites, with the rows they hold.

    >>> small = Recording.from_arrays(t=[0, 1, 2, 3], site=[0, 1, 2, 1], present=[[1.0], [2.0], [3.0], [4.0]])
    >>> first_sites(small, 2).present.ravel().tolist()
    [1.0, 2.0, 4.0]
    """
    if not 2 <= count <= len(recording.sites):
        held = len(recording.sites)
        raise OptionError(f"cannot take {count} sites: the data has {held}, and a watch needs at least 2")
    if count == len(recording.sites):
        return recording
    smaller = _rows(recording, recording.site < count)
    return replace(smaller, sites=recording.sites[:count])


def draw_groups(recording: Recording, count: int, seed: int) -> Recording:
    """``count`` groups drawn with a seed; a larger draw of the same seed contains a smaller one.

    With one group per row the rows of other groups go; with one group per member every row stays, as it counts in all.
    """
    if recording.groups is None:
        raise OptionError("the watch has no groups, so their number cannot vary")
    if not 1 <= count <= len(recording.groups):
        raise OptionError(f"cannot draw {count} groups: the data has {len(recording.groups):,}")
    return take_groups(recording, np.random.default_rng(seed).permutation(len(recording.groups))[:count].tolist())


def take_groups(recording: Recording, wanted: Sequence[int]) -> Recording:
    """Only these groups (indices), in their old order.

    >>> small = Recording.from_arrays(t=[0, 1], site=[0, 1], present=[[1.0], [2.0]], group=[0, 1], groups=["a", "b"])
    >>> take_groups(small, [1]).groups, len(take_groups(small, [1]))
    (('b',), 1)
    """
    if recording.groups is None:
        raise OptionError("the watch has no groups to choose from")
    chosen = np.unique(np.asarray(wanted, dtype=np.int64))
    count = len(chosen)
    number = np.full(len(recording.groups), -1, dtype=np.int32)
    number[chosen] = np.arange(count, dtype=np.int32)
    names = tuple(recording.groups[g] for g in chosen.tolist())
    if recording.group is not None:
        smaller = _rows(recording, number[recording.group] >= 0)
        assert smaller.group is not None
        return replace(smaller, group=number[smaller.group], groups=names)
    assert recording.member is not None
    assert recording.member_ptr is not None
    kept = number[recording.member] >= 0
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return replace(
        recording, member=number[recording.member[kept]], member_ptr=before[recording.member_ptr], groups=names
    )


def first_rows(recording: Recording, count: int) -> Recording:
    """Only the first ``count`` events.

    >>> small = Recording.from_arrays(t=[0, 1, 2], site=[0, 1, 0], present=[[1.0], [2.0], [3.0]])
    >>> len(first_rows(small, 2))
    2
    """
    return _rows(recording, np.arange(len(recording.t)) < count)


def _rows(recording: Recording, kept: BoolArray) -> Recording:
    """The rows that are kept, sites and groups numbered as before."""
    rows = np.flatnonzero(kept)
    pointer, member = _members(recording, rows)
    return replace(
        recording,
        t=recording.t[rows],
        site=recording.site[rows],
        present=recording.present[rows],
        absent=None if recording.absent is None else recording.absent[rows],
        group=None if recording.group is None else recording.group[rows],
        member_ptr=pointer,
        member=member,
        rows=len(rows),
        kept=len(rows),
    )


def _members(recording: Recording, rows: IntArray) -> tuple[IntArray | None, np.ndarray | None]:
    if recording.member_ptr is None or recording.member is None:
        return None, None
    lengths = np.diff(recording.member_ptr)[rows]
    pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    within = np.arange(pointer[-1]) - np.repeat(pointer[:-1], lengths)
    return pointer, recording.member[np.repeat(recording.member_ptr[:-1][rows], lengths) + within]
