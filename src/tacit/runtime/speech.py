"""What a site says: messages gather until the end of whatever is being done, and go out together.

Groups are said in the coordinator's numbers; a message about one that has none yet waits until it has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from tacit.protocols.claims import Claimant
from tacit.protocols.messages import Heartbeat, HeartbeatAnswer, Message, Reply, Report, checks_again
from tacit.protocols.site import Site
from tacit.protocols.topico import Nomination
from tacit.protocols.topk.messages import Challenge, Showing
from tacit.runtime.site_watch import SiteWatch
from tacit.transport.limits import MESSAGE_BYTES, oversize
from tacit.wire.codec import UnreadableError, decode, encode
from tacit.wire.control import Beats, Control, Counts, Name, Numbers, Tallies, There
from tacit.wire.frames import cut_frames, key_runs
from tacit.wire.kinds import KINDS
from tacit.wire.topk_codec import KEY_MAX

__all__ = ["Speech", "bundled", "claims_more"]


_WITH_KEYS = Name | There | Challenge | Showing | Nomination


class Speech:
    """The mouth of one site. ``say`` takes a frame for the coordinator; while the link is down nothing is kept."""

    def __init__(
        self, say: Callable[[bytes], bool], wall_us: Callable[[], int], message_bytes: int = MESSAGE_BYTES
    ) -> None:
        self.say, self.wall_us, self.message_bytes = say, wall_us, message_bytes
        self.unsayable: dict[int, str] = {}  # watches with a message that no stream takes, and why
        self.up = False
        self.lease_s = 10.0
        self._out: list[bytes] = []

    def down(self) -> None:
        """The link broke: what was not said will be said again."""
        self.up = False
        self._out.clear()

    def tell(self, watch: SiteWatch, messages: Iterable[Message]) -> None:
        """Say what a watch's machine says, but what was said lately."""
        self.announce(watch)
        for message in messages:
            if self.up and not watch.repeats.lately(message, self.wall_us(), self.lease_s):
                self._deliver(watch, message)

    def announce(self, watch: SiteWatch, *, until: int | None = None) -> None:
        """Groups that are there, before any claim that covers their first pane.

        Those that are there ``until`` a pane are said before a vector of this pane that stands for all groups; the
        coordinator then answers with their numbers.
        """
        there, begin = watch.data.there, watch.announced
        if not self.up or begin >= len(there) or (until is None and not watch.announces):
            return
        end = len(there) if until is None else bisect_right(there, until, begin, key=itemgetter(1))
        unsaid, watch.announced = there[begin:end], end
        keys = watch.data.keeper.keys
        for pane in sorted({pane for _, pane in unsaid}):
            for run in key_runs([keys[group] for group, since in unsaid if since == pane]):
                self.put(watch.number, There(pane, run))
                if watch.by_member:
                    watch.asked.update(run)

    def _deliver(self, watch: SiteWatch, message: Message) -> None:
        """Say it in the coordinator's numbers, as soon as these are known."""
        numbering, machine = watch.numbering, watch.machine
        if numbering is not None and isinstance(machine, Site):
            waited_for = numbering.without(machine.must_be_named(message))
            if machine.stands_for_all(message) and isinstance(message, Report | Reply):
                self.announce(watch, until=message.pane)
            missing = numbering.missing(message)
            if len(missing) or len(waited_for):
                # Those that had numbers on an earlier link are told of with the others, unasked.
                wanted = np.union1d(missing, machine.without_name(waited_for))
                keys = [watch.data.keeper.keys[group] for group in wanted.tolist()]
                fresh = tuple(key for key in keys if key not in watch.asked)
                watch.asked.update(fresh)
                for run in key_runs(fresh):
                    self.put(watch.number, Name(run))
                # What is said again takes the place of what waits: it may wait for ever.
                watch.waiting = [each for each in watch.waiting if _mark(each) != _mark(message)]
                watch.waiting.append(message)
                return
            message = numbering.outward(message)
        self.put(watch.number, message)

    def learn(self, watch: SiteWatch, numbers: Numbers) -> None:
        """Groups have numbers now: say what waited for them."""
        if watch.numbering is None:
            return
        learnt = watch.numbering.learn(numbers)
        watch.asked.difference_update(numbers.keys)
        machine = watch.machine
        if not isinstance(machine, Site):
            return
        machine.grow_groups(len(watch.data.keeper.keys))
        machine.name_groups(learnt)
        waiting, watch.waiting = watch.waiting, []
        for message in waiting:
            self._deliver(watch, machine.as_it_is_now(message))

    def put(self, number: int, message: Message | Control) -> None:
        """One message about the watch of this number."""
        if not self.up:
            return
        data = encode(message, number)
        problem = oversize(KINDS[type(message)], len(data), self.message_bytes)
        if problem is None and len(data) > KEY_MAX and isinstance(message, _WITH_KEYS):
            problem = _unreadable(data)
        if problem is None:
            self._out.append(data)
        else:  # the link would break over it, and over the same one again when it is back
            self.unsayable.setdefault(number, problem)

    def beat(
        self, site: int, beats: Sequence[tuple[int, Heartbeat]], counted: Sequence[tuple[int, Counts]] = ()
    ) -> None:
        """Heartbeats and counts of many watches, together."""
        if self.up:
            self._out += bundled(site, beats, counted)

    def flush(self) -> None:
        """Send what gathered, as one frame, or as some where it is much."""
        out, self._out = self._out, []
        for frame in cut_frames(out):
            self.say(frame)


def _unreadable(data: bytes) -> str | None:
    """Why the coordinator could not read a message that is sent to it; None when it can. Its texts may be too long."""
    try:
        decode(data)
    except UnreadableError as error:
        return f"what it has to say cannot be read: {error}; make its keys shorter, as with left(key, 100)"
    return None


def _mark(message: Message) -> tuple[type[Message], int]:
    return type(message), getattr(message, "number", 0)


def claims_more(machine: Claimant[Any], message: Message) -> bool:
    """Was the site silent, with the zone that this message brought, for longer than the coordinator can know?"""
    if isinstance(message, HeartbeatAnswer):
        return machine.silent > message.settled
    granted = getattr(message, "pane", machine.silent)
    return bool(machine.silent > (granted - 1 if checks_again(message) else granted))


def bundled(
    site: int, beats: Sequence[tuple[int, Heartbeat]], counted: Sequence[tuple[int, Counts]] = ()
) -> list[bytes]:
    """Heartbeats and counts of many watches, each with its number, as envelopes."""
    out: list[bytes] = []
    if counted:
        numbers, counts = zip(*counted, strict=True)
        out.append(encode(Tallies(numbers, counts)))
    if beats:
        rows = ((n, m.number, m.closed, m.silent, m.version, m.idle_panes) for n, m in beats)
        out.append(encode(Beats(site, *zip(*rows, strict=True))))
    return out
