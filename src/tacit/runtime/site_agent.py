"""A site's mind: takes micro-batches, closes panes, keeps its half of every watch, and talks to the coordinator.

No Spark and no sockets here: a batch is an object that can be asked for sums (``pipelines/batches.py``), and what is to
be said is handed to ``say``. Several threads call: Spark's with batches, the link's with frames, a timer. Spark works
outside of the lock, so that heartbeats go on while a batch is computed.

Order matters: a batch is computed, added and saved in one transaction with its number, and only then anything that
rests on it is said. A batch that Spark runs twice is known by its number and passed over.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tacit.protocols.members import NEVER
from tacit.protocols.messages import Heartbeat, HeartbeatAnswer, Message
from tacit.protocols.site import Site
from tacit.runtime.late_rows import tell_late, write_late
from tacit.runtime.pacing import paced
from tacit.runtime.site_book import Book
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_watch import SiteWatch, WatchData, Witness
from tacit.runtime.site_work import Work, begin, compute, compute_history, wants_history, warn_of_times
from tacit.runtime.speech import Speech, claims_more
from tacit.transport.limits import MESSAGE_BYTES
from tacit.vocabulary import DataError, MachineError
from tacit.wire.codec import VERSION, UnreadableError, encode, open_envelope
from tacit.wire.control import (
    BeatsAnswer,
    Clock,
    Control,
    Counts,
    Install,
    Numbers,
    Offer,
    Opening,
    TableOffer,
    WatchSet,
    Welcome,
)  # fmt: skip
from tacit.wire.frames import decode_frame, encode_frame
from tacit.wire.kinds import KINDS

if TYPE_CHECKING:
    from tacit.pipelines.batches import Batch

__all__ = ["SiteAgent"]


_log = logging.getLogger(__name__)

_STEPS = 8
_PROBLEM_MAX = 4_000  # characters of what the coordinator is told of a problem; the log has all of it


class SiteAgent:
    """One site. ``say`` takes a frame for the coordinator and answers whether there is a link."""

    def __init__(
        self,
        name: str,
        store: SiteStore,
        tables: Iterable[SiteTable],
        *,
        release: str,
        say: Callable[[bytes], bool],
        wall_us: Callable[[], int],
        witness: Witness | None = None,
        message_bytes: int = MESSAGE_BYTES,
    ) -> None:
        self.name, self.store, self.release, self.wall_us = name, store, release, wall_us
        self.tables = {table.name: table for table in tables}
        self.number: int | None = None
        self.heartbeat_s = 1.0
        self._speech = Speech(say, wall_us, message_bytes)
        self._told = False
        self._claims: list[SiteWatch] = []  # that a new zone let go on, past what the coordinator knows
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)
        self._epoch = 0  # how often reading was stopped
        for table in self.tables.values():
            table.clock.restore(store.pieces(f"table:{table.name}"))
        self._book = Book(store, self.tables, witness)
        self.watches, self.problems = self._book.watches, self._book.problems

    # The link

    def opening(self) -> bytes:
        """The first frame on a new link."""
        offers = tuple(
            TableOffer(table.name, tuple(table.columns.items()), table.clock.mode == "event")
            for table in self.tables.values()
        )
        opening = Opening(VERSION, self.release, self.name, self.store.instance, offers)
        return encode_frame([encode(opening)])

    @property
    def knows_watches(self) -> bool:
        """Has it watches, or has the coordinator said that there are none? Before that nothing should be read."""
        with self._lock:
            return bool(self.watches) or self._told

    def link_down(self) -> None:
        """The link broke: what was not said will be said again."""
        with self._lock:
            self._speech.down()
            for watch in self.watches.values():
                watch.waiting.clear()
                watch.asked.clear()
                watch.offered = watch.counted = None
                watch.repeats.forget()
                watch.announced = 0
                if watch.numbering is not None:
                    watch.numbering.forget()

    def receive(self, frame: bytes) -> None:
        """A frame from the coordinator."""
        with self._lock:
            for data in decode_frame(frame):
                try:
                    number, _, message = open_envelope(data)
                except UnreadableError as error:
                    self._pass_over(error)
                else:
                    self._receive(number, message, data)
            for table in self.tables.values():
                self._close_held(table)
            self._claim()
            self._flush()
            self._room.notify_all()

    def _pass_over(self, error: UnreadableError) -> None:
        """What is said of one watch and cannot be read is a problem of that watch: others use the same link."""
        if error.kind == KINDS[Install]:
            self._book.refuse(error.watch, f"its sentence cannot be read here: {error}")
            self._say_problem(error.watch)
        elif error.watch in self.watches:
            self._give_up(error.watch, str(error))
        else:
            raise error

    def _receive(self, number: int, message: Message | Control, data: bytes) -> None:
        match message:
            case Welcome():
                self._welcome(message)
            case WatchSet():
                self._told = True
                self._book.forget_all_but(message.watches)
            case Install():
                self._install(number, message, data)
            case Numbers() if number in self.watches:
                self._speech.learn(self.watches[number], message)
            case Clock() if number in self.watches:
                self._follow(self.watches[number], message.closed)
            case BeatsAnswer():
                columns = (message.watches, message.settled, message.newest, message.provisional)
                for about, settled, newest, provisional in zip(*columns, strict=True):
                    if (watch := self.watches.get(about)) is not None:
                        self._hear(watch, HeartbeatAnswer(message.site, settled, provisional))
                        if newest > NEVER:
                            self._follow(watch, newest)
            case _ if number in self.watches and isinstance(message, Message):
                self._hear(self.watches[number], message)

    def _welcome(self, welcome: Welcome) -> None:
        self._speech.up, self._speech.lease_s = True, welcome.lease_s
        self.heartbeat_s = welcome.heartbeat_s
        self._book.serve(welcome.life)
        if self.number != welcome.site:
            self.number = welcome.site
            for watch in list(self.watches.values()):
                self._start(watch)

    def _follow(self, watch: SiteWatch, closed: int) -> None:
        """Some site has closed this pane of the watch."""
        reached = (closed + 1) * watch.panes[0].pane_us
        for data in watch.kept:
            table = self.tables[data.plan.table]
            table.elsewhere_us = reached if table.elsewhere_us is None else max(table.elsewhere_us, reached)

    def _follow_here(self) -> None:
        """Of a watch on two tables the one that is idle goes by the other, as by other sites."""
        for watch in self.watches.values():
            closed = [panes.closed for panes in watch.panes if panes.closed is not None]
            if len(watch.kept) > 1 and closed:
                self._follow(watch, max(closed))

    def _hear(self, watch: SiteWatch, message: Message) -> None:
        machine = watch.machine
        if machine is None:
            return
        if watch.numbering is not None and isinstance(machine, Site):
            message = watch.numbering.inward(message)
            machine.grow_groups(len(watch.data.keeper.keys))
        version = machine.version
        self._speech.tell(watch, machine.receive(message))
        if machine.version > version and claims_more(machine, message):
            self._claims.append(watch)
        if isinstance(message, HeartbeatAnswer):
            for data in watch.kept:
                self._book.settle(data)

    def _claim(self) -> None:
        """Say at once what a new zone lets us claim: the next heartbeat may be a second away, and all wait for it."""
        claims, self._claims = self._claims, []
        for watch in claims:
            self._speech.announce(watch)
        beats = [
            (watch.number, beat)
            for watch in claims
            if watch.machine is not None
            for beat in watch.machine.heartbeat()
            if isinstance(beat, Heartbeat)
        ]
        if self.number is not None:
            self._speech.beat(self.number, beats)

    # Watches come and go

    def _install(self, number: int, install: Install, envelope: bytes) -> None:
        new = self._book.install(number, install, envelope)
        if number in self.problems:
            self._say_problem(number)
        elif new:
            self._start(self.watches[number])
            if number in self.watches:
                self._offer(self.watches[number])

    def _say_problem(self, number: int) -> None:
        if self._speech.up and self.number is not None:
            problem = self.problems[number]
            cut = problem if len(problem) <= _PROBLEM_MAX else problem[: _PROBLEM_MAX - 1] + "…"
            self._speech.put(number, Offer(self.number, None, NEVER, cut, None))

    def _start(self, watch: SiteWatch) -> None:
        if self.number is not None:
            watch.start(self.number, self.store.session)
            if watch.machine is not None:
                self._speech.tell(watch, (watch.machine.hello(),))
                self._catch_up(watch)

    def _catch_up(self, watch: SiteWatch) -> None:
        """Let a watch look at the panes that are closed; one that cannot be computed is its problem alone."""
        try:
            self._speech.tell(watch, watch.catch_up())
        except DataError as error:
            self._give_up(watch.number, str(error))

    def _give_up(self, number: int, why: str) -> None:
        if number in self.watches:
            self._book.give_up_one(number, why)
            self._say_problem(number)

    # Batches

    def take_batch(self, table_name: str, checkpoint: str, number: int, batch: Batch) -> None:
        """A micro-batch of a table. When this returns it is saved, and Spark may go on."""
        table = self.tables[table_name]
        self._wait_for_room(table, checkpoint, number)
        with table.work:
            with self._lock:
                if self.store.has_batch(table_name, checkpoint, number):
                    return
                self._book.forget_data()
                self._give_back(table)
                works = [self._begin(table, data) for data in self._book.of(table_name)]
                measured = {work.data.key for work in works if self._book.is_measured(work.data)}
                names = {work.data.key: self._book.names_of(work.data) for work in works}
                table.busy = True
            try:
                compute(table, works, batch, measured)
                write_late(table, works, batch, names)
                with self._lock:
                    self._add(table, works, batch, (table_name, checkpoint, number))
            finally:
                table.busy = False

    def stop_reading(self) -> None:
        """Nobody waits for room any more: this process ends, or Spark is started anew."""
        with self._room:
            self._epoch += 1
            self._room.notify_all()

    def _wait_for_room(self, table: SiteTable, checkpoint: str, number: int) -> None:
        """On an event clock no pane is let go: while there is no room for more of them, Spark waits with its batch."""
        with self._room:
            epoch = self._epoch
            while not self.store.has_batch(table.name, checkpoint, number) and (full := self._full(table)):
                if epoch != self._epoch:
                    raise MachineError("the site stops reading")
                if not table.full_said:
                    table.full_said = True
                    _log.warning(
                        "table %s is read no further until the panes that are kept are settled for good, with every"
                        " site (keep_megabytes says how much is kept): %s", table.name, ", ".join(full),
                    )  # fmt: skip
                self._room.wait(1.0)
            if table.full_said:
                table.full_said = False
                _log.warning("table %s is read on", table.name)

    def _full(self, table: SiteTable) -> list[str]:
        """The watches for which as many panes are kept as may be, and that wait for other sites."""
        reached = table.clock.reached
        if table.clock.mode == "wall" or reached is None:
            return []
        if table.elsewhere_us is not None and table.elsewhere_us > reached:
            return []  # others wait for this site
        crowded = [data for data in self._book.of(table.name) if data.nbytes > table.keep_bytes]
        return [name for data in crowded if self._book.is_unsettled(data) for name in self._book.names_of(data)]

    def _give_back(self, table: SiteTable) -> None:
        """Rows came: what was closed while the table was idle is taken back, for it rests on fewer rows."""
        table.idle_since_us = None
        told = self._book.give_back(table.name)
        if not told:
            return
        self.store.next_session()
        for number, keys in told.items():
            watch = self.watches[number]
            self._start(watch)
            if watch.machine is not None and keys:
                self._speech.learn(watch, Numbers(0, tuple(keys)))

    def _begin(self, table: SiteTable, data: WatchData) -> Work:
        data.batch_before = self.store.last_batch(table.name)
        return begin(table, data, self.wall_us())

    def _put(self, works: Sequence[Work]) -> None:
        for work in works:
            if self._book.data.get(work.data.key) is not work.data:  # its watches went meanwhile
                continue
            if work.problem is None:
                work.add()
            else:
                for number in self._book.give_up(work.data, str(work.problem)):
                    self._say_problem(number)

    def _add(self, table: SiteTable, works: Sequence[Work], batch: Batch, place: tuple[str, str, int]) -> None:
        late = {work.data.key: work.data.late for work in works}
        self._put(works)
        for work in works:
            work.data.no_time += batch.no_time
        tell_late(table, max((work.data.late - late[work.data.key] for work in works), default=0), self.wall_us())
        warn_of_times(table, works, batch, self.wall_us())
        table.clock.saw(batch.max_time)
        table.rows += batch.rows
        table.no_time += batch.no_time
        table.idle_since_us = None
        self._close(table, place)
        self._close_held(table)
        self._beat(table.name)
        self._flush()

    def wants_history(self, table_name: str) -> bool:
        """Has the table watches whose history is not read yet? A batch does it, or ``fill`` where none comes."""
        with self._lock:
            return any(wants_history(self.tables[table_name], data) for data in self._book.of(table_name))

    def fill(self, table_name: str) -> None:
        """Read the history of watches that came while a table is idle. Spark works, and may take its time."""
        table = self.tables[table_name]
        with table.work:
            with self._lock:
                works = [self._begin(table, data) for data in self._book.of(table_name) if wants_history(table, data)]
                measured = {work.data.key for work in works if self._book.is_measured(work.data)}
            compute_history(table, works, measured)
            with self._lock:
                self._put(works)
                self._save(table, None)
                self._flush()

    def _close(self, table: SiteTable, place: tuple[str, str, int] | None, now_us: int | None = None) -> bool:
        """Close what the clock allows, save it, and let the watches look at it."""
        now_us = self.wall_us() if now_us is None else now_us
        own = table.clock.watermark(now_us, table.idle_since_us)
        borrowed = table.clock.borrowed(now_us, table.idle_since_us, table.elsewhere_us)
        here = self._book.of(table.name)
        moved: set[str] = set()
        for data in here if own is not None or borrowed is not None else ():
            if data.waiting:
                # One that came while this batch was computed begins with the next; history is read outside of the lock.
                if table.busy or wants_history(table, data):
                    continue
                self._begin(table, data).add()
            before = data.keeper.closed
            if own is not None and not data.borrowed:
                self._close_until(table, data, own)
            if borrowed is not None and not data.held:
                if not data.borrowed:  # it goes on in memory only, from what is stored
                    moved |= {data.key} if data.keeper.closed != before else set()
                    self._save(table, place)
                    place, before = None, data.keeper.closed
                    data.borrowed, data.own_closed = True, data.keeper.closed
                self._close_until(table, data, borrowed)
            if data.keeper.closed != before:  # also where there was no row yet, and so no pane of its own to close
                moved.add(data.key)
            self._book.settle(data)
            if table.clock.mode == "wall":
                self._book.make_room(data, table.keep_bytes)
        if not moved and place is None:
            return False
        self._save(table, place)
        for watch in list(self.watches.values()):
            if watch.machine is not None and any(data.key in moved for data in watch.kept):
                self._catch_up(watch)
        for data in here:
            self._drop_groups(data)
        return True

    def _close_until(self, table: SiteTable, data: WatchData, reached_us: int) -> None:
        until = reached_us
        if table.clock.mode == "event":
            until, data.held = paced(data, self._book.machines(data), reached_us, table.elsewhere_us)
        for first, last in data.runs(data.keeper.close_through(until)):
            data.close(first, last)

    def _save(self, table: SiteTable, place: tuple[str, str, int] | None) -> None:
        """Save what changed, but nothing that rests on borrowed time."""
        number = self.store.last_batch(table.name) if place is None else place[2]
        here = [data for data in self._book.of(table.name) if not data.borrowed]
        for data in here:
            data.batch = number
        changes = {data.scope: data.changes() for data in here}
        changes[f"table:{table.name}"] = table.clock.changes()
        settled = {n: watch.machine.final for n, watch in self.watches.items() if watch.machine is not None}
        self.store.save(changes, batch=place, settled=settled)
        table.clock.saved()
        for data in here:
            data.saved()

    def _drop_groups(self, data: WatchData) -> None:
        """Objects of rankings that nobody has rows of any more go; to the machines it is as if the site had started."""
        if not data.borrowed and data.drop_groups():
            for watch in [each for each in self.watches.values() if each.data is data and each.machine is not None]:
                self._start(watch)

    def _close_held(self, table: SiteTable) -> None:
        """Close panes of a recording that were held back, as far as the watches have got; not all of them at once."""
        for _ in range(_STEPS):
            if not any(data.held for data in self._book.of(table.name)) or not self._close(table, None):
                return

    # Time

    def tick(self, idle: Mapping[str, bool], asked_us: int | None = None) -> None:
        """Called every ``heartbeat_s``: panes pass by the clock where Spark found nothing new, and all is well.

        ``asked_us`` is when Spark was asked, now unless told: what came while we waited for our turn is not late.
        """
        with self._lock:
            now = self.wall_us() if asked_us is None else asked_us
            self._follow_here()
            for name, table in self.tables.items():
                self._close_held(table)
                if table.busy or not idle.get(name, False):
                    table.idle_since_us = None  # what was borrowed meanwhile is given back when rows come
                    continue
                if table.idle_since_us is None:
                    table.idle_since_us = now
                self._close(table, None, now)
            self._beat()
            self._flush()

    def _flush(self) -> None:
        """Send what gathered. A watch that has more to say than a stream takes is a problem, and no other one is."""
        unsayable, self._speech.unsayable = self._speech.unsayable, {}
        for number, why in unsayable.items():
            self._give_up(number, why)
        self._speech.flush()

    def _beat(self, table: str | None = None) -> None:
        """The heartbeats of all watches, of one table's at the end of its batch: one message for all of them."""
        beats: list[tuple[int, Heartbeat]] = []
        counted: list[tuple[int, Counts]] = []
        for watch in self.watches.values():
            if table is not None and table not in watch.plan.tables:
                continue
            if watch.machine is None:
                self._offer(watch)
            else:
                self._speech.announce(watch)
                for message in watch.machine.heartbeat():
                    if isinstance(message, Heartbeat):
                        beats.append((watch.number, message))
                    else:
                        self._speech.tell(watch, (message,))
            counts = self._counts(watch)
            if counts is not None:
                counted.append((watch.number, counts))
        if self.number is not None:
            self._speech.beat(self.number, beats, counted)

    def _offer(self, watch: SiteWatch) -> None:
        if self.number is None or not self._speech.up or watch.machine is not None or watch.install.paused:
            return
        closed, first = NEVER if watch.closed is None else watch.closed, watch.first
        complete = closed > NEVER and (first is None or closed >= first)  # then nothing is to be added
        mark = (first, complete, None if watch.data.sample is None else watch.data.sample.keys.tobytes())
        if watch.offered != mark:
            watch.offered = mark
            self._speech.put(watch.number, Offer(self.number, first, closed, "", watch.data.offered()))

    def _counts(self, watch: SiteWatch) -> Counts | None:
        """What the watch has seen, unless that was said."""
        counts = watch.counts()
        if not self._speech.up or watch.counted == counts:
            return None
        watch.counted = counts
        return counts
