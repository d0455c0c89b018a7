"""The picture of a sweep: messages against what was varied, beside both baselines.

The parameter with most numbers is the axis, the next one the colour, a third one the panels; names alone (protocols,
policies) become bars.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from tacit.recording.plot_style import COLOURS, GREY, quiet, save
from tacit.recording.vary import Length, Value, Variation

__all__ = ["save_sweep_plot"]

PANELS_MAX = 6
_UNITS = (("days", 86_400e6), ("hours", 3_600e6), ("minutes", 60e6), ("seconds", 1e6))
_MARKERS = "osD^vPX*"
Row = Mapping[str, Any]


def save_sweep_plot(rows: Sequence[Row], variations: Sequence[Variation], watch: str, path: Path) -> None:
    """Draw the rows of a sweep into ``path``."""
    axis, colour, panel, rest = _roles(variations)
    panels = list(panel.values[:PANELS_MAX]) if panel is not None else [None]
    across = min(len(panels), 3)
    down = -(-len(panels) // across)
    figure = Figure(figsize=(3.2 + 4.6 * across, 1.4 + 3.6 * down), layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    fixed = [(each.name, each.values[0]) for each in rest]
    for axes, value in itertools.zip_longest(grid, panels):
        if axes is None or (value is None and panel is not None):
            axes.set_visible(False)
            continue
        quiet(axes)
        chosen = fixed + ([(panel.name, value)] if panel is not None and value is not None else [])
        mine = [row for row in rows if all(row[name] == _shown(wanted) for name, wanted in chosen)]
        _draw(axes, mine, axis, colour)
        axes.label_outer()
        if panel is not None:
            axes.set_title(f"{panel.name} {_label(value)}", fontsize=10)
    _scale(grid[0], rows, axis)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9)
    also = f" ({', '.join(f'{name} {_label(value)}' for name, value in fixed)})" if fixed else ""
    figure.suptitle(f"{watch}: messages against {axis.name}{also}", fontsize=12, fontweight="bold", x=0.01, ha="left")
    save(figure, path)


def _roles(
    variations: Sequence[Variation],
) -> tuple[Variation, Variation | None, Variation | None, list[Variation]]:
    """What is the axis, the colour, the panels; what is left is shown at its first value."""
    order = sorted(variations, key=lambda each: (not each.is_number, -len(each.values)))
    axis, others = order[0], [each for each in order[1:] if len(each.values) > 1]
    others.sort(key=lambda each: len(each.values))
    colour = next((each for each in reversed(others) if len(each.values) <= len(COLOURS)), None)
    left = [each for each in others if each is not colour]
    panel = next((each for each in left if len(each.values) <= PANELS_MAX), left[0] if left else None)
    return axis, colour, panel, [each for each in left if each is not panel]


def _draw(axes: Any, rows: Sequence[Row], axis: Variation, colour: Variation | None) -> None:
    unit, size = _unit(axis)
    axes.set_xlabel(f"{axis.name} ({unit})" if unit else axis.name)
    axes.set_ylabel("messages")
    series: Sequence[Value | None] = colour.values if colour is not None else (None,)
    places = [_place(value, size) if axis.is_number else index for index, value in enumerate(axis.values)]
    for k, value in enumerate(series):
        mine = [row for row in rows if colour is None or row[colour.name] == _shown(value)]
        heights = [_height(mine, axis, each, "messages") for each in axis.values]
        label = "tacit" if colour is None else f"tacit, {colour.name} {_label(value)}"
        if axis.is_number:
            style = {"marker": _MARKERS[k % 8], "markersize": 5, "linewidth": 1.6, "zorder": 3}
            axes.plot(places, heights, color=COLOURS[k % 8], label=label, **style)
        else:
            width = 0.8 / len(series)
            at = [place - 0.4 + width * (k + 0.5) for place in places]
            axes.bar(at, heights, width=width * 0.92, color=COLOURS[k % 8], label=label, zorder=3)
    for name, label, dashes in (
        ("pane_messages", "shipping every pane", "--"), ("centralised_messages", "sending every event", ":"),
    ):  # fmt: skip
        _draw_baseline(axes, rows, axis, colour, places, name, label, dashes)
    if not axis.is_number:
        axes.set_xticks(places, [_label(value) for value in axis.values])


def _draw_baseline(
    axes: Any, rows: Sequence[Row], axis: Variation, colour: Variation | None, places: Sequence[float], name: str,
    label: str, dashes: str,
) -> None:  # fmt: skip
    """One grey line where the baseline is the same for all colours, else one in each colour."""
    series: Sequence[Value | None] = colour.values if colour is not None else (None,)
    lines = [
        tuple(
            _height([row for row in rows if colour is None or row[colour.name] == _shown(value)], axis, each, name)
            for each in axis.values
        )
        for value in series
    ]
    same = len(set(lines)) == 1
    for k, heights in enumerate(lines[:1] if same else lines):
        shown = label if same else f"{label}, {colour.name if colour else ''} {_label(series[k])}"
        drawn = COLOURS[k % 8] if not same else GREY
        if axis.is_number and len(places) > 1:
            axes.plot(places, heights, color=drawn, linestyle=dashes, linewidth=1.4, label=shown, zorder=2)
        else:
            axes.axhline(heights[0], color=drawn, linestyle=dashes, linewidth=1.4, label=shown, zorder=4)


def _scale(axes: Any, rows: Sequence[Row], axis: Variation) -> None:
    """Logarithmic where the numbers span more than a factor of thirty; shared by all panels."""
    heights = [row[name] for row in rows for name in ("messages", "pane_messages", "centralised_messages")]
    if max(heights) > 30 * max(1, min(heights)) and min(heights) > 0:
        axes.set_yscale("log")
        span = max(heights) / min(heights)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if span < 1_000 else (1.0,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if axis.is_number:
        places = [_place(value, 1.0) for value in axis.values]
        if min(places) > 0 and max(places) > 30 * min(places):
            axes.set_xscale("log")


def _height(rows: Sequence[Row], axis: Variation, value: Value, name: str) -> float:
    found = [row[name] for row in rows if row[axis.name] == _shown(value)]
    return float(found[0]) if found else float("nan")


def _unit(axis: Variation) -> tuple[str, float]:
    if axis.name != "window" or not axis.is_number:
        return "", 1.0
    lengths = [value for value in axis.values if isinstance(value, Length)]
    if lengths[0].rows:
        return "rows", 1.0
    smallest = min(length.amount for length in lengths)
    return next(((name, size) for name, size in _UNITS if smallest >= size), ("seconds", 1e6))


def _place(value: Value, size: float) -> float:
    if isinstance(value, Length):
        return value.amount / size
    assert isinstance(value, (int, float))
    return float(value)


def _shown(value: Value | None) -> Any:
    return str(value) if isinstance(value, Length) else value


def _label(value: Value | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
