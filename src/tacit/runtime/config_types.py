"""What values of a configuration are made of: sections, paths beside the file, addresses, names, secrets, durations."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo

from tacit.language.durations import duration_us
from tacit.runtime.secret import Secret
from tacit.vocabulary.errors import OptionError

__all__ = [
    "Address",
    "BesidePath",
    "DataPath",
    "Duration",
    "Master",
    "Name",
    "Port",
    "Seconds",
    "SecretOption",
    "SecretValue",
    "Section",
    "Text",
    "host_and_port",
    "is_loopback",
]

_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|local-cluster\[\d+,\d+,\d+\]|(spark|k8s)://\S+|yarn")
_NAME = re.compile(r"\w[\w.-]{0,63}")


class Section(BaseModel):
    """A table of the file: fixed once read, and it knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, populate_by_name=False)


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of an address.

    >>> host_and_port("127.0.0.1:7070"), host_and_port("[::1]:7070")
    (('127.0.0.1', 7070), ('::1', 7070))
    """
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(address: str) -> bool:
    """Is this address one that only this machine can reach?

    >>> is_loopback("localhost:7070"), is_loopback("127.0.0.2:1"), is_loopback("0.0.0.0:7070")
    (True, True, False)
    """
    host = host_and_port(address)[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _folder(info: ValidationInfo) -> Path:
    return Path((info.context or {}).get("folder", ""))


def _beside(path: Path, info: ValidationInfo) -> Path:
    return _folder(info) / path.expanduser()


def _data_path(text: str, info: ValidationInfo) -> str:
    return text if "://" in text else str(_folder(info) / Path(text).expanduser())


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not colon or not host or bare or not port.isdecimal() or int(port) > 65535:
        raise ValueError("must be a host and a port, such as 127.0.0.1:7070")
    return text


def _duration(text: str) -> str:
    try:
        duration_us(text)
    except OptionError as error:
        raise ValueError(f"cannot be used: {error}") from None
    return text


def _master(text: str) -> str:
    if not _MASTER.fullmatch(text):
        raise ValueError("must be local[*], local[N] with a number of tasks, or a cluster such as spark://host:7077")
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be a name of letters, digits, _, - and ., at most 64, the first a letter or digit")
    return text


def _secret(value: Any, info: ValidationInfo) -> Secret:
    if not isinstance(value, str) or not value.strip():
        raise ValueError('must be a text: the secret itself, "file:path" or "env:NAME"')
    if value in ("file:", "env:"):
        raise ValueError(f'must say where the secret is after "{value}"')
    return Secret(value, _folder(info))


def _option(value: Any, info: ValidationInfo) -> Secret | int | float | bool:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return Secret(value, _folder(info))
    raise ValueError("must be a text, a number, true or false")


def _no_number(value: Any) -> Any:
    if isinstance(value, bool):  # to pydantic true is the number 1
        raise ValueError("must be a number")
    return value


Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, AfterValidator(_name)]
Address = Annotated[str, AfterValidator(_address)]
Port = Annotated[int, Field(ge=0, le=65535)]
BesidePath = Annotated[Path, AfterValidator(_beside)]
DataPath = Annotated[str, Field(min_length=1), AfterValidator(_data_path)]
Duration = Annotated[str, AfterValidator(_duration)]
Seconds = Annotated[float, BeforeValidator(_no_number), Field(gt=0, allow_inf_nan=False)]
Master = Annotated[str, AfterValidator(_master)]
SecretOption = Annotated[Secret | int | float | bool, PlainValidator(_option)]
SecretValue = Annotated[Secret, PlainValidator(_secret)]
