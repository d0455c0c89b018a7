"""``tacit watch``: make, look at, follow, change and drop the watches of a running coordinator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli.reaching import Json, with_client
from tacit.vocabulary.errors import InputError, OptionError, SentenceError

if TYPE_CHECKING:
    from tacit.api.client import Client

__all__ = ["register", "show_results"]

_Name = typer.Argument(..., metavar="NAME", help="The watch.")


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    watch = typer.Typer(no_args_is_help=True, help="Make, look at, follow and change the watches of a coordinator.")
    app.add_typer(watch, name="watch")

    @watch.command("list")
    @with_client
    def list_(
        client: Client,
        json_: Json = False,
    ) -> None:
        """All watches: answer, state, guarantee, and messages against both baselines."""
        _show(client, "SHOW WATCHES", "watches", json_)

    @watch.command()
    @with_client
    def show(
        client: Client,
        name: str = _Name,
        json_: Json = False,
    ) -> None:
        """Everything about one watch."""
        _show(client, f"SHOW WATCH {_quoted(name)}", "watch", json_)

    @watch.command()
    @with_client
    def follow(
        client: Client,
        name: str = _Name,
        json_: bool = typer.Option(False, "--json", help="A JSON object per line and change."),
    ) -> None:
        """A line per change of the answer and per alert, until it is interrupted."""
        raise typer.Exit(_follow(client, name, json_))

    @watch.command()
    @with_client
    def create(
        client: Client,
        file: str = typer.Argument(..., metavar="FILE|-", help="A file of CREATE WATCH sentences; - reads them here."),
        json_: Json = False,
    ) -> None:
        """Create the watches of a file."""
        text = _sentences(file)
        try:
            show_results(client, text, json_)
        except SentenceError as error:
            raise error if file == "-" else SentenceError(f"{file}: {error}") from None

    @watch.command()
    @with_client
    def alter(
        client: Client,
        name: str = _Name,
        margin: str | None = typer.Option(None, metavar="N", help="Another margin."),
        threshold: str | None = typer.Option(None, metavar="N", help="Another threshold."),
        within: str | None = typer.Option(None, metavar="N", help="Another error of a watch that tracks."),
        percent: bool = typer.Option(False, "--percent", help="--within is a share of the value."),
        json_: Json = False,
    ) -> None:
        """Another margin, threshold or error, while the watch runs; its windows stay."""
        changes = _changes(margin, threshold, within, percent)
        show_results(client, f"ALTER WATCH {_quoted(name)} SET {changes}", json_)

    @watch.command()
    @with_client
    def pause(
        client: Client,
        name: str = _Name,
        json_: Json = False,
    ) -> None:
        """Keep nothing until it is resumed."""
        show_results(client, f"PAUSE WATCH {_quoted(name)}", json_)

    @watch.command()
    @with_client
    def resume(
        client: Client,
        name: str = _Name,
        json_: Json = False,
    ) -> None:
        """Go on with a paused watch."""
        show_results(client, f"RESUME WATCH {_quoted(name)}", json_)

    @watch.command()
    @with_client
    def drop(
        client: Client,
        name: str = _Name,
        if_exists: bool = typer.Option(False, "--if-exists", help="It is no error when there is none."),
        json_: Json = False,
    ) -> None:
        """Forget a watch."""
        show_results(client, f"DROP WATCH {'IF EXISTS ' if if_exists else ''}{_quoted(name)}", json_)

    @watch.command()
    @with_client
    def alerts(
        client: Client,
        name: str | None = typer.Argument(None, metavar="[NAME]", help="Of this watch only."),
        limit: int = typer.Option(100, min=1, help="At most so many, the newest first."),
        json_: Json = False,
    ) -> None:
        """Conditions that began or ceased to hold, members that came or went, the newest first."""
        whose = "" if name is None else f" FOR {_quoted(name)}"
        _show(client, f"SHOW ALERTS{whose} LIMIT {limit}", "alerts", json_)

    @watch.command()
    @with_client
    def changes(
        client: Client,
        name: str | None = typer.Argument(None, metavar="[NAME]", help="Of this watch only."),
        limit: int = typer.Option(100, min=1, help="At most so many, the newest first."),
        json_: Json = False,
    ) -> None:
        """New values that are tracked and new orders of rankings, the newest first."""
        whose = "" if name is None else f" FOR {_quoted(name)}"
        _show(client, f"SHOW CHANGES{whose} LIMIT {limit}", "changes", json_)

    @watch.command()
    @with_client
    def sites(
        client: Client,
        json_: Json = False,
    ) -> None:
        """Who is there."""
        _show(client, "SHOW SITES", "sites", json_)


def show_results(client: Client, sql: str, json_: bool) -> None:
    """Carry out statements and print what came of each."""
    from tacit.cli.watch_text import result_text
    from tacit.cli.work import as_json, output, show

    results = client.execute(sql)
    if json_:
        typer.echo(as_json(results))
        return
    console = output()
    for result in results:
        text = result_text(result)
        if isinstance(text, str):
            typer.echo(text)
        else:
            show(console, text)


def _show(client: Client, sql: str, key: str, json_: bool) -> None:
    """A question; as JSON, the answer alone."""
    from tacit.cli.work import as_json

    if json_:
        typer.echo(as_json(client.execute(sql)[0][key]))
    else:
        show_results(client, sql, False)


def _follow(client: Client, name: str, json_: bool) -> int:
    import json

    from tacit.cli.watch_text import alert_line, change_line

    last: object = None
    try:
        for change in client.documents(name, reconnect=True):
            if json_:
                _line(json.dumps(change, ensure_ascii=False))
                continue
            for alert in sorted([*change["alerts"], *change["changes"]], key=lambda each: each["pane"]):
                _line(alert_line(alert))
            missing = [(each["site"], each["reason"]) for each in change["missing"]]
            new = (change["state"], change["answer"], change["waiting_for"], missing, change["gaps"])
            if new != last:  # that a pane passed is no change
                _line(change_line(change))
            last = new
    except KeyboardInterrupt:  # that is how it ends
        return 0
    return 0


def _line(text: str) -> None:
    typer.echo(text)
    sys.stdout.flush()  # a pipe is read line by line


def _sentences(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OptionError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"{file} is not a text in UTF-8; save it as one") from None


def _changes(margin: str | None, threshold: str | None, within: str | None, percent: bool) -> str:
    numbers: dict[str, Any] = {"MARGIN": margin, "THRESHOLD": threshold, "WITHIN": within}
    if percent and within is None:
        raise OptionError("--percent belongs to --within")
    changes = [f"{word} {_number(word, value)}" for word, value in numbers.items() if value is not None]
    if not changes:
        raise OptionError("nothing is to be changed: give --margin, --threshold or --within")
    return ", ".join(changes) + (" PERCENT" if percent else "")


def _number(word: str, text: str) -> str:
    try:
        float(text)
    except ValueError:
        raise OptionError(f"--{word.lower()} {text!r} is not a number") from None
    return text.strip()


def _quoted(name: str) -> str:
    from tacit.api.client import quoted

    if not name.strip():
        raise InputError("the name of the watch is empty")
    return quoted(name)
