"""docs/LIVE.md: its configurations load, its check of a webhook's signature works, its commands exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.runtime.config import load_config
from tacit.runtime.sinks.webhook import signature

TEXT = (Path(__file__).parents[2] / "docs" / "LIVE.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("block", blocks("toml"))
def test_its_configurations_load(block: str, tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text(block)
    config = load_config(tmp_path / "tacit.toml")
    assert config.coordinator.tls is not None or set(config.site("north").tables) == {"air"}


def test_its_check_of_a_signature() -> None:
    names: dict[str, Any] = {}
    exec(next(block for block in blocks("python") if "is_ours" in block), names)
    header = signature(b"secret", b'{"id": 1}', 1000)
    assert names["is_ours"]("secret", header, b'{"id": 1}', now=1010)
    assert not names["is_ours"]("secret", header, b'{"id": 2}', now=1010)
    assert not names["is_ours"]("other", header, b'{"id": 1}', now=1010)
    assert not names["is_ours"]("secret", header, b'{"id": 1}', now=5000)


def test_its_commands_exist(tacit: Callable[..., Any]) -> None:
    words = {tuple(found) for found in re.findall(r"^tacit (\w+)(?: (\w+))?", "\n".join(blocks("")), re.MULTILINE)}
    assert ("watch", "follow") in words
    for command, more in words:
        named = (command, more) if command == "watch" else (command,)
        assert tacit(*named, "--help").code == 0
