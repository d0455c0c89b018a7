"""Statements are played through before any of them is carried out: a script with an error anywhere does nothing.

Each is held against what there is and what those before it would leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tacit.functions.goals import SketchGoal
from tacit.language.altering import altered
from tacit.language.places import closest
from tacit.language.plan import WatchPlan
from tacit.language.recorded import odd_panes
from tacit.language.schema_check import check_columns, check_tables
from tacit.language.sentence import parse_watch
from tacit.language.statement_kinds import (
    AlterWatch,
    CreateWatch,
    DropSite,
    DropWatch,
    ExplainWatch,
    PauseWatch,
    ResumeWatch,
    ShowAlerts,
    ShowChanges,
    ShowWatch,
    Statement,
)
from tacit.runtime.pane_length import check_step
from tacit.vocabulary import SentenceError

__all__ = ["no_watch", "rehearse"]

Tables = Mapping[str, Mapping[str, str]]
"""The columns and their types, by table."""


def rehearse(
    statements: Sequence[Statement],
    watches: Iterable[tuple[WatchPlan, str]],
    sites: Iterable[tuple[str, Tables, bool]],
    lines: Sequence[int] = (),
    configured: Mapping[str, Tables] | None = None,
) -> None:
    """SentenceError if one of them cannot be carried out.

    ``watches`` are plans and their status, ``sites`` have a name and tables, and are online or not; ``lines`` say where
    each statement begins. ``configured`` are the tables of the sites that are expected, as far as they are known before
    these sites say it themselves.
    """
    stage = _Stage(watches, sites, configured or {})
    for place, statement in enumerate(statements):
        try:
            stage.play(statement)
        except SentenceError as error:
            if len(statements) == 1:
                raise
            where = f" (line {lines[place]})" if error.line is None and len(set(lines)) > 1 else ""
            raise SentenceError(
                f"statement {place + 1} of {len(statements)}{where}: {error}; nothing was done, not those before it"
                " either"
            ) from None


def no_watch(name: str, known: Iterable[str]) -> SentenceError:
    """There is none of this name, but there are these."""
    there = ", ".join(sorted(known))
    return SentenceError(
        f"there is no watch named {name}", hint=f"there are {there}" if there else "there is none yet"
    )  # fmt: skip


def check_live(plan: WatchPlan) -> None:
    """SentenceError for what can be replayed and not yet be kept live."""
    try:
        check_step(plan.window)
    except SentenceError as error:
        raise SentenceError(f"{plan.name}: {error}") from None
    if not isinstance(plan.goal, SketchGoal):
        return
    if plan.window.kind == "rows" or plan.window.every.duration_us is None:
        raise SentenceError(
            f"{plan.name} is kept on sketches, whose live windows are of time", hint="write WINDOW LAST 15 MINUTES"
        )
    if odd_panes(plan):
        raise SentenceError(
            f"{plan.name} is kept on sketches, which know whole panes, and its window is no whole number of them",
            hint="choose an EVERY that divides the window",
        )


class _Stage:
    """What there would be."""

    def __init__(
        self,
        watches: Iterable[tuple[WatchPlan, str]],
        sites: Iterable[tuple[str, Tables, bool]],
        configured: Mapping[str, Tables],
    ) -> None:
        self._watches = {plan.name.casefold(): (plan, status) for plan, status in watches}
        self._tables: dict[str, Tables] = {}
        self._online: set[str] = set()
        self._unheard: set[str] = set()  # sites whose tables are at best in the configuration
        self._expected = configured.keys()
        for name, tables, online in sites:
            self._tables[name] = tables or configured.get(name, {})
            if not tables:
                self._unheard.add(name)
            if online:
                self._online.add(name)

    def play(self, statement: Statement) -> None:
        match statement:
            case CreateWatch(plan):
                self._create(plan)
            case DropWatch(name, if_exists):
                if not if_exists:
                    self._find(name)
                self._watches.pop(name.casefold(), None)
            case DropSite(name):
                self._drop_site(name)
            case PauseWatch(name):
                plan, status = self._find_kept(name)
                if status == "paused":
                    raise SentenceError(f"{plan.name} is paused already", hint=f"RESUME WATCH {plan.name}")
                self._watches[name.casefold()] = plan, "paused"
            case ResumeWatch(name):
                plan, status = self._find_kept(name)
                if status == "running":
                    raise SentenceError(f"{plan.name} is not paused")
                self._watches[name.casefold()] = plan, "running"
            case AlterWatch(name):
                plan, status = self._find_kept(name)
                self._watches[name.casefold()] = parse_watch(altered(plan.text, statement)), status
            case ShowWatch(name) | ExplainWatch(name, None):
                self._find(name)
            case ShowAlerts(name) | ShowChanges(name) if name is not None:
                self._find(name)

    def _find(self, name: str) -> tuple[WatchPlan, str]:
        found = self._watches.get(name.casefold())
        if found is None:
            raise no_watch(name, (plan.name for plan, _ in self._watches.values()))
        return found

    def _find_kept(self, name: str) -> tuple[WatchPlan, str]:
        """One that can go on: what a watch that failed has in memory is nothing to go on from."""
        plan, status = self._find(name)
        if status == "failed":
            raise SentenceError(
                f"{plan.name} has failed and cannot go on (SHOW WATCH {plan.name} says why)",
                hint=f"DROP WATCH {plan.name} and create it anew",
            )
        return plan, status

    def _create(self, plan: WatchPlan) -> None:
        if plan.name.casefold() in self._watches:
            raise SentenceError(f"there is a watch named {plan.name} already", hint=f"DROP WATCH {plan.name} first")
        check_live(plan)
        self._check_tables(plan)
        for site, tables in self._tables.items():
            for table in [each for each in plan.tables if tables.get(each)]:
                try:
                    check_columns(plan, tables[table], table=table)
                except SentenceError as error:
                    gone = f": if that site is gone for good, DROP SITE {site}"
                    more = ", as the configuration has it" if site in self._unheard else gone
                    whose = SentenceError(f"{error}; the table {table} of site {site} is meant{more}")
                    whose.line, whose.column = error.line, error.column
                    raise whose from None
        self._watches[plan.name.casefold()] = plan, "running"

    def _check_tables(self, plan: WatchPlan) -> None:
        """A table that no site can have is a slip; one that a site may still bring is waited for."""
        known = {table for tables in self._tables.values() for table in tables}
        silent = [site for site in self._expected if not self._tables.get(site)]
        if not known or silent:
            return
        meant = [table for table in plan.tables if table in known or closest(table, known, cutoff=0.6)]
        if self._expected or len(meant) == len(plan.tables):  # else a site may come that nobody has told of
            check_tables(plan, known)

    def _drop_site(self, name: str) -> None:
        if name not in self._tables:
            known = ", ".join(sorted(self._tables)) or "none"
            raise SentenceError(f"there is no site named {name}", hint=f"there are {known}")
        if name in self._online:
            raise SentenceError(f"site {name} is online", hint="stop it first, or it would come back at once")
        self._tables[name] = {}
