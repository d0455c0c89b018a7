"""Spark's part of the house: reading data, preparing recordings, generating data, running tasks.

Only this room imports pyspark, and importing the room does not, so that ``tacit doctor`` can look for Java where no
Spark is installed. Import from its modules: ``session``, ``sources``, ``prepare``, ``generate``, ``parallel``.
"""

from __future__ import annotations

__all__: list[str] = []
