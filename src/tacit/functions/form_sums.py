"""Polynomials of degree at most 2 as plain arrays, and sums of them that know what rounding may have lost.

>>> from fractions import Fraction
>>> square = form_of({((0, 2),): Fraction(1)}, 2)
>>> total, sizes = weighed([(3.0, square), (-3.0, square)], 2)
>>> form_value(total, np.array([2.0, 1.0])), float(sizes[0][0, 0])
(0.0, 6.0)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tacit.functions.form_arrays import Coefficients
from tacit.functions.polynomials import Polynomial
from tacit.vocabulary.arrays import FloatArray

__all__ = ["Form", "form_of", "form_value", "weighed"]

Form = tuple[FloatArray, FloatArray, float]
"""x'Mx + linear.x + constant: the matrix, the linear part, the constant."""


def form_of(polynomial: Polynomial, dimension: int) -> Form:
    """A polynomial of degree at most 2 as a form."""
    return Coefficients.of(polynomial, np.ones(dimension)).arrays(dimension)


def form_value(form: Form, at: FloatArray) -> float:
    """Its value at a point."""
    matrix, linear, constant = form
    return float(at @ matrix @ at + linear @ at + constant)


def weighed(parts: Iterable[tuple[float, Form]], dimension: int, constant: float = 0.0) -> tuple[Form, Form]:
    """The sum of weights times forms and a constant, and the same sum of their sizes."""
    matrix, linear = np.zeros((dimension, dimension)), np.zeros(dimension)
    large, long, high = np.zeros((dimension, dimension)), np.zeros(dimension), abs(constant)
    for weight, form in parts:
        matrix, linear, constant = matrix + weight * form[0], linear + weight * form[1], constant + weight * form[2]
        size = abs(weight)
        large, long, high = large + size * np.abs(form[0]), long + size * np.abs(form[1]), high + size * abs(form[2])
    return (matrix, linear, constant), (large, long, high)
