"""Where the coordinator is: the options of every command that asks one, the environment, and the configuration.

``with_client`` adds the options to a command, which is given the client that they make.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tacit.api.client import Client

__all__ = ["Json", "client_of", "with_client"]

_PANEL = "Where the coordinator is"

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _option(*names: str, metavar: str = "FILE", help: str) -> Any:
    return typer.Option(*names, metavar=metavar, rich_help_panel=_PANEL, help=help)


_OPTIONS: dict[str, Any] = {
    "coordinator": Annotated[
        str | None,
        _option("--coordinator", metavar="HOST:PORT", help="Its address; else TACIT_COORDINATOR, else 127.0.0.1:7070."),
    ],
    "token_file": Annotated[
        Path | None, _option("--token-file", help="A client's token; else TACIT_TOKEN, the token itself.")
    ],
    "ca": Annotated[Path | None, _option("--ca", help="The authority of its certificate, for TLS; else TACIT_CA.")],
    "certificate": Annotated[Path | None, _option("--certificate", help="A certificate to show, for mutual TLS.")],
    "key": Annotated[Path | None, _option("--key", help="Its private key.")],
    "config": Annotated[Path | None, _option("--config", help="Take all of this from a configuration.")],
}


def with_client(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options above; its first parameter, the client, is made from them."""
    signature = inspect.signature(command, eval_str=True, locals={"Client": object})  # not imported: it is heavy
    own = list(signature.parameters.values())[1:]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]

    @wraps(command)
    def run(**values: Any) -> None:
        said = {name: values.pop(name) for name in _OPTIONS}
        command(client_of(**said), **values)

    parameters = [*(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), *shared]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # typer would read the signature there
    return run


def client_of(
    coordinator: str | None,
    token_file: Path | None,
    ca: Path | None,
    certificate: Path | None,
    key: Path | None,
    config: Path | None,
) -> Client:
    """A client, from the first that says so: options, the configuration, the environment, the default."""
    from tacit.api.client import DEFAULT_ADDRESS, connect
    from tacit.runtime.config import load_config
    from tacit.runtime.dialling import Dialling, client_dialling
    from tacit.transport.security import read_token

    said = Dialling("") if config is None else client_dialling(load_config(config))
    token = said.token or os.environ.get("TACIT_TOKEN") or None
    if token_file is not None:
        token = read_token(token_file)
    address = coordinator or said.address or os.environ.get("TACIT_COORDINATOR") or DEFAULT_ADDRESS
    ca = ca or said.ca or (Path(os.environ["TACIT_CA"]) if os.environ.get("TACIT_CA") else None)
    if certificate is None and key is None:
        certificate, key = said.certificate, said.key
    return connect(address, token=token, ca=ca, certificate=certificate, key=key)
