"""Blocks of updates at the speed of C: windows move, drifts are checked, and Python sees only violations.

One call advances all sites in global order to the end of the first step at which a site leaves its zone. Most checks
end at the certified safe radius (a few multiplications); the others ask ``ball_inside``.

Layout. Rows are site-major. ``rows[r]`` is what row r adds to its group (or, under GROUP BY EACH, to each group whose
member it has) and ``shared[r]`` what it adds to every group. With varying weights the last column is the weight.
The vector of group g at site i is ``common[i] + local[i, g]``.
"""

from __future__ import annotations

import numpy as np

from tacit._jit import kernel, leaf
from tacit.functions._kernels import NOT_MOVED, TURNED
from tacit.functions.tables import STATE_SHORTCUT
from tacit.protocols._kernels_balance import balance, inside, renew
from tacit.protocols._kernels_quiet import SHARE_MAX, SHARE_MIN, add_to, fold, loud_groups, slide

__all__ = ["ONE_GROUP", "PER_KEY", "PER_MEMBER", "advance", "advance_balancing", "check_groups", "unpack_log"]

ONE_GROUP, PER_KEY, PER_MEMBER = 0, 1, 2
DONE, EXHAUSTED, LOG_FULL = 0, 1, 2


@leaf()
def _apply(mode, sign, i, r, rows, shared, group, pointer, member, local, common, held, exact):  # type: ignore[no-untyped-def]
    """Row r comes (sign 1) or goes (-1). ``held`` counts a group's rows: without any its sums are exactly 0."""
    if mode == PER_MEMBER:
        _add(common[i], sign, shared[r], exact)
    first = pointer[r] if mode == PER_MEMBER else 0
    end = pointer[r + 1] if mode == PER_MEMBER else 1
    for k in range(first, end):
        g = 0
        if mode == PER_MEMBER:
            g = member[k]
        elif mode == PER_KEY:
            g = group[r]
        _add(local[i, g], sign, rows[r], exact)
        if mode != ONE_GROUP:
            held[i, g] += 1 if sign > 0.0 else -1
            if held[i, g] == 0:
                local[i, g, :] = 0.0


@leaf()
def _add(sums, sign, row, exact):  # type: ignore[no-untyped-def]
    """Add a row to sums, or take it away."""
    if exact:
        for j in range(row.shape[0]):
            sums[j] += sign * row[j]
    else:
        for j in range(row.shape[0]):
            add_to(sums, j, sign * row[j])
        fold(sums)


@leaf()
def _leaves(i, g, points, proved, tables, zones):  # type: ignore[no-untyped-def]
    """Ask about the drift's ball; first about the ball of a longer drift, the next tip, so that others need not ask.

    How much longer is a share of the drift that grows with success and shrinks with failure.
    """
    drift, asked = points[1], points[2]
    d = drift.shape[0]
    makes_tip = zones.radius[g] > 0.0 and not zones.state[g, tables.nodes[0, STATE_SHORTCUT]] > 0.0
    share = proved[i, g, d + 1] if makes_tip else 0.0
    while True:
        square = 0.0
        for j in range(d):
            asked[j] = drift[j] + share * (drift[j] - zones.estimate[g, j])
            square += (asked[j] - zones.estimate[g, j]) ** 2
        holds = inside(tables, zones, g, asked)
        if share == 0.0:
            return not holds
        if holds:
            break
        proved[i, g, d + 1] = max(SHARE_MIN, 0.8 * share)
        share = 0.0
    for j in range(d):
        proved[i, g, j] = asked[j] - zones.estimate[g, j]
        proved[i, g, d + 2 + j] = zones.estimate[g, j]
    proved[i, g, d] = square
    proved[i, g, d + 1] = min(SHARE_MAX, 1.1 * share)
    return False


@leaf()
def _violates(i, g, local, common, anchor, anchor_weight, told, weighted, spread, proved, tables, zones, points):  # type: ignore[no-untyped-def]
    """Is group g at site i outside its zone? ``anchor`` is collected minus slack.

    If every site lost its weight the mean would have no value, so a site that loses its weight says so even when its
    drift mass is 0; ``told`` remembers that it has.
    """
    d, drift = anchor.shape[2], points[1]
    norm = 0.0
    if not weighted:
        for j in range(d):
            mass = common[i, j] + local[i, g, j] - anchor[i, g, j]
            drift[j] = mass
            norm += mass * mass
        if norm == 0.0:
            return False
        if norm * spread * spread <= zones.radius[g] * zones.radius[g]:
            return False
        for j in range(d):
            drift[j] = zones.estimate[g, j] + drift[j] * spread
        return _leaves(i, g, points, proved, tables, zones)
    weight = common[i, d] + local[i, g, d]
    if weight > 0.0:
        told[i, g] = False
    change = weight - anchor_weight[i, g]
    for j in range(d):
        mass = common[i, j] + local[i, g, j] - anchor[i, g, j]
        if change != 0.0:
            mass -= change * zones.estimate[g, j]
        drift[j] = mass
        norm += mass * mass
    if not weight > 0.0:
        return not (norm == 0.0 and told[i, g])
    if norm == 0.0:
        return False
    if norm <= zones.radius[g] * zones.radius[g] * weight * weight:
        return False
    for j in range(d):
        drift[j] = zones.estimate[g, j] + drift[j] / weight
    return _leaves(i, g, points, proved, tables, zones)


@leaf()
def advance(  # type: ignore[no-untyped-def]
    first, end, site, lo, hi, last, at_lo, at_hi, mode, rows, shared, group, pointer, member,
    local, common, held, exact, anchor, anchor_weight, told, weighted, spread, proved, tables, zones,
    seen, old_lo, old_hi, old_common, out_site, out_group, sheet, points, touched, loud,
):  # fmt: skip
    """Run updates ``first:end`` up to the first step with a violation: (next update, how many violations)."""
    drift, asked = points[1], points[2]
    touched[0] = 0
    update = first
    count = 0
    sums, places, weights, empty, room = local[:, 0], anchor[:, 0], anchor_weight[:, 0], told[:, 0], proved[:, 0]
    while update < end:
        if mode == ONE_GROUP:
            update = slide(
                update, end, site, lo, hi, last, at_lo, at_hi, rows, sums, exact, places, weights, empty,
                weighted, spread, room, tables.nodes, tables.numbers, tables.space, zones.state, zones.estimate,
                zones.radius, drift, asked,
            )  # fmt: skip
            if update == end:
                break
            if last[update]:
                i = site[update]
                update += 1
                if _violates(
                    i, 0, local, common, anchor, anchor_weight, told, weighted, spread, proved, tables, zones, points
                ):
                    out_site[0], out_group[0], count = i, 0, 1
                    break
                continue
        begin = update
        while True:
            i = site[update]
            old_lo[i] = at_lo[i]
            old_hi[i] = at_hi[i]
            if mode == PER_MEMBER:
                for j in range(common.shape[1]):
                    old_common[i, j] = common[i, j]
            for r in range(at_lo[i], min(lo[update], at_hi[i])):
                _apply(mode, -1.0, i, r, rows, shared, group, pointer, member, local, common, held, exact)
            for r in range(max(at_hi[i], lo[update]), hi[update]):
                _apply(mode, 1.0, i, r, rows, shared, group, pointer, member, local, common, held, exact)
            at_lo[i] = lo[update]
            at_hi[i] = hi[update]
            if hi[update] == lo[update] and not exact:
                local[i, :, :] = 0.0
                common[i, :] = 0.0
            update += 1
            if last[update - 1]:
                break
        for k in range(begin, update):
            i = site[k]
            which = 1
            if mode != ONE_GROUP:
                which = 0
                if mode == PER_MEMBER:
                    for j in range(common.shape[1]):
                        if common[i, j] != old_common[i, j]:
                            which = -1  # every group moved
                for side in range(0 if which < 0 else 2):
                    a = old_lo[i] if side == 0 else max(old_hi[i], at_lo[i])
                    b = min(at_lo[i], old_hi[i]) if side == 0 else at_hi[i]
                    for r in range(a, b):
                        p = pointer[r] if mode == PER_MEMBER else 0
                        q = pointer[r + 1] if mode == PER_MEMBER else 1
                        for m in range(p, q):
                            g = member[m] if mode == PER_MEMBER else group[r]
                            if seen[i, g] != begin:
                                seen[i, g] = begin
                                touched[which] = g
                                which += 1
            found = loud_groups(
                i, touched, which, local, common, anchor, anchor_weight, told, weighted, spread, proved,
                tables.nodes, tables.numbers, tables.space, zones.state, zones.estimate, zones.radius, drift,
                asked, loud,
            )  # fmt: skip
            for m in range(found):
                g = loud[m]
                if _violates(
                    i, g, local, common, anchor, anchor_weight, told, weighted, spread, proved, tables, zones, points
                ):
                    out_site[count] = i
                    out_group[count] = g
                    count += 1
        if count > 0:
            break
    return update, count


@kernel()
def advance_balancing(  # type: ignore[no-untyped-def]
    first, end, site, lo, hi, last, at_lo, at_hi, mode, rows, shared, group, pointer, member,
    local, common, held, exact, anchor, anchor_weight, told, weighted, spread, proved, tables, zones,
    seen, old_lo, old_hi, old_common, out_site, out_group, sheet, points, touched, loud,
    policy, used, known, clock, dice, thrown, log, logged, order, failed, notes, note_estimates, noted,
    collected, collected_weight, slack, renews, renewals,
):  # fmt: skip
    """``advance``, going on by itself while every violated group balances or (with ``renews``) keeps its answer.

    Returns (why it stopped, next update, how many groups are Python's to renew; they are in ``failed``). Every
    resolution is logged, group by group: update, group, reporters, members, and the members in the order they joined;
    the number of members is negative when everyone was asked in vain. ``notes`` receives update, group and answer of
    every new estimate with another answer, ``note_estimates`` the estimate.
    """
    n = local.shape[0]
    while first < end:
        if logged[0] + (4 + n) * local.shape[1] > log.shape[0] or noted[0] + local.shape[1] > notes.shape[0]:
            return LOG_FULL, first, 0
        first, count = advance(
            first, end, site, lo, hi, last, at_lo, at_hi, mode, rows, shared, group, pointer, member,
            local, common, held, exact, anchor, anchor_weight, told, weighted, spread, proved, tables, zones,
            seen, old_lo, old_hi, old_common, out_site, out_group, sheet, points, touched, loud,
        )  # fmt: skip
        if count == 0:
            break
        if count > 1:
            by_group = np.argsort(out_group[:count] * n + out_site[:count])
            out_group[:count] = out_group[by_group]
            out_site[:count] = out_site[by_group]
        exhausted, renewed = 0, 0
        k = 0
        while k < count:
            g = out_group[k]
            reporters = 0
            while k < count and out_group[k] == g:
                order[reporters] = out_site[k]
                reporters += 1
                k += 1
            members = balance(
                g, reporters, local, common, anchor, anchor_weight, told, weighted, spread, tables, zones,
                policy, used, known, clock, dice, thrown, order, sheet, points, collected, slack,
            )  # fmt: skip
            at = logged[0]
            log[at], log[at + 1], log[at + 2], log[at + 3] = first - 1, g, reporters, members
            if members == 0:
                log[at + 3] = -n
                members = n
                how = NOT_MOVED
                if renews:
                    how = renew(
                        g, local, common, anchor, anchor_weight, told, weighted, tables, zones, known, collected,
                        collected_weight, slack,
                    )  # fmt: skip
                if how == NOT_MOVED:
                    failed[exhausted] = g
                    exhausted += 1
                else:
                    renewed = 1
                if how == TURNED:
                    notes[noted[0], 0], notes[noted[0], 1], notes[noted[0], 2] = first - 1, g, zones.answer[g]
                    for j in range(anchor.shape[2]):
                        note_estimates[noted[0], j] = zones.estimate[g, j]
                    noted[0] += 1
            for m in range(members):
                log[at + 4 + m] = order[m]
            logged[0] = at + 4 + members
        if exhausted > 0:
            return EXHAUSTED, first, exhausted
        renewals[0] += renewed
    return DONE, first, 0


@leaf()
def check_groups(  # type: ignore[no-untyped-def]
    which, local, common, anchor, anchor_weight, told, weighted, spread, proved, tables, zones, out_site, out_group,
    points,
):  # fmt: skip
    """Which sites violate for these groups now (after a broadcast moved the estimate)."""
    count = 0
    for i in range(local.shape[0]):
        for k in range(which.shape[0]):
            g = which[k]
            if _violates(
                i, g, local, common, anchor, anchor_weight, told, weighted, spread, proved, tables, zones, points
            ):
                out_site[count] = i
                out_group[count] = g
                count += 1
    return count


@kernel()
def unpack_log(log, size):  # type: ignore[no-untyped-def]
    """Where each entry of a log (see ``advance_balancing``) starts."""
    starts = np.empty(size // 5 + 1, dtype=np.int64)
    count = 0
    at = 0
    while at < size:
        starts[count] = at
        count += 1
        at += 4 + abs(log[at + 3])
    return starts[:count]
