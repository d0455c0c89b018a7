"""The seed's Figure 3: two colourings of the plane, what balls can prove on them, and what that costs.

``sine``: sin((x^2 + y^2) / 5) > 0, whose regions are thin rings, so nobody is ever far from the threshold. ``network``:
sigmoid(2x) + sigmoid(2y) > 1, a two-layer network, with room to be far. Each point of the picture is an estimate,
coloured by its side and lighter where the certified safe radius is small; then streams around points ever farther from
the threshold are replayed.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from tacit.functions.monitor import Monitor
from tacit.language import parse_watch
from tacit.recording.physical import physical_plan
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording

DESCRIPTION = "sine and two-layer-network colourings: certified radii, and messages against the distance"
EXPRESSIONS = {
    "sine": ("sin((power(AVG(x), 2) + power(AVG(y), 2)) / 5)", 0.0),
    "network": ("sigmoid(2 * AVG(x)) + sigmoid(2 * AVG(y))", 1.0),
}
SITES, WINDOW = 8, 100


def main(arguments: list[str]) -> int:
    """Draw both colourings and replay streams on both; 1 when an answer was wrong."""
    chosen = parser("colourings", DESCRIPTION).parse_args(arguments)
    size, rows = (60, 4_000) if chosen.quick else (160, 40_000)
    wrong = 0
    with Workbench(chosen) as bench:
        made, axes = figure(columns=2, width=4.6, height=4.2)
        table = []
        for axis, (name, (text, threshold)) in zip(axes[0], EXPRESSIONS.items(), strict=True):
            sentence = (
                f"CREATE WATCH w AS SELECT {text} AS f FROM t WINDOW LAST {WINDOW} ROWS ALERT WHEN f > {threshold}"
            )
            plan = parse_watch(sentence)
            monitor = physical_plan(plan, _stream(0.0, 0.0, 100)).monitor
            _draw(axis, name, monitor, size)
            for x in np.linspace(0.05, 2.5, 6).tolist():
                report = replay_recording(plan, _stream(x, x, rows), verify=True).report
                wrong += int(report.missed or 0) + int(report.spurious or 0)
                total = int(report.messages["total"])
                radius = _radius(monitor, np.array([[x, x]]))[0]
                table.append((name, x, radius, total, total / rows, report.missed, report.spurious))
        save(made, bench.out, "colourings")
    columns = ("colouring", "streams around x = y =", "safe radius", "messages", "of events", "missed", "spurious")
    show("messages against the distance from the threshold set", columns, table)
    _plot(bench, table)
    return int(wrong > 0)


def _stream(x: float, y: float, rows: int) -> Recording:
    """Independent normal readings around a point, dealt to the sites in turn."""
    rng = np.random.default_rng(7)
    points = rng.normal([x, y], 1.0, (rows, 2))
    one = np.ones(rows)
    present = np.stack([points[:, 0], one, points[:, 1], one], axis=1)
    return Recording.from_arrays(
        t=np.arange(rows) * 1_000_000,
        site=np.arange(rows) % SITES,
        present=present,
        sites=tuple(map(str, range(SITES))),
    )


def _radius(monitor: Monitor, points: np.ndarray) -> np.ndarray:
    zones = monitor.zones(len(points))
    monitor.refresh(zones, np.arange(len(points)), points / monitor.scale)
    return np.asarray(zones.radius * monitor.scale[0])


def _draw(axis: object, name: str, monitor: Monitor, size: int) -> None:
    ticks = np.linspace(-6, 6, size)
    points = np.stack([each.ravel() for each in np.meshgrid(ticks, ticks)], axis=1)
    radius = _radius(monitor, points).reshape(size, size)
    met = (monitor.answers(points / monitor.scale) == 1).reshape(size, size)
    certain = np.clip(radius / np.quantile(radius, 0.95), 0, 1) ** 0.5
    green, red = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) / 255 for c in (COLOURS[2], COLOURS[1]))
    shade = np.where(met[..., None], green, red)
    picture = 1 - (0.15 + 0.85 * certain[..., None]) * (1 - shade)
    axis.imshow(picture, origin="lower", extent=(-6, 6, -6, 6))  # type: ignore[attr-defined]
    axis.contour(ticks, ticks, met, levels=[0.5], colors="black", linewidths=0.5)  # type: ignore[attr-defined]
    axis.grid(False)  # type: ignore[attr-defined]
    axis.set(xlabel="average x", ylabel="average y", title=f"{name}: darker is farther, certified")  # type: ignore[attr-defined]


def _plot(bench: Workbench, table: list[tuple[object, ...]]) -> None:
    made, axes = figure(width=6.0)
    for name in EXPRESSIONS:
        points = sorted((float(str(row[2])), float(str(row[4]))) for row in table if row[0] == name)
        axes[0, 0].plot(*zip(*points, strict=True), marker="o", label=name)
    axes[0, 0].set(xlabel="certified distance from the threshold set", ylabel="messages per event", yscale="log")
    axes[0, 0].legend()
    save(made, bench.out, "colourings_messages")
