"""Frames: what one message of a gRPC stream carries, envelopes in their order.

Reading walks over the bytes by hand: protobuf would first build all of a frame, and 64 MB of empty envelopes would take
a gigabyte before they could be counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.vocabulary import ProtocolError
from tacit.wire import tacit_pb2 as pb

__all__ = ["ENVELOPES_MAX", "decode_frame", "encode_frame"]

ENVELOPES_MAX = 1 << 16
"""More in one frame is no message of ours: a sender splits what it has."""

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
