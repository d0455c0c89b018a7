"""Follows a running system until its end, or for a while, and judges everything that it published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import duckdb

from tacit.api.client import Client
from tacit.runtime.config_models import Config
from tacit.transport.grpc_client import UnreachableError
from tacit.verify.history import History, RawSaid, answered, history_of, read_history
from tacit.verify.judge import judge_watch, last_pane_of_data
from tacit.verify.question import Question, question_of
from tacit.verify.rows import Rows
from tacit.verify.sources import read_sources
from tacit.verify.verdict import Verdict
from tacit.vocabulary.errors import OptionError, TacitError

__all__ = ["Follower", "judge_now"]

_LOOK_S = 1.0
_QUIET_S = 5.0  # a system of recorded data that has published nothing for so long may be at its end
_STUCK_S = 120.0  # and one that is not at its end by then is stuck
_KEPT = ("valid", "filling")
_AGAIN = 20
_FAR = 1 << 62


@dataclass(slots=True)
class Follower:
    """Looks at what is published while it is published, so that what changes later is noticed."""

    config: Config
    client: Client
    names: Sequence[str] = ()
    tell: Callable[[str], None] = lambda text: None
    sleep: Callable[[float], Any] = time.sleep
    _seen: dict[str, dict[int, RawSaid]] = field(default_factory=dict)  # what valid panes said, by watch
    _said: dict[str, RawSaid] = field(default_factory=dict)  # what was said before the next pane, by watch
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
        return judge_now(self.config, self.client, self.watches(), self._seen)

    def _look(self, name: str) -> None:
        history = history_of(name, self.client.published(name, first=self._next.get(name, -_FAR), after=_FAR))
        seen, said = self._seen.setdefault(name, {}), self._said.setdefault(name, RawSaid())
        until = first = self._next.get(name, -_FAR)
        by_pane: dict[int, RawSaid] = {}
        now = said
        for pane, span, changed in answered(history):
            now = by_pane[pane] = now.with_changes(changed)
            if span.state == "valid":
                seen.setdefault(pane, now)
            if span.state in _KEPT and until in (first, pane):
                until = pane + 1
        # A coordinator that starts again answers its last pane anew, so the newest ones are looked at again.
        if (begin := until - _AGAIN) - 1 in by_pane:
            self._next[name], self._said[name] = begin, by_pane[begin - 1]

    def _panes(self) -> dict[str, int | None] | None:
        try:
            status = self.client.status()
        except TacitError:
            return None
        return {watch["watch"]: watch["pane"] for watch in status["watches"]}


def judge_now(
    config: Config,
    client: Client,
    names: Iterable[str],
    seen: Mapping[str, Mapping[int, RawSaid]] = MappingProxyType({}),
) -> list[Verdict]:
    """What is to be said of these watches now; ``seen`` is what panes that were called valid have said before.

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
        before = seen.get(history.name, {})
        found.append(_judged(history, rows, sites, dropped, questions[history.name], before))
    rows.database.close()
    return found


def _judged(
    history: History,
    rows: Rows,
    sites: Sequence[str],
    dropped: int,
    question: Question,
    seen: Mapping[int, RawSaid],
) -> Verdict:
    try:
        until = last_pane_of_data(rows, question)
        return judge_watch(history, rows, sites=sites, dropped=dropped, until=until, seen=seen)
    except (OptionError, duckdb.Error) as error:
        text = " ".join(str(error).split())[:300]
        return Verdict(history.name, problem=f"it cannot be judged: {text}")
