"""Small watches whose every step can be followed by hand."""

from __future__ import annotations

import numpy as np

from tacit.functions.expressions import Variable
from tacit.functions.goals import Comparison
from tacit.functions.monitor import CENTRED, FITTED, Monitor
from tacit.protocols.books import Books
from tacit.protocols.broadcast import Cascade
from tacit.protocols.centres import Recentrer
from tacit.protocols.fitted import Fitter
from tacit.protocols.messages import Message, Reply, Request, Rows
from tacit.protocols.policies import LeastRecentlyUsed, Policy
from tacit.protocols.threshold import Balancer

__all__ = ["answer", "balancer", "cascade", "fitter", "recentrer", "rows", "sum_above", "talk"]

NO_WEIGHTS = np.empty(0)


def sum_above(threshold: float = 10.0, margin: float = 0.0, zone: str = "ball") -> Monitor:
    """One statistic; is its total (or, with weights, its mean) above the threshold?"""
    return Monitor(Comparison(Variable(0), ">", threshold, margin), (Variable(0),), 1, zone=zone)


def rows(*values: float, groups: list[int] | None = None, weights: list[float] | None = None) -> Rows:
    """Rows of one statistic: group 0 alone unless groups are named."""
    which = np.arange(len(values)) if groups is None else np.array(groups)
    heavy = NO_WEIGHTS if weights is None else np.array(weights, dtype=float)
    return Rows(which, np.array(values, dtype=float)[:, None], heavy)


def balancer(
    sites: int, *, groups: int = 1, weighted: bool = False, policy: Policy | None = None, **goal: float
) -> Balancer:
    """A balancer over sums (or weighted means) of one statistic."""
    monitor = sum_above(**goal)
    books = Books(sites, groups, 1, weighted=weighted)
    order = LeastRecentlyUsed(sites, groups) if policy is None else policy
    return Balancer(monitor, monitor.zones(groups), books, order)


def cascade(sites: int, *, groups: int = 1, weighted: bool = False, **goal: float) -> Cascade:
    """A cascade over sums (or weighted means) of one statistic."""
    monitor = sum_above(**goal)
    return Cascade(monitor, monitor.zones(groups), Books(sites, groups, 1, weighted=weighted))


def recentrer(sites: int, *, groups: int = 1, **goal: float) -> Recentrer:
    """A recentrer over sums of one statistic."""
    monitor = sum_above(**goal, zone=CENTRED)
    return Recentrer(monitor, monitor.zones(groups), Books(sites, groups, 1), LeastRecentlyUsed(sites, groups))


def fitter(sites: int, **goal: float) -> Fitter:
    """A fitter over sums of one statistic."""
    monitor = sum_above(**goal, zone=FITTED)
    return Fitter(monitor, monitor.zones(1), Books(sites, 1, 1), LeastRecentlyUsed(sites, 1))


def answer(request: Request, held: Rows) -> Reply:
    """What a site that holds these rows answers."""
    if len(request.groups) == 0:  # everything
        return Reply(request.site, request.number, request.pane, held)
    at = np.searchsorted(held.groups, request.groups)
    weights = held.weights[at] if len(held.weights) else NO_WEIGHTS
    return Reply(request.site, request.number, request.pane, Rows(request.groups, held.sums[at], weights))


def talk(resolver: Balancer | Cascade, messages: tuple[Message, ...], held: list[Rows]) -> tuple[Message, ...]:
    """Answer requests, given what each site holds, until the resolver is done; what it says then."""
    while messages and isinstance(messages[0], Request):
        last: tuple[Message, ...] = ()
        for request in messages:
            assert isinstance(request, Request)
            last = resolver.receive(answer(request, held[request.site]))
        messages = last
    return messages
