"""What a site says of a watch, against what a site can know: the codec has seen to the rest.

A coordinator works with what it is told for as long as it runs, and stores it; what no correct site says ends the
stream that it came on, before it is taken.
"""

from __future__ import annotations

from tacit.language.plan import WatchPlan
from tacit.language.shape import SAMPLE
from tacit.protocols.members import NEVER
from tacit.vocabulary import ProtocolError
from tacit.wire.control import Offer

__all__ = ["check_offer", "check_panes", "pane_max"]

_TIME_MAX_US = 1 << 62  # times are microseconds in 64 bits; half of that is the year 148,000
_PANES = ("pane", "closed", "silent", "oldest", "full_from")


def pane_max(pane_us: int) -> int:
    """The furthest pane whose time is a time.

    >>> pane_max(1_000_000)
    4611686018427
    """
    return _TIME_MAX_US // pane_us


def check_panes(site: int, message: object, furthest: int) -> None:
    """Every pane of a message must be one, or stand for none."""
    for name in _PANES:
        pane = getattr(message, name, None)
        if pane is not None and abs(pane) > furthest and pane != NEVER:
            raise _beyond(site, pane)


def check_offer(site: int, offer: Offer, plan: WatchPlan, furthest: int) -> None:
    """The first pane must be one, and the sample must have the columns of this watch."""
    check_panes(site, offer, furthest)
    if offer.first is not None and abs(offer.first) > furthest:
        raise _beyond(site, offer.first)
    sample = offer.sample
    if sample is None:
        return
    found = (sample.values.shape[1], len(sample.at))
    wanted = (len(plan.statistics), len(plan.centres))
    if found != wanted:
        raise ProtocolError(
            f"site {site} offers a sample with {found[0]} statistics and {found[1]} centres for the watch {plan.name},"
            f" which has {wanted[0]} and {wanted[1]}; run the same release of tacit everywhere"
        )
    if len(sample.keys) > SAMPLE:
        raise ProtocolError(f"site {site} offers a sample of {len(sample.keys)} rows, and {SAMPLE} are the most")


def _beyond(site: int, pane: int) -> ProtocolError:
    return ProtocolError(f"site {site} speaks of pane {pane}, whose time is beyond all times; see to its clock")
