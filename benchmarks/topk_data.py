"""Logs for the top-k benchmarks, as recordings: requests to many servers over many documents, by their popularity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.recording.stream import Recording

__all__ = ["packets", "requests", "server_loads"]

DAY_US, HOUR_US = 86_400_000_000, 3_600_000_000
_SLICES = 96
Ints = NDArray[np.int32]


def requests(
    rows: int, *, servers: int = 27, documents: int = 20_000, zipf: float = 0.9, span_us: int = DAY_US, seed: int = 1
) -> Recording:
    """A log with a daily rhythm, servers of different sizes, and popularity that drifts.

    A document's popularity is its rank to the power of minus ``zipf``, and swings by up to a third with a phase of its
    own, once in 24 hours.
    """
    dice = np.random.default_rng(seed)
    base = np.arange(1, documents + 1) ** -zipf
    swing, phase = dice.uniform(0.0, 1.0 / 3.0, documents), dice.uniform(0.0, 2.0 * np.pi, documents)
    shares = dice.uniform(0.5, 1.5, servers)
    edges = np.linspace(0, span_us, _SLICES + 1)
    middle = (edges[:-1] + edges[1:]) / 2.0 / DAY_US * 2.0 * np.pi
    rhythm = 1.0 + 0.6 * np.sin(middle - np.pi / 2.0)
    counts = dice.multinomial(rows, rhythm / rhythm.sum())
    t = np.empty(rows, dtype=np.int64)
    group = np.empty(rows, dtype=np.int32)
    begin = 0
    for k, count in enumerate(counts.tolist()):
        weights = np.cumsum(base * (1.0 + swing * np.sin(middle[k] + phase)))
        rows_here = slice(begin, begin + count)
        found = np.searchsorted(weights, dice.random(count) * weights[-1])
        group[rows_here] = np.minimum(found, documents - 1)
        t[rows_here] = np.sort(dice.integers(int(edges[k]), int(edges[k + 1]), count))
        begin += count
    site = np.searchsorted(np.cumsum(shares / shares.sum()), dice.random(rows)).astype(np.int32)
    return _recording(t, np.minimum(site, servers - 1), group, servers, documents)


def server_loads(rows: int, *, servers: int = 8, span_us: int = DAY_US, seed: int = 1) -> Recording:
    """Requests to the servers of one location: every server is a site, and its own only object."""
    dice = np.random.default_rng(seed)
    edges = np.linspace(0, span_us, _SLICES + 1)
    middle = (edges[:-1] + edges[1:]) / 2.0 / DAY_US * 2.0 * np.pi
    counts = dice.multinomial(rows, (1.0 + 0.6 * np.sin(middle)) / _SLICES)
    parts = [np.sort(dice.integers(int(edges[k]), int(edges[k + 1]), count)) for k, count in enumerate(counts)]
    site = np.empty(rows, dtype=np.int32)
    begin, share = 0, np.ones(servers)
    for count in counts.tolist():
        share = np.clip(share * np.exp(dice.normal(0.0, 0.05, servers)), 0.5, 2.0)
        found = np.searchsorted(np.cumsum(share / share.sum()), dice.random(count))
        site[begin : begin + count] = np.minimum(found, servers - 1)
        begin += count
    return _recording(np.concatenate(parts), site, site.copy(), servers, servers)


def packets(
    rows: int, *, sites: int = 4, hosts: int = 1_500, zipf: float = 1.0, span_us: int = HOUR_US, seed: int = 1
) -> Recording:
    """Packets to hosts, in trains: a connection sends some 50 to one host, through one site, within minutes."""
    dice = np.random.default_rng(seed)
    trains = max(1, rows // 50)
    weights = np.cumsum(np.arange(1, hosts + 1) ** -zipf)
    likely = dice.lognormal(0.0, 1.5, trains)
    sizes = dice.multinomial(rows, likely / likely.sum())
    begin, last = dice.integers(0, span_us, trains), dice.exponential(120e6, trains)
    train = np.repeat(np.arange(trains), sizes)
    t = (begin[train] + (dice.random(rows) * last[train]).astype(np.int64)) % span_us
    order = np.argsort(t, kind="stable")
    host = np.minimum(np.searchsorted(weights, dice.random(trains) * weights[-1]), hosts - 1).astype(np.int32)
    site = dice.integers(0, sites, trains, dtype=np.int32)
    return _recording(t[order], site[train][order], host[train][order], sites, hosts)


def _recording(t: NDArray[np.int64], site: Ints, group: Ints, sites: int, objects: int) -> Recording:
    names = tuple(map(str, range(objects)))
    return Recording(
        t=t, site=site, present=np.ones((len(t), 1)), sites=tuple(f"s{k}" for k in range(sites)),
        statistics=("count(*)",), group=group, groups=names, keys=tuple(f'["{name}"]' for name in names),
        rows=len(t), kept=len(t), left_out={"no_time": 0, "no_site": 0},
    )  # fmt: skip
