"""docs/LANGUAGE.md is true: its sentences parse, and its examples of aggregates are aggregates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tacit.language import parse, parse_statements
from tacit.language.aggregates import AGGREGATES
from tacit.language.algebra import SCALARS

PAGE = (Path(__file__).parents[2] / "docs" / "LANGUAGE.md").read_text(encoding="utf-8")
TABLE = PAGE.split("## Aggregates")[1].split("## ")[0]
EXAMPLES = re.findall(r"\| `([^`|]+)` \|$", TABLE, re.MULTILINE)


@pytest.mark.parametrize("block", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_sentences(block: str) -> None:
    assert parse_statements(block)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples(example: str) -> None:
    assert parse(f"CREATE WATCH w AS SELECT {example} AS v FROM t ALERT WHEN v > 1")


def test_everything_is_named() -> None:
    assert len(EXAMPLES) >= 17
    for name in AGGREGATES:
        assert f"`{name.upper()}(" in TABLE
    for name in SCALARS:
        assert re.search(rf"\b{name}\b", PAGE)
