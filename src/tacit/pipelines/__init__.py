"""Spark's part of the house: reading data, preparing recordings, generating data, running tasks, sketching DataFrames.

Only this room imports pyspark, and importing the room does not, so that ``tacit doctor`` can look for Java where no
Spark is installed. Import from its modules: ``session``, ``sources``, ``prepare``, ``generate``, ``parallel``. What
users of sketches need is here as well, and loaded when it is first asked for: ``ecm``, ``ecm_by``, ``ecm_batches`` and
``register_sketches``; more functions on columns of sketches are in ``sketch_functions``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.pipelines.sketch_ecm import ecm, ecm_by
    from tacit.pipelines.sketch_functions import register as register_sketches
    from tacit.pipelines.sketch_streams import ecm_batches

__all__ = ["ecm", "ecm_batches", "ecm_by", "register_sketches"]

_PLACES = {
    "ecm": ("sketch_ecm", "ecm"),
    "ecm_batches": ("sketch_streams", "ecm_batches"),
    "ecm_by": ("sketch_ecm", "ecm_by"),
    "register_sketches": ("sketch_functions", "register"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, real = _PLACES[name]
    return getattr(import_module(f"{__name__}.{module}"), real)
