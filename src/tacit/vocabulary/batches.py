"""What one micro-batch of a table says to the watches on it: aggregates and blocks of rows, never single rows.

Spark makes these in the pipelines; a site's windows take them in. Times are microseconds since 1970, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.vocabulary.arrays import FloatArray, IntArray

__all__ = ["LARGEST", "PaneDeltas", "RowBlock", "SampleRows"]

LARGEST = 1e150
"""No sum is larger: products of two of them are computed with, and must be finite too."""


@dataclass(frozen=True, slots=True, eq=False)
class PaneDeltas:
    """What a batch adds to a watch, by sub-pane and group: rows that pass WHERE and have a time.

    Sub-pane q of length g covers [q g, (q + 1) g). ``group`` is an index into ``keys``, the texts that tell groups
    apart at every site alike; without GROUP BY the only key is the empty text.
    """

    sub: IntArray  # (k,)
    group: IntArray  # (k,)
    rows: IntArray  # (k,) how many
    sums: FloatArray  # (k, d) of the contributions, around the centres that were asked for
    keys: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """The rows of a batch that pass WHERE, in the order of (time, hash of the row)."""

    t: IntArray  # (n,)
    hash: IntArray  # (n,)
    group: IntArray  # (n,) an index into ``keys``
    values: FloatArray  # (n, d) contributions
    keys: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True, eq=False)
class SampleRows:
    """Some rows of a pane, chosen by a hash of what they contribute: the same rows are chosen wherever they are."""

    keys: IntArray  # (m,) the hashes, rising
    values: FloatArray  # (m, d) contributions
    centres: FloatArray  # (m, k) values of the expressions that are centred; nan where there is none
