"""The streams of the peer benchmark: AutoMon's own inputs with its message counts, or streams made like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.functions.expressions import Constant, Expression, Unary, Variable

__all__ = ["NAMES", "PeerStream", "bump", "entropy", "generated", "recorded"]

Table = NDArray[np.float64]
NAMES = (
    "inner_product", "quadratic_inverse", "variance", "rozenbrock", "kld", "mlp2", "cosine_1005_e0.1",
)  # fmt: skip


@dataclass(frozen=True)
class PeerStream:
    """Vectors of every site after every round (rounds, sites, d), what is tracked, and what AutoMon needed."""

    name: str
    vectors: Table
    expression: Expression
    within: float
    automon: int | None = None


def recorded(folder: Path, rounds: int | None = None) -> list[PeerStream]:
    """The streams of a folder; with fewer ``rounds`` AutoMon's count is that of these rounds."""
    found = []
    for name in NAMES:
        path = folder / f"{name}.npz"
        if not path.exists():
            continue
        with np.load(path, allow_pickle=False) as data:
            vectors = data["X"] if "X" in data.files else data["X_counts"] / float(data["window"])
            weights = [(data[f"W{k}"], data[f"b{k}"]) for k in range(1, 5)] if name == "mlp2" else []
            short = rounds is not None and rounds < len(vectors)
            count = int(data["automon_cum_msgs"][rounds - 1]) if short and rounds else int(data["automon_msgs_wire"])
            found.append(
                PeerStream(
                    name,
                    np.asarray(vectors[:rounds], dtype=np.float64),
                    _expression(name, weights),
                    float(data["error_bound"]),
                    count,
                )
            )
    return found


def generated(rounds: int, seed: int = 0) -> list[PeerStream]:
    """Streams of the same functions, made up: drifting, swinging and wandering sites."""
    dice = np.random.default_rng(seed)
    n = 10
    network = [
        (dice.normal(size=shape) * scale, dice.normal(size=shape[1]) * 0.1)
        for shape, scale in (((2, 12), 1.0), ((12, 6), 0.3), ((6, 1), 0.3))
    ]
    wander = np.cumsum(dice.normal(size=(rounds, 1, 2)) * 0.02, axis=0) + dice.normal(size=(1, n, 2))
    samples = dice.normal(size=(rounds, n, 2)) * 0.05
    halves = 3.0 + 0.4 * dice.normal(size=(rounds, n, 10))
    slow = np.linspace(0.0, 1.0, rounds)[:, None, None]
    window = min(200, rounds)
    kinds = dice.integers(0, 10, (rounds + window, n, 2)) + (dice.random((rounds + window, n, 2)) < 0.3)
    counts = np.stack([np.eye(11)[kinds[:, :, k]][..., :10] for k in range(2)], axis=2).cumsum(axis=0)
    histograms = ((counts[window:] - counts[:-window]) / window).reshape(rounds, n, 20)
    moments = np.cumsum(dice.normal(size=(rounds + 30, n)), axis=0) * 0.05 + dice.normal(size=(rounds + 30, n))
    both = np.stack([moments, moments**2], axis=2).cumsum(axis=0)
    recent = (both[30:] - both[:-30]) / 30
    angles = slow * 2.0 + 0.02 * dice.normal(size=(rounds, n, 40))
    return [
        PeerStream("inner_product", 0.7 * np.cos(angles + np.arange(40) * 0.1), _expression("inner_product", []), 0.3),
        PeerStream("quadratic_inverse", wander * 0.3 + samples, _expression("quadratic_inverse", []), 0.05),
        PeerStream("variance", recent, _expression("variance", []), 0.5),
        PeerStream("rozenbrock", samples, _expression("rozenbrock", []), 0.1),
        PeerStream("kld", histograms, _expression("kld", []), 0.1),
        PeerStream("entropy", histograms[..., :10], entropy(10), 0.1),
        PeerStream("mlp2", wander, _expression("mlp2", network), 0.15),
        PeerStream("cosine_1005_e0.1", halves, _expression("cosine_1005_e0.1", []), 0.1),
    ]


def bump(rounds: int = 400, seed: int = 0) -> PeerStream:
    """exp(-8 |x|^2): flat where the sites are, so that searches find no curvature there.

    Half of the sites walk around the top to its other side. None of them ever comes near it, but their mean does.
    """
    dice = np.random.default_rng(seed)
    angles = np.outer(np.pi * np.minimum(1.0, 1.5 * np.arange(rounds) / rounds), np.arange(10) % 2)
    around = 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=2)
    vectors = around + 0.01 * dice.normal(size=(rounds, 10, 2))
    x, y = Variable(0), Variable(1)
    return PeerStream("bump", vectors, Unary("exp", -8.0 * (x * x + y * y)), 0.1)


def entropy(bins: int) -> Expression:
    """Of a histogram, in bits."""
    return -_sum([Unary("xlogx", Variable(k)) for k in range(bins)])


def _expression(name: str, network: Sequence[tuple[Table, Table]]) -> Expression:
    x, y = Variable(0), Variable(1)
    match name:
        case "inner_product":
            return _sum([Variable(k) * Variable(k + 20) for k in range(20)])
        case "quadratic_inverse":
            return y * y - x * x
        case "variance":
            return y - x * x
        case "rozenbrock":
            return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2
        case "kld":
            pairs = [(Variable(k) + 1.0 / 2400.0, Variable(k + 10) + 1.0 / 2400.0) for k in range(10)]
            return _sum([p * Unary("log", p / q) for p, q in pairs])
        case "cosine_1005_e0.1":
            left, right = [Variable(k) for k in range(5)], [Variable(k + 5) for k in range(5)]
            dot = _sum([a * b for a, b in zip(left, right, strict=True)])
            sizes = [Unary("sqrt", _sum([a * a for a in half])) for half in (left, right)]
            return Unary("unit", dot / (sizes[0] * sizes[1]))  # no cosine is beyond 1
    layer: list[Expression] = [x, y]
    for depth, (weights, offsets) in enumerate(network):
        layer = [
            _sum([*(float(w) * cell for w, cell in zip(column, layer, strict=True)), Constant(float(offset))])
            for column, offset in zip(weights.T, offsets, strict=True)
        ]
        if depth < len(network) - 1:
            layer = [Unary("tanh", cell) for cell in layer]
    return layer[0]


def _sum(parts: Sequence[Expression]) -> Expression:
    first, *others = parts
    for each in others:
        first = first + each
    return first
