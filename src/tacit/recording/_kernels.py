"""Loops of this room that arrays make slow: merging updates, counting logged resolutions of a watch without groups."""

from __future__ import annotations

from tacit._jit import leaf

__all__ = ["count_single", "merge"]

REPORT, REQUEST, REPLY, ADJUST, RENEW = range(5)


@leaf()
def _varint(number):  # type: ignore[no-untyped-def]
    length = 1
    while number >= 128:
        number >>= 7
        length += 1
    return length


@leaf()
def _unsigned(number):  # type: ignore[no-untyped-def]
    return 0 if number == 0 else 1 + _varint(number)


@leaf()
def _nested(length):  # type: ignore[no-untyped-def]
    return 1 + _varint(length) + length


@leaf()
def count_single(log, size, versions, requests, sites, frame, vector, rows, counts, volumes, when, messages):  # type: ignore[no-untyped-def]
    """Add up the messages of the log's entries, whose group is 0, and number them on.

    ``frame`` is the size of what surrounds a message, ``vector`` that of a vector and ``rows`` that of the rows of one
    group. ``counts`` and ``volumes`` are by kind and site; ``when`` and ``messages`` receive the update and the
    messages of every entry. Returns (entries, reports).
    """
    entry, reports, at = 0, 0, 0
    while at < size:
        pane, reporters, members = _unsigned(log[at] << 1), log[at + 2], log[at + 3]
        renewed = members < 0
        members = abs(members)
        for k in range(members):
            site = log[at + 4 + k]
            head = _unsigned(site) + pane
            if k < reporters:
                body = head + 2 + _unsigned(versions[site]) + rows
                counts[REPORT, site] += 1
                volumes[REPORT, site] += frame + _nested(body)
            else:
                requests[0] += 1
                asked = head + _unsigned(requests[0])
                counts[REQUEST, site] += 1
                volumes[REQUEST, site] += frame + _nested(asked)
                counts[REPLY, site] += 1
                volumes[REPLY, site] += frame + _nested(asked + rows)
        for k in range(members):
            site = log[at + 4 + k]
            versions[site] += 1
            body = _unsigned(site) + pane + _unsigned(versions[site]) + vector
            kind = RENEW if renewed else ADJUST
            counts[kind, site] += 1
            volumes[kind, site] += frame + _nested(body + (_unsigned(sites) if renewed else 0))
        when[entry] = log[at]
        messages[entry] = reporters + 2 * (members - reporters) + members
        reports += reporters
        entry += 1
        at += 4 + members
    return entry, reports


@leaf()
def merge(time, site, lo, hi, time_2, site_2, lo_2, hi_2, out):  # type: ignore[no-untyped-def]
    """Merge two lists of updates in order of time into ``out`` (4 rows); at equal times the first list goes first."""
    i, k = 0, 0
    for at in range(out.shape[1]):
        if k == len(time_2) or (i < len(time) and time[i] <= time_2[k]):
            out[0, at], out[1, at], out[2, at], out[3, at] = time[i], site[i], lo[i], hi[i]
            i += 1
        else:
            out[0, at], out[1, at], out[2, at], out[3, at] = time_2[k], site_2[k], lo_2[k], hi_2[k]
            k += 1
