"""A look at the written parts of a recording, through Arrow: no second Spark job for what the files can tell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tacit.vocabulary.batches import LARGEST
from tacit.vocabulary.errors import DataError

__all__ = ["check_finite", "part_files", "time_steps"]


def part_files(folder: Path) -> list[Path]:
    """The parts in their order, after Spark's bookkeeping files are removed."""
    events = folder / "events"
    for path in events.iterdir():
        if not (path.name.startswith("part-") and path.name.endswith(".parquet")):
            path.unlink()
    return sorted(events.iterdir())


def check_finite(parts: Sequence[Path], statistics: Sequence[str]) -> None:
    """An infinite contribution would stay in every later sum of its window; DataError names the statistic.

    So would the sum of many that are nearly so: their number times the largest must stay below ``LARGEST``.
    """
    sizes: dict[str, float] = defaultdict(float)
    for part in parts:
        with pq.ParquetFile(part) as file:
            for group in range(file.metadata.num_row_groups):
                row_group = file.metadata.row_group(group)
                for index in range(row_group.num_columns):
                    chunk = row_group.column(index)
                    name, stats = chunk.path_in_schema, chunk.statistics
                    if chunk.physical_type != "DOUBLE" or stats is None or not stats.has_min_max:
                        continue
                    if math.isinf(stats.min) or math.isinf(stats.max):
                        raise DataError(
                            f"a row contributes infinity to {statistics[int(name[1:])]}; leave such rows out with WHERE"
                        )
                    sizes[name] += max(abs(stats.min), abs(stats.max)) * row_group.num_rows
    for name, size in sizes.items():
        if size > LARGEST:
            raise DataError(
                f"the values of {statistics[int(name[1:])]} are too large to be added up; divide them by a power of ten"
            )


def time_steps(parts: Sequence[Path]) -> dict[str, object]:
    """The first and last time and the smallest and middle gap between different times: hints for panes and plots."""
    times = np.concatenate([pq.read_table(part, columns=["t"]).column("t").to_numpy() for part in parts])
    gaps = np.diff(times)
    gaps = gaps[gaps > 0]
    return {
        "t_first": int(times[0]),
        "t_last": int(times[-1]),
        "step_us": {"smallest": int(gaps.min()), "middle": int(np.median(gaps))} if gaps.size else None,
    }
