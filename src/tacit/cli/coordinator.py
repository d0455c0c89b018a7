"""``tacit coordinator CONFIG``: the process that sites dial. It has no Java."""

from __future__ import annotations

import logging
from pathlib import Path

import typer

__all__ = ["register"]

_log = logging.getLogger(__name__)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def coordinator(
        config: Path = typer.Argument(..., metavar="CONFIG", help="The configuration (TOML)."),
        quiet: bool = typer.Option(False, "--quiet", "-q", help="Log only what is wrong."),
    ) -> None:
        """Run the coordinator of a configuration until it is interrupted."""
        from tacit.cli.live import log_to_stderr

        with log_to_stderr(quiet=quiet):
            raise typer.Exit(_run(config))


def _run(path: Path) -> int:
    from tacit.cli.live import kernels_text, load_kernels, stop_on_signals
    from tacit.runtime.config import load_config
    from tacit.runtime.coordinator_runner import CoordinatorRunner, check_watches
    from tacit.vocabulary.errors import TacitError

    config = load_config(path)
    check_watches(config)
    runner = CoordinatorRunner(config)
    _log.info("coordinator: %s", kernels_text())
    load_kernels()
    with stop_on_signals() as stop:
        runner.start()
        host = config.coordinator.listen.rpartition(":")[0]
        typer.echo(f"coordinator: listening on {host}:{runner.port}, state in {config.coordinator.state}")
        try:
            while not stop.wait(0.2) and not runner.ended.is_set():
                pass
        finally:
            runner.stop()
    if runner.failure is not None:
        raise runner.failure if isinstance(runner.failure, TacitError) else TacitError(str(runner.failure))
    return 0
