"""The configuration of ``tacit demo``; tests/end_to_end/test_endings.py runs it for a minute."""

from __future__ import annotations

import tomllib

from tacit.cli.demo import SITES, configuration


def test_the_configuration_is_one() -> None:
    assert tuple(sorted(tomllib.loads(configuration())["sites"])) == SITES
