"""What people are shown of watches, sites and alerts, as plain values for JSON and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.functions.goals import Track
from tacit.functions.zone_rows import chosen_kind
from tacit.language.explain import explain_text
from tacit.protocols.broadcast import Cascade
from tacit.protocols.centres import Recentrer
from tacit.protocols.frequent.census import Census
from tacit.protocols.gauges.sounder import Sounder
from tacit.protocols.rounds import Exchange
from tacit.protocols.threshold import Balancer
from tacit.protocols.topk.ranker import Ranker
from tacit.runtime.answers import guarantee_of, side_of
from tacit.runtime.rank_teller import list_rows
from tacit.runtime.starting import missing_sites
from tacit.runtime.store import Store
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import key_values
from tacit.wire.kinds import HEARTBEATS

if TYPE_CHECKING:
    from tacit.runtime.coordinator import Coordinator
    from tacit.runtime.kept_watch import KeptWatch

__all__ = [
    "GROUPS_SHOWN", "alert_rows", "alerts_after", "answer_document", "explained", "site_rows", "watch_document",
    "watch_rows",
]  # fmt: skip

GROUPS_SHOWN = 1_000
GAPS_SHOWN = 100


def watch_rows(coordinator: Coordinator, now: float) -> list[dict[str, Any]]:
    """All watches, in the order of their names, each with its answer and what it cost."""
    watches = sorted(coordinator.watches.values(), key=lambda watch: watch.plan.name)
    return [watch_document(coordinator, watch, now) for watch in watches]


def watch_document(coordinator: Coordinator, watch: KeptWatch, now: float) -> dict[str, Any]:
    """Everything about one watch."""
    document = answer_document(coordinator, watch, now)
    measure = watch.measure
    return {
        **document,
        "text": watch.plan.text,
        "protocol": watch.protocol,
        "alert_count": coordinator.alert_counts.of(watch.plan.name),
        "cost": _cost(coordinator, watch),
        "measure": None if measure is None else {"centres": measure.centres.tolist(), "units": measure.units.tolist()},
    }


def explained(watch: KeptWatch) -> str:
    """EXPLAIN WATCH of one that runs: the plan, how it is kept, and the zones that its sites hold."""
    lines = [explain_text(watch.plan), *([] if watch.ranks else [f"  protocol    {watch.protocol}"])]
    resolver = None if watch.settlement is None else watch.settlement.resolver
    if watch.ranks or watch.gauged:
        words = resolver.words() if isinstance(resolver, Ranker | Exchange | Census | Sounder) else "none yet"
        return "\n".join([*lines, f"  {'gauges' if watch.gauged else 'lists'} now   {words}"])
    if not isinstance(resolver, Balancer | Cascade) or not len(resolver.zones.answer):
        return "\n".join([*lines, "  zones now   none yet"])
    made = ", ".join(resolver.monitor.kinds)
    if isinstance(resolver, Recentrer):
        return "\n".join([*lines, f"  zones now   {resolver.words(0)} (made so far: {made})"])
    spread = resolver.spread.now if isinstance(resolver, Balancer) else None
    estimate = resolver.zones.estimate[0]
    if not np.isfinite(estimate).all():
        return "\n".join([*lines, "  zones now   none: the answer has no value"])
    sizes = resolver.monitor.zone_sizes(estimate, spread)
    listed = ", ".join(f"{kind} {size:.3g}" for kind, size in sorted(sizes.items(), key=lambda pair: -pair[1]))
    unit = "units" if spread is None else "usual drifts"
    lines.append(f"  zones now   {chosen_kind(sizes)}; to the edge, in {unit}: {listed} (made so far: {made})")
    return "\n".join(lines)


def answer_document(coordinator: Coordinator, watch: KeptWatch, now: float) -> dict[str, Any]:
    """What the watch says now: value or values, state, the pane it is as of, who is stale since when, the guarantee.

    Sites are in the order of their names, whoever came first.
    """
    names = {number: site.name for number, site in coordinator.sites.items()}
    settlement, answered = watch.settlement, watch.answered
    stale = (
        []
        if settlement is None
        else sorted(
            (names[site], coordinator.sites.silent_since(site, settlement.heard(site))) for site in settlement.stale
        )
    )
    document: dict[str, Any] = {
        "watch": watch.plan.name,
        "status": watch.status,
        "state": watch.shown_state,
        "pane": None if answered is None else answered.pane,
        "as_of": None if answered is None else iso_time((answered.pane + 1) * watch.pane_us),
        "guarantee": guarantee_of(watch.plan, watch.shape),
        "sites": _speaks_for(watch, names),
        "missing": _missing(watch, names, now),
        "late": _settled_late(watch),
        "gaps": _gaps(watch, names),
        "stale": [{"site": site, "seconds": round(max(0.0, now - heard), 1)} for site, heard in stale],
        "problems": {names[site]: offer.problem for site, offer in sorted(watch.offers.items()) if offer.problem},
        "waiting_for": [],
        "answer": _answers(watch, coordinator.sites.key_kinds(watch.plan)),
    }
    if watch.problem:
        document["problems"]["coordinator"] = watch.problem
    elif settlement is None and watch.status == "running":
        missing = missing_sites(watch.offers, coordinator.waited_for(watch))
        document["waiting_for"] = sorted(names[site] for site in missing)
        lacking = coordinator.lacking(watch.plan)
        if lacking and any(site.tables for site in coordinator.sites.values()):  # before that nobody has said anything
            tables = " or ".join(lacking)
            document["problems"]["coordinator"] = f"no site has a table named {tables} yet{coordinator.near(lacking)}"
    return document


def _speaks_for(watch: KeptWatch, names: Mapping[int, str]) -> list[str]:
    """The sites that count and are not missing."""
    if watch.settlement is None:
        return []
    missing = set(watch.missing)
    return sorted(names[site] for site in watch.settlement.roster if site not in missing)


def _missing(watch: KeptWatch, names: Mapping[int, str], now: float) -> list[dict[str, Any]]:
    """The sites that the answer goes on without, for how long, and why."""
    settlement = watch.settlement
    if settlement is None:
        return []
    found = [(names[site], *settlement.absence(site)) for site in watch.missing]
    return [
        {"site": site, "seconds": round(max(0.0, now - since), 1), "reason": reason}
        for site, since, reason in sorted(found)
    ]


def _settled_late(watch: KeptWatch) -> dict[str, Any] | None:
    """The panes that were answered without some site and are not settled with it yet."""
    settlement = watch.settlement
    if settlement is None or settlement.final >= settlement.front:
        return None
    return _panes(watch, settlement.final + 1, settlement.front)


def _gaps(watch: KeptWatch, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """The newest stretches of panes that nobody can answer for."""
    return [
        {
            **_panes(watch, first, last),
            "reason": f"{', '.join(sorted(names[site] for site in lost))} cannot answer for these panes any more"
            if lost
            else "skipped: more panes waited than backlog_panes allows",
        }
        for first, last, lost in watch.history.gaps[-GAPS_SHOWN:]
    ]


def _panes(watch: KeptWatch, first: int, last: int) -> dict[str, Any]:
    start, end = iso_time(first * watch.pane_us), iso_time((last + 1) * watch.pane_us)
    return {"first": first, "last": last, "from": start, "to": end}


def _answers(watch: KeptWatch, kinds: Sequence[str]) -> list[dict[str, Any]]:
    if watch.answered is None:
        return []
    if watch.ranks:
        return list_rows(watch.plan, watch.said, kinds, GROUPS_SHOWN)
    tracks = isinstance(watch.plan.goal, Track) or watch.gauged
    rows = []
    spoken_of = [(key, said) for key, said in watch.said.items() if key or not watch.by_member]
    for key, said in spoken_of[:GROUPS_SHOWN]:
        row: dict[str, Any] = {"value": said.value if np.isfinite(said.value) else None}
        if not tracks:
            row["side"] = side_of(watch.plan, said.side)
            row["met"] = said.side == 1
        if watch.plan.grouping is not None:
            row["group"] = key_values(key, kinds)
        rows.append(row)
    return rows


def _cost(coordinator: Coordinator, watch: KeptWatch) -> dict[str, Any]:
    total = [0, 0]
    kinds: dict[str, int] = {}
    beats = [0, 0]
    for kind, messages, volume in coordinator.accounts.of(watch.lineage):
        kinds[kind] = kinds.get(kind, 0) + messages
        into = beats if kind in HEARTBEATS else total
        into[0] += messages
        into[1] += volume
    counts = watch.counts.values()
    return {
        "messages": {"total": total[0], "by_kind": {k: n for k, n in sorted(kinds.items()) if k not in HEARTBEATS}},
        "bytes": total[1],
        "heartbeats": {"messages": beats[0], "bytes": beats[1]},
        "centralised": {"messages": sum(each.events for each in counts)},
        "pane_shipping": {"messages": sum(each.panes for each in counts)},
        "late": sum(each.late for each in counts),
        "no_time": sum(each.no_time for each in counts),
        "full_syncs": 0 if watch.settlement is None else watch.settlement.resolver.full_syncs,
    }


def site_rows(coordinator: Coordinator, now: float) -> list[dict[str, Any]]:
    """All sites that were ever seen or are expected."""
    rows = []
    # An altered watch goes on counting under its new number, from what it had counted under the old one.
    newest = {watch.lineage: watch for _, watch in sorted(coordinator.watches.items())}
    for site in sorted(coordinator.sites.values(), key=lambda site: site.name):
        late, no_time = 0, dict.fromkeys(sorted(site.tables), 0)
        for watch in newest.values():
            if (counts := watch.counts.get(site.number)) is not None:
                late += counts.late
                # The rows of a table are the same for all its watches, which count them from when they came.
                no_time[watch.plan.table] = max(counts.no_time, no_time.get(watch.plan.table, 0))
        rows.append(
            {
                "site": site.name,
                "number": site.number,
                "online": site.online,
                "seen_seconds_ago": round(max(0.0, now - site.seen), 1),
                "tables": sorted(site.tables),
                "late": late,
                "no_time": no_time,
            }
        )
    return rows


def alert_rows(store: Store, kind: str, watch: str | None, limit: int | None) -> list[dict[str, Any]]:
    """The newest alerts, or changes, first."""
    where, values = ("", (kind,)) if watch is None else (" AND watch = ?", (kind, watch))
    count = 100 if limit is None else limit
    found = store.all(f"SELECT document FROM alerts WHERE kind = ?{where} ORDER BY seq DESC LIMIT ?", (*values, count))
    return [json.loads(document) for (document,) in found]


def alerts_after(store: Store, watch: str, seq: int | None) -> tuple[int, list[dict[str, Any]]]:
    """Alerts and changes of a watch after the one with this number, the oldest first, and the number of the newest.

    Without a number there are none: it is asked where they stand. A number of a store that was reset counts as new.
    """
    (newest,) = store.one("SELECT COALESCE(MAX(seq), 0) FROM alerts WHERE watch = ?", (watch,)) or (0,)
    if seq is None or seq >= newest:
        return newest, []
    found = store.all("SELECT document FROM alerts WHERE watch = ? AND seq > ? ORDER BY seq", (watch, seq))
    return newest, [json.loads(document) for (document,) in found]
