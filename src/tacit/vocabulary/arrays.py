"""The array types that cross rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "ByteArray", "FloatArray", "IntArray", "WordArray"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]
WordArray = NDArray[np.uint64]
AnyArray = NDArray[Any]
