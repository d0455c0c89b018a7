"""Dice for generated data: native expressions of a seed, a name and the row's own numbers.

A row's dice depend on nothing else, neither on partitions nor on the number of cores, so generated data is the same
wherever it is generated. (``rand(seed)`` of Spark depends on how rows are split.)
"""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as sf

__all__ = ["noise", "normal", "uniform", "zipf"]


def uniform(seed: int, name: str, *keys: Column) -> Column:
    """Uniform in (0, 1)."""
    bits = sf.shiftrightunsigned(sf.xxhash64(sf.lit(seed), sf.lit(name), *keys), 11)
    return (bits + sf.lit(0.5)) * sf.lit(2.0**-53)


def normal(seed: int, name: str, *keys: Column) -> Column:
    """Standard normal (Box and Muller)."""
    radius = sf.sqrt(sf.log(uniform(seed, name + "/radius", *keys)) * -2.0)
    return radius * sf.cos(uniform(seed, name + "/angle", *keys) * (2.0 * math.pi))


def noise(seed: int, name: str, position: Column, *keys: Column) -> Column:
    """A smooth random curve along ``position``: standard normals at whole numbers, eased between them."""
    left = sf.floor(position)
    part = position - left
    eased = part * part * (sf.lit(3.0) - part * 2.0)
    return normal(seed, name, left, *keys) * (sf.lit(1.0) - eased) + normal(seed, name, left + 1, *keys) * eased


def zipf(seed: int, name: str, count: int, *keys: Column) -> Column:
    """A rank in 0 … count - 1 with chance near 1 / (rank + 1): a log-uniform draw."""
    rank = sf.floor(sf.exp(uniform(seed, name, *keys) * math.log(count + 1))) - 1
    return sf.least(rank, sf.lit(count - 1)).cast("bigint")
