"""How far the panes of a recording are closed: near what the watches have claimed, and never back."""

from __future__ import annotations

from types import SimpleNamespace

import hypothesis.strategies as st
from hypothesis import given

from tacit.runtime.pacing import AHEAD, paced

SECOND = 1_000_000


def data(first: int | None, closed: int | None, begin: int | None = None, quiet: int | None = None) -> SimpleNamespace:
    keeper = SimpleNamespace(first=first, closed=closed, begin=first if begin is None else begin, pane_us=SECOND)
    return SimpleNamespace(keeper=keeper, quiet_through=quiet)


def claimant(silent: int, final: int, version: int = 1, oldest: int = -1) -> SimpleNamespace:
    return SimpleNamespace(silent=silent, final=final, version=version, oldest=oldest)


@given(
    first=st.integers(-1000, 1000),
    more=st.none() | st.integers(0, 5000),
    ahead=st.integers(0, 20_000),
    claims=st.lists(
        st.tuples(st.none() | st.tuples(st.integers(-1, 6000), st.integers(0, 6000)), st.integers(1, 7)), max_size=3
    ),
)
def test_it_is_near_the_slowest_claim(
    first: int, more: int | None, ahead: int, claims: list[tuple[tuple[int, int] | None, int]]
) -> None:
    """Of watches whose panes are one or several of those that are closed: whole ones of theirs are held back."""
    closed = None if more is None else first + more
    reached = (first if closed is None else closed) + ahead
    machines = [
        (None if claim is None else claimant(first // each + claim[0], first // each + claim[0] - claim[1]), each)
        for claim, each in claims
    ]
    until, held = paced(data(first, closed), machines, (reached + 1) * SECOND, None)  # type: ignore[arg-type]
    last = until // SECOND - 1
    assert last <= reached
    assert held == (last < reached)
    assert last >= (first if closed is None else closed)
    ends = [(first // each + AHEAD if machine is None else machine.silent + AHEAD, each) for machine, each in machines]
    limits = [(end + 1) * each - 1 for end, each in ends]
    assert last == max(min([reached, *limits]), first if closed is None else closed)


def test_without_rows_or_watches_nothing_is_held() -> None:
    claim = claimant(5, 5)
    for holder, machines, reached in ((data(None, None), [(claim, 1)], 10_000), (data(0, 3), [], 10_000)):
        assert paced(holder, machines, (reached + 1) * SECOND, None) == ((reached + 1) * SECOND, False)  # type: ignore[arg-type]


def test_a_stretch_in_which_nothing_changes_passes_at_once() -> None:
    holder = data(0, 300, quiet=9_000_000)
    until, held = paced(holder, [(claimant(250, 250), 1)], 9_999_999 * SECOND, None)  # type: ignore[list-item, arg-type]
    assert (until // SECOND - 1, held) == (9_000_000, True)


def test_before_it_is_told_anything_it_goes_as_far_as_another_one_came_late() -> None:
    for version, elsewhere, last in (
        (0, 9_001, 9_000),
        (1, 9_001, AHEAD - 1),
        (0, None, AHEAD - 1),
        (0, 10, AHEAD - 1),
    ):
        elsewhere_us = None if elsewhere is None else elsewhere * SECOND
        waiting = claimant(-1, -1, version=version)
        until, _ = paced(data(0, 3), [(waiting, 1)], 9_999 * SECOND, elsewhere_us)  # type: ignore[list-item, arg-type]
        assert until // SECOND - 1 == last


def test_who_came_within_a_long_pane_closes_it() -> None:
    """Its first pane, of 10 that are closed, is not over, and nobody else is further; others are not overtaken."""
    came = claimant(-1, -1, version=0, oldest=600)
    for silent, reached, last in ((6_000, 6_200, 6_009), (6_000, 6_007, 6_007), (5_751, 6_200, 6_007)):
        machines = [(came, 10), (claimant(silent, silent), 1)]
        until, held = paced(data(0, 6_005), machines, (reached + 1) * SECOND, 6_006 * SECOND)  # type: ignore[arg-type]
        assert until // SECOND - 1 == last
        assert held == (last < reached)
