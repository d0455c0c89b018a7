"""The fast lanes of silence: checks that need no question, on plain arrays.

A drift is seen to be silent at once when it is within the safe radius of the estimate, or among drifts whose balls were
proved together (``proved``, see ``_leaves`` in _kernels.py). Everything else goes to the slow lane. Only arrays are
handed on here: tuples of arrays and inlined functions make Numba count references in the loop, which costs ten times
the work itself.

``proved[i, g]`` holds, for d components: the drift u0, the square of the room around it, the share of |u0 - e| that was
tried as room last, and the estimate e it holds for. It is void as soon as the estimate is another one.
"""

from __future__ import annotations

from tacit.functions._jit import kernel

__all__ = ["loud_groups", "slide"]


@kernel()
def slide(  # type: ignore[no-untyped-def]
    update, end, site, lo, hi, last, at_lo, at_hi, rows, local, moved, exact, anchor, anchor_weight, told, weighted,
    spread, proved, estimate, radius, drift,
):  # fmt: skip
    """A watch without groups: take single updates until one is not seen to be silent.

    Returns that update, its rows applied, or the first that is not a step of its own, its rows not applied. The rules
    are those of ``loud_groups``; the group's dimension is left out.
    """
    d, width = anchor.shape[1], rows.shape[1]
    safe = radius[0] * radius[0]
    while update < end and last[update]:
        i = site[update]
        begin, stop = lo[update], hi[update]
        for r in range(at_lo[i], min(begin, at_hi[i])):
            for j in range(width):
                local[i, j] -= rows[r, j]
        for r in range(max(at_hi[i], begin), stop):
            for j in range(width):
                local[i, j] += rows[r, j]
        moved[i] += begin - at_lo[i]
        at_lo[i] = begin
        at_hi[i] = stop
        if stop == begin or (not exact and moved[i] > stop - begin + 1):
            moved[i] = 0
            for j in range(width):
                local[i, j] = 0.0
            for r in range(begin, stop):
                for j in range(width):
                    local[i, j] += rows[r, j]
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
        square = 0.0
        for j in range(d):
            square += (estimate[0, j] + drift[j] - proved[i, j]) ** 2
        if not square <= proved[i, d]:
            return update
        for j in range(d):
            if proved[i, d + 2 + j] != estimate[0, j]:
                return update
        update += 1
    return update


@kernel()
def loud_groups(  # type: ignore[no-untyped-def]
    i, which, count, local, common, anchor, anchor_weight, told, weighted, spread, proved,
    estimate, radius, drift, loud,
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
        square = 0.0
        same = True
        for j in range(d):
            square += (estimate[g, j] + drift[j] - proved[i, g, j]) ** 2
            same = same and proved[i, g, d + 2 + j] == estimate[g, j]
        if not (same and square <= proved[i, g, d]):
            loud[found] = g
            found += 1
    return found
