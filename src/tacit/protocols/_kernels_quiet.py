"""The fast lanes of silence: checks that need no question, on plain arrays.

A drift is seen to be silent at once when it is within the safe radius of the estimate, in the cone between that ball
and a longer drift whose ball was proved (the tip), or when the group's shortcut proves its ball. Everything else goes
to the slow lane (``_leaves`` in _kernels.py, which makes tips where there is no shortcut of forms).

Why the cone is safe. Seen from the estimate e, the ball over a drift v is { y : |y|^2 <= <y, v> }. If v is a mean of
drifts v_k with shares s_k, then |y|^2 <= sum_k s_k <y, v_k>, so |y|^2 <= <y, v_k> for one k at least: the ball over v
lies in the union of theirs. Drifts with safe balls hence form a convex set, and with a tip and all drifts within the
safe radius it holds their hull.

``proved[i, g]`` holds, for d components: the tip minus e, the square of its length, the share by which the next tip is
longer than its drift, and the estimate e that it holds for. It is void as soon as the estimate is another one.
"""

from __future__ import annotations

from tacit._jit import leaf
from tacit.functions._kernels import shortcut_inside
from tacit.functions.tables import STATE_SHORTCUT

__all__ = ["SHARE_MAX", "SHARE_MIN", "add_to", "fold", "in_cone", "loud_groups", "slide"]

SHARE_MIN, SHARE_MAX = 1.0 / 64.0, 8.0  # by how much a tip is longer than its drift


@leaf()
def in_cone(norm, along, tip, safe):  # type: ignore[no-untyped-def]
    """Is a drift in the hull of the safe ball and the tip, behind the circle where the cone touches the ball?

    The squares of the lengths of drift, tip and safe radius are given, and the product <drift, tip>. With the angle of
    the cone's side, sin = radius / |tip|, the drift is inside when its distance from the axis is at most its distance
    from the tip along the axis times tan.
    """
    safe *= 1.0 - 1e-9
    if not safe <= along <= tip * (1.0 - 1e-9):
        return False
    aside = norm * tip * (1.0 + 1e-12) - along * along
    return aside * (tip - safe) <= safe * (tip - along) ** 2


@leaf()
def add_to(sums, j, value):  # type: ignore[no-untyped-def]
    """sums[j] += value; what rounding loses is kept in the second half of ``sums`` (Knuth's two-sum)."""
    before = sums[j]
    after = before + value
    other = after - before
    sums[j] = after
    sums[sums.shape[0] // 2 + j] += (before - (after - other)) + (value - other)


@leaf()
def fold(sums):  # type: ignore[no-untyped-def]
    """Make the first half of ``sums`` the nearest to the exact sums; what remains stays in the second."""
    width = sums.shape[0] // 2
    for j in range(width):
        after = sums[j] + sums[width + j]
        sums[width + j] -= after - sums[j]
        sums[j] = after


@leaf()
def _shortcut_proves(nodes, numbers, space, state, estimate, g, drift, asked, proved):  # type: ignore[no-untyped-def]
    """Prove the ball of e + drift by the group's shortcut: by a longer one, which becomes the tip, or by itself.

    How much longer is a share of the drift that grows with success and shrinks with failure.
    """
    d = drift.shape[0]
    share = proved[d + 1]
    for j in range(d):
        asked[j] = estimate[g, j] + drift[j] * (1.0 + share)
    if shortcut_inside(nodes, numbers, space, estimate, state, g, asked):
        square = 0.0
        for j in range(d):
            proved[j] = asked[j] - estimate[g, j]
            proved[d + 2 + j] = estimate[g, j]
            square += proved[j] * proved[j]
        proved[d] = square
        proved[d + 1] = min(SHARE_MAX, 1.1 * share)
        return True
    proved[d + 1] = max(SHARE_MIN, 0.8 * share)
    for j in range(d):
        asked[j] = estimate[g, j] + drift[j]
    return shortcut_inside(nodes, numbers, space, estimate, state, g, asked)


@leaf()
def slide(  # type: ignore[no-untyped-def]
    update, end, site, lo, hi, last, at_lo, at_hi, rows, local, exact, anchor, anchor_weight, told, weighted,
    spread, proved, nodes, numbers, space, state, estimate, radius, drift, asked,
):  # fmt: skip
    """A watch without groups: take single updates until one is not seen to be silent.

    Returns that update, its rows applied, or the first that is not a step of its own, its rows not applied. The rules
    are those of ``loud_groups``; the group's dimension is left out. ``exact``: sums of rows do not round; otherwise
    they are kept with what rounding lost (``add_to``), so that rows that have left the window leave nothing behind.
    """
    d, width = anchor.shape[1], rows.shape[1]
    safe = radius[0] * radius[0]
    quick = safe > 0.0 and state[0, nodes[0, STATE_SHORTCUT]] > 0.0
    while update < end and last[update]:
        i = site[update]
        begin, stop = lo[update], hi[update]
        if exact:
            for r in range(at_lo[i], min(begin, at_hi[i])):
                for j in range(width):
                    local[i, j] -= rows[r, j]
            for r in range(max(at_hi[i], begin), stop):
                for j in range(width):
                    local[i, j] += rows[r, j]
        else:
            for r in range(at_lo[i], min(begin, at_hi[i])):
                for j in range(width):
                    add_to(local[i], j, -rows[r, j])
            for r in range(max(at_hi[i], begin), stop):
                for j in range(width):
                    add_to(local[i], j, rows[r, j])
            fold(local[i])
            if stop == begin:
                local[i, :] = 0.0
        at_lo[i] = begin
        at_hi[i] = stop
        scale = spread
        change = 0.0
        if weighted:
            weight = local[i, d]
            if not weight > 0.0:
                return update
            told[i] = False
            change = weight - anchor_weight[i]
            scale = 1.0 / weight
        norm = 0.0
        for j in range(d):
            mass = local[i, j] - anchor[i, j]
            if change != 0.0:
                mass -= change * estimate[0, j]
            mass *= scale
            drift[j] = mass
            norm += mass * mass
        if norm <= safe:
            update += 1
            continue
        along = 0.0
        for j in range(d):
            along += drift[j] * proved[i, j]
        silent = in_cone(norm, along, proved[i, d], safe)
        for j in range(d):
            silent = silent and proved[i, d + 2 + j] == estimate[0, j]
        if quick and not silent:
            silent = _shortcut_proves(nodes, numbers, space, state, estimate, 0, drift, asked, proved[i])
        if not silent:
            return update
        update += 1
    return update


@leaf()
def loud_groups(  # type: ignore[no-untyped-def]
    i, which, count, local, common, anchor, anchor_weight, told, weighted, spread, proved,
    nodes, numbers, space, state, estimate, radius, drift, asked, loud,
):  # fmt: skip
    """Of the first ``count`` groups of ``which`` (all when negative) those not seen to be silent, into ``loud``."""
    d = anchor.shape[2]
    found = 0
    for k in range(local.shape[1] if count < 0 else count):
        g = k if count < 0 else which[k]
        scale = spread
        change = 0.0
        if weighted:
            weight = common[i, d] + local[i, g, d]
            if not weight > 0.0:
                loud[found] = g
                found += 1
                continue
            told[i, g] = False
            change = weight - anchor_weight[i, g]
            scale = 1.0 / weight
        norm = 0.0
        for j in range(d):
            mass = common[i, j] + local[i, g, j] - anchor[i, g, j]
            if change != 0.0:
                mass -= change * estimate[g, j]
            mass *= scale
            drift[j] = mass
            norm += mass * mass
        if norm <= radius[g] * radius[g]:
            continue
        along = 0.0
        same = True
        for j in range(d):
            along += drift[j] * proved[i, g, j]
            same = same and proved[i, g, d + 2 + j] == estimate[g, j]
        silent = same and in_cone(norm, along, proved[i, g, d], radius[g] * radius[g])
        if not silent and radius[g] > 0.0 and state[g, nodes[0, STATE_SHORTCUT]] > 0.0:
            silent = _shortcut_proves(nodes, numbers, space, state, estimate, g, drift, asked, proved[i, g])
        if not silent:
            loud[found] = g
            found += 1
    return found
