"""Words every room shares: ids, panes, answers, the error tree."""

from tacit.vocabulary.answers import Answer, Missing, State
from tacit.vocabulary.arrays import BoolArray, ByteArray, FloatArray, IntArray, WordArray
from tacit.vocabulary.errors import (
    DataError,
    InputError,
    LineageMismatch,
    MachineError,
    MergeError,
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
    "LineageMismatch",
    "MachineError",
    "MergeError",
    "Missing",
    "OptionError",
    "ProtocolError",
    "SentenceError",
    "State",
    "TacitError",
    "WordArray",
    "ZoneError",
]
