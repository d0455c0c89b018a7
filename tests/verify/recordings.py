"""Small recordings of two sites, and histories of what a coordinator might have said of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.runtime.config import load_config
from tacit.runtime.config_models import Config
from tacit.verify.history import History, Span
from tacit.verify.rows import Rows
from tacit.verify.sources import read_sources

__all__ = ["SITES", "config_of", "history", "rows_of"]

S = 1_000_000
SITES = ("north", "south")


def config_of(folder: Path, **table: Any) -> Config:
    """A configuration of two sites with files in folders of their own."""
    described = {
        "source": "files", "path": "{site}", "format": "parquet", "time": "ts", "clock": "event",
        "watermark": "0 seconds", **table,
    }  # fmt: skip
    lines = [f"{key} = {_toml(value)}" for key, value in described.items()]
    text = "[tables.readings]\n" + "\n".join(lines) + "".join(f"\n[sites.{site}]\n" for site in SITES)
    (folder / "tacit.toml").write_text(text)
    return load_config(folder / "tacit.toml")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def rows_of(folder: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]], **table: Any) -> Rows:
    """These rows of each site, as the judge reads them; ``ts`` is in seconds."""
    for site in SITES:
        (folder / site).mkdir(parents=True, exist_ok=True)
        if rows.get(site):
            pq.write_table(pa.Table.from_pylist(list(rows[site])), folder / site / "a.parquet")
    return read_sources(config_of(folder, **table), ["readings"])


def history(
    sentence: str,
    last: int,
    *,
    first: int = 0,
    changes: Sequence[tuple[int, str, int, float | None]] = (),
    lists: Sequence[tuple[int, str, list[list[Any]]]] = (),
    alerts: Sequence[Mapping[str, Any]] = (),
    spans: Sequence[Span] | None = None,
) -> History:
    """What was published: every pane valid, unless ``spans`` say otherwise."""
    said = [Span(1, first, last, "valid", SITES)] if spans is None else list(spans)
    documents = [
        {"id": f"{place}", "group": None, "side": None, "value": None, **each} for place, each in enumerate(alerts)
    ]
    return History("w", {1: f"CREATE WATCH w AS {sentence}"}, said, list(changes), list(lists), documents)
