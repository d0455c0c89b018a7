"""Zones fitted to each site (HGM) against one shape for all (GM): the seed's experiments in the abstract.

Counted are local violations: readings that were not seen when zones were fitted and that lie outside their site's zone.
Both kinds of zones are safe for the same region, proved in exact fractions. GM is given its best moves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import Workbench, parser, show
from benchmarks.zone_data import Samples, air, elongated, octagon
from tacit.fitting import (
    Mixture,
    ZoneFit,
    ZoneProblem,
    common_moves,
    fit_clustered,
    fit_common,
    fit_dual,
    fit_general,
    fit_mixture,
    fit_scaled,
    fit_vertices,
    region_rows,
    saturated,
)
from tacit.geometry import Ellipsoid, HalfSpaces, Shape, fits, rows_fit

DESCRIPTION = "zones fitted to each site against one shape for all: violations, solvers, the seed's figures 1 to 6"
PARTS_MOST = 5
Points = NDArray[np.float64]
SEEN_MOST = 4_000
RATIO, NO2_MOST = 1.5, 180.0
FEWER_BAR, DUAL_BAR, SECONDS_BAR, FASTER_BAR, MORE_BAR = 10.0, 0.01, 60.0, 10.0, 1.05


def main(arguments: list[str]) -> int:
    """Print the tables and, with --plots, save the pictures; 1 when a bar is missed or zones are not safe."""
    options = parser("zones", DESCRIPTION)
    options.add_argument("--plots", metavar="FOLDER", help="save pictures of the fitted zones over each site's data")
    options.add_argument("--seeds", type=int, default=3, help="how many sets of generated sites")
    options.add_argument("--only", choices=sorted(EXPERIMENTS), help="one of the experiments")
    chosen = options.parse_args(arguments)
    with Workbench(chosen) as bench:
        missed = [name for name, run in EXPERIMENTS.items() if chosen.only in (None, name) and not run(bench, chosen)]
    if missed:
        print(f"bars missed: {', '.join(missed)}")
    return int(bool(missed))


def _heterogeneous(bench: Workbench, options: argparse.Namespace) -> bool:
    """Figures 1 and 2: ten sites, long in different directions, and a square; the bar is theirs. Octagons beside it."""
    rows, worst = [], np.inf
    for seed in range(options.seeds):
        rng = np.random.default_rng(seed)
        _, samples = elongated(10, rng, seen=2_000, later=4_000 if options.quick else 40_000)
        mixtures = _mixtures(samples)
        centre = np.mean([each.mean() for each in mixtures], axis=0)
        shapes = [
            (f"{name} {size}", make(size, centre))
            for name, make in (("square", _square), ("octagon", octagon))
            for size in (1.5, 2.0)
        ]
        for name, region in shapes:
            task = ZoneProblem(region, mixtures)
            fit = fit_dual(task)
            counts = [_violations(each.zones, samples) for each in (fit_common(task), fit)]
            plain = _violations(fit_common(task, best_moves=False).zones, samples)
            if name.startswith("square"):
                worst = min(worst, counts[0] / max(counts[1], 1))
            rows.append((f"{name}, seed {seed}", plain, *counts, counts[0] / max(counts[1], 1)))
            _picture(options, f"heterogeneous_{name.replace(' ', '_')}_{seed}", samples, fit.zones, region, ("x", "y"))
    show(
        "violations at 10 heterogeneous sites, held-out samples",
        ("region", "GM, offsets of means", "GM, best moves", "HGM", "GM / HGM"), rows,
    )  # fmt: skip
    return worst >= FEWER_BAR


def _ratio(bench: Workbench, options: argparse.Namespace) -> bool:
    """Figure 5: a ratio and one of its parts bounded, in a triangle with x >= 0.

    GM moves the whole triangle, so its third edge cuts readings off. HGM leaves that edge where it is, as the seed
    does, and fits the other two. Those two alone are a wedge, and a wedge's zones are all moves of it: ``wedge`` is GM
    that knows x >= 0, with its best moves, and must come out as HGM does.
    """
    rng = np.random.default_rng(5)
    samples = air(bench.real("air"), ("so2", "no2"), rng, 4_000)
    mixtures = _mixtures(samples)
    ratio, most = (RATIO, NO2_MOST) if bench.real("air") else (3.0, 80.0)
    wedge = HalfSpaces(np.array([[1.0, -ratio], [0.0, 1.0]]), np.array([0.0, most]))
    region = _closed(wedge)
    rows, sound = [], True
    for count in range(2, 13, 5 if options.quick else 1):
        some = samples.first(count)
        task = ZoneProblem(region, mixtures[:count])
        edges = ZoneProblem(wedge, mixtures[:count])
        zones = [_closed(each) for each in fit_dual(edges).zones]
        sound &= rows_fit(zones, np.ones(count), region)
        fits_ = (fit_common(task, best_moves=False), fit_common(task), fit_common(edges))
        offsets, best, known = (_violations(each.zones, some) for each in fits_)
        fitted = _violations(zones, some)
        rows.append(
            (count, sum(map(len, some.later)), offsets, best, known, fitted, best / fitted, _crossings(some, region))
        )
        if count in (4, 12):
            _picture(options, f"ratio_{count}", some, zones, region, ("SO2", "NO2"))
    show(
        f"{bench.kind('air')}: violations of SO2/NO2 > {ratio} or NO2 > {most:g} with triangles, held-out weeks",
        ("stations", "readings", "GM, offsets", "GM, best", "wedge", "HGM", "GM / HGM", "hours outside"), rows,
    )  # fmt: skip
    return sound and all(row[3] > row[5] for row in rows)


def _quadratic(bench: Workbench, options: argparse.Namespace) -> bool:
    """Figure 6: a quadratic in three variables, so the region is an ellipsoid.

    GM moves the ellipsoid itself. HGM: ellipsoids of different sizes, polytopes with 60 faces inside it, and hulls of
    free vertices, as many as saturate. Stations of one city are alike, so there is little to trade; the generated sites
    are long in different directions.
    """
    rng = np.random.default_rng(6)
    columns = ("so2", "no2", "o3")
    _, spatial = elongated(8, rng, seen=2_000, later=4_000, dimension=3)
    rows: list[tuple[object, ...]] = []
    good = True
    for name, samples, width in (
        (bench.kind("air"), air(bench.real("air"), columns, rng, 4_000), 3.0),
        ("generated, elongated", spatial, 2.5),
    ):
        mixtures = _mixtures(samples, most=3)
        pooled = np.concatenate([each - each.mean(axis=0) for each in samples.seen])
        spread = pooled.std(axis=0)
        for count in (4,) if options.quick else (2, 4, 8, 12):
            if count > len(samples.names):
                continue
            some, few = samples.first(count), mixtures[:count]
            centre = np.mean([each.mean() for each in few], axis=0)
            region = Ellipsoid.of_quadratic(*_around(centre, spread * width))
            found, sound = _in_space(options, name, some, few, region, spread)
            good &= sound
            rows.append((name, count, *found, _crossings(some, region)))
        good &= min(each for each in found[1:] if each is not None) < found[0]  # at the most sites
    show(
        "violations of a quadratic in three variables, held-out",
        ("data", "sites", "GM, ellipsoids", "HGM, sizes", "HGM, 60 faces", "HGM, vertices", "times outside"), rows,
    )  # fmt: skip
    return good


def _in_space(
    options: argparse.Namespace,
    name: str,
    some: Samples,
    mixtures: Sequence[Mixture],
    region: Ellipsoid,
    spread: Points,
) -> tuple[list[int | None], bool]:
    """Violations of each kind of zones, and whether those that are no rows are safe for the ellipsoid itself."""
    count = len(mixtures)
    within = region_rows(region, "polytope", faces=60, around=region.centre, spread=spread)
    task = ZoneProblem(within, mixtures)
    common = [Ellipsoid(region.centre + move, region.factor) for move in common_moves(task)]
    sizes, faces = fit_scaled(region, mixtures), fit_dual(task)
    found: list[int | None] = [_violations(zones, some) for zones in (common, sizes.zones, faces.zones)]
    label = "quadratic_" + name.replace(",", "").replace(" ", "_")
    axes = ("x", "y", "z") if "elongated" in name else ("SO2", "NO2", "O3")
    _picture(options, f"{label}_{count}", some, faces.zones, region, axes)
    if count > 4:
        return [*found, None], True
    numbers = (12,) if options.quick or count < 4 else (6, 8, 10, 12, 14)
    corners, fit = saturated(lambda k: fit_vertices(task, k, directions=256, steps_max=60), numbers)
    print(f"{name}, {count} sites: {corners} vertices, of {numbers}")
    _picture(options, f"{label}_vertices_{count}", some, fit.zones, region, axes)
    return [*found, _violations(fit.zones, some)], fits(fit.polytopes, np.ones(count), region)


def _solvers(bench: Workbench, options: argparse.Namespace) -> bool:
    """Prices against the general solver at 10 sites; a thousand sites by prices."""
    rows, near, quick = [], True, True
    for seed in range(options.seeds):
        task = _octagons(10, seed)[0]
        general, seconds = _timed(fit_general, task)
        dual, less = _timed(fit_dual, task)
        near &= dual.objective >= general.objective - DUAL_BAR * abs(general.objective)
        rows.append((f"10 sites, seed {seed}", general.objective, dual.objective, seconds, less))
    for sites in () if options.quick else (100, 1_000):
        dual, seconds = _timed(fit_dual, _octagons(sites, 0)[0])
        quick &= seconds < SECONDS_BAR
        rows.append((f"{sites:,} sites", None, dual.objective, None, seconds))
    show(
        "log-probability of silence and seconds, octagons",
        ("sites", "general", "prices", "general, s", "prices, s"), rows,
    )  # fmt: skip
    return near and quick


def _clusters(bench: Workbench, options: argparse.Namespace) -> bool:
    """A hundred sites with octagons: one flat problem, and a tree of clusters.

    The bar is against the seed's flat problem, the octagons' vertices (1,600 variables). The flat problem of
    half-planes with exact slopes is far easier than that and is shown beside it.
    """
    sites = 30 if options.quick else 100
    task, samples = _octagons(sites, 1)
    rows, found = [], {}
    for name, solver in (
        ("flat, vertices", lambda t: fit_vertices(t, 8, directions=128)),
        ("flat, half-planes", fit_general),
        ("clusters", fit_clustered),
        ("prices", fit_dual),
    ):
        fit, seconds = _timed(solver, task)
        found[name] = (seconds, _violations(fit.zones, samples))
        ratios = [found[name][1] / found[flat][1] for flat in list(found)[:2]]
        rows.append((name, seconds, fit.objective, found[name][1], *ratios, *([None] * (2 - len(ratios)))))
    common = fit_common(task)
    rows.append(("one shape", None, common.objective, _violations(common.zones, samples), None, None))
    show(
        f"{sites} sites with octagons, {sum(map(len, samples.later)):,} held-out samples",
        ("how", "seconds", "log-probability", "violations", "of flat vertices", "of flat half-planes"), rows,
    )  # fmt: skip
    tree, best = found["clusters"], found["flat, half-planes"]
    return tree[0] * FASTER_BAR <= found["flat, vertices"][0] and tree[1] <= best[1] * MORE_BAR


EXPERIMENTS: dict[str, Callable[[Workbench, argparse.Namespace], bool]] = {
    "heterogeneous": _heterogeneous,
    "ratio": _ratio,
    "quadratic": _quadratic,
    "solvers": _solvers,
    "clusters": _clusters,
}


def _octagons(sites: int, seed: int) -> tuple[ZoneProblem, Samples]:
    """Sites with octagons as zones, and the mixtures that they were drawn from."""
    mixtures, samples = elongated(sites, np.random.default_rng(seed), seen=1, later=2_000)
    centre = np.mean([each.mean() for each in mixtures], axis=0)
    return ZoneProblem(octagon(1.6, centre), mixtures), samples


def _mixtures(samples: Samples, most: int = PARTS_MOST) -> list[Mixture]:
    return [fit_mixture(each[:: max(1, len(each) // SEEN_MOST)], most, seed=0) for each in samples.seen]


def _violations(zones: Sequence[Shape], samples: Samples) -> int:
    return int(sum((~zone.contains(points)).sum() for zone, points in zip(zones, samples.later, strict=True)))


def _crossings(samples: Samples, region: Shape) -> int:
    """How often the mean itself is outside: violations that no zones could spare."""
    return int((~region.contains(np.mean(samples.later, axis=0))).sum())


def _timed(solver: Callable[[ZoneProblem], ZoneFit], task: ZoneProblem) -> tuple[ZoneFit, float]:
    begin = perf_counter()
    fit = solver(task)
    return fit, perf_counter() - begin


def _square(size: float, at: Points) -> HalfSpaces:
    sides = np.vstack([np.eye(2), -np.eye(2)])
    return HalfSpaces(sides, sides @ at + size)


def _closed(rows: HalfSpaces) -> HalfSpaces:
    """With x >= 0, which readings keep by themselves: a triangle to look at."""
    return HalfSpaces(np.vstack([rows.normals, [[-1.0, 0.0]]]), np.append(rows.limits, 0.0))


def _around(centre: NDArray[np.float64], half: NDArray[np.float64]) -> tuple[Points, Points, float]:
    """The quadratic whose region is an ellipsoid with this centre and these half axes."""
    matrix = np.diag(1.0 / half**2)
    return matrix, -2 * matrix @ centre, 1.0 - float(centre @ matrix @ centre)


def _picture(
    options: argparse.Namespace,
    name: str,
    samples: Samples,
    zones: Sequence[Shape],
    region: Shape,
    labels: Sequence[str],
) -> None:
    if options.plots is None:
        return
    from tacit.geometry.drawing import zones_figure

    folder = Path(options.plots)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"zones_{name}.png"
    zones_figure(samples.later, zones, region, samples.names, labels).savefig(path, dpi=110)
    print(f"saved {path}")
