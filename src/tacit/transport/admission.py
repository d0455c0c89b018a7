"""Who is let in: the metadata of a call says the version of the wire, the name and the token.

A refusal is one sentence, and says nothing that the caller does not know: neither which names exist nor how near a
token is.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote

import grpc

from tacit.transport.security import ServerSecurity
from tacit.wire.codec import VERSION

__all__ = ["ADMITTED", "RefusedError", "admit_client", "admit_site", "calling_card", "is_admitted"]

_PROTOCOL = "tacit-protocol"
_SITE = "tacit-site"
_TOKEN = "authorization"
_NAME_MAX = 1024

Metadata = Iterable[tuple[str, str | bytes]]

ADMITTED = ((_PROTOCOL, str(VERSION)),)
"""The first metadata of a stream that was let in; a refusal carries none."""


class RefusedError(Exception):
    """A call that is not let in: the code for the program, the sentence for the person."""

    def __init__(self, code: grpc.StatusCode, sentence: str) -> None:
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


def calling_card(*, token: str | None, site: str | None = None) -> tuple[tuple[str, str], ...]:
    """The metadata that a caller sends; a name travels in the letters that metadata can carry.

    >>> calling_card(token="t", site="Zürich")
    (('tacit-protocol', '4'), ('tacit-site', 'Z%C3%BCrich'), ('authorization', 'Bearer t'))
    """
    card = [(_PROTOCOL, str(VERSION))]
    if site is not None:
        card.append((_SITE, quote(site, safe="")))
    if token is not None:
        card.append((_TOKEN, f"Bearer {token}"))
    return tuple(card)


def is_admitted(metadata: Metadata | None) -> bool:
    """Do these words of a coordinator say that the caller is let in?

    >>> is_admitted(ADMITTED), is_admitted(())
    (True, False)
    """
    return _PROTOCOL in _said(metadata)


def admit_site(metadata: Metadata | None, security: ServerSecurity) -> str:
    """The name of the site that calls; a RefusedError when it is not let in."""
    said = _said(metadata)
    _check_version(said)
    site = unquote(said.get(_SITE, ""))
    if not site or len(site) > _NAME_MAX:
        raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, "a site must say its name")
    if security.has_tokens:
        token = _token(said)
        if not security.is_site(site, token):
            if security.client_of(token) is not None:
                raise RefusedError(
                    grpc.StatusCode.PERMISSION_DENIED, "this is a client's token: a site needs its own to link up"
                )
            raise _unproven(said, f"site {site!r}")
    return site


def admit_client(metadata: Metadata | None, security: ServerSecurity) -> str:
    """The name of the client that calls (empty where no tokens are asked for); a RefusedError when it is not let in."""
    said = _said(metadata)
    _check_version(said)
    if not security.has_tokens:
        return ""
    token = _token(said)
    client = security.client_of(token)
    if client is None:
        if security.site_of(token) is not None:
            raise RefusedError(
                grpc.StatusCode.PERMISSION_DENIED, "this is a site's token: a client needs one of its own to ask"
            )
        raise _unproven(said, "a client")
    return client


def _said(metadata: Metadata | None) -> dict[str, str]:
    return {key.lower(): value for key, value in metadata or () if isinstance(value, str)}


def _check_version(said: dict[str, str]) -> None:
    version = said.get(_PROTOCOL)
    if version != str(VERSION):
        theirs = f"version {version[:20]}" if version else "no version"
        raise RefusedError(
            grpc.StatusCode.FAILED_PRECONDITION,
            f"the caller speaks {theirs} of tacit's protocol and this coordinator speaks version {VERSION}; run the"
            " same release of tacit everywhere",
        )


def _token(said: dict[str, str]) -> str:
    scheme, _, token = said.get(_TOKEN, "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _unproven(said: dict[str, str], who: str) -> RefusedError:
    sentence = (
        f"the token that came with {who} is not one that this coordinator accepts for it; check the token file"
        if _token(said)
        else f"this coordinator asks for a token, and none came with {who}; give the token file that was made for it"
    )
    return RefusedError(grpc.StatusCode.UNAUTHENTICATED, sentence)
