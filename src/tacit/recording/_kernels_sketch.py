"""Kernels of the observer of watches on sketches: it counts every key, and judges what is said step by step.

An update sets the window of a site to rows lo:hi (updates.py); ``at_lo`` and ``at_hi`` are where each window is. Of
what is said the kernels get at which updates it changes.
"""

from __future__ import annotations

from tacit._jit import leaf

__all__ = ["follow_counts", "follow_products", "follow_ranks"]


@leaf()
def follow_products(sites, los, his, at_lo, at_hi, key, second, alone, one, two, rows, products):  # type: ignore[no-untyped-def]
    """After each update: the rows of both sides (n, 2), and the sum over keys of count times count.

    Alone it is the size of a self-join, and every row is of both sides.
    """
    first_rows, second_rows, product = 0, 0, 0.0
    for at in range(len(sites)):
        site = sites[at]
        for row in range(at_hi[site], his[at]):
            k = key[row]
            if alone:
                product += 2.0 * one[k] + 1.0
                one[k] += 1.0
                first_rows += 1
            elif second[row]:
                product += one[k]
                two[k] += 1.0
                second_rows += 1
            else:
                product += two[k]
                one[k] += 1.0
                first_rows += 1
        for row in range(at_lo[site], los[at]):
            k = key[row]
            if alone:
                product -= 2.0 * one[k] - 1.0
                one[k] -= 1.0
                first_rows -= 1
            elif second[row]:
                product -= one[k]
                two[k] -= 1.0
                second_rows -= 1
            else:
                product -= two[k]
                one[k] -= 1.0
                first_rows -= 1
        at_lo[site], at_hi[site] = los[at], his[at]
        rows[at, 0] = first_rows
        rows[at, 1] = first_rows if alone else second_rows
        products[at] = product


@leaf()
def follow_counts(  # type: ignore[no-untyped-def]
    sites, los, his, last, at_lo, at_hi, key, counts, said_at, said_from, said, threshold, most, least, epsilon, inside,
    hot, is_hot, moved, is_moved, above, out,
):  # fmt: skip
    """Judge frequent keys. ``out``: steps with a key missing, steps with a key too many, crossings; then the worst.

    ``said[said_from[c]:said_from[c + 1]]`` are the keys inside from update ``said_at[c]`` on. A crossing is a key that
    is on another side of the threshold than at the end of the step before.
    """
    total, many, moves, change, worst = 0, 0, 0, 0, 0.0
    for at in range(len(sites)):
        site = sites[at]
        for row in range(at_hi[site], his[at]):
            k = key[row]
            counts[k] += 1
            total += 1
            if not is_moved[k]:
                is_moved[k] = True
                moved[moves] = k
                moves += 1
            if counts[k] > most and not is_hot[k]:
                is_hot[k] = True
                hot[many] = k
                many += 1
        for row in range(at_lo[site], los[at]):
            k = key[row]
            counts[k] -= 1
            total -= 1
            if not is_moved[k]:
                is_moved[k] = True
                moved[moves] = k
                moves += 1
        at_lo[site], at_hi[site] = los[at], his[at]
        while change < len(said_at) and said_at[change] <= at:
            if change > 0:
                for each in range(said_from[change - 1], said_from[change]):
                    inside[said[each]] = False
            for each in range(said_from[change], said_from[change + 1]):
                inside[said[each]] = True
            change += 1
        if not last[at]:
            continue
        for each in range(moves):
            k = moved[each]
            now = counts[k] > threshold
            out[2] += now != above[k]
            above[k] = now
            is_moved[k] = False
        moves = 0
        missed, spurious, each = False, False, 0
        while each < many:
            k = hot[each]
            if counts[k] <= most:
                is_hot[k] = False
                many -= 1
                hot[each] = hot[many]
                continue
            if not inside[k]:
                worst = max(worst, (counts[k] - most) / total)
                missed = missed or counts[k] >= most + epsilon * total
            each += 1
        if change > 0:
            for place in range(said_from[change - 1], said_from[change]):
                k = said[place]
                if counts[k] < least:
                    worst = max(worst, (least - counts[k]) / max(1, total))
                    spurious = spurious or counts[k] <= least - epsilon * total
        out[0] += missed
        out[1] += spurious
    return worst


@leaf()
def follow_ranks(sites, los, his, at_lo, at_hi, values, said_at, said, rows, below, equal):  # type: ignore[no-untyped-def]
    """After each update: the rows, how many are less than the value said, and how many equal it."""
    total, less, same, change, told = 0, 0, 0, 0, 0.0
    for at in range(len(sites)):
        site = sites[at]
        for row in range(at_hi[site], his[at]):
            total += 1
            less += values[row] < told
            same += values[row] == told
        for row in range(at_lo[site], los[at]):
            total -= 1
            less -= values[row] < told
            same -= values[row] == told
        at_lo[site], at_hi[site] = los[at], his[at]
        if change < len(said_at) and said_at[change] <= at:
            while change < len(said_at) and said_at[change] <= at:
                told = said[change]
                change += 1
            less, same = 0, 0
            for each in range(len(at_lo)):
                for row in range(at_lo[each], at_hi[each]):
                    less += values[row] < told
                    same += values[row] == told
        rows[at], below[at], equal[at] = total, less, same
