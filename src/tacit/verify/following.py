"""Follows a running system until its end, or for a while, and judges everything that it published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.api.client import Client
from tacit.runtime.config_models import Config
from tacit.transport.grpc_client import UnreachableError
from tacit.verify.history import History, history_of, read_history
from tacit.verify.judge import judge_watch, last_pane_of_data
from tacit.verify.question import question_of
from tacit.verify.rows import Rows
from tacit.verify.sources import read_sources
from tacit.verify.verdict import Verdict
from tacit.vocabulary.errors import OptionError, TacitError

__all__ = ["Follower", "judge_now"]

_LOOK_S = 1.0
_QUIET_S = 5.0  # a system of recorded data that has published nothing for so long may be at its end
_STUCK_S = 120.0  # and one that is not at its end by then is stuck
_KEPT = ("valid", "filling")
_BACK = 5_000  # panes before the newest that are looked at again, where some of them may still be settled late


@dataclass(slots=True)
class Follower:
    """Looks at what is published while it is published, so that what changes later is noticed."""

    config: Config
    client: Client
    names: Sequence[str] = ()
    tell: Callable[[str], None] = lambda text: None
    sleep: Callable[[float], Any] = time.sleep
    _seen: dict[str, dict[int, tuple[Any, ...]]] = field(default_factory=dict)  # valid panes, by watch
    _away: str = ""  # why the coordinator could not be asked the last time
    _next: dict[str, int] = field(default_factory=dict)  # the first pane that was not valid when it was last looked at

    def watches(self) -> list[str]:
        """The watches that are judged: those that were named, or all."""
        there = {watch["watch"]: watch for watch in self.client.watches()}
        unknown = [name for name in self.names if name not in there]
        if unknown:
            raise OptionError(f"there is no watch {', '.join(unknown)}; there are {', '.join(sorted(there)) or 'none'}")
        return list(self.names) or sorted(there)

    def look(self) -> None:
        """See what was published since the last time. A coordinator that is away is looked at again later."""
        try:
            for name in self.watches():
                self._look(name)
            self._away = ""
        except UnreachableError as error:
            if self._away != str(error):
                self._away = str(error)
                self.tell(self._away)

    def follow(self, seconds: float | None, *, until_end: bool) -> None:
        """Look again and again, for so long, or until all recorded data is answered for."""
        begin = progress = time.monotonic()
        panes: dict[str, int | None] = {}
        while seconds is None or time.monotonic() - begin < seconds:
            self.look()
            now = self._panes()
            if now is not None and now != panes:
                panes, progress = now, time.monotonic()
            quiet = time.monotonic() - progress
            if until_end and now and quiet >= _QUIET_S and (quiet >= _STUCK_S or self.is_at_end()):
                return
            self.sleep(_LOOK_S)

    def is_at_end(self) -> bool:
        """Is every pane answered that recorded rows close at all sites?"""
        watches = {watch["watch"]: watch for watch in self.client.watches()}
        questions = {name: question_of(watches[name]["text"]) for name in self.watches()}
        rows = read_sources(self.config, {table for each in questions.values() for table in each.plan.tables})
        lasts = {name: last_pane_of_data(rows, question) for name, question in questions.items()}
        rows.database.close()
        return all(last is None or (watches[name]["pane"] or -(1 << 62)) >= last for name, last in lasts.items())

    def is_provisional(self) -> bool:
        """Is a pane published whose answer waits for a site that is missing, or is a watch not valid now?"""
        return any(
            span.state not in ("valid", "filling", "unknown")
            for name in self.watches()
            for span in read_history(self.client, name).spans
        )

    def verdicts(self) -> list[Verdict]:
        """Judge everything that was published until now."""
        self.look()
        found = judge_now(self.config, self.client, self.watches())
        for verdict, history in found:
            self._compare(verdict, history)
        return [verdict for verdict, _ in found]

    def _look(self, name: str) -> None:
        first = self._next.get(name, -(1 << 62))
        history = history_of(name, self.client.published(name, first=first, after=1 << 62))
        seen = self._seen.setdefault(name, {})
        said = _by_pane(history)
        until = first
        for pane, span in history.by_pane().items():
            if span.state in _KEPT and until in (first, pane):
                until = pane + 1
            if span.state == "valid":
                seen.setdefault(pane, said.get(pane, ()))
        self._next[name] = max(until, (history.last or until) - _BACK)

    def _compare(self, verdict: Verdict, history: History) -> None:
        said, states = _by_pane(history), history.by_pane()
        for pane, before in self._seen.get(verdict.watch, {}).items():
            if pane not in states:
                verdict.changed.append(f"pane {pane}: was called valid, and is not there any more")
            elif said.get(pane, ()) != before:
                verdict.changed.append(f"pane {pane}: was called valid, and says something else now")

    def _panes(self) -> dict[str, int | None] | None:
        try:
            status = self.client.status()
        except TacitError:
            return None
        return {watch["watch"]: watch["pane"] for watch in status["watches"]}


def judge_now(config: Config, client: Client, names: Iterable[str]) -> list[tuple[Verdict, History]]:
    """What is to be said of these watches now, and what it rests on.

    What was published is read before the sources are: a row that comes in between belongs to a pane that is open.
    """
    histories = [read_history(client, name) for name in names]
    documents = {watch["watch"]: watch for watch in client.watches()}
    sites = [row["site"] for row in client.sites()]
    questions = {history.name: question_of(documents[history.name]["text"]) for history in histories}
    rows = read_sources(config, {table for each in questions.values() for table in each.plan.tables})
    found = []
    for history in histories:
        dropped = int(documents[history.name]["cost"]["late"])
        found.append((_judged(history, rows, sites, dropped, questions[history.name]), history))
    rows.database.close()
    return found


def _judged(history: History, rows: Rows, sites: Sequence[str], dropped: int, question: Any) -> Verdict:
    import duckdb

    try:
        until = last_pane_of_data(rows, question)
        return judge_watch(history, rows, sites=sites, dropped=dropped, until=until)
    except (OptionError, duckdb.Error) as error:
        text = " ".join(str(error).split())[:300]
        return Verdict(history.name, problem=f"it cannot be judged: {text}")


def _by_pane(history: History) -> dict[int, tuple[Any, ...]]:
    """What was newly said at each pane."""
    found: dict[int, list[Any]] = {}
    for pane, key, side, value in history.changes:
        found.setdefault(pane, []).append((key, side, value))
    for pane, name, members in history.lists:
        found.setdefault(pane, []).append((name, tuple(map(tuple, members))))
    return {pane: tuple(sorted(said, key=str)) for pane, said in found.items()}
