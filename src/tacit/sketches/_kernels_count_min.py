"""Counting into rows of cells, and reading the smallest of a key's cells."""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf
from tacit.sketches._kernels_hash import cell_of

__all__ = ["add_conservatively", "add_counts", "add_ones", "add_prefixes", "smallest"]

_BLOCK = 2048  # words: they stay in the first cache while one row after the other is counted
_ONE = np.uint64(1)


@leaf()
def add_ones(cells, rows, words, shift):  # type: ignore[no-untyped-def]
    """Count each word once, without its lowest ``shift`` bits."""
    width, start = np.uint64(cells.shape[1]), 0
    while start < len(words):
        stop = min(len(words), start + _BLOCK)
        for row in range(len(cells)):
            a, b, c = rows[row, 0], rows[row, 1], rows[row, 2]
            line = cells[row]
            for i in range(start, stop):
                line[cell_of(words[i] >> shift, a, b, c, width)] += _ONE
        start = stop


@leaf()
def add_counts(cells, rows, words, counts, shift):  # type: ignore[no-untyped-def]
    """Count each word as often as its count says, without its lowest ``shift`` bits."""
    width, start = np.uint64(cells.shape[1]), 0
    while start < len(words):
        stop = min(len(words), start + _BLOCK)
        for row in range(len(cells)):
            a, b, c = rows[row, 0], rows[row, 1], rows[row, 2]
            line = cells[row]
            for i in range(start, stop):
                line[cell_of(words[i] >> shift, a, b, c, width)] += counts[i]
        start = stop


@leaf()
def add_conservatively(cells, rows, words, counts):  # type: ignore[no-untyped-def]
    """Raise only those cells of a word that are below its estimate and its count; no counts mean 1 each."""
    width = np.uint64(cells.shape[1])
    for i in range(len(words)):
        least = np.uint64(0xFFFFFFFFFFFFFFFF)
        for row in range(len(cells)):
            cell = cell_of(words[i], rows[row, 0], rows[row, 1], rows[row, 2], width)
            least = min(least, cells[row, cell])
        least += counts[i] if len(counts) > 0 else _ONE
        for row in range(len(cells)):
            cell = cell_of(words[i], rows[row, 0], rows[row, 1], rows[row, 2], width)
            cells[row, cell] = max(cells[row, cell], least)


@leaf()
def smallest(cells, rows, words, shift, out):  # type: ignore[no-untyped-def]
    """The smallest of the cells of each word."""
    width = np.uint64(cells.shape[1])
    for i in range(len(words)):
        least = np.uint64(0xFFFFFFFFFFFFFFFF)
        for row in range(len(cells)):
            cell = cell_of(words[i] >> shift, rows[row, 0], rows[row, 1], rows[row, 2], width)
            least = min(least, cells[row, cell])
        out[i] = least


@leaf()
def add_prefixes(cells, words, counts, shift):  # type: ignore[no-untyped-def]
    """Count each word in the cell of its prefix; no counts mean 1 each."""
    for i in range(len(words)):
        cells[words[i] >> shift] += counts[i] if len(counts) > 0 else _ONE
