"""docs/PYTHON.md is true: its examples run, one after the other, and speak of every public method of the client."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tacit
from tests.runtime.light import LightSystem, until

PAGE = (Path(__file__).parents[2] / "docs" / "PYTHON.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
HOT = re.search(r'^sentence = "(.*)"$', PAGE, re.MULTILINE)


def test_every_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert HOT is not None
    with LightSystem(tmp_path) as system:
        system.site("north")
        system.site("south")
        until(lambda: [site["tables"] for site in system.runner.ask({"status": True})["sites"]] == [["d"], ["d"]])
        names = {"ADDRESS": system.address}
        for block in BLOCKS:
            exec(compile(block, "docs/PYTHON.md", "exec"), names)
            if "CREATE WATCH" in block:  # its rows come: the mean crosses once
                system.feed(HOT[1], range(100, 130), 5)
                system.feed(HOT[1], range(130, 160), 11)
                until(lambda: tacit.connect(system.address).alerts("hot"))
    said = capsys.readouterr().out
    assert "True None" in said
    assert "SentenceError" in said
    assert re.search(r"^\w{24} 1970-01-01T00:02:\d\dZ above ", said, re.MULTILINE)
    assert re.search(r"^\d+ changes, 1 alerts$", said, re.MULTILINE)


def test_every_public_method_is_named() -> None:
    methods = {name for name in vars(tacit.Client) if not name.startswith("_")}
    assert {name for name in methods if f"{name}(" not in PAGE} == set()
    fields = {"state", "as_of", "value", "met", "rows", "stale", "waiting_for", "problems", "guarantee", "lists"}
    assert {name for name in fields if f"answer.{name}" not in PAGE} == set()
