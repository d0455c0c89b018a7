"""Bytes come back as they were, and bytes that were cut or changed get one clear sentence."""

from __future__ import annotations

import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.sketches.serial import FORMAT, Reader, Writer, damaged, kind_of, open_sealed, seal
from tacit.vocabulary import DataError

signed, unsigned = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
fields = st.lists(
    st.one_of(
        st.tuples(st.just("integers"), st.lists(signed, max_size=6)),
        st.tuples(st.just("floats"), st.lists(st.floats(allow_nan=False), max_size=6)),
        st.tuples(st.just("words"), st.lists(unsigned, max_size=20)),
        st.tuples(st.just("raw"), st.binary(max_size=20)),
    ),
    max_size=8,
)


def written(parts) -> bytes:
    writer = Writer()
    for kind, values in parts:
        if kind == "words":
            writer.words(np.array(values, dtype=np.uint64))
        elif kind == "raw":
            writer.raw(values)
        else:
            getattr(writer, kind)(*values)
    return seal(9, writer)


def read(reader: Reader, parts) -> list:
    found = []
    for kind, values in parts:
        if kind in ("integers", "floats"):
            found.append(getattr(reader, kind)(len(values)))
        else:
            found.append(reader.words().tolist() if kind == "words" else reader.raw())
    reader.done()
    return found


@given(parts=fields)
def test_what_was_written_is_read(parts):
    data = written(parts)
    assert kind_of(data) == 9
    for form in (bytes, bytearray, memoryview):
        assert read(open_sealed(form(data), 9), parts) == [values for _, values in parts]


@given(parts=fields, place=st.integers(0), change=st.integers(1, 255))
def test_any_changed_byte_is_noticed(parts, place, change):
    data = bytearray(written(parts))
    data[place % len(data)] ^= change
    with pytest.raises(DataError):
        open_sealed(bytes(data), 9)


@given(parts=fields, kept=st.integers(0))
def test_any_cut_is_noticed(parts, kept):
    data = written(parts)
    with pytest.raises(DataError):
        open_sealed(data[: kept % len(data)], 9)


@given(parts=fields, more=st.binary(min_size=1, max_size=9))
def test_more_than_was_written_is_noticed(parts, more):
    with pytest.raises(DataError):
        open_sealed(written(parts) + more, 9)


def test_another_kind_is_no_other_sketch_with_the_same_bytes():
    """The checksum covers the kind: one changed byte never turns one kind into another."""
    data = bytearray(written([("integers", [1, 2])]))
    data[5] = 8
    assert kind_of(bytes(data)) == 8
    with pytest.raises(DataError, match="its checksum does not fit"):
        open_sealed(bytes(data), 8)


@given(content=st.binary(max_size=60), parts=fields)
def test_a_reader_of_anything_reads_or_refuses(content, parts):
    with suppress(DataError):
        read(Reader(content), parts)


@pytest.mark.parametrize(
    ("content", "method"),
    [
        (b"\x80" * 10 + b"\x00", "integers"),
        (b"\xff" * 9 + b"\x02", "integers"),
        (b"\x80", "integers"),
        (b"", "integers"),
        (b"\x00" * 7, "floats"),
    ],
)
def test_numbers_that_do_not_end_are_refused(content, method):
    with pytest.raises(DataError, match="damaged"):
        getattr(Reader(content), method)(1)


@pytest.mark.parametrize("count", [-1, 2**62])
def test_impossible_lengths_are_refused_without_making_room(count):
    writer = Writer()
    writer.integers(count)
    for method in ("words", "raw"):
        with pytest.raises(DataError, match="it ends too early"):
            getattr(Reader(writer.content()), method)()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "do not begin with TSKT"),
        (b"TSKT", "it ends too early"),
        (b"PK\x03\x04 something else", "do not begin with TSKT"),
        (struct.pack("<4sBBI", b"TSKT", FORMAT + 1, 9, 0), "is of format 2, and this tacit reads format 1"),
        (seal(3, Writer()), "of kind 3, and one of kind 9 is read; use tacit.sketches.load"),
        ("TSKT", "read from bytes, and a str is given"),
    ],
)
def test_what_is_no_such_sketch_is_said(data, why):
    with pytest.raises(DataError, match=why):
        open_sealed(data, 9)


def test_small_numbers_take_few_bytes():
    writer = Writer()
    writer.words(np.arange(100, dtype=np.uint64))
    assert len(writer.content()) == 102
    assert isinstance(damaged("so"), DataError)
