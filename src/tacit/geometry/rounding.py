"""How far rounding can mislead a sum of products, so that tests can err on the safe side.

With u = 2^-53, a dot product of d terms, in any order and with or without fused steps, is wrong by at most
d u / (1 - d u) times the sum of the absolute products (Higham, Accuracy and Stability, section 3.1), and by the least
normal number where products underflow. The slack below is more than twice that, which pays for computing it, for the
subtractions around it and for the comparison.
"""

from __future__ import annotations

import numpy as np

from tacit.vocabulary import FloatArray

__all__ = ["EPSILON", "TINY", "downward", "products_slack", "upward"]

EPSILON = 2.0**-52
TINY = 2.0**-1000  # more than all that underflow can lose, less than any margin that means something


def products_slack(magnitudes: FloatArray, terms: int) -> FloatArray:
    """More than rounding can be wrong in a sum of ``terms`` products whose absolute values sum to ``magnitudes``."""
    return np.asarray((terms + 8) * EPSILON * magnitudes + TINY)


def downward(values: FloatArray, steps: int = 4) -> FloatArray:
    """A little less: pays for ``steps`` roundings."""
    return np.asarray(values - steps * EPSILON * np.abs(values) - TINY)


def upward(values: FloatArray, steps: int = 4) -> FloatArray:
    """A little more: pays for ``steps`` roundings."""
    return np.asarray(values + steps * EPSILON * np.abs(values) + TINY)
