"""Frames: what one message of a gRPC stream carries, envelopes in their order."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import DecodeError

from tacit.vocabulary import ProtocolError
from tacit.wire import tacit_pb2 as pb

__all__ = ["ENVELOPES_MAX", "decode_frame", "encode_frame"]

ENVELOPES_MAX = 1 << 16
"""More in one frame is no message of ours: a sender splits what it has."""


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
    try:
        frame: pb.Frame = pb.Frame.FromString(data)
    except DecodeError as error:
        raise ProtocolError(f"{len(data)} bytes came that are no frame of tacit") from error
    if len(frame.envelopes) > ENVELOPES_MAX:
        raise ProtocolError(f"a frame came with {len(frame.envelopes)} messages; at most {ENVELOPES_MAX} are taken")
    return list(frame.envelopes)
