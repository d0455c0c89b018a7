"""Frames: what one message of a gRPC stream carries, envelopes in their order.

Reading walks over the bytes by hand: protobuf would first build all of a frame, and 64 MB of empty envelopes would take
a gigabyte before they could be counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tacit.vocabulary import ProtocolError
from tacit.wire import tacit_pb2 as pb

__all__ = ["ENVELOPES_MAX", "FRAME_BYTES", "cut_frames", "decode_frame", "encode_frame", "key_runs"]

ENVELOPES_MAX = 1 << 16
"""More in one frame is no message of ours: a sender splits what it has."""

FRAME_BYTES = 4 << 20
"""What a sender puts into one frame: far below what a stream takes, and still few frames."""

_KEYS_A_RUN = 4_096
_RUN_BYTES = 1 << 20
_TAG = 1 << 3 | 2  # field 1, a length and so many bytes
_VARINT_BYTES = 5  # enough for 4 GB


def encode_frame(envelopes: Iterable[bytes]) -> bytes:
    """Envelopes as one frame.

    >>> decode_frame(encode_frame([b"one", b"two"]))
    [b'one', b'two']
    """
    frame = pb.Frame(envelopes=envelopes)
    if len(frame.envelopes) > ENVELOPES_MAX:
        raise ProtocolError(f"a frame holds at most {ENVELOPES_MAX} messages, not {len(frame.envelopes)}")
    data: bytes = frame.SerializeToString()
    return data


def cut_frames(envelopes: Iterable[bytes], volume: int = FRAME_BYTES) -> list[bytes]:
    """Envelopes in their order as frames of about so many bytes each; one that is larger is a frame by itself.

    >>> [decode_frame(frame) for frame in cut_frames([b"one", b"two", b"three"], volume=6)]
    [[b'one', b'two'], [b'three']]
    """
    frames: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for envelope in envelopes:
        if gathered and (size + len(envelope) > volume or len(gathered) == ENVELOPES_MAX):
            frames.append(encode_frame(gathered))
            gathered, size = [], 0
        gathered.append(envelope)
        size += len(envelope)
    if gathered:
        frames.append(encode_frame(gathered))
    return frames


def key_runs(keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Keys in their order, as many together as one message should carry.

    >>> [len(run) for run in key_runs(["a"] * 5_000)]
    [4096, 904]
    """
    begin = size = 0
    for place, key in enumerate(keys):
        if place > begin and (place - begin == _KEYS_A_RUN or size + 4 * len(key) > _RUN_BYTES):
            yield tuple(keys[begin:place])
            begin, size = place, 0
        size += 4 * len(key)  # a letter has at most 4 bytes
    if begin < len(keys):
        yield tuple(keys[begin:])


def decode_frame(data: bytes) -> list[bytes]:
    """The envelopes of a frame; a ProtocolError when it is none."""
    envelopes: list[bytes] = []
    at = 0
    while at < len(data):
        begin, end = _extent(data, at)
        if not begin <= end <= len(data):
            raise ProtocolError(f"{len(data)} bytes came that are no frame of tacit")
        if len(envelopes) == ENVELOPES_MAX:
            raise ProtocolError(f"a frame came with more than {ENVELOPES_MAX} messages, which is the limit")
        envelopes.append(data[begin:end])
        at = end
    return envelopes


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Where the envelope whose tag is here begins and ends; it ends before it begins where there is none."""
    if data[at] != _TAG:
        return 1, 0
    length = 0
    for place, byte in enumerate(data[at + 1 : at + 1 + _VARINT_BYTES]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            begin = at + 2 + place
            return begin, begin + length
    return 1, 0
