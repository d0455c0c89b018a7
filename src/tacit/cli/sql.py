"""``tacit sql``: statements to a coordinator, as an argument, from a pipe, or at a prompt."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from tacit.cli.reaching import Json, with_client
from tacit.vocabulary.errors import SentenceError, TacitError

if TYPE_CHECKING:
    from tacit.api.client import Client

__all__ = ["is_whole", "register"]

PROMPT, MORE = "tacit> ", "   ... "


class _Statements(TyperCommand):
    """A text that begins with a comment (-- …) is a text: the dashes of an option are followed by its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        texts = [word for word in args if is_comment(word)]
        options = [word for word in args if not is_comment(word)]
        return super().parse_args(ctx, [*options, "--", *texts] if texts and "--" not in args else args)


def is_comment(word: str) -> bool:
    """Is a word of the command line SQL that begins with a comment?

    >>> [is_comment(word) for word in ("-- all of them", "--all of them", "--json", "--ca=my file", "--", "SHOW SITES")]
    [True, True, False, False, False, False]
    """
    return re.match(r"--[^\s=]*\s", word) is not None


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command(cls=_Statements)
    @with_client
    def sql(
        client: Client,
        text: str | None = typer.Argument(None, metavar="[TEXT]", help="Statements; without, they are read here."),
        json_: Json = False,
    ) -> None:
        """Carry out statements: CREATE, ALTER, PAUSE, RESUME, DROP, SHOW and EXPLAIN."""
        from tacit.cli.watch import show_results

        if text is None and sys.stdin.isatty():
            raise typer.Exit(_prompt(client, json_))
        show_results(client, sys.stdin.read() if text is None else text, json_)


def is_whole(text: str) -> bool:
    """Do all statements end with a semicolon that is none of a text, a name or a comment?

    >>> is_whole("SHOW WATCHES;"), is_whole("SHOW WATCHES"), is_whole("CREATE WATCH w AS SELECT ';"), is_whole("  ")
    (True, False, False, False)
    """
    from tacit.language.dialect import tokenize
    from tacit.language.places import Source

    try:
        tokens = tokenize(Source(text))
    except SentenceError:
        return False  # a text or a comment is still open
    return bool(tokens) and tokens[-1].text == ";"


def is_empty(text: str) -> bool:
    """Is there nothing but blanks and comments?

    >>> is_empty("-- later"), is_empty("/* later"), is_empty(";")
    (True, False, False)
    """
    from tacit.language.dialect import tokenize
    from tacit.language.places import Source

    try:
        return not tokenize(Source(text))
    except SentenceError:
        return False


def _prompt(client: Client, json_: bool) -> int:
    """Read statements up to a semicolon, until the end of the input. What is wrong is told, and it goes on."""
    import contextlib

    from tacit.cli.watch import show_results

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # gives input() its history and its keys
    typer.echo(f"coordinator at {client.address}; statements end with ; and Ctrl-D ends this")
    held = ""
    while True:
        try:
            line = input(MORE if held else PROMPT)
        except EOFError:
            typer.echo()
            return 0
        except KeyboardInterrupt:  # drops what was begun
            typer.echo()
            held = ""
            continue
        if not held and line.strip().rstrip(";").casefold() in ("exit", "quit", r"\q"):
            return 0
        held = f"{held}\n{line}" if held else line
        if is_empty(held):
            held = ""
        if not held or not is_whole(held):
            continue
        try:
            show_results(client, held, json_)
        except TacitError as error:
            typer.echo(f"tacit: {error}", err=True)
        except KeyboardInterrupt:
            typer.echo()
        held = ""
