"""Which seeds a check judges: some that no check has judged before, drawn from the commit, and all that ever failed."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["COUNT", "Slice", "fresh_slice", "known_seeds"]

COUNT = 300
"""Schedules of each family that a check judges."""
_FIRST = 10_000_000  # smaller seeds have been judged by hand and by older checks
_SLICES = 1_000_000
_APART = 1_000
_SEEDS = Path(__file__).with_name("seeds.txt")


@dataclass(frozen=True)
class Slice:
    """Seeds in a row, and what they were drawn from."""

    first: int
    source: str

    def __str__(self) -> str:
        return f"seeds {self.first} to {self.first + COUNT - 1} of each family, drawn from {self.source}"

    @property
    def replay(self) -> str:
        """The command that judges these schedules again."""
        return f"python -m tests.simulation.many --from {self.first} --count {COUNT}"


def slice_of(commit: str) -> int:
    """Return the first seed of the slice of a commit, by its hash.

    >>> slice_of("0000000000000000000000000000000000000001")
    10001000
    """
    return _FIRST + _APART * (int(commit, 16) % _SLICES)


@cache
def fresh_slice() -> Slice:
    """The slice of the commit that is checked out; a fixed one where git cannot say which that is."""
    asked = ["git", "-C", str(_SEEDS.parent), "rev-parse", "HEAD"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        return Slice(slice_of(said), f"commit {said[:12]}")
    except (OSError, subprocess.SubprocessError, ValueError):
        return Slice(_FIRST, "no commit (git does not say which one this is), so it is always this one")


def known_seeds() -> list[tuple[str, int]]:
    """Return the family and the seed of every schedule that ever failed."""
    lines = [line.split("#")[0].split() for line in _SEEDS.read_text().splitlines()]
    return [(family, int(seed)) for family, seed in filter(None, lines)]
