"""Scores that add up over sites: linear in the statistics, so that every row has its own part of the score."""

from __future__ import annotations

import numpy as np

from tacit.functions.expressions import Expression
from tacit.functions.polynomials import as_fraction
from tacit.vocabulary import FloatArray

__all__ = ["row_weights"]


def row_weights(expression: Expression, dimension: int) -> FloatArray | None:
    """What each statistic counts for; None when the expression is not a sum of multiples of statistics.

    >>> from tacit.functions.expressions import Variable
    >>> row_weights(2.0 * Variable(0) - Variable(2), 3)
    array([ 2.,  0., -1.])
    >>> row_weights(Variable(0) / Variable(1), 2) is None
    True
    """
    fraction = as_fraction(expression)
    if fraction is None or fraction.needs or list(fraction.denominator()) != [()]:
        return None
    weights = np.zeros(dimension)
    divisor = fraction.denominator()[()]
    for monomial, number in fraction.numerator().items():
        if len(monomial) != 1 or monomial[0][1] != 1:
            return None
        weights[monomial[0][0]] = float(number / divisor)
    return weights if weights.any() else None
