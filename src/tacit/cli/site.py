"""``tacit site CONFIG NAME``: a site on its own Spark, which dials its coordinator."""

from __future__ import annotations

import logging
from pathlib import Path

import typer

__all__ = ["register"]

_log = logging.getLogger(__name__)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def site(
        config: Path = typer.Argument(..., metavar="CONFIG", help="The configuration (TOML)."),
        name: str = typer.Argument(..., metavar="NAME", help="Which of its sites to run."),
        quiet: bool = typer.Option(False, "--quiet", "-q", help="Log only what is wrong."),
    ) -> None:
        """Run one site of a configuration until it is interrupted."""
        from tacit.cli.live import log_to_stderr

        with log_to_stderr(quiet=quiet):
            raise typer.Exit(_run(config, name))


def _run(path: Path, name: str) -> int:
    from tacit.cli.live import kernels_text, load_kernels, stop_on_signals
    from tacit.recording.run import spark_room
    from tacit.runtime.config import load_config
    from tacit.runtime.local import LocalSites

    config = load_config(path)
    config.site(name)
    spark_room()  # says how to install Spark where it is not
    _log.info("site %s: %s", name, kernels_text())
    load_kernels()
    with stop_on_signals() as stop:

        def tell(text: str) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            _log.info("site %s: %s", name, text)

        sites = LocalSites(config, [name])
        try:
            sites.start(tell)
            stop.again()  # type: ignore[attr-defined]  # PySpark has put its own handler in the place
            typer.echo(f"site {name}: state in {config.site(name).state}")
            sites.run(stop)
        finally:
            sites.stop()
    for failure in sites.failures.values():
        raise failure
    return 0
