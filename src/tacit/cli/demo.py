"""``tacit demo``: four sites and a coordinator on this machine, live data, and a table of what is watched.

It is ``tacit up`` with a configuration that is written here, and files of readings that come as time passes
(``demo_rows.py``). The heat of all sites comes and goes, so that thresholds are crossed. At the end ``tacit.verify``
judges every pane and every alert by these files, and the exit code is 1 unless all is good.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import typer

__all__ = ["configuration", "register"]

SECONDS = 60
SITES = ("east", "north", "south", "west")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def demo(
        seconds: int = typer.Option(SECONDS, min=10, help="How long it runs after its first answer."),
        state: Path | None = typer.Option(
            None, metavar="FOLDER", help="Keep configuration and state here; else they are gone at the end."
        ),
        json_: bool = typer.Option(False, "--json", help="Print the last answers and the verdict as JSON."),
    ) -> None:
        """Watch four sites with live data for a minute, and judge every answer."""
        raise typer.Exit(_demo(seconds, state, json_))


def _demo(seconds: int, state: Path | None, json_: bool) -> int:
    from tacit.cli.demo_rows import DemoRows
    from tacit.cli.up import run_here
    from tacit.cli.work import no_interrupt_lost
    from tacit.runtime.config import load_config

    with _folder(state) as folder:
        with no_interrupt_lost():
            (folder / "tacit.toml").write_text(configuration(), encoding="utf-8")
            watches = files("tacit.cli").joinpath("demo.sql").read_text(encoding="utf-8")
            (folder / "watches.sql").write_text(watches, encoding="utf-8")
            rows = DemoRows(folder / "data", SITES)
            config = load_config(folder / "tacit.toml")
        rows.start()
        try:
            return run_here(config, seconds, json_, judged=True)
        finally:
            rows.stop()


@contextmanager
def _folder(state: Path | None) -> Iterator[Path]:
    """Where it all lies: what was asked for, or a folder that goes at the end; after a kill, with the next demo."""
    from tacit.pipelines.private_folders import DEMO, PrivateFolder, remove_left_folders

    if state is not None:
        state.mkdir(parents=True, exist_ok=True)
        yield state
        return
    remove_left_folders(DEMO)
    private = PrivateFolder(DEMO)
    try:
        yield private.path
    finally:
        private.remove()


def configuration() -> str:
    """The demo's configuration: files of readings, a folder for each site."""
    from tacit.cli.demo_rows import SCHEMA

    return f"""# What `tacit demo` runs. Start it again with: tacit up tacit.toml
[coordinator]
listen = "127.0.0.1:0"
watches = ["watches.sql"]

[spark]
memory = "1g"

[tables.readings]
source = "files"
path = "data/{{site}}"
format = "parquet"
schema = "{SCHEMA}"
time = "ts"
watermark = "1 second"

[sites.east]
[sites.north]
[sites.south]
[sites.west]
"""
