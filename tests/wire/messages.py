"""Hypothesis strategies: any message that a correct process can send."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tacit.functions.tables import NORMED, NOTHING, convex_size
from tacit.functions.zone_rows import DOUBT, ENDLESS
from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
    Centres,
    Fit,
    Heartbeat,
    HeartbeatAnswer,
    Hello,
    Init,
    Leave,
    Message,
    NewEstimate,
    Reply,
    Report,
    Request,
    Rows,
    Snapshot,
)

sites = st.integers(0, 2**31)
numbers = st.integers(0, 2**63)
panes = st.integers(-(2**60), 2**60) | st.integers(-1, 200)
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def group_sets(draw):
    """Sorted group numbers: the single 0, a range, or scattered ones."""
    form = draw(st.sampled_from(["zero", "range", "scattered"]))
    if form == "zero":
        return np.zeros(1, dtype=np.int64)
    if form == "range":
        first, count = draw(st.integers(0, 20_000)), draw(st.integers(1, 6))
        return np.arange(first, first + count)
    return np.array(sorted(draw(st.sets(st.integers(0, 2**22), min_size=1, max_size=6))))


def tables(rows, columns, elements=finite):
    """A table of doubles."""
    cells = st.lists(elements, min_size=rows * columns, max_size=rows * columns)
    return cells.map(lambda values: np.array(values).reshape(rows, columns))


@st.composite
def rows_of(draw, groups=None, columns=None, weighted=None):
    """Rows with or without weights."""
    groups = draw(group_sets()) if groups is None else groups
    columns = draw(st.integers(1, 4)) if columns is None else columns
    weighted = draw(st.booleans()) if weighted is None else weighted
    weights = draw(tables(len(groups), 1, st.floats(0, 1e9)))[:, 0] if weighted else np.empty(0)
    return Rows(groups, draw(tables(len(groups), columns)), weights)


@st.composite
def tabled(draw, make, elements=finite):
    """A message whose last two fields are groups and a table."""
    groups = draw(group_sets())
    return make(groups, draw(tables(len(groups), draw(st.integers(1, 4)), elements)))


@st.composite
def zone_rows(draw, groups, columns):
    """Convex zones of some groups, as many numbers wide as the largest needs; or none."""
    codes = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, NOTHING, NORMED + 2]), min_size=groups, max_size=groups))
    if not any(codes):
        return np.empty((0, 0))
    rows = np.zeros((groups, max(convex_size(code, columns) for code in codes)))
    for row, code in zip(rows, codes, strict=True):
        row[0] = code
        if convex_size(code, columns) > 1:
            _fill_zone(draw, row[1 : convex_size(code, columns)], code, columns)
    return rows


def _fill_zone(draw, numbers, code, d):
    """Numbers that a zone may have: with and without corners, doubts and bends; bends are symmetric."""
    some = draw(st.floats(-1e9, 1e9)) + np.arange(len(numbers))
    corners = draw(st.sampled_from(["none", "mirrored", "both"]))
    high = np.full(d, ENDLESS) if corners == "none" else np.abs(some[:d]) + 1.0
    numbers[:d], numbers[d : 2 * d] = -high * (2.0 if corners == "both" else 1.0), high
    size = 1 + 2 * d + d * d
    for first in range(2 * d, 2 * d + code % NORMED * size, size):
        slope, bend = some[first + 1 : first + 1 + d], some[first + 1 + 2 * d : first + size].reshape(d, d)
        numbers[first], numbers[first + 1 : first + 1 + d] = some[first], slope
        numbers[first + 1 + d : first + 1 + 2 * d] = np.abs(slope) * draw(st.sampled_from([DOUBT, 1e-3]))
        numbers[first + 1 + 2 * d : first + size] = ((bend + bend.T) * draw(st.sampled_from([0.0, 0.5])) + 0.0).ravel()
    if code >= NORMED:
        numbers[-d * d :] = some[-d * d :]


@st.composite
def new_estimates(draw):
    """New estimates, of groups that have convex zones or balls."""
    groups, columns = draw(group_sets()), draw(st.integers(1, 4))
    estimates = draw(tables(len(groups), columns, finite | st.just(np.nan)))
    zones = draw(zone_rows(len(groups), columns))
    return NewEstimate(
        *draw(st.tuples(sites, numbers, panes)), 7, groups, estimates, zones, draw(st.sampled_from(Centres))
    )


@st.composite
def snapshots(draw):
    """A snapshot of either protocol."""
    groups, columns = np.arange(draw(st.integers(1, 4))), draw(st.integers(1, 3))
    weighted = draw(st.booleans())
    shape = (len(groups), columns)
    slacks = draw(st.just(np.zeros(shape)) | tables(*shape))
    others = draw(st.none() | st.lists(st.tuples(sites, rows_of(groups, columns, weighted)), min_size=1, max_size=3))
    estimates = draw(tables(*shape, finite | st.just(np.nan)))
    collected = draw(rows_of(groups, columns, weighted))
    head = draw(st.tuples(sites, numbers, panes, st.integers(1, 1000)))
    zones = draw(zone_rows(*shape))
    return Snapshot(*head, estimates, collected, slacks, None if others is None else tuple(others), zones)


@st.composite
def fits(draw):
    """A mixture of some parts."""
    parts, d = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    half = draw(tables(parts * d, d)).reshape(parts, d, d)
    below = np.tril(half)
    covariances = below + np.transpose(np.tril(half, -1), (0, 2, 1))
    return Fit(
        *draw(st.tuples(sites, numbers, panes)), draw(tables(parts, 1))[:, 0], draw(tables(parts, d)), covariances
    )


def any_message() -> st.SearchStrategy[Message]:
    """Any message."""
    head = st.tuples(sites, numbers, panes)
    return st.one_of(
        st.builds(Init, sites, panes, rows_of()),
        st.builds(Report, sites, numbers, panes, numbers, rows_of(), st.integers(0, 2**20)),
        st.builds(Request, sites, numbers, panes, group_sets()),
        st.builds(Reply, sites, numbers, panes, rows_of()),
        head.flatmap(lambda h: tabled(lambda g, t: AdjustSlack(*h, g, t))),
        new_estimates(),
        st.builds(Broadcast, sites, sites, numbers, panes, rows_of()),
        snapshots(),
        st.builds(Heartbeat, sites, numbers, panes, panes, numbers, st.integers(0, 9)),
        st.builds(HeartbeatAnswer, sites, panes, st.integers(0, 9)),
        st.builds(Hello, sites, numbers, panes, panes),
        st.builds(Leave, sites, numbers),
        fits(),
    )


def same(left, right) -> bool:
    """Are two messages, or parts of messages, equal to the bit (nan equals nan)?"""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.shape == right.shape and left.tobytes() == right.astype(left.dtype).tobytes()
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if hasattr(left, "__dataclass_fields__"):
        return all(same(getattr(left, name), getattr(right, name)) for name in left.__dataclass_fields__)
    return bool(left == right)
