"""A Count-Min array of window counters: keys hashed to one cell of each row, or each key a cell of its own.

What ``EcmSketch`` is once and ``DyadicEcm`` is for each height of its tree. It has no clock: times come checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.sketches._kernels_append import lookup, places
from tacit.sketches.cells import Cells
from tacit.sketches.hashing import row_words
from tacit.sketches.parameters import LEAST, Counter, Shape, check_share
from tacit.sketches.serial import Reader, Writer, damaged
from tacit.vocabulary import FloatArray, IntArray, OptionError, WordArray

__all__ = ["Table", "check_shape", "hashed", "identity", "read_shape", "write_shape"]


def identity(bits: int) -> WordArray:
    """The words of a row of 2^bits cells in which each key of so many bits has its own (see ``cell_of``).

    With a = c = 0 and b = 2^(64 - bits) the upper half of a x b is x 2^(32 - bits), of which 2^bits cells make x again.

    >>> identity(4)
    array([[                  0, 1152921504606846976,                   0]], dtype=uint64)
    """
    return np.array([[0, 2 ** (64 - bits) % 2**64, 0]], dtype=np.uint64)


def hashed(seed: int, depth: int, number: int = 0) -> WordArray:
    """The words of the rows of table ``number``: tables of one seed hash independently."""
    return row_words(seed, depth * (number + 1))[depth * number :]


@dataclass(slots=True)
class Table:
    """The cells, and the words that say which cell of a row a key has.

    >>> from tacit.sketches.histogram_cells import HistogramCells
    >>> table = Table(HistogramCells(depth=1, width=4, length=60, epsilon=0.1), identity(2))
    >>> table.insert(np.array([3, 1, 3], dtype=np.uint64), np.array([5, 6, 7]), None)
    >>> table.whole(0), table.total(5)
    (array([[0., 1., 0., 2.]]), 2.0)
    """

    cells: Cells
    words: WordArray

    def insert(self, keys: WordArray, times: IntArray, counts: IntArray | None) -> None:
        """Arrivals of these keys."""
        self.cells.insert(self.words, keys, times, counts)

    def whole(self, start: int) -> FloatArray:
        """The counts of all cells after ``start``: depth rows of width."""
        return self.cells.estimates(self._all(), start).reshape(self.cells.depth, self.cells.width)

    def estimates(self, keys: WordArray, start: int) -> FloatArray:
        """The least of each key's cells. All cells are asked first when there are more keys than cells of a row."""
        if len(keys) < self.cells.width:
            found = self.cells.estimates(self._places(keys), start).reshape(self.cells.depth, len(keys))
            return np.asarray(found.min(axis=0), dtype=np.float64)
        least = np.empty(len(keys), dtype=np.float64)
        lookup(keys, self.words, np.uint64(self.cells.width), self.cells.estimates(self._all(), start), least)
        return least

    def bounds(self, keys: WordArray, start: int) -> tuple[FloatArray, FloatArray]:
        """The least of the lower bounds and the least of the upper bounds of each key's cells."""
        lower, upper = self.cells.bounds(self._places(keys), start)
        shape = (self.cells.depth, len(keys))
        return lower.reshape(shape).min(axis=0), upper.reshape(shape).min(axis=0)

    def total_bounds(self, start: int) -> tuple[float, float]:
        """At least and at most how many arrivals all keys had: each row has each once, so the best of the rows."""
        lower, upper = (
            each.reshape(self.cells.depth, -1).sum(axis=1) for each in self.cells.bounds(self._all(), start)
        )
        return float(lower.max()), float(upper.min())

    def total(self, start: int) -> float:
        """How many arrivals all keys had: the mean of the rows' sums, inside all their bounds.

        The sum of a row errs by at most the error of a cell, and errors of many cells mostly cancel.
        """
        least, most = self.total_bounds(start)
        return float(min(max(self.whole(start).sum(axis=1).mean(), least), most))

    def _all(self) -> IntArray:
        return np.arange(self.cells.depth * self.cells.width, dtype=np.int64)

    def _places(self, keys: WordArray) -> IntArray:
        found = np.empty((self.cells.depth, len(keys)), dtype=np.int64)
        places(keys, self.words, np.uint64(self.cells.width), found)
        return found.ravel()


def check_shape(shape: Shape, counter: Counter = "histogram") -> None:
    """OptionError unless all errors and probabilities are such that there can be a table of this shape.

    >>> check_shape(Shape(1e-12, 0.1, 0.1, 0.0))
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: an error or a probability of a sketch is at least 1e-09, and 1e-12 is less
    """
    failing = (shape.delta_window,) if counter == "random_wave" else ()
    for each in (shape.epsilon_cells, shape.epsilon_window, shape.delta_cells, *failing):
        check_share("an error or a probability", each)
        if each < LEAST:
            raise OptionError(f"an error or a probability of a sketch is at least {LEAST}, and {each} is less")
    if not 0 <= shape.delta_window < 1:
        raise OptionError(f"the probability that a window counter fails is 0 to 1, and {shape.delta_window} is not")


def write_shape(writer: Writer, shape: Shape) -> None:
    """A shape as four floats."""
    writer.floats(shape.epsilon_cells, shape.epsilon_window, shape.delta_cells, shape.delta_window)


def read_shape(reader: Reader) -> Shape:
    """What ``write_shape`` wrote."""
    shape = Shape(*reader.floats(4))
    try:
        check_shape(shape)
    except OptionError as error:
        raise damaged("its shape is none") from error
    return shape
