"""Message to bytes and back, byte-exact sizes, and the ledger of what was sent."""

from tacit.wire.codec import decode, encode
from tacit.wire.frames import decode_frame, encode_frame
from tacit.wire.kinds import HEARTBEATS, KINDS, kind_of
from tacit.wire.ledger import COORDINATOR, Ledger
from tacit.wire.sizes import size

__all__ = [
    "COORDINATOR",
    "HEARTBEATS",
    "KINDS",
    "Ledger",
    "decode",
    "decode_frame",
    "encode",
    "encode_frame",
    "kind_of",
    "size",
]
