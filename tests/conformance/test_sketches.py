"""The contract of every sketch: as good as it says, merged or not, and the same after any journey."""

from __future__ import annotations

import pickle
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import sketches
from tacit.sketches.serial import FORMAT
from tacit.vocabulary import DataError, LineageMismatch, MergeError, OptionError
from tests.sketches.case_kinds import KEYS, named
from tests.sketches.cases import CASES
from tests.sketches.chance import assert_rare

every = pytest.mark.parametrize("case", CASES, ids=named)
merging = pytest.mark.parametrize("case", [case for case in CASES if case.merges], ids=named)
unmerged = pytest.mark.parametrize("case", [case for case in CASES if not case.merges], ids=named)
windowed = pytest.mark.parametrize(
    "case", [case for case in CASES if getattr(case, "by_rows", None) is False], ids=named
)
unfailing = pytest.mark.parametrize("case", [case for case in CASES if not case.delta], ids=named)

SEEDS = 120
few = settings(max_examples=30)  # of each law for each case


@st.composite
def streams(draw, **limits):
    """Arrivals (key, time, count): in bursts, with pauses, now and then many at once."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(KEYS), st.sampled_from([0, 0, 1, 3, 30]), st.sampled_from([0, 1, 1, 2, 5, 40, 300])
            ),
            **{"max_size": 60} | limits,
        )
    )
    times = np.cumsum([1, *(gap for _, gap, _ in steps)])[1:].tolist()
    return [(key, time, count) for (key, _, count), time in zip(steps, times, strict=True)]


def interleaved(parts):
    """All streams as one, in the order of time."""
    return sorted((arrival for part in parts for arrival in part), key=lambda arrival: arrival[1])


def fed_all(case, parts, **changes):
    return [case.fed(part, source, **changes) for source, part in enumerate(parts, start=1)]


@every
@few
@given(stream=streams(), cut=st.integers(0, 60))
def test_many_at_once_are_as_one_by_one(case, stream, cut):
    at_once, slowly, in_two = case.make(), case.make(), case.make()
    case.feed(at_once, stream)
    case.feed_slowly(slowly, stream)
    case.feed(in_two, stream[:cut])
    case.feed(in_two, stream[cut:])
    assert at_once.to_bytes() == slowly.to_bytes() == in_two.to_bytes()


@every
@few
@given(stream=streams())
def test_what_is_certain_is_true(case, stream):
    sketch = case.fed(stream)
    for question in case.questions():
        low, high = case.certain(sketch, question)
        assert low <= case.truth(stream, question) <= high


@unfailing
@few
@given(stream=streams(), seed=st.integers(-(2**63), 2**63 - 1))
def test_answers_without_exceptions_are_within_the_error(case, stream, seed):
    sketch = case.fed(stream, **({"seed": seed} if "seed" in case.options else {}))
    for question in case.questions():
        truth = case.truth(stream, question)
        assert abs(case.ask(sketch, question) - truth) <= case.allowed(stream, question, 0) + 1e-9


@pytest.mark.middle
@pytest.mark.parametrize("shape", ["even", "skewed", "bursts"])
@pytest.mark.parametrize(
    ("case", "parts"),
    [
        pytest.param(case, parts, id=f"{case.name}-{parts}")
        for case in CASES
        for parts in (1, 2, 5)[: 1 + 2 * case.merges]
    ],
)
def test_exceptions_are_as_rare_as_promised(case, shape, parts):
    """Over many seeds: of one sketch, and of sketches merged one after the other, each level adding what it may."""
    rng = np.random.default_rng([len(shape), parts])
    keys = rng.integers(0, 60, 400) if shape == "even" else rng.zipf(1.4, 400) % 60
    times = np.arange(400) // 4 if shape != "bursts" else np.sort(rng.choice([3, 60, 80, 99], 400))
    counts = np.ones(400, dtype=int) if shape == "even" else rng.integers(0, 4, 400)
    stream = [(int(key), int(time) + 1, int(count)) for key, time, count in zip(keys, times, counts, strict=True)]
    if case.name == "bloom":
        stream = [arrival for arrival in stream if arrival[0] % 4 == 3][:20]
    failures = dict.fromkeys(case.questions(), 0)
    for seed in range(SEEDS if case.delta else 1):
        changes = {"seed": seed} if "seed" in case.options else {}
        split = fed_all(case, [stream[part::parts] for part in range(parts)], **changes)
        sketch = split[0]
        for other in split[1:]:
            sketch = sketch.merge(other)
        for question in failures:
            off = abs(case.ask(sketch, question) - case.truth(stream, question))
            failures[question] += off > case.allowed(stream, question, parts - 1) + 1e-9
    for question, failed in failures.items():
        if case.delta:
            assert_rare(failed, SEEDS, case.delta)
        else:
            assert not failed, question


@merging
@few
@given(parts=st.lists(streams(max_size=30), min_size=2, max_size=4))
def test_the_order_of_a_merge_does_not_matter(case, parts):
    split, whole = fed_all(case, parts), interleaved(parts)
    forwards, backwards = (case.kind.merge_all(list(order)) for order in (split, split[::-1]))
    one_by_one = split[0]
    for other in split[1:]:
        one_by_one = one_by_one.merge(other)
    if case.lossless or case.name == "conservative":
        assert case.answers(forwards) == case.answers(backwards) == case.answers(one_by_one)
    elif not case.delta:
        for question in case.questions():
            truth = case.truth(whole, question)
            for merged, levels in ((forwards, 1), (backwards, 1), (one_by_one, len(parts) - 1)):
                off = abs(case.ask(merged, question) - truth)
                assert off <= case.allowed(whole, question, levels) + 1e-9


@merging
@few
@given(parts=st.lists(streams(max_size=30), min_size=1, max_size=4))
def test_a_merge_answers_for_all_streams(case, parts):
    merged, whole = case.kind.merge_all(fed_all(case, parts)), interleaved(parts)
    if case.lossless and not case.sourced:
        assert case.answers(merged) == case.answers(case.fed(whole))
    for question in case.questions():
        truth = case.truth(whole, question)
        if not case.delta:
            assert abs(case.ask(merged, question) - truth) <= case.allowed(whole, question, 1) + 1e-9
        low, high = case.certain(merged, question)
        assert low <= truth <= high


@merging
@few
@given(parts=st.lists(st.tuples(streams(max_size=30), st.integers(0, 100)), min_size=1, max_size=5))
def test_merged_one_after_the_other_is_merged_at_once(case, parts):
    """To the last bit, though what has left the window is known only when the latest part has come."""
    split = fed_all(case, [[(key, time + later, count) for key, time, count in part] for part, later in parts])
    together = case.kind.merge_all(split)
    data = [sketch.to_bytes() for sketch in split]
    for coming in (iter(split), map(case.kind.from_bytes, data)):
        one_by_one = case.kind.merge_all(coming)
        assert one_by_one.to_bytes() == together.to_bytes()
        assert case.answers(one_by_one) == case.answers(together)
    assert sketches.load_merged(data).to_bytes() == together.to_bytes()
    more = [(key, 10**4, 7) for key in KEYS]
    case.feed(one_by_one, more)
    case.feed(together, more)
    assert one_by_one.to_bytes() == together.to_bytes()


@merging
@few
@given(stream=streams())
def test_a_merge_with_an_empty_one_changes_no_answer_beyond_the_error(case, stream):
    sketch, empty = case.fed(stream, 1), case.make(2)
    for merged in (sketch.merge(empty), empty.merge(sketch), case.kind.merge_all([sketch])):
        for question in case.questions():
            off = abs(case.ask(merged, question) - case.ask(sketch, question))
            assert off <= (0.0 if case.lossless else 2 * case.allowed(stream, question, 1)) + 1e-9


@merging
def test_any_other_parameter_is_refused(case):
    assert case.changes.keys() >= {name for name in case.options if name != "window"}
    for name, value in case.changes.items():
        with pytest.raises(LineageMismatch, match="cannot be merged: they differ in"):
            case.make(1).merge(case.make(2, **{name: value}))
        with pytest.raises(LineageMismatch, match="cannot be merged: they differ in"):
            case.kind.merge_all(iter([case.make(1), case.make(2), case.make(3, **{name: value})]))
    assert case.make(1).lineage == case.make(2).lineage


@merging
def test_another_kind_is_refused(case):
    for other in CASES:
        if other.kind is not case.kind:
            with pytest.raises(LineageMismatch, match="is merged with others of its kind"):
                case.make().merge(other.make())
            with pytest.raises(LineageMismatch):
                case.kind.merge_all(iter([case.make(1), case.make(2), other.make()]))
    for nothing in ([], iter([])):
        with pytest.raises(OptionError, match="at least one"):
            case.kind.merge_all(nothing)


@unmerged
def test_what_does_not_merge_says_why(case):
    with pytest.raises(MergeError, match="which rows of one stream came before which of another is not kept"):
        case.make(1).merge(case.make(2))
    with pytest.raises(MergeError, match="which rows of one stream came before which of another is not kept"):
        case.kind.merge_all(iter([case.make(1), case.make(2)]))


@every
@few
@given(stream=streams(), later=streams())
def test_bytes_come_back_and_go_on_the_same(case, stream, later):
    sketch = case.fed(stream)
    data = sketch.to_bytes()
    again = [case.kind.from_bytes(data), sketches.load(data), pickle.loads(pickle.dumps(sketch))]
    shift = max((time for _, time, _ in stream), default=0)
    later = [(key, time + shift, count) for key, time, count in later]
    case.feed(sketch, later)
    for other in again:
        assert type(other) is case.kind
        assert other.to_bytes() == data
        assert other.lineage == sketch.lineage
        case.feed(other, later)
        assert case.answers(other) == case.answers(sketch)
        assert other.to_bytes() == sketch.to_bytes()


@every
@few
@given(stream=streams(), place=st.integers(0), change=st.integers(1, 255), more=st.binary(min_size=1, max_size=9))
def test_damaged_bytes_are_refused(case, stream, place, change, more):
    data = case.fed(stream).to_bytes()
    flipped = bytearray(data)
    flipped[place % len(data)] ^= change
    for wrong in (bytes(flipped), data[: place % len(data)], data + more):
        for read in (case.kind.from_bytes, sketches.load):
            with pytest.raises(DataError):
                read(wrong)


@every
@settings(max_examples=100)
@given(stream=streams(), place=st.integers(0), change=st.integers(1, 255), cut=st.booleans())
def test_changed_bytes_with_a_right_checksum_are_a_sketch_or_refused(case, stream, place, change, cut):
    """What is read back is never in a state that answers cannot be given from."""
    data = case.fed(stream).to_bytes()
    head, content = data[:6], bytearray(data[10:])
    content[place % len(content)] ^= change
    if cut:
        content = content[: place % len(content)]
    checksum = zlib.crc32(bytes(content), zlib.crc32(bytes([FORMAT, head[5]])))
    forged = head + checksum.to_bytes(4, "little") + bytes(content)
    try:
        sketch = case.kind.from_bytes(forged)
    except DataError:
        return
    if sketch.lineage == case.make().lineage:
        assert all(np.isfinite(case.answers(sketch)))
        assert case.kind.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes()


@every
@few
@given(stream=streams(), other=streams())
def test_being_asked_written_or_merged_changes_nothing(case, stream, other):
    sketch, second = case.fed(stream, 1), case.fed(other, 2)
    before, beside = sketch.to_bytes(), second.to_bytes()
    case.answers(sketch)
    pickle.dumps(sketch)
    if case.merges:
        merged = sketch.merge(second)
        case.feed(merged, [(3, 10**6, 5)])
        case.feed(second.merge(sketch), [(4, 10**6, 5)])
    assert sketch.to_bytes() == before
    assert second.to_bytes() == beside


@every
def test_what_is_wrong_is_refused_and_changes_nothing(case):
    """Also when the arrivals before it are right."""
    sketch = case.fed([(1, 2, 3), (4, 5, 6)])
    before = sketch.to_bytes()
    for wrong in case.wrong():
        for feed in (case.feed, case.feed_slowly):
            with pytest.raises((DataError, OptionError)):
                feed(sketch, [wrong])
        with pytest.raises((DataError, OptionError)):
            case.feed(sketch, [(1, 7, 1), wrong])
        assert sketch.to_bytes() == before, wrong


@windowed
@few
@given(stream=streams(), order=st.randoms(use_true_random=False))
def test_late_arrivals_are_counted_at_the_latest_time(case, stream, order):
    """Also those that count nothing: they are late all the same, and bytes come back."""
    shuffled = list(stream)
    order.shuffle(shuffled)
    latest, late, settled = -(2**60), 0, []
    for key, time, count in shuffled:
        late += time < latest
        latest = max(latest, time)
        settled.append((key, latest, count))
    sketch, twin, slowly = case.fed(shuffled), case.fed(settled), case.make()
    case.feed_slowly(slowly, shuffled)
    assert (sketch.now, sketch.late, slowly.late) == (latest, late, late)
    assert case.answers(sketch) == case.answers(twin) == case.answers(slowly)
    assert case.kind.from_bytes(sketch.to_bytes()).to_bytes() == sketch.to_bytes() == slowly.to_bytes()


@windowed
@few
@given(stream=streams(), length=st.integers(1, 40), later=st.integers(0, 80))
def test_time_passes_without_arrivals(case, stream, length, later):
    """Asked for a later time, a sketch answers as one that was told that so much time has passed."""
    sketch = case.fed(stream)
    now = sketch.now + later
    questions = [(*question[:-1], length) for question in case.questions()]
    ahead = [case.ask(sketch, question, now=now) for question in questions]
    before = sketch.to_bytes()
    told = case.kind.from_bytes(before)
    told.advance(now)
    told.advance(now - later)
    assert told.now == now
    assert [case.ask(told, question) for question in questions] == ahead
    assert case.ask(case.kind.from_bytes(told.to_bytes()), questions[0]) == ahead[0]
    assert sketch.to_bytes() == before
    told.advance(now + 40)
    assert case.answers(told) == [0.0] * len(case.questions())


@windowed
def test_a_window_is_asked_for_what_it_has(case):
    sketch = case.fed([(1, 2, 3), (4, 5, 6)])
    question = case.questions()[0][:-1]
    for length in (0, -1, 41, 1.5, "a"):
        with pytest.raises(OptionError):
            case.ask(sketch, (*question, length))
    for now in (4, 1.5, "a", 2**61):
        with pytest.raises((DataError, OptionError)):
            case.ask(sketch, (*question, 1), now=now)
    for now in (1.5, "a", 2**61):
        with pytest.raises(DataError):
            sketch.advance(now)
    for window in (40, None):
        with pytest.raises(OptionError, match="SlidingWindow"):
            case.make(window=window)
