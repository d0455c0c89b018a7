"""How a watch starts: sites offer their first pane and a sample of it; the coordinator chooses where and how to begin.

The watch begins just before the first pane in which any site has rows, with everything empty, as a replay does; its
centres and units come from that first pane's sample. It
waits for every site that is expected, but not for ever: those that come later join while it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tacit.language.plan import WatchPlan
from tacit.language.shape import measure_of
from tacit.wire.control import Measure, Offer

__all__ = ["Beginning", "begin_at", "missing_sites"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The pane before the first row, how the watch is measured, and how many sites will say hello."""

    pane: int
    measure: Measure
    sites: int


def _ready(offer: Offer) -> bool:
    """Is all known that this site can add: its first pane is closed, or it has a clock and no rows?"""
    return not offer.problem and (offer.first is None or offer.closed >= offer.first) and offer.closed > -(1 << 61)


def missing_sites(offers: Mapping[int, Offer], expected: Collection[int]) -> list[int]:
    """The sites that a start still waits for."""
    return [
        site for site in sorted(expected) if site not in offers or not (_ready(offers[site]) or offers[site].problem)
    ]


def begin_at(
    plan: WatchPlan, offers: Mapping[int, Offer], expected: Collection[int], *, patient: bool
) -> Beginning | None:
    """Begin, if everyone who is expected has offered, or, without patience, as soon as anyone has rows."""
    ready = {site: offer for site, offer in offers.items() if _ready(offer)}
    rows = [offer.first for offer in ready.values() if offer.first is not None]
    if not rows or (patient and missing_sites(offers, expected)):
        return None
    first = min(rows)
    samples = [offer.sample for _, offer in sorted(ready.items()) if offer.first == first and offer.sample is not None]
    return Beginning(first - 1, measure_of(plan, samples), len(ready))
