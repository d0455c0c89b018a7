"""How long to wait before the next attempt: a random part of a growing time."""

from __future__ import annotations

import random

from tacit.transport.limits import LinkLimits

__all__ = ["Backoff"]


class Backoff:
    """Exponential backoff with full jitter, and a long pause after what retrying cannot mend.

    >>> backoff = Backoff(LinkLimits(backoff_first_s=1, backoff_last_s=4), random.Random(7))
    >>> [round(backoff.pause(fatal=False, steady=False), 1) for _ in range(4)]
    [0.3, 0.3, 2.6, 0.3]
    """

    def __init__(self, limits: LinkLimits, rng: random.Random) -> None:
        self._limits, self._rng = limits, rng
        self._failures = 0

    def pause(self, *, fatal: bool, steady: bool) -> float:
        """Seconds until the next attempt; ``steady``: the link had held, so the times start over."""
        if fatal:
            self._failures = 0
            return self._limits.fatal_s * self._rng.uniform(0.9, 1.1)
        if steady:
            self._failures = 0
        longest = min(self._limits.backoff_last_s, self._limits.backoff_first_s * 2.0 ** min(self._failures, 30))
        self._failures += 1
        return self._rng.uniform(0.0, longest)
