"""How the processes of a test run share a machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Where `make` keeps compiled kernels: without it each process that a test starts would compile them for minutes.
CACHE = Path(__file__).parent / ".venv" / "cache"
if CACHE.is_dir():
    os.environ.setdefault("TACIT_CACHE_DIR", str(CACHE))
    os.environ.setdefault("MPLCONFIGDIR", str(CACHE / "matplotlib"))

# Tests run in as many processes as there are cores. Native threads beside them wait for each other by spinning, which
# made fits ten times slower. Set here, before NumPy is imported; processes that tests start have their own environment.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share the one Spark of a process stay together: with two processes there would be two."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("spark"))
