"""The document of an alert, or of a change, as every sink, ``follow`` and the store have it (docs/CONFIGURATION.md).

An *alert* is a condition that begins or ceases to hold, or a member that enters or leaves a list. A *change* is a new
value of a watch that tracks, or another order of a ranking. Sites stand in a document by their numbers, and groups by
their keys, until the coordinator has put in names and
values (``named``, ``valued``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.vocabulary import Answer
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import key_values

__all__ = ["ALERT", "CHANGE", "Document", "alert_id", "document_of", "named", "valued"]

Document = dict[str, Any]

ALERT, CHANGE = "alert", "change"


def alert_id(lineage: int, watch: str, pane: int, key: str, *what: str | float | None) -> str:
    """The same for the same alert, however often it is raised; ``what`` it says tells it from another of that pane."""
    return hashlib.sha256(json.dumps([lineage, watch, pane, key, *what]).encode()).hexdigest()[:24]


def document_of(
    answer: Answer,
    *,
    kind: str,
    id: str,
    watch: str,
    pane: int,
    pane_us: int,
    group: str | None,
    side: str | None = None,
    value: float | None = None,
    threshold: float | None = None,
    comparison: str | None = None,
    **more: Any,
) -> Document:
    """What is told of an answer at a pane; sites are still numbers, groups and objects still keys."""
    return {
        "id": id,
        "kind": kind,
        "watch": watch,
        "at": iso_time((pane + 1) * pane_us),
        "pane": pane,
        "side": side,
        "value": value,
        "threshold": threshold,
        "comparison": comparison,
        "group": group,
        "state": answer.state.value,
        "sites": [site for site in answer.roster if site not in answer.stale],
        "missing": [{"site": each.site, "since": each.since, "reason": each.reason} for each in answer.missing],
        "late": answer.late,
        **more,
    }


def valued(document: Document, kinds: Sequence[str], per: int) -> Document:
    """The document with the values of its groups and objects in place of their keys.

    ``kinds`` says what the parts of a key are; the last ``per`` of them name the list of a ranking.
    """
    group, cut = document["group"], len(kinds) - per
    found = {**document, "group": None if group is None else key_values(group, kinds[cut:] if per else kinds)}
    if "ranking" in document:
        found |= {how: [key_values(key, kinds[:cut]) for key in document[how]] for how in ("entered", "left")}
        found["ranking"] = [[key_values(key, kinds[:cut]), score] for key, score in document["ranking"]]
    return found


def named(document: Document, names: Mapping[int, str], clock_at_zero: float) -> Document:
    """The document with the names of its sites, and with times of the calendar.

    ``clock_at_zero`` is the time of the calendar, in seconds, at which the coordinator's own clock was 0.
    """
    missing = [
        {**each, "site": names[each["site"]], "since": iso_time(round((clock_at_zero + each["since"]) * 1e3) * 1_000)}
        for each in document["missing"]
    ]
    return {
        **document,
        "sites": sorted(names[number] for number in document["sites"]),
        "missing": sorted(missing, key=lambda each: str(each["site"])),
    }
