"""``tacit certs``: certificates and tokens for a coordinator and its sites, and the lines that put them to use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

__all__ = ["configuration", "register"]


def configuration(folder: Path, sites: Sequence[str], clients: Sequence[str]) -> str:
    """The lines of a configuration that use the files of a folder.

    >>> print(configuration(Path("certs"), ["north"], []))
    [coordinator.tls]
    certificate = "certs/server.pem"
    key = "certs/server.key"
    client_ca = "certs/ca.pem"
    <BLANKLINE>
    [coordinator.tokens.sites]
    "north" = "file:certs/sites/north.token"
    <BLANKLINE>
    [sites."north"]
    token = "file:certs/sites/north.token"
    <BLANKLINE>
    [sites."north".tls]
    ca = "certs/ca.pem"
    certificate = "certs/sites/north.pem"
    key = "certs/sites/north.key"
    """
    parts = [
        f"[coordinator.tls]\ncertificate = {_text(folder / 'server.pem')}\nkey = {_text(folder / 'server.key')}\n"
        f"client_ca = {_text(folder / 'ca.pem')}"
    ]
    for part, names in (("sites", sites), ("clients", clients)):
        if names:
            lines = [f"{_text(name)} = {_text(f'file:{folder / part / name}.token')}" for name in names]
            parts.append("\n".join([f"[coordinator.tokens.{part}]", *lines]))
    for name in sites:
        own = folder / "sites" / name
        parts.append(f"[sites.{_text(name)}]\ntoken = {_text(f'file:{own}.token')}")
        parts.append(
            f"[sites.{_text(name)}.tls]\nca = {_text(folder / 'ca.pem')}\ncertificate = {_text(f'{own}.pem')}\n"
            f"key = {_text(f'{own}.key')}"
        )
    return "\n\n".join(parts)


def _text(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)  # TOML's basic strings are written as JSON's


def register(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command()
    def certs(
        folder: Path = typer.Argument(..., metavar="FOLDER", help="Where the files go."),
        host: list[str] = typer.Option(
            [],
            help="A name or address that sites dial the coordinator by; repeat it for more. Without: this machine.",
            show_default=False,
        ),
        site: list[str] = typer.Option([], help="A site to make a certificate and a token for; repeat it for more."),
        client: list[str] = typer.Option([], help="A client to make them for; repeat it for more."),
        days: int = typer.Option(365, help="How long the certificates last."),
        renew: bool = typer.Option(False, "--renew", help="New certificates of the same CA; tokens stay."),
        json_: bool = typer.Option(False, "--json", help="Print what was made as JSON."),
    ) -> None:
        """Make a certificate authority, certificates and tokens for development or a closed network."""
        from tacit.transport.certificates import make_certificates

        made = make_certificates(folder, hosts=host, sites=site, clients=client, days=days, renew=renew)
        if json_:
            typer.echo(json.dumps({"made": [str(path) for path in made]}, indent=2, ensure_ascii=False))
            return
        typer.echo(f"Made in {folder} (keys and tokens can be read by you only):")
        for path in made:
            typer.echo(f"  {path.relative_to(folder)}")
        if renew:
            typer.echo(
                "\nRestart the coordinator to show the new certificate; sites take theirs up when they dial again."
            )
            return
        typer.echo(f"\nKeep {folder / 'ca.key'} away from every site: whoever has it can be anyone.")
        typer.echo("Into the configuration (client_ca is for mutual TLS; without it tokens alone prove who is who):\n")
        typer.echo(configuration(folder, site, client))
