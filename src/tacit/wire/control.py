"""The sentences that set up sites and watches on a live system, as frozen values.

The protocols (``protocols/messages.py``) begin where a watch has been measured and its sites have numbers. These
messages lead there: a site opens its stream, the coordinator welcomes it, watches are installed, sites offer what they
know, the coordinator chooses centres and units, and groups get their numbers. Which watch a message is about stands on
its envelope. Panes are numbers, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.vocabulary import FloatArray, IntArray

__all__ = [
    "Beats",
    "BeatsAnswer",
    "Clock",
    "Control",
    "Counts",
    "Install",
    "Measure",
    "Name",
    "Numbers",
    "Offer",
    "Opening",
    "Sample",
    "TableOffer",
    "Tallies",
    "There",
    "WatchSet",
    "Welcome",
]


@dataclass(frozen=True, slots=True)
class TableOffer:
    """A table that a site has, with the names and Spark types of its columns.

    With an event clock only rows make time pass (a recording), else the site's own clock does as well.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    event_clock: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """A site introduces itself: the first message on its stream.

    ``version`` is that of the wire, ``release`` that of tacit; ``instance`` tells two processes with one name apart.
    """

    version: int
    release: str
    site: str
    instance: str
    tables: tuple[TableOffer, ...]


@dataclass(frozen=True, slots=True)
class Welcome:
    """The coordinator's first message to a site: its number, how long its lease is and how often it shall be heard.

    ``life`` is that of the coordinator's store: another one gives its own meaning to the numbers and versions of zones.
    """

    site: int
    lease_s: float
    heartbeat_s: float
    life: str = ""


@dataclass(frozen=True, slots=True)
class WatchSet:
    """All watches that there are; a site forgets every other one."""

    version: int
    watches: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """What the components of a watch are measured from and in: centres (k,) and units (d,), the same at every site."""

    centres: FloatArray
    units: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Install:
    """A watch for a site to keep: its sentence, its protocol, and, once it is measured, where to begin.

    ``begin`` is the first pane that counts. Without a measure the site offers what it knows; with one it starts.
    """

    name: str
    text: str
    protocol: str
    paused: bool
    begin: int | None
    measure: Measure | None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Some rows of a site, the ones with the smallest keys, to choose centres and units from.

    keys (m,) in rising order; values (m, d) around ``at`` (k,), the site's own centres; centres (m, k) with nan where a
    row has no value.
    """

    keys: IntArray
    values: FloatArray
    at: FloatArray
    centres: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """What a site can say about a watch that has not started: its first pane with rows, the last closed one, a sample.

    ``problem`` says in a sentence why the site cannot keep the watch; it is empty when it can.
    """

    site: int
    first: int | None
    closed: int
    problem: str
    sample: Sample | None


@dataclass(frozen=True, slots=True)
class Name:
    """A site met groups that it has no numbers for: which numbers have they?"""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class There:
    """A site has rows of these groups, from this pane on: said where a condition holds of nothing at all."""

    pane: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Groups ``first``, ``first`` + 1, … have these keys, at every site."""

    first: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a site has seen of a watch so far: events, panes whose vector changed, late rows; travels with heartbeats.

    ``full_from`` is the pane from which the site's window is full, once that is known. ``no_time`` are the rows of the
    watch's table that had no time, and so count nowhere.
    """

    events: int
    panes: int
    late: int
    full_from: int | None
    no_time: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """Some site has closed this pane: an idle one may follow; travels with the answers to heartbeats."""

    closed: int


@dataclass(frozen=True, slots=True)
class Beats:
    """The heartbeats of many watches of a site, as columns: with ten watches one message a second, not ten.

    ``idle_panes`` as in ``Heartbeat``.
    """

    site: int
    watches: tuple[int, ...]
    numbers: tuple[int, ...]
    closed: tuple[int, ...]
    silent: tuple[int, ...]
    versions: tuple[int, ...]
    idle_panes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BeatsAnswer:
    """The answers to ``Beats``: the last settled pane of each watch, and the newest that some site has closed.

    ``provisional`` as in ``HeartbeatAnswer``.
    """

    site: int
    watches: tuple[int, ...]
    settled: tuple[int, ...]
    newest: tuple[int, ...]
    provisional: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tallies:
    """The ``Counts`` of many watches, those that changed since they were last said."""

    watches: tuple[int, ...]
    counts: tuple[Counts, ...]


Control = (
    Opening
    | Welcome
    | WatchSet
    | Install
    | Offer
    | Name
    | There
    | Numbers
    | Counts
    | Clock
    | Beats
    | BeatsAnswer
    | Tallies
)
