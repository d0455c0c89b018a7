"""The methods that the peer benchmark compares the product with, round by round: what each sent, how far it was off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.peer_streams import PeerStream
from tacit.functions.curvature import Curves

__all__ = ["Result", "periodic", "sampled", "truths"]

Table = NDArray[np.float64]
HEADER = 16  # bytes of a message besides its numbers: watch, site, number, pane, version
_NEIGHBOURHOOD = 10.0  # in how many steps of a stream around the estimate the sampled variant looks for curvature
_SAMPLES = 30


@dataclass
class Result:
    """What a method needed on a stream."""

    messages: int = 0
    bytes: int = 0
    refreshes: int = 0
    errors: list[float] = field(default_factory=list)

    def say(self, count: int, numbers: int) -> None:
        """So many messages with so many numbers each."""
        self.messages += count
        self.bytes += count * (HEADER + 8 * numbers)

    def breaches(self, within: float) -> int:
        """Rounds whose answer was further off than promised."""
        return int(np.count_nonzero(~(np.array(self.errors) <= within * (1.0 + 1e-9))))


def truths(stream: PeerStream) -> Table:
    """f of the mean vector after every round."""
    return Curves(stream.expression).values(stream.vectors.mean(axis=1))


def sampled(stream: PeerStream) -> Result:
    """The peer's way in short: one curvature for all directions, searched nearby, taken to hold everywhere."""
    vectors, truth, result = stream.vectors, truths(stream), Result()
    _, n, d = vectors.shape
    curves, dice = Curves(stream.expression), np.random.default_rng(0)
    width = _NEIGHBOURHOOD * np.abs(np.diff(vectors[: min(len(vectors), 50)], axis=0)).mean(axis=(0, 1)) + 1e-9

    def zone(at: Table) -> Callable[[Table], NDArray[np.bool_]]:
        points = at + width * dice.uniform(-1, 1, (_SAMPLES, d))
        _, _, hessians, known = curves.over_many(np.repeat(points[:, None], 2, axis=1))
        bends = np.linalg.eigvalsh(hessians[known].mean(axis=1)) if known.any() else np.zeros((1, 1))
        least, most = max(0.0, -bends.min()), max(0.0, bends.max())
        value = float(curves.values(at[None])[0])

        def contains(points: Table) -> NDArray[np.bool_]:
            f, far = curves.values(points), 0.5 * np.square(points - at).sum(axis=1)
            return np.asarray((f + least * far <= value + stream.within) & (f - most * far >= value - stream.within))

        return contains

    estimate = vectors[0].mean(axis=0)
    collected, slack, used = vectors[0].copy(), np.zeros((n, d)), np.zeros(n)
    contains = zone(estimate)
    result.say(2 * n, d)
    for k, here in enumerate(vectors[1:], 1):
        drifts = estimate + here - collected + slack
        out = np.flatnonzero(~contains(drifts)).tolist()
        result.say(len(out), d)
        members = list(out)
        while members and len(members) < n and not contains(drifts[members].mean(axis=0)[None])[0]:
            members.append(min(set(range(n)) - set(members), key=used.__getitem__))
            result.say(1, 0)
            result.say(1, d)
        if members and contains(drifts[members].mean(axis=0)[None])[0]:
            slack[members] += drifts[members].mean(axis=0) - drifts[members]
            used[members] = k
            result.say(len(members), d)
        elif members:
            estimate, collected, slack = here.mean(axis=0), here.copy(), np.zeros((n, d))
            contains = zone(estimate)
            result.say(n, d)
            result.refreshes += 1
        result.errors.append(abs(float(curves.values(estimate[None])[0]) - truth[k]))
    return result


def periodic(stream: PeerStream) -> Result:
    """All sites report every so many rounds: the longest period, known afterwards, that kept the promise."""
    truth, n, d = truths(stream), stream.vectors.shape[1], stream.vectors.shape[2]
    rounds = len(truth)
    for period in range(rounds, 0, -1):
        last = np.arange(rounds) // period * period
        errors = np.abs(truth[last] - truth)
        if (errors <= stream.within).all():
            break
    result = Result(errors=errors[1:].tolist(), refreshes=-(-rounds // period))
    result.say(n * result.refreshes, d)
    return result
