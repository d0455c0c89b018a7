"""Hypothesis strategies: any control message that a correct process can send."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import strategies as st

from tacit.wire.control import (
    Beats,
    BeatsAnswer,
    Clock,
    Control,
    Counts,
    Install,
    Measure,
    Name,
    Numbers,
    Offer,
    Opening,
    Sample,
    TableOffer,
    Tallies,
    There,
    WatchSet,
    Welcome,
)
from tests.wire.messages import finite, numbers, panes, sites, tables

texts = st.text(max_size=20)
names = st.text(min_size=1, max_size=10)
seconds = st.floats(0, 1e9, exclude_min=True)
keys = st.lists(texts, min_size=1, max_size=5, unique=True).map(tuple)
columns = st.lists(st.tuples(names, texts), max_size=3).map(tuple)
offered = st.lists(
    st.builds(TableOffer, names, columns, st.booleans()), max_size=3, unique_by=lambda table: table.name
).map(tuple)


def vectors(elements=finite):
    """Some doubles."""
    return st.lists(elements, max_size=4).map(lambda values: np.array(values, dtype=np.float64))


@st.composite
def samples(draw):
    """Sampled rows, perhaps none, with or without centres."""
    chosen = sorted(draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)))
    rows, wide, at = len(chosen), draw(st.integers(0, 3)), draw(vectors())
    centres = draw(tables(rows, len(at), finite | st.just(np.nan))) if rows and len(at) else np.empty((rows, len(at)))
    values = draw(tables(rows, wide)) if rows and wide else np.empty((rows, wide))
    return Sample(np.array(chosen, dtype=np.int64), values, at, centres)


@st.composite
def columns_of(draw, kind, *columns):
    """A message of columns, one number per watch in each."""
    rows = draw(st.integers(0, 3))
    return kind(*(tuple(draw(st.lists(each, min_size=rows, max_size=rows))) for each in columns))


def any_control() -> st.SearchStrategy[Control]:
    """Any control message."""
    positive = st.floats(0, exclude_min=True, allow_infinity=False)
    totals = st.integers(0, 2**63 - 1)
    counts = st.builds(Counts, totals, totals, totals, st.none() | panes, totals)
    measures = st.builds(Measure, vectors(), vectors(positive))
    return st.one_of(
        st.builds(Opening, st.integers(0, 100), texts, names, texts, offered),
        st.builds(Welcome, sites, seconds, seconds, texts),
        st.builds(WatchSet, numbers, st.lists(numbers, max_size=5).map(tuple)),
        st.builds(Install, names, texts, texts, st.booleans(), st.none() | panes, st.none() | measures),
        st.builds(Offer, sites, st.none() | panes, panes, texts, st.none() | samples()),
        st.builds(Name, keys),
        st.builds(There, panes, keys),
        st.builds(Numbers, st.integers(0, 1 << 23), keys),
        counts,
        st.builds(Clock, panes),
        columns_of(partial(Beats, 3), numbers, numbers, panes, panes, numbers, st.integers(0, 9)),
        columns_of(partial(BeatsAnswer, 3), numbers, panes, panes, st.integers(0, 9)),
        columns_of(Tallies, numbers, counts),
    )
