"""``tacit demo``: four sites and a coordinator on this machine, live data, and a table of what is watched.

It is ``tacit up`` with a configuration that is written here: Spark's rate source makes rows as time passes, and native
expressions turn them into readings. The heat of all sites comes and goes, so that thresholds are crossed. At the end
every answer that was called valid is judged by what the sites held, and every crossing must have had its alert; else
the exit code is 1.
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
ROWS = 100  # a second, at each site
PERIOD, HOT = 40, 16  # seconds: how often the heat comes, and how long it stays; any 40 seconds have two crossings


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
    from tacit.cli.up import run_here
    from tacit.cli.work import no_interrupt_lost
    from tacit.runtime.config import load_config

    with _folder(state) as folder:
        with no_interrupt_lost():
            (folder / "tacit.toml").write_text(configuration(), encoding="utf-8")
            watches = files("tacit.cli").joinpath("demo.sql").read_text(encoding="utf-8")
            (folder / "watches.sql").write_text(watches, encoding="utf-8")
            config = load_config(folder / "tacit.toml")
        return run_here(config, seconds, json_, judged=True)


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
    """The demo's configuration: readings that follow the clock, a little different at each site."""
    return f"""# What `tacit demo` runs. Start it again with: tacit up tacit.toml
[coordinator]
listen = "127.0.0.1:0"
watches = ["watches.sql"]

[spark]
memory = "1g"

[tables.readings]
source = "rate"
rows_per_second = {ROWS}
time = "ts"
watermark = "1 second"
{_select()}
[sites.east]
[sites.north]
[sites.south]
[sites.west]
"""


def _select() -> str:
    clock = "unix_millis(timestamp) / 1000D"
    dice = "pmod(xxhash64(value, '{site}', '%s'), 1000) / 1000D"
    own = "pmod(xxhash64('{site}'), 7)"
    hot = f"pmod({clock}, {PERIOD}) < {HOT}"
    columns = [
        "timestamp AS ts",
        "concat('d', pmod(value, 8)) AS device",
        f"20D + {own} / 4D + 4D * ({dice % 'temp'} - 0.5D) + CASE WHEN {hot} THEN 16D ELSE 0D END AS temp",
        f"50D + 2D * sin({clock} / 20D + {own}) + 6D * ({dice % 'load'} - 0.5D) AS load",
        f"{dice % 'fail'} < CASE WHEN pmod(value, 8) = 3 AND {hot} THEN 0.6D ELSE 0.02D END AS failed",
    ]
    return "select = [\n" + "".join(f'    "{column}",\n' for column in columns) + "]\n"
