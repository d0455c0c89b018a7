"""Kernels of top-k: many sites through silence, in global order, and the observer's judgement of every step.

An *arena* is one list at one site; its objects are a range of the flat arrays. For each arena two bounds are kept: none
of its members is adjusted below ``floor``, nothing outside above ``ceiling``. An update moves at most one of them, so
that its check takes a few operations; only where the bounds say too little is the arena looked through.
"""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf

__all__ = ["advance", "judge", "look", "refreshes"]

MEMBER, GUARD, KNOWN = 1, 2, 4
ROUNDING = 2.0**-46


@leaf()
def _low(members, cells, begin, values, deltas):  # type: ignore[no-untyped-def]
    """The least adjusted score inside, and the same with what rounding may have taken from it."""
    low, size = np.inf, 0.0
    for k in range(members):
        at = begin + cells[k]
        low = min(low, values[at] + deltas[at])
        size = max(size, abs(values[at]) + abs(deltas[at]))
    return low, low + ROUNDING * size


@leaf()
def look(arena, start, used, members, cells, opened, width, values, counts, deltas, flags, told, floor, ceiling):  # type: ignore[no-untyped-def]
    """Look through an arena: is a constraint broken? If not, its bounds are exact afterwards."""
    begin, end, is_open = start[arena], start[arena] + used[arena], opened[arena]
    low, within = _low(members[arena], cells[arena], begin, values, deltas)
    high = 0.0 if is_open else -np.inf
    if is_open and within < 0.0:
        return True
    for at in range(begin, end):
        flag = flags[at]
        if flag & MEMBER:
            if (flag & GUARD and counts[at] == 0) or abs(values[at] - told[at]) > width[arena]:
                return True
        elif is_open or flag & KNOWN:
            adjusted = values[at] + deltas[at]
            if adjusted - ROUNDING * (abs(values[at]) + abs(deltas[at])) > within:
                return True
            high = max(high, adjusted)
            if not is_open and flag & GUARD and counts[at] == 0:
                return True
        elif counts[at] > 0:
            return True
    floor[arena], ceiling[arena] = low, high
    return False


@leaf()
def _add(at, change, exact, values, whole, lost, empty):  # type: ignore[no-untyped-def]
    """Add to a sum. One that rounds is kept with what rounding lost (two-sum): rows that left leave nothing behind."""
    if exact:
        values[at] += change
        return
    sum_ = whole[at] + change
    back = sum_ - whole[at]
    lost[at] += (whole[at] - (sum_ - back)) + (change - back)
    whole[at] = sum_
    if empty:
        whole[at] = lost[at] = 0.0
    values[at] = whole[at] + lost[at]


@leaf()
def _change(  # type: ignore[no-untyped-def]
    row, sign, arena, begin, row_local, row_score, exact, values, whole, lost, counts, deltas, flags, told,
    width, opened, floor, ceiling,
):  # fmt: skip
    """A row comes or goes; True when the arena must be looked through."""
    at = begin + row_local[row]
    counts[at] += sign
    _add(at, sign * row_score[row], exact, values, whole, lost, counts[at] == 0)
    adjusted, flag = values[at] + deltas[at], flags[at]
    if flag & MEMBER:
        floor[arena] = min(floor[arena], adjusted)
        moved = abs(values[at] - told[at]) > width[arena]
        return moved or floor[arena] < ceiling[arena] or (flag & GUARD != 0 and counts[at] == 0)
    if opened[arena] or flag & KNOWN:
        ceiling[arena] = max(ceiling[arena], adjusted)
        return adjusted > floor[arena] or (flag & GUARD != 0 and counts[at] == 0 and not opened[arena])
    return counts[at] > 0


@leaf()
def advance(  # type: ignore[no-untyped-def]
    at, end, site, lo, hi, last, at_lo, at_hi, row_arena, row_local, row_score, exact, start, used, members,
    cells, opened, width, values, whole, lost, counts, deltas, flags, told, floor, ceiling, updates, dirty,
    marked, out,
):  # fmt: skip
    """Advance to the end of the first step with a violation: (updates done, arenas violated, written to ``out``)."""
    dirt = 0
    while at < end:
        s = site[at]
        for turn in range(2):  # rows that leave, then rows that come
            first, stop, sign = at_lo[s], min(lo[at], at_hi[s]), -1
            if turn:
                first, stop, sign = max(at_hi[s], lo[at]), hi[at], 1
            for row in range(first, stop):
                arena = row_arena[row]
                if _change(
                    row, sign, arena, start[arena], row_local, row_score, exact, values, whole, lost, counts, deltas,
                    flags, told, width, opened, floor, ceiling,
                ) and not marked[arena]:  # fmt: skip
                    marked[arena] = True
                    dirty[dirt] = arena
                    dirt += 1
                updates[s] += 1
        at_lo[s], at_hi[s] = lo[at], hi[at]
        at += 1
        if dirt and last[at - 1]:
            broken = 0
            for k in range(dirt):
                arena = dirty[k]
                marked[arena] = False
                if look(
                    arena, start, used, members, cells, opened, width, values, counts, deltas, flags, told, floor,
                    ceiling,
                ):  # fmt: skip
                    out[broken] = arena
                    broken += 1
            dirt = 0
            if broken:
                return at, broken
    return at, 0


@leaf()
def _survey(begin, end, inside, values, counts):  # type: ignore[no-untyped-def]
    """The least score inside and the largest outside among objects that are there, and where they are (-1: none)."""
    low, high, least, most = np.inf, -np.inf, -1, -1
    for at in range(begin, end):
        if inside[at]:
            if values[at] < low:
                low, least = values[at], at
        elif counts[at] > 0 and values[at] > high:
            high, most = values[at], at
    return low, least, high, most


@leaf()
def _turn(begin, end, name, k, star, stars, values, counts, floor, ceiling):  # type: ignore[no-untyped-def]
    """Bring the exact set up to date; has it changed?"""
    changed = False
    for at in range(begin, end):
        if star[at] and counts[at] == 0:
            star[at] = False
            stars[name] -= 1
            changed = True
    while True:
        low, least, high, most = _survey(begin, end, star, values, counts)
        if most >= 0 and stars[name] < k:
            star[most] = True
            stars[name] += 1
        elif most >= 0 and high > low:
            star[most], star[least] = True, False
        else:
            break
        changed = True
    floor[name], ceiling[name] = low, high
    return changed


@leaf()
def _judged(name, start, k, epsilon, inside, members, gone, alive, values, counts, floor, ceiling, verdict):  # type: ignore[no-untyped-def]
    """Judge the answer of a list: ``verdict`` counts (steps missed, steps spurious) and keeps the largest error."""
    if ceiling[name] - floor[name] > min(verdict[2], epsilon):
        low, _, high, _ = _survey(start[name], start[name + 1], inside, values, counts)
        floor[name], ceiling[name] = low, high
        if members[name] and high > -np.inf:
            verdict[2] = max(verdict[2], high - low)
    error = ceiling[name] - floor[name]
    slop = ROUNDING * 4.0 * (abs(ceiling[name]) + abs(floor[name])) if error < np.inf and error > -np.inf else 0.0
    if members[name] - gone[name] != min(k, alive[name]) or (members[name] and error > epsilon + slop):
        verdict[0] += 1
    if gone[name] > 0:
        verdict[1] += 1


@leaf()
def judge(  # type: ignore[no-untyped-def]
    at, end, hold, site, lo, hi, last, at_lo, at_hi, row_list, row_object, row_score, exact, start, k, epsilon,
    values, whole, lost, counts, inside, members, gone, alive, floor, ceiling, star, stars, star_floor,
    star_ceiling, dirty, marked, dirt, verdict, ranked, said, moved,
):  # fmt: skip
    """Walk along, judging every step but, with ``hold``, the last: its lists stay in ``dirty`` for the next call."""
    while True:
        if dirt[0] and (at == 0 or last[at - 1]) and not (hold and at == end):
            before = verdict[0]
            for j in range(dirt[0]):
                name = dirty[j]
                marked[name] = False
                _judged(
                    name, start, k, epsilon, inside, members, gone, alive, values, counts, floor, ceiling, verdict
                )  # fmt: skip
                if star_floor[name] < star_ceiling[name] and _turn(
                    start[name], start[name + 1], name, k, star, stars, values, counts, star_floor, star_ceiling
                ):  # fmt: skip
                    verdict[3] += 1
            dirt[0] = 0
            wrong = False
            for j in range(moved[0]):
                o = moved[j + 1]
                wrong |= inside[o] and abs(values[o] - said[o]) > ranked + 4.0 * ROUNDING * abs(values[o])
                if inside[o]:
                    verdict[4] = max(verdict[4], abs(values[o] - said[o]))
            verdict[0] += int(wrong and verdict[0] == before)
            moved[0] = 0
        if at == end:
            return
        s = site[at]
        for turn in range(2):
            first, stop, sign = at_lo[s], min(lo[at], at_hi[s]), -1
            if turn:
                first, stop, sign = max(at_hi[s], lo[at]), hi[at], 1
            for row in range(first, stop):
                name, o = row_list[row], row_object[row]
                rows_before = counts[o]
                counts[o] += sign
                _add(o, sign * row_score[row], exact, values, whole, lost, counts[o] == 0)
                came, went = rows_before == 0 and counts[o] > 0, rows_before > 0 and counts[o] == 0
                alive[name] += int(came) - int(went)
                if inside[o]:
                    gone[name] += int(went) - int(came)
                    floor[name] = min(floor[name], values[o])
                else:
                    ceiling[name] = max(ceiling[name], values[o])
                if ranked < np.inf and moved[0] + 1 < len(moved):
                    moved[moved[0] + 1] = o
                    moved[0] += 1
                if star[o] and went:
                    star_floor[name], star_ceiling[name] = -np.inf, np.inf
                elif star[o]:
                    star_floor[name] = min(star_floor[name], values[o])
                else:
                    star_ceiling[name] = max(star_ceiling[name], values[o])
                    if stars[name] < k:
                        star_floor[name] = -np.inf
                if not marked[name]:
                    marked[name] = True
                    dirty[dirt[0]] = name
                    dirt[0] += 1
        at_lo[s], at_hi[s] = lo[at], hi[at]
        at += 1


@leaf()
def refreshes(  # type: ignore[no-untyped-def]
    site, lo, hi, last, at_lo, at_hi, row_arena, row_local, row_score, start, values, cached, width, touched, marked,
):  # fmt: skip
    """Caching: how often a site refreshes a score because a step leaves it further than ``width`` from what it sent."""
    total, count = 0, 0
    for at in range(len(site)):
        s = site[at]
        for turn in range(2):
            first, stop, sign = at_lo[s], min(lo[at], at_hi[s]), -1
            if turn:
                first, stop, sign = max(at_hi[s], lo[at]), hi[at], 1
            for row in range(first, stop):
                cell = start[row_arena[row]] + row_local[row]
                values[cell] += sign * row_score[row]
                if not marked[cell]:
                    marked[cell] = True
                    touched[count] = cell
                    count += 1
        at_lo[s], at_hi[s] = lo[at], hi[at]
        if last[at]:
            for k in range(count):
                cell = touched[k]
                marked[cell] = False
                if abs(values[cell] - cached[cell]) > width:
                    cached[cell] = values[cell]
                    total += 1
            count = 0
    return total
