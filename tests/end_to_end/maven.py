"""Jars for tests, fetched once by Maven into tacit's cache folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tacit._cache import cache_folder

__all__ = ["NoJarsError", "fetched", "skip_or_fail"]

_TIMEOUT_S = 600
# The project of a jar may name repositories that not everybody reaches, so what it needs can be listed by hand instead.
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


class NoJarsError(Exception):
    """Maven is not there, or does not find what was asked of it."""


def fetched(name: str, coordinates: Sequence[str], *, alone: bool = False) -> list[Path]:
    """The jars of ``group:artifact:version`` and, unless ``alone``, of what they need; kept under ``name``."""
    place = cache_folder() / "jars" / name
    if not place.is_dir():
        place.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as work:
            _run_maven(Path(work), coordinates, alone)
            try:
                Path(work, "jars").rename(place)
            except OSError:  # another process of this test run was quicker
                assert place.is_dir()
    return sorted(place.glob("*.jar"))


def skip_or_fail(reason: str) -> None:
    """Tests that need Kafka are passed over, loudly, where it cannot be had; unless they are required."""
    if os.environ.get("TACIT_REQUIRE_KAFKA", "") not in ("", "0"):
        pytest.fail(f"Kafka is required and cannot be had: {reason}")
    pytest.skip(f"no Kafka to test with: {reason}")


def _run_maven(work: Path, coordinates: Sequence[str], alone: bool) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoJarsError("Maven is not installed")
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>".format(
            *each.split(":"), _ALONE if alone else ""
        )
        for each in coordinates
    )
    (work / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>tacit</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={work / 'jars'}", "-DincludeScope=runtime"]
    kept = f"-Dmaven.repo.local={cache_folder() / 'maven'}"
    command = [maven, "--batch-mode", "--quiet", "--fail-fast", kept, *goal]
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise NoJarsError(f"Maven did not end within {_TIMEOUT_S} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no reason given"]
        raise NoJarsError(f"Maven does not find {', '.join(coordinates)}: {lines[0][:300]}")
