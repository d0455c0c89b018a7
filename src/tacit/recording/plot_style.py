"""How every picture of tacit looks: one set of colours, quiet axes, legends above the data and never on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from tacit.recording.report import Report
from tacit.vocabulary.arrays import AnyArray, IntArray

__all__ = [
    "BLUE",
    "COLOURS",
    "GREEN",
    "GREY",
    "ORANGE",
    "RED",
    "SKY",
    "days_axis",
    "draw_messages",
    "header",
    "new_figure",
    "quiet",
    "save",
    "stamps",
]

BLUE, ORANGE, GREEN, RED, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
GREY = "#777777"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, "#000000", "#8C564B", "#B8A300")
_WIDTH, _HEIGHT_UNIT = 11.0, 1.12
_BARS = 140


def new_figure(heights: Sequence[float]) -> tuple[Figure, list[Any]]:
    """A figure with one panel under another, all over the same time."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT_UNIT * sum(heights) + 1.0), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=list(heights), squeeze=False)[:, 0]
    for each in axes:
        quiet(each)
    return figure, list(axes)


def quiet(axes: Any) -> None:
    """Light grid, no box."""
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=9)


def header(axes: Any) -> None:
    """The legend as a line above the panel, where no data is."""
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        handles.sort(key=lambda handle: not isinstance(handle, BarContainer))
        axes.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=min(len(handles), 6), frameon=False,
            fontsize=8.5, borderaxespad=0.2, handlelength=1.6, columnspacing=1.4,
        )  # fmt: skip


def days_axis(axes: Any, begin_us: int, end_us: int) -> None:
    """A time axis with short labels; what they leave out is said under it."""
    locator = dates.AutoDateLocator(minticks=5, maxticks=10)  # type: ignore[no-untyped-call]
    formatter = dates.ConciseDateFormatter(locator, show_offset=False)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(formatter)
    first, last = stamps(np.array([begin_us, max(end_us, begin_us + 1)]))
    axes.set_xlim(first, last)
    days = [str(each.astype("datetime64[D]")) for each in (first, last)]
    axes.set_xlabel(f"time (UTC), {days[0] if days[0] == days[1] else ' to '.join(days)}", fontsize=9)


def stamps(time_us: IntArray) -> AnyArray:
    """Microseconds as dates that matplotlib knows."""
    return np.asarray(time_us, dtype=np.int64).astype("datetime64[us]")


def draw_messages(axes: Any, times: IntArray, talks: Sequence[tuple[int, int]], report: Report) -> None:
    """How many messages there were along these times; ``talks`` has places in them, with how many were sent there."""
    told = np.array(talks, dtype=np.int64).reshape(-1, 2)
    edges = np.linspace(int(times[0]), max(int(times[-1]), int(times[0]) + 1), _BARS + 1)
    bars, _ = np.histogram(times[told[:, 0]], edges, weights=told[:, 1])
    axes.bar(
        stamps(edges[:-1].astype(np.int64)), bars, width=np.timedelta64(int(edges[1] - edges[0]), "us"), align="edge",
        color=BLUE, linewidth=0,
        label=f"{report.messages['total']:,} messages; sending every event {report.centralised['messages']:,}",
    )  # fmt: skip
    axes.set_ylabel("messages")
    header(axes)


def save(figure: Figure, path: Path) -> None:
    """Write the picture."""
    figure.savefig(path, dpi=130, facecolor="white")
