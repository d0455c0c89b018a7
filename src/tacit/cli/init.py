"""``tacit init``: a working configuration from a folder of data, with what was guessed and why."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from tacit.runtime.discovery import Sample, SiteGuess, TimeGuess

__all__ = ["register"]

SITES_SHOWN = 8


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def init(
        folder: Path = typer.Argument(
            ..., metavar="FOLDER", help="Parquet, CSV or JSON files; subfolders may be sites."
        ),
        out: Path = typer.Option(Path("tacit.toml"), metavar="FILE", help="The configuration to write."),
        site: str | None = typer.Option(None, metavar="COLUMN", help="The column that tells sites apart."),
        time: str | None = typer.Option(None, metavar="COLUMN", help="When a row happened."),
        sites: int | None = typer.Option(None, min=1, max=64, metavar="N", help="Spread rows over N sites by a hash."),
        force: bool = typer.Option(False, "--force", help="Write over files that are there."),
        json_: bool = typer.Option(False, "--json", help="Print what was found as JSON."),
    ) -> None:
        """Look at a folder of data, guess its time and its sites, and write a configuration and two watches."""
        found = _init(folder, out, site=site, time=time, sites=sites, force=force, show=not json_)
        if json_:
            from tacit.cli.work import as_json

            typer.echo(as_json(found))


def _init(
    folder: Path, out: Path, *, site: str | None, time: str | None, sites: int | None, force: bool, show: bool
) -> dict[str, Any]:
    from tacit.runtime.config import load_config
    from tacit.runtime.discovery import (
        guess_sites,
        guess_time,
        lay_out,
        measures_of,
        settle_types,
        suggest_watches,
        take_sample,
        write_draft,
    )

    layout = lay_out(folder)
    watches = out.with_name("watches.sql")
    _check_room(out, watches, force=force)
    sample = take_sample(layout)
    when = guess_time(layout, sample, time)
    where = guess_sites(layout, sample, when.name, site, sites)
    sample = settle_types(layout, sample, measures_of(sample, when.name, where.column))
    now_us = int(clock.time() * 1e6)
    draft = write_draft(layout, sample, when, where, out, watches=watches.name, now_us=now_us)
    suggested = suggest_watches(sample, draft.table, when.name, where.column, len(where.sites))
    _write(out, draft.text)
    _write(watches, suggested.text)
    load_config(out)  # what is written is what can be read
    columns = [
        {
            "name": column.name,
            "type": column.spark,
            "examples": list(column.examples),
            "role": _role(column.name, when, where, suggested.columns),
        }
        for column in sample.columns
    ]
    found = {
        "folder": str(layout.folder),
        "kind": layout.kind,
        "files": len(layout.files),
        "table": draft.table,
        "columns": columns,
        "time": {"column": when.name, "why": when.why, "first_us": when.first_us, "last_us": when.last_us},
        "clock": "event" if when.is_old(now_us) else "wall",
        "sites": {
            "names": [each.name for each in where.sites],
            "column": where.column,
            "why": where.why,
            "notes": list(where.notes),
        },
        "written": [str(out), str(watches)],
    }
    if show:
        _show(found, sample, when, where)
    return found


def _check_room(out: Path, watches: Path, *, force: bool) -> None:
    from tacit.vocabulary.errors import OptionError

    if out.is_dir():
        raise OptionError(f"--out {out} is a folder; name a file in it, such as {out / 'tacit.toml'}")
    if not out.parent.is_dir():
        raise OptionError(f"--out {out}: there is no folder {out.parent}; make it first")
    for path in (out, watches):
        if path.exists() and not force:
            raise OptionError(f"{path} is there already; say --force to write over it, or --out for another place")


def _write(path: Path, text: str) -> None:
    from tacit.vocabulary.errors import OptionError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror}; say --out for another place") from None


def _role(name: str, time: TimeGuess, sites: SiteGuess, watched: tuple[str, ...]) -> str:
    roles = []
    if name == time.name:
        roles.append("time")
    if name == sites.column:
        roles.append("site")
    if name in watched:
        roles.append("watched")
    return ", ".join(roles)


def _show(found: dict[str, Any], sample: Sample, time: TimeGuess, sites: SiteGuess) -> None:
    from datetime import UTC, datetime

    from rich.table import Table

    from tacit.cli.work import output, show

    console = output()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("column", "type", "examples", "role"):
        table.add_column(title)
    for column in found["columns"]:
        table.add_row(column["name"], column["type"], "  ".join(column["examples"]), column["role"])
    show(console, table)
    first, last = (
        datetime.fromtimestamp(us / 1e6, tz=UTC).strftime("%Y-%m-%d %H:%M:%S") for us in (time.first_us, time.last_us)
    )
    names = [each.name for each in sites.sites]
    more = f" and {len(names) - SITES_SHOWN} more" if len(names) > SITES_SHOWN else ""
    lines = [
        "",
        f"data   {found['files']} {found['kind']} file{'s' if found['files'] > 1 else ''}, "
        f"of which {sample.rows.num_rows:,} rows were looked at; the table is called {found['table']}",
        f"time   {time.name}: {time.why} ({first} to {last}, UTC)",
        f"sites  {len(names)}: {', '.join(names[:SITES_SHOWN])}{more}; {sites.why}",
        *(f"note   {note}" for note in sites.notes),
    ]
    if found["clock"] == "event":
        lines.append('clock  "event": the newest row is more than a day old, so only rows make time pass')
    lines += ["", f"wrote {' and '.join(found['written'])}; next: tacit up {found['written'][0]}"]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)
