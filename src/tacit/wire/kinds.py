"""The name of every kind of message, as ledgers and reports show it. They are stable: people keep tables of them."""

from __future__ import annotations

from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
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
    Snapshot,
)
from tacit.protocols.topico import Candidates, Circular, Nomination
from tacit.protocols.topk.messages import Challenge, Inquiry, Ranking, Showing
from tacit.wire.control import (
    Beats,
    BeatsAnswer,
    Clock,
    Control,
    Counts,
    Install,
    Name,
    Numbers,
    Offer,
    Opening,
    Tallies,
    There,
    WatchSet,
    Welcome,
)

__all__ = ["HEARTBEATS", "KINDS", "kind_of"]

KINDS: dict[type[Message] | type[Control], str] = {
    Init: "init",
    Report: "report",
    Request: "request",
    Reply: "reply",
    AdjustSlack: "adjust_slack",
    NewEstimate: "new_estimate",
    Broadcast: "broadcast",
    Snapshot: "snapshot",
    Heartbeat: "heartbeat",
    HeartbeatAnswer: "heartbeat_answer",
    Hello: "hello",
    Leave: "leave",
    Fit: "fit",
    Challenge: "challenge",
    Inquiry: "inquiry",
    Showing: "showing",
    Ranking: "ranking",
    Candidates: "candidates",
    Nomination: "nomination",
    Circular: "circular",
    Opening: "opening",
    Welcome: "welcome",
    WatchSet: "watch_set",
    Install: "install",
    Offer: "offer",
    Name: "names",
    There: "there",
    Numbers: "numbers",
    Counts: "counts",
    Clock: "clock",
    Beats: "beats",
    BeatsAnswer: "beats_answer",
    Tallies: "tallies",
}

HEARTBEATS = frozenset({"heartbeat", "heartbeat_answer", "counts", "clock", "beats", "beats_answer", "tallies"})
"""The kinds that only say that a process is alive, and what travels with them: shown, never in a total."""


def kind_of(message: Message | Control) -> str:
    """The name of this message's kind.

    >>> kind_of(Leave(site=3, session=1))
    'leave'
    """
    return KINDS[type(message)]
