"""Write docs/CONFIGURATION.md from the models of the configuration.

python tools/write_configuration.py          rewrites the page
python tools/write_configuration.py --check  exits with 1 when the page and the models disagree
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tacit.runtime.config_errors import members, plain_type, toml_value
from tacit.runtime.config_models import ClientTls, CoordinatorConfig, ServerTls, SiteConfig, SparkConfig, Tokens
from tacit.runtime.config_sinks import SinkConfig
from tacit.runtime.config_tables import SOURCES, AnyTable
from tacit.runtime.config_types import Section
from tacit.runtime.secret import Secret

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "CONFIGURATION.md"
MARK = re.compile(r"(<!-- keys -->\n).*?(<!-- end -->)", re.DOTALL)
SECTIONS: tuple[tuple[str, type[Section]], ...] = (
    ("[coordinator]", CoordinatorConfig),
    ("[coordinator.tls]", ServerTls),
    ("[coordinator.tokens]", Tokens),
    ("[spark]", SparkConfig),
    ("[sites.NAME]", SiteConfig),
    ("[sites.NAME.tls]", ClientTls),
    ("[tables.NAME] and [sites.NAME.tables.NAME]", AnyTable),
    *(("[tables.NAME] and [sites.NAME.tables.NAME]", model) for model in SOURCES.values()),
    *(("[[sinks]]", model) for model in members(SinkConfig).values()),
)
TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path", Secret: "secret"}


def type_words(annotation: Any) -> str:
    """A type as people say it."""
    annotation = plain_type(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in TYPES:
        return TYPES[annotation]
    if origin is Literal:
        return " or ".join(f"`{toml_value(each)}`" for each in arguments)
    if origin is tuple:
        return f"list of {type_words(arguments[0])}s"
    if origin is not None and hasattr(origin, "keys"):
        return "section" if members(arguments[1]) else f"{{ name = {type_words(arguments[1])} }}"
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "section"
    return "value"


def default_words(field: FieldInfo) -> str:
    """What holds when the key is not there, or an example of what may stand there."""
    example = f"e.g. `{toml_value(field.examples[0])}`" if field.examples else ""
    if field.is_required():
        return f"**required**, {example}" if example else "**required**"
    if field.default is not PydanticUndefined and field.default not in (None, ()):
        return f"`{toml_value(field.default)}`"
    return f"none; {example}" if example else "none"


def _is_own(model: type[Section], key: str) -> bool:
    """What a table of any source has is listed once."""
    return model is AnyTable or not issubclass(model, AnyTable) or key in model.__annotations__


def section(title: str, model: type[Section]) -> str:
    """A heading, what the section is for, and a line per key."""
    intro = " ".join((model.__doc__ or "").split())
    lines = [f"### `{title}`".replace(" and ", "` and `"), "", intro, ""]
    kind = next((each for each in ("kind", "source") if each in model.model_fields), None)
    if kind is not None:
        lines[0] += f", {kind} `{get_args(model.model_fields[kind].annotation)[0]}`"
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    shown = [item for item in model.model_fields.items() if _is_own(model, item[0]) and item[0] != kind]
    for name, field in sorted(shown, key=lambda item: not item[1].is_required()):
        cells = (
            f"`{field.alias or name}`",
            type_words(field.annotation),
            default_words(field),
            field.description or "",
        )
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, "", ""])


def page_with_keys(page: str) -> str:
    """The page with its reference written afresh."""
    keys = "\n" + "".join(section(title, model) for title, model in SECTIONS)
    return MARK.sub(lambda found: found[1] + keys + found[2], page)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    written = page_with_keys(text)
    if "--check" in sys.argv:
        sys.exit(int(written != text))
    PAGE.write_text(written, encoding="utf-8")
