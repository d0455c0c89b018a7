"""Words every room shares: ids, panes, answers, the error tree."""

from tacit.vocabulary.answers import Answer, State
from tacit.vocabulary.arrays import BoolArray, ByteArray, FloatArray, IntArray
from tacit.vocabulary.errors import (
    DataError,
    InputError,
    MachineError,
    OptionError,
    ProtocolError,
    SentenceError,
    TacitError,
    ZoneError,
)

__all__ = [
    "Answer",
    "BoolArray",
    "ByteArray",
    "DataError",
    "FloatArray",
    "InputError",
    "IntArray",
    "MachineError",
    "OptionError",
    "ProtocolError",
    "SentenceError",
    "State",
    "TacitError",
    "ZoneError",
]
