"""The coordinator's resolutions on the arrays themselves: balancing, and a new estimate that keeps the answer."""

from __future__ import annotations

import numpy as np

from tacit._jit import kernel, leaf
from tacit.functions._kernels import NOT_MOVED, ball_inside, move

__all__ = ["FEW", "balance", "inside", "renew", "round_size", "rounds_little"]

RANDOM, LRU, OPPOSITE = 0, 1, 2
UNKNOWN = 2  # the answer
SMALL, RADII_MAX = 2.0**20, 2.0**30
FEW = 16  # sites that are asked one by one, or one per so many members


@leaf()
def rounds_little(moved, held, radius):  # type: ignore[no-untyped-def]
    """May vectors be balanced? Slacks are rounded as what moved, and stay when it has gone.

    Given the size of what members hold and of how far they moved, both per weight: small, in units of the components;
    or both small beside the safe radius, and what moved beside what is held, so that no large value has just left.
    """
    return moved <= SMALL * max(1.0, held) and (moved + held <= SMALL or moved + held <= RADII_MAX * radius)


@leaf()
def inside(tables, zones, g, u):  # type: ignore[no-untyped-def]
    """``ball_inside``, compiled once for all who ask from here."""
    return ball_inside(tables, zones, g, u)


@leaf()
def round_size(members, reporters):  # type: ignore[no-untyped-def]
    """How many sites to ask at once when so many members do not balance, and so many of them had reported.

    A few sites are asked one by one, or one per FEW members: most resolutions need no more. Then as many again each
    round, so that asking all of a thousand takes twenty-two round trips; up to twice as many may be asked as needed.
    """
    asked = members - reporters
    return max(1, members // FEW) if asked < FEW else asked


@leaf()
def _insert(order, first, end, site):  # type: ignore[no-untyped-def]
    """Put a site into its place among ``order[first:end]``: those of a round join by their numbers, as in Balancer."""
    while end > first and order[end - 1] > site:
        order[end] = order[end - 1]
        end -= 1
    order[end] = site


@leaf()
def _mass(i, g, local, common, anchor, anchor_weight, weighted, zones, sheet):  # type: ignore[no-untyped-def]
    """The drift mass of group g at site i into its row of the sheet; returns its weight."""
    d = anchor.shape[2]
    for j in range(d):
        sheet[i, j] = common[i, j] + local[i, g, j] - anchor[i, g, j]
    if not weighted:
        return 1.0
    weight = common[i, d] + local[i, g, d]
    change = weight - anchor_weight[i, g]
    if change != 0.0:
        for j in range(d):
            if np.isfinite(zones.estimate[g, j]):
                sheet[i, j] -= change * zones.estimate[g, j]
    return weight


@leaf()
def _next_site(policy, g, sheet, used, known, total, dice, thrown):  # type: ignore[no-untyped-def]
    """The site to ask next, by the rule of policies.py; -1 when everyone is a member."""
    best = -1
    best_along = 0.0
    best_value = 0.0
    d = total.shape[0]
    for i in range(sheet.shape[0]):
        if sheet[i, d + 1] != 0.0:
            continue
        along = 0.0
        if policy == OPPOSITE:
            for j in range(total.shape[0]):
                along += known[i, g, j] * total[j]
        value = float(used[i, g])
        if policy == RANDOM:
            value = -dice[thrown[0] % dice.shape[0]]
            thrown[0] += 1
        if best < 0 or along < best_along or (along == best_along and value < best_value):
            best, best_along, best_value = i, along, value
    return best


@leaf()
def balance(  # type: ignore[no-untyped-def]
    g, reporters, local, common, anchor, anchor_weight, told, weighted, spread, tables, zones,
    policy, used, known, clock, dice, thrown, order, sheet, points, collected, slack,
):  # fmt: skip
    """Balance one group among as few sites as the policy needs: how many took part, 0 when even all do not balance.

    ``order`` holds the reporters and receives the members in the order they joined. What Balancer does with messages
    (threshold.py), on the arrays themselves, to the last bit; tests hold the two equal. ``sheet`` and ``points`` are
    scratch paper: a site's row of the sheet has its mass, its weight, and whether it is a member.
    """
    n, d = local.shape[0], anchor.shape[2]
    total, drift = points[0], points[1]
    total[:] = 0.0
    moved, held = 0.0, 0.0
    total_weight = 0.0
    for i in range(n):
        sheet[i, d + 1] = 0.0
    count = 0
    joining = reporters
    while True:
        for k in range(count, joining):
            i = order[k]
            sheet[i, d] = _mass(i, g, local, common, anchor, anchor_weight, weighted, zones, sheet)
            sheet[i, d + 1] = 1.0
            total_weight += sheet[i, d]
            for j in range(d):
                total[j] += sheet[i, j]
                moved += abs(sheet[i, j])
                held += abs(common[i, j] + local[i, g, j])
        count = joining
        scale = spread / total_weight
        if total_weight > 0.0 and rounds_little(moved * scale, held * scale, zones.radius[g]):
            for j in range(d):
                drift[j] = zones.estimate[g, j] + total[j] / total_weight * spread
            if inside(tables, zones, g, drift):
                break
        for _ in range(round_size(count, reporters)):
            chosen = _next_site(policy, g, sheet, used, known, total, dice, thrown)
            if chosen < 0:
                break
            sheet[chosen, d + 1] = 1.0
            _insert(order, count, joining, chosen)
            joining += 1
        if joining == count:
            return 0
    for j in range(d):
        total[j] /= total_weight
    for i in range(n):
        if sheet[i, d + 1] == 0.0:
            continue
        clock[0] += 1
        used[i, g] = clock[0]
        for j in range(d):
            target = sheet[i, d] * total[j]
            slack[i, g, j] += target - sheet[i, j]
            anchor[i, g, j] = collected[i, g, j] - slack[i, g, j]
            known[i, g, j] = target
        if weighted:
            told[i, g] = sheet[i, d] == 0.0
    return count


@kernel()
def renew(  # type: ignore[no-untyped-def]
    g, local, common, anchor, anchor_weight, told, weighted, tables, zones, known, collected, collected_weight, slack
):  # fmt: skip
    """Collect everyone and move the estimate: SAME or TURNED is the answer, or NOT_MOVED, which is left to Python."""
    n, d = local.shape[0], anchor.shape[2]
    e = np.zeros(d)
    weight = 0.0
    for i in range(n):
        for j in range(d):
            e[j] += common[i, j] + local[i, g, j]
        if weighted:
            weight += common[i, d] + local[i, g, d]
    if weighted:
        if not weight > 0.0:
            return NOT_MOVED
        for j in range(d):
            e[j] /= weight
    how = NOT_MOVED if zones.answer[g] == UNKNOWN else move(tables, zones, g, e)
    if how == NOT_MOVED:
        return how
    for i in range(n):
        for j in range(d):
            collected[i, g, j] = common[i, j] + local[i, g, j]
            anchor[i, g, j] = collected[i, g, j]
            slack[i, g, j] = 0.0
            known[i, g, j] = 0.0
        if weighted:
            collected_weight[i, g] = common[i, d] + local[i, g, d]
            anchor_weight[i, g] = collected_weight[i, g]
            told[i, g] = collected_weight[i, g] == 0.0
    return how
