"""Secrets of a configuration: written down, in a file, or in the environment; never shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tacit.vocabulary.errors import OptionError

__all__ = ["Secret"]


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A secret, or where it is: ``file:path`` or ``env:NAME``.

    It is read when it is needed, not when the configuration is: a machine has only the secrets of what it runs.

    >>> Secret("s3cret"), Secret("env:TACIT_TOKEN")
    (Secret(…), Secret(env:TACIT_TOKEN))
    """

    reference: str
    folder: Path = Path()

    def __repr__(self) -> str:
        kept_elsewhere = self.reference.startswith(("file:", "env:"))
        return f"Secret({self.reference if kept_elsewhere else '…'})"

    __str__ = __repr__

    def reveal(self) -> str:
        """The secret itself; OptionError when it is not where it should be."""
        kind, _, where = self.reference.partition(":")
        if kind == "env":
            return _checked(os.environ.get(where), f"the environment variable {where}", "set it")
        if kind == "file":
            path = self.folder / Path(where).expanduser()
            try:
                text = path.read_text(encoding="utf-8")
            except FileNotFoundError:
                text = None
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is not a text"
                raise OptionError(f"the secret in {path} cannot be read: {reason}") from None
            return _checked(text, f"the file {path}", "write the secret into it")
        return self.reference


def _checked(text: str | None, where: str, remedy: str) -> str:
    if text is None or not text.strip():
        state = "does not exist" if text is None else "is empty"
        raise OptionError(f"{where} {state}, and a secret of the configuration is to be there; {remedy}")
    return text.strip()
