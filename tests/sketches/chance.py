"""What may fail sometimes: is it so rare as was promised?"""

from __future__ import annotations

from scipy.stats import binom


def assert_rare(failures: int, trials: int, probability: float) -> None:
    """Fails when so many failures would come by chance less than once in a million runs."""
    assert binom.sf(failures - 1, trials, probability) > 1e-6, f"{failures} of {trials}, promised {probability}"
