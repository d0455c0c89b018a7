"""The command ``tacit``: finds the commands, runs one, and turns errors into a sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 the user's input is wrong, 130 interrupted. ``TACIT_DEBUG=1`` shows tracebacks.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn

import typer

from tacit import __version__
from tacit.vocabulary.errors import TacitError

__all__ = ["COMMANDS", "app", "run"]

COMMANDS = (
    "demo", "init", "up", "coordinator", "site", "watch", "sql", "verify", "replay", "bench", "certs", "doctor",
    "reset",
)  # fmt: skip
"""Modules of this room that hold a command; each has ``register(app)``. Help lists them in this order."""

INTERRUPTED = 130

app = typer.Typer(
    name="tacit",
    help="Questions about data that stays where it is: sites stay silent until the answer could change.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    pass


for _name in COMMANDS:
    if find_spec(f"tacit.cli.{_name}") is not None:
        import_module(f"tacit.cli.{_name}").register(app)


def run() -> NoReturn:
    """Run the command of this process, and end the process."""
    debug = os.environ.get("TACIT_DEBUG", "") not in ("", "0")
    try:
        app()
    except TacitError as error:
        if debug:
            raise
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # typer makes this of an interrupt, and says nothing
            _fail("interrupted", INTERRUPTED)
        raise
    except Exception as error:
        if debug:
            raise
        text = " ".join(str(error).split())[:300]
        _fail(f"unexpected {type(error).__name__}: {text} (a defect of tacit; TACIT_DEBUG=1 shows where)", 1)
    sys.exit(0)


def _fail(message: str, exit_code: int) -> NoReturn:
    typer.echo(f"tacit: {message}", err=True)
    # Python ends by SIGINT itself, whatever the code, if an interrupt has ever come out of a text that was executed
    # (dataclasses are made of such texts), although it was heeded. It forgets that with the next one.
    exec("")
    sys.exit(exit_code)


if __name__ == "__main__":
    run()
