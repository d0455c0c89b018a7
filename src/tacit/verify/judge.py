"""Judges one watch: every pane that was published, every alert, and what should have been published and was not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from tacit.functions.goals import Top
from tacit.verify.history import History, RawSaid, Span, group_of
from tacit.verify.keys import Key, key_of_text, key_of_values, shown
from tacit.verify.late_rows import LateRows
from tacit.verify.question import Question, question_of
from tacit.verify.rows import Rows
from tacit.verify.truths import truth_of
from tacit.verify.truths.truth import PaneTruths, Said, Truth
from tacit.verify.verdict import Gap, Verdict

__all__ = ["judge_watch", "last_pane_of_data"]

_VALID = "valid"
_FILLING = "filling"
_UNKNOWN = "unknown"
_LONG_S = 60.0  # with the clock of the machine, an alert that comes so long after its watermark is late
_AT_ONCE = 20_000  # panes whose truth is held at a time


@dataclass(frozen=True, slots=True)
class _Alert:
    pane: int
    group: Key
    side: str | None
    state: str
    document: Mapping[str, Any]


def judge_watch(
    history: History,
    rows: Rows,
    *,
    sites: Iterable[str] | None = None,
    dropped: int = 0,
    until: int | None = None,
    seen: Mapping[int, RawSaid] = MappingProxyType({}),
) -> Verdict:
    """What is to be said of a watch.

    ``sites`` are those that the system has (None: all that have the table). ``dropped`` is how many rows of the watch
    came too late, as the sites say. ``until`` is the last pane that must have been answered (None: the last one that
    was). ``seen`` is what panes that were called valid said when they were looked at before.
    """
    alerts = sum(alert.get("kind", "alert") == "alert" for alert in history.alerts)
    verdict = Verdict(history.name, alerts=alerts, changes=len(history.alerts) - alerts, dropped=dropped)
    spans = history.by_pane()
    if not spans:
        verdict.problem = "no pane was ever answered"
        return verdict
    versions = {number: question_of(history.texts[number]) for number in {span.version for span in spans.values()}}
    newest = versions[max(versions)]
    truths = {number: truth_of(rows, question) for number, question in versions.items()}
    verdict.kind = truths[max(truths)].kind
    tables = newest.plan.tables
    everyone = {site for table in tables for site in rows.sites(table)}
    known = tuple(sorted(everyone if sites is None else everyone & set(sites)))
    late = LateRows(rows, newest, tables)
    _judge_coverage(verdict, spans, rows, newest, until)
    _judge_panes(verdict, history, spans, truths, known, late if dropped else None, seen)
    told = _alerts(history, spans, truths[max(truths)], newest)
    _judge_repeats(verdict, history, told, truths[max(truths)])
    _judge_unannounced(verdict, history, told, truths[max(truths)])
    verdict.late = sum(_is_late(alert, rows, tables) for alert in told)
    if dropped > len(late) * max(1, len(newest.plan.keys)):
        verdict.problem = f"{dropped} rows were dropped as late, and only {len(late)} came late"
    return verdict


def last_pane_of_data(rows: Rows, question: Question) -> int | None:
    """The last pane that rows close at every site; None where the clock of a machine closes panes too."""
    ends = []
    for table in question.plan.tables:
        for source in rows.of(table):
            if source.clock != "event":
                return None
            newest = rows.newest(table, source.site)
            if newest is not None:  # a site without rows closes what the others close
                ends.append((newest - source.watermark_us) // question.pane_us - 1)
    return min(ends, default=None)


# Which panes were answered


def _judge_coverage(
    verdict: Verdict, spans: Mapping[int, Span], rows: Rows, question: Question, until: int | None
) -> None:
    panes = sorted(spans)
    gaps = _runs([pane for pane in panes if spans[pane].state == _UNKNOWN])
    verdict.gaps = [Gap(first, last) for first, last in gaps]
    verdict.skipped = [(a + 1, b - 1) for a, b in pairwise(panes) if b > a + 1]
    if until is not None:
        verdict.unanswered = max(0, until - panes[-1])
    firsts = [first for table in question.plan.tables if (first := rows.oldest(table)) is not None]
    start = min(firsts) // question.pane_us if firsts else panes[0]
    verdict.before = max(0, panes[0] - start - 1)  # of the first pane nothing is said: nothing was before it


def _runs(panes: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for pane in panes:
        if found and found[-1][1] == pane - 1:
            found[-1] = found[-1][0], pane
        else:
            found.append((pane, pane))
    return found


# What was said at each of them


def _judge_panes(
    verdict: Verdict,
    history: History,
    spans: Mapping[int, Span],
    truths: Mapping[int, Truth],
    known: tuple[str, ...],
    late: LateRows | None,
    seen: Mapping[int, RawSaid],
) -> None:
    newest = truths[max(truths)]
    crossings = _Crossings(verdict, _alerts(history, spans, newest, newest.question), newest, late)
    goal = newest.question.plan.goal
    per = goal.per if isinstance(goal, Top) else 0
    first, last = min(spans), max(spans) + verdict.unanswered
    said_at = history.said_at(range(first, last + 1), newest.key_kinds, per)
    for start in range(first, last + 1, _AT_ONCE):
        panes = range(start, min(start + _AT_ONCE, last + 1))
        by_all: dict[int, PaneTruths] = {}
        for number, truth in truths.items():
            mine = [pane for pane in panes if _version(spans, pane, truths) == number]
            if mine:
                together = truth.at(mine, known)
                by_all.update(dict.fromkeys(mine, together))
        by_some = _by_some(spans, panes, truths, known)
        for pane, said in ((pane, said) for pane, said in _some(said_at, len(panes))):
            span = spans.get(pane)
            crossings.look(pane, span, by_all[pane])
            if span is None or span.state == _UNKNOWN:
                continue
            _judge_pane(verdict, pane, span, said, by_all[pane], by_some.get(pane), known, late)
            if pane in seen and (before := seen[pane].read(newest.key_kinds, per)) != said:
                _judge_revised(verdict, pane, before, by_all[pane], late)
    crossings.end()


def _some(said_at: Any, many: int) -> Iterable[tuple[int, Said]]:
    for _ in range(many):
        yield next(said_at)


def _version(spans: Mapping[int, Span], pane: int, truths: Mapping[int, Truth]) -> int:
    return spans[pane].version if pane in spans else max(truths)


def _by_some(
    spans: Mapping[int, Span], panes: Iterable[int], truths: Mapping[int, Truth], known: tuple[str, ...]
) -> dict[int, PaneTruths]:
    """The truth by fewer sites, for panes whose answer does not claim to be of all."""
    alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for pane in panes:
        span = spans.get(pane)
        if span is None or span.state == _UNKNOWN or _is_of_all(span, known):
            continue
        speaking = tuple(site for site in span.sites if site not in span.missing)
        alike.setdefault((span.version, speaking), []).append(pane)
    found: dict[int, PaneTruths] = {}
    for (version, speaking), mine in alike.items():
        found.update(dict.fromkeys(mine, truths[version].at(mine, speaking)))
    return found


def _is_of_all(span: Span, known: tuple[str, ...]) -> bool:
    """Does an answer claim to be of all sites? A window may be filling, and the sites it is of are then named."""
    return span.state == _VALID or (span.state == _FILLING and set(known) <= set(span.sites))


def _judge_pane(
    verdict: Verdict,
    pane: int,
    span: Span,
    said: Said,
    truth: PaneTruths,
    partial: PaneTruths | None,
    known: tuple[str, ...],
    late: LateRows | None,
) -> None:
    whole = _is_of_all(span, known) and (span.state == _VALID or verdict.before == 0)
    if not truth.can_be_judged(pane):
        verdict.unpromised += 1
        return
    if not whole:
        verdict.apart[span.state] = verdict.apart.get(span.state, 0) + 1
        if (partial or truth).complaints(pane, said):
            verdict.apart_off[span.state] = verdict.apart_off.get(span.state, 0) + 1
        return
    verdict.panes += 1
    found = [f"{shown(key)}: {what}" if key else what for key, what in truth.complaints(pane, said)]
    if found and late is not None and late.touch(pane):
        verdict.excused += 1
        return
    lacking = [site for site in known if site not in span.sites]
    where = f"pane {pane} ({span.state}{', without ' + ', '.join(lacking) if lacking else ''})"
    if lacking and span.state == _VALID:
        verdict.wrong.append(f"{where}: called valid without all sites")
    verdict.wrong += [f"{where}: {each}" for each in found]


def _judge_revised(verdict: Verdict, pane: int, before: Said, truth: PaneTruths, late: LateRows | None) -> None:
    """A pane that was called valid has another answer now: the one before must have been right, too."""
    verdict.revised += 1
    if truth.can_be_judged(pane) and (late is None or not late.touch(pane)):
        found = [f"{shown(key)}: {what}" if key else what for key, what in truth.complaints(pane, before)]
        verdict.wrong += [f"pane {pane} (valid when it was looked at): {each}" for each in found]


# Crossings of the truth


class _Crossings:
    """Where the truth of a condition crosses its thresholds by more than the margins: each needs an alert."""

    def __init__(self, verdict: Verdict, alerts: Sequence[_Alert], truth: Truth, late: LateRows | None) -> None:
        self._verdict, self._late = verdict, late
        self._alerts: dict[Key, list[tuple[int, bool]]] = {}
        self._valid: dict[int, list[tuple[Key, bool]]] = {}
        for alert in alerts:
            if alert.side is not None:
                met = _is_met(alert, truth.question)
                self._alerts.setdefault(alert.group, []).append((alert.pane, met))
                if alert.state == _VALID:
                    self._valid.setdefault(alert.pane, []).append((alert.group, met))
        self._found: dict[Key, list[tuple[int, bool]]] = {}
        self._met: dict[Key, bool] = {}
        self._in_gap = False

    def look(self, pane: int, span: Span | None, truth: PaneTruths) -> None:
        """The next pane."""
        if (span is not None and span.state == _UNKNOWN) or (self._late is not None and self._late.touch(pane)):
            self._in_gap = True
            return
        true = truth.forced(pane)
        for key, met in self._valid.get(pane, ()):
            if true.get(key, met) not in (met, None):
                group = f": {shown(key)}" if key else ""
                self._verdict.wrong.append(f"pane {pane}{group}: a valid alert says {'met' if met else 'not met'}")
        for key, forced in true.items():
            if forced is None or forced == self._met.get(key, False):
                continue
            self._met[key] = forced
            if not self._in_gap:
                self._found.setdefault(key, []).append((pane, forced))
        self._in_gap = False

    def end(self) -> None:
        """All was seen."""
        for key, crossings in self._found.items():
            self._verdict.crossings += len(crossings)
            alerts = sorted(self._alerts.get(key, []))
            panes = [pane for pane, _ in alerts]
            for at, (pane, met) in enumerate(crossings):
                before = crossings[at - 1][0] if at else -(1 << 62)
                after = crossings[at + 1][0] if at + 1 < len(crossings) else 1 << 62
                between = alerts[bisect_right(panes, before) : bisect_left(panes, after)]
                if not any(said == met for _, said in between):
                    group = f": {shown(key)}" if key else ""
                    self._verdict.lost.append(f"pane {pane}{group}: {'met' if met else 'not met any more'}, no alert")


# Alerts


def _alerts(history: History, spans: Mapping[int, Span], truth: Truth, question: Question) -> list[_Alert]:
    goal = question.plan.goal
    cut = len(truth.key_kinds) - goal.per if isinstance(goal, Top) else 0
    kinds = truth.key_kinds[cut:]
    found = []
    for alert in history.alerts:
        span = spans.get(alert["pane"])
        state = alert.get("state") or (_VALID if span is None else span.state)
        found.append(_Alert(alert["pane"], group_of(alert, kinds), alert.get("side"), str(state), alert))
    return found


def _is_met(alert: _Alert, question: Question) -> bool:
    if alert.side in ("met", "not met"):
        return alert.side == "met"
    operator = str(getattr(question.plan.goal, "operator", ">"))
    return (alert.side == "above") == (operator in (">", ">="))


def _judge_repeats(verdict: Verdict, history: History, alerts: Sequence[_Alert], truth: Truth) -> None:
    """One crossing is alerted once: sides take turns, and no list is told twice as of one pane.

    An alert of a pane that was settled without a site counts if the settled pane says the same: it is not raised again.
    A correction takes back an alert that does not count.
    """
    ids: set[str] = set()
    by_group: dict[Key, list[_Alert]] = {}
    crossings = set(_published_crossings(history, truth))
    for alert in alerts:
        if alert.document["id"] in ids:
            verdict.doubled.append(f"pane {alert.pane}: the alert {alert.document['id']} came twice")
        ids.add(alert.document["id"])
        if alert.document.get("correction") or alert.document.get("kind", "alert") != "alert":
            continue
        met = _is_met(alert, truth.question)
        if alert.side is None or alert.state == _VALID or (alert.pane, alert.group, met) in crossings:
            by_group.setdefault(alert.group, []).append(alert)
    for group, mine in by_group.items():
        before: _Alert | None = None
        for alert in sorted(mine, key=lambda alert: alert.pane):
            if before is not None and _is_same_again(before, alert):
                name = f": {shown(group)}" if group else ""
                what = alert.side or "the same list"
                verdict.doubled.append(f"pane {alert.pane}{name}: {what}, as at pane {before.pane}")
            before = alert


def _is_same_again(before: _Alert, alert: _Alert) -> bool:
    if alert.side is not None:
        return alert.side == before.side
    return alert.pane == before.pane and _members(alert) == _members(before) is not None


def _members(alert: _Alert, kinds: Sequence[str] = ()) -> frozenset[Key] | None:
    """The objects of the list that an alert tells."""
    ranking = alert.document.get("ranking")
    return None if ranking is None else frozenset(key_of_values(each, kinds) for each, _ in ranking)


def _published_crossings(history: History, truth: Truth) -> Iterator[tuple[int, Key, bool]]:
    """Where the published side of a group changed, and whether it is met from then on."""
    met: dict[Key, bool] = {}
    for pane, text, side, _ in history.changes:
        key = key_of_text(text, truth.key_kinds)
        if not key and truth.question.plan.grouping is not None:
            continue  # under GROUP BY EACH what all groups are that have no rows
        if met.get(key, False) != (side == 1):
            yield pane, key, side == 1
        met[key] = side == 1


def _judge_unannounced(verdict: Verdict, history: History, alerts: Sequence[_Alert], truth: Truth) -> None:
    """Every change of a published side, or of a published list, has its alert."""
    question = truth.question
    if truth.kind == "condition":
        told = {(alert.pane, alert.group, _is_met(alert, question)) for alert in alerts}
        for pane, key, met in _published_crossings(history, truth):
            if (pane, key, met) not in told:
                name = f": {shown(key)}" if key else ""
                verdict.lost.append(f"pane {pane}{name}: published as {'met' if met else 'not met'}, no alert")
    goal = question.plan.goal
    cut = len(truth.key_kinds) - goal.per if isinstance(goal, Top) else len(truth.key_kinds)
    listed = {(alert.pane, alert.group, _members(alert, truth.key_kinds[:cut])) for alert in alerts}
    before: dict[Key, frozenset[Key]] = {}
    for pane, text, members in history.lists:
        list_name = key_of_text(text, truth.key_kinds[cut:])
        now = frozenset(key_of_text(member, truth.key_kinds[:cut]) for member, _ in members)
        if now != before.get(list_name, frozenset()) and (pane, list_name, now) not in listed:
            verdict.lost.append(f"pane {pane}: another list was published, no alert")
        before[list_name] = now


def _is_late(alert: _Alert, rows: Rows, tables: Iterable[str]) -> bool:
    document = alert.document
    if document.get("late"):
        return True
    clocks = {source.clock for table in tables for source in rows.of(table)}
    if clocks != {"wall"} or "raised" not in document:
        return False
    watermark = max(source.watermark_us for table in tables for source in rows.of(table)) / 1e6
    raised, at = (datetime.fromisoformat(document[name].replace("Z", "+00:00")) for name in ("raised", "at"))
    return (raised - at).total_seconds() > watermark + _LONG_S
