"""docs/ZONES.md is true: its examples run, and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "ZONES.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_examples(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "docs/ZONES.md", "exec"), {})
    said = " ".join(capsys.readouterr().out.split())
    promised = " ".join(re.findall(r"^print\(.*#\s+(.*)$", block, re.MULTILINE))
    assert said == promised
