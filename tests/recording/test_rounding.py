"""Rows that have left a window leave nothing behind, however large they were; slacks do not round answers away."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording
from tacit.vocabulary import FloatArray


def _judged(sentence: str, t: FloatArray, site: FloatArray, present: FloatArray, protocol: str, **kind: object) -> None:
    plan = parse_watch(f"CREATE WATCH w AS {sentence}")
    recording = Recording.from_arrays(
        t=(t * 1e6).astype(np.int64), site=site.astype(np.int64), present=present, **kind  # type: ignore[arg-type]
    )  # fmt: skip
    report = replay_recording(plan, recording, protocol=protocol, verify=True).report
    assert (report.missed, report.spurious) == (0, 0)


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
def test_one_row_has_no_correlation(protocol: str) -> None:
    """At 4 s one row is left: what rounding left of the others must not be taken for a correlation of -1."""
    x, y = np.array([1.1, 1.8, -2.6, -0.1]), np.array([1.0, 1.4, 0.7, 1.5])
    present = np.stack([np.ones(4), x * y, x, y, x * x, y * y], axis=1)
    sentence = "SELECT CORR(x, y) AS c FROM t WINDOW LAST 3 SECONDS EVERY 1 SECOND TRACK c WITHIN 0.5"
    _judged(sentence, np.array([0, 1, 2, 4.5]), np.array([0, 0, 0, 1]), present, protocol, sites=["a", "b"])


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
@pytest.mark.parametrize("rows", [2, 3])
def test_a_large_value_that_has_left(protocol: str, rows: int) -> None:
    x = np.tile([0.7, 0.3, 1e17, 0.3, 0.4, 0.6, 0.2, 0.1], 6)
    k = np.arange(len(x))
    for sentence in (
        f"SELECT SUM(x) AS s FROM t WINDOW LAST {rows} ROWS TRACK s WITHIN 0.1",
        f"SELECT SUM(x) AS s FROM t WINDOW LAST {rows} ROWS ALERT WHEN s > 0.8",
    ):
        _judged(sentence, k, k % 2, x[:, None], protocol)


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
@pytest.mark.parametrize("seed", range(8))
def test_a_sentinel_among_readings(protocol: str, seed: int) -> None:
    """Missing values written as -9.99e20, as some data sets do."""
    rng = np.random.default_rng(seed)
    rows = 600
    x = np.round(rng.normal(10.0, 2.0, rows), 1)
    x[rng.random(rows) < 0.02] = -9.99e20
    k = np.arange(rows)
    for alert in ("a > 10", "a > 10 MARGIN 0.2"):
        _judged(
            f"SELECT AVG(x) AS a FROM t GROUP BY k WINDOW LAST 20 ROWS ALERT WHEN {alert}", k, k % 4,
            np.stack([x, np.ones(rows)], axis=1), protocol, group=rng.integers(0, 3, rows), groups=["a", "b", "c"],
        )  # fmt: skip
