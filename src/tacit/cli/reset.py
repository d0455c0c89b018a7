"""``tacit reset``: forgets what a configuration's coordinator and sites have kept, and nothing else."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tacit.runtime.config import Config

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def reset(
        config: Path = typer.Argument(..., metavar="CONFIG", help="The configuration file."),
        yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
        json_: bool = typer.Option(False, "--json", help="Print what was done as JSON."),
    ) -> None:
        """Forget the state of a configuration: watches, answers, alerts, and what sites have read.

        Files in the folders that tacit did not make are left alone.
        """
        from tacit.cli.work import as_json
        from tacit.runtime.config import load_config

        removed, kept = _reset(load_config(config), config, yes=yes, quiet=json_)
        if json_:
            typer.echo(as_json({"removed": [str(each) for each in removed], "kept": [str(each) for each in kept]}))


def _reset(config: Config, path: Path, *, yes: bool, quiet: bool) -> tuple[list[Path], list[Path]]:
    """What was removed, and what was there and is not tacit's."""
    from tacit.runtime.locks import foreign_entries, is_ours, lock, owner_of
    from tacit.vocabulary.errors import OptionError

    folders = dict.fromkeys([config.coordinator.state, *(site.state for site in config.sites.values())])
    present = [folder for folder in folders if folder.is_dir()]
    ours = [folder for folder in present if is_ours(folder)]
    kept = [folder for folder in present if folder not in ours]

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text)

    for folder in kept:
        say(f"left alone: {folder} has no tacit-state.json, so it is not known to be tacit's")
    if not ours:
        say(f"nothing to forget: no state of {path} is here")
        return [], kept
    with ExitStack() as locks:
        for folder in ours:  # all of them before the first is removed
            locks.enter_context(lock(folder, "tacit reset"))
        for folder in ours:
            say(f"to be removed: {folder} (the state of {owner_of(folder)})")
            foreign = foreign_entries(folder)
            for path in foreign:
                say(f"left alone: {path}, which is not tacit's")
            kept += foreign
        if not yes:
            if not sys.stdin.isatty():
                raise OptionError("there is no terminal to ask at; say --yes to remove these folders")
            if not typer.confirm("Forget everything in these folders?"):
                say("nothing was removed")
                return [], kept
        for folder in ours:
            _remove(folder)
    say(f"forgot the state in {len(ours)} folder{'s' if len(ours) > 1 else ''}")
    return ours, kept


def _remove(folder: Path) -> None:
    """The marker goes last: a removal that was cut short can be taken up again.

    A folder with files of others in it stays, with its marker: it is still known to be a state folder.
    """
    import shutil

    from tacit.runtime.locks import LOCK, MARKER, foreign_entries
    from tacit.vocabulary.errors import OptionError

    try:
        foreign = foreign_entries(folder) if folder.exists() else []
        for inner in sorted(folder.iterdir()) if folder.exists() else ():
            if inner.name in (LOCK, MARKER) or inner in foreign:
                continue
            if inner.is_dir() and not inner.is_symlink():
                shutil.rmtree(inner)
            else:
                inner.unlink()
        if foreign:
            return
        for name in (MARKER, LOCK):
            (folder / name).unlink(missing_ok=True)
        if folder.exists() and not folder.is_symlink():  # what a link leads to stays, empty
            folder.rmdir()
    except OSError as error:
        raise OptionError(f"{error.filename or folder} cannot be removed: {error.strerror}") from None
