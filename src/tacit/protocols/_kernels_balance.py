"""The coordinator's resolutions on the arrays themselves: balancing, and a new estimate that keeps the answer."""

from __future__ import annotations

import numpy as np

from tacit.functions._jit import kernel
from tacit.functions._kernels import ball_inside, stays

__all__ = ["balance", "renew"]

RANDOM, LRU, OPPOSITE = 0, 1, 2
UNKNOWN = 2  # the answer


@kernel()
def _mass(i, g, local, common, anchor, anchor_weight, weighted, zones, out):  # type: ignore[no-untyped-def]
    """The drift mass of group g at site i into ``out``; returns its weight."""
    d = anchor.shape[2]
    for j in range(d):
        out[j] = common[i, j] + local[i, g, j] - anchor[i, g, j]
    if not weighted:
        return 1.0
    weight = common[i, d] + local[i, g, d]
    change = weight - anchor_weight[i, g]
    if change != 0.0:
        for j in range(d):
            if np.isfinite(zones.estimate[g, j]):
                out[j] -= change * zones.estimate[g, j]
    return weight


@kernel()
def _next_site(policy, g, member, used, known, total, dice, thrown):  # type: ignore[no-untyped-def]
    """The site to ask next, by the rule of policies.py; -1 when everyone is a member."""
    best = -1
    best_along = 0.0
    best_value = 0.0
    for i in range(member.shape[0]):
        if member[i]:
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


@kernel()
def balance(  # type: ignore[no-untyped-def]
    g, reporters, local, common, anchor, anchor_weight, told, weighted, spread, tables, zones,
    policy, used, known, clock, dice, thrown, order,
):  # fmt: skip
    """Balance one group among as few sites as the policy needs: how many took part, 0 when even all do not balance.

    ``order`` holds the reporters and receives the members in the order they joined. What Balancer does with messages
    (threshold.py), on the arrays themselves; a test holds the two equal.
    """
    n, d = local.shape[0], anchor.shape[2]
    member = np.zeros(n, dtype=np.bool_)
    mass = np.empty((n, d))
    weight = np.empty(n)
    total = np.zeros(d)
    total_weight = 0.0
    drift = np.empty(d)
    count = 0
    while True:
        joining = reporters if count == 0 else count + 1
        for k in range(count, joining):
            i = order[k]
            member[i] = True
            weight[i] = _mass(i, g, local, common, anchor, anchor_weight, weighted, zones, mass[i])
            total_weight += weight[i]
            for j in range(d):
                total[j] += mass[i, j]
        count = joining
        if total_weight > 0.0:
            for j in range(d):
                drift[j] = zones.estimate[g, j] + total[j] / total_weight * spread
            if ball_inside(tables, zones, g, drift):
                break
        chosen = _next_site(policy, g, member, used, known, total, dice, thrown)
        if chosen < 0:
            return 0
        order[count] = chosen
    for i in range(n):
        if not member[i]:
            continue
        clock[0] += 1
        used[i, g] = clock[0]
        for j in range(d):
            target = weight[i] * (total[j] / total_weight)
            anchor[i, g, j] += mass[i, j] - target
            known[i, g, j] = target
        if weighted:
            told[i, g] = weight[i] == 0.0
    return count


@kernel()
def renew(  # type: ignore[no-untyped-def]
    g, local, common, anchor, anchor_weight, told, weighted, tables, zones, known, collected, collected_weight
):  # fmt: skip
    """Collect everyone and move the estimate, if the answer is the same there; else leave it to Python."""
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
            return False
        for j in range(d):
            e[j] /= weight
    if zones.answer[g] == UNKNOWN or not stays(tables, zones, g, e):
        return False
    for i in range(n):
        for j in range(d):
            collected[i, g, j] = common[i, j] + local[i, g, j]
            anchor[i, g, j] = collected[i, g, j]
            known[i, g, j] = 0.0
        if weighted:
            collected_weight[i, g] = common[i, d] + local[i, g, d]
            anchor_weight[i, g] = collected_weight[i, g]
            told[i, g] = collected_weight[i, g] == 0.0
    return True
