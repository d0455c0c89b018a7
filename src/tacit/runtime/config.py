"""Reads a configuration file. What may stand in it: docs/CONFIGURATION.md."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tacit.language.places import closest
from tacit.runtime.config_errors import explained
from tacit.runtime.config_models import Config
from tacit.runtime.config_tables import SOURCES, merged_table
from tacit.vocabulary.errors import OptionError

__all__ = ["Config", "load_config"]


def load_config(path: str | Path) -> Config:
    """The configuration of a file; paths in it are relative to the file. OptionError says what is wrong, and where."""
    path = Path(path)
    written = _toml(path)
    raw = dict(written)
    defaults = _table(path, raw, "tables")
    for name, table in defaults.items():
        _check_default(path, name, table)
    coordinator = _table(path, raw, "coordinator")
    raw["coordinator"] = coordinator
    raw["sites"] = {
        name: _filled(path, name, site, defaults, coordinator) for name, site in _table(path, raw, "sites").items()
    }
    try:
        return Config.model_validate(raw, context={"folder": path.resolve().parent})
    except ValidationError as error:
        raise explained(path, error, written) from None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise OptionError(f"there is no configuration {path}; tacit init FOLDER writes one") from None
    except IsADirectoryError:
        raise OptionError(f"{path} is a folder; name the configuration file in it") from None
    except OSError as error:
        raise OptionError(f"the configuration {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"the configuration {path} is not a text in UTF-8; save it as one") from None
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        raise OptionError(f"{path} is not TOML: {reason[:1].lower()}{reason[1:]}; correct that line") from None


def _table(path: Path, raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = raw.get(key, {})
    if not isinstance(found, dict):
        raise OptionError(f"{path}: {key} must be a section; write [{key}] on a line of its own")
    return dict(found)


def _check_default(path: Path, name: str, table: Any) -> None:
    """The defaults of a table may be incomplete, but every key must be one that a table can have."""
    if not isinstance(table, dict):
        raise OptionError(f"{path}: tables.{name} must be a section; write [tables.{name}] on a line of its own")
    source = table.get("source")
    models = [SOURCES[source]] if isinstance(source, str) and source in SOURCES else list(SOURCES.values())
    known = {field.alias or key for model in models for key, field in model.model_fields.items()}
    for key in table:
        if key not in known:
            meant = closest(key, sorted(known))
            hint = f"did you mean {meant}?" if meant else f"a table has {', '.join(sorted(known))}"
            raise OptionError(f"{path}: tables.{name}.{key} is not a key of a table; {hint}")


def _filled(path: Path, name: str, site: Any, defaults: Mapping[str, Any], coordinator: Mapping[str, Any]) -> Any:
    """A site with the defaults that depend on the rest of the file, and with its own name where {site} stands."""
    if not isinstance(site, dict):
        return site  # the model says what is wrong
    own = site.get("tables", {})
    if not isinstance(own, dict):
        raise OptionError(f"{path}: sites.{name}.tables must be a section; write [sites.{name}.tables.NAME]")
    tables: dict[str, Any] = {}
    for table in [*defaults, *(each for each in own if each not in defaults)]:
        said = own.get(table, {})
        if said is not False:
            tables[table] = merged_table(defaults.get(table, {}), said) if isinstance(said, dict) else said
    filled = {"state": f"state/{name}", **site, "tables": tables}
    if isinstance(listen := coordinator.get("listen"), str):
        # Who listens everywhere is reached from this machine by loopback; from elsewhere the site has to say where.
        host, colon, port = listen.rpartition(":")
        everywhere = host in ("0.0.0.0", "[::]")
        filled.setdefault("coordinator", f"127.0.0.1{colon}{port}" if everywhere else listen)
    return _named(filled, name)


def _named(value: Any, site: str) -> Any:
    if isinstance(value, str):
        return value.replace("{site}", site)
    if isinstance(value, dict):
        return {key: _named(each, site) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, site) for each in value]
    return value
