"""What pydantic finds wrong with a configuration, as one sentence: the file, the key, and what to do.

Values are quoted only where they are of a plain kind in a plain place: a secret never reaches a message.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from tacit.language.places import closest
from tacit.runtime.config_models import Config
from tacit.runtime.config_types import Section
from tacit.runtime.secret import Secret
from tacit.vocabulary.errors import OptionError

__all__ = ["explained", "members", "plain_type"]

# A misspelt key is likelier the cause of a missing one than the other way round.
ORDER = ("extra_forbidden", "union_tag_invalid", "union_tag_not_found", "missing")
KINDS = {
    "string": "a text in quotation marks", "float": "a number", "int": "a whole number", "bool": "true or false",
    "tuple": "a list in [ ]", "list": "a list in [ ]", "dict": "a section", "mapping": "a section",
    "model": "a section", "path": "a path in quotation marks",
}  # fmt: skip


@dataclass(slots=True)
class _Place:
    """Where an error is: the key as the user wrote it, and the model's own field."""

    path: list[str]
    owner: type[Section] | None = Config
    field: FieldInfo | None = None
    secret: bool = False
    kinds: Sequence[str] = ()

    @property
    def key(self) -> str:
        return ".".join(self.path)


def explained(file: Path, error: ValidationError, written: Mapping[str, Any]) -> OptionError:
    """The first thing to correct; ``written`` is the file as it is, before defaults were filled in."""
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda each: ORDER.index(each["type"]) if each["type"] in ORDER else len(ORDER))
    place = _place(first["loc"])
    if first["type"].startswith("union_tag"):
        place.path.append(first["ctx"]["discriminator"].strip("'"))
    message = _sentence(first, place)
    key = _as_written(place.path, written)
    return OptionError(f"{file}: {key} {message}" if key else f"{file} {message}")


def plain_type(annotation: Any) -> Any:
    """A type without Annotated and without None."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, types.UnionType):
            left = [each for each in get_args(annotation) if each is not type(None)]
            if len(left) != 1:
                return annotation
            annotation = left[0]
        else:
            return annotation


def members(annotation: Any) -> dict[str, type[Section]]:
    """The models of a union by what their kind or source says; empty for anything else."""
    annotation = plain_type(annotation)
    found: dict[str, type[Section]] = {}
    if get_origin(annotation) in (Union, types.UnionType):
        for model in get_args(annotation):
            for key in ("kind", "source"):
                if isinstance(model, type) and issubclass(model, Section) and key in model.model_fields:
                    found[get_args(model.model_fields[key].annotation)[0]] = model
    return found


def _place(loc: Sequence[str | int]) -> _Place:
    """Walks the models along pydantic's path, which also names the member of a union that was tried."""
    place = _Place([])
    now: Any = Config
    for step in loc:
        if step == "[key]":  # the name of a section is wrong, not what is in it
            continue
        now = plain_type(now)
        if members(now):
            now = members(now).get(str(step))
            place.owner = now
        elif isinstance(now, type) and issubclass(now, Section):
            place.owner = now
            place.path.append(str(step))
            place.field = next((each for name, each in now.model_fields.items() if (each.alias or name) == step), None)
            now = None if place.field is None else place.field.annotation
        elif get_origin(now) is not None and issubclass(get_origin(now), Mapping):
            place.path.append(str(step) if str(step).isidentifier() else json.dumps(step, ensure_ascii=False))
            now = get_args(now)[1]
        elif isinstance(step, int) and place.path:
            place.path[-1] += f"[{step}]"
            now = (*get_args(now), None)[0]
        place.secret = place.secret or plain_type(now) is Secret
    place.kinds = tuple(members(now))
    return place


def _as_written(path: list[str], written: Mapping[str, Any]) -> str:
    """The key where the user wrote it: what a site's table says may stand in the defaults of the table."""
    if len(path) >= 5 and path[0] == "sites" and path[2] == "tables":
        site = written.get("sites", {}).get(path[1], {})
        own = site.get("tables", {}).get(path[3], {})
        if path[4] not in own and path[4] in written.get("tables", {}).get(path[3], {}):
            return ".".join(path[2:])
    return ".".join(path)


def _sentence(error: Any, place: _Place) -> str:
    kind, context = error["type"], error.get("ctx", {})
    match kind:
        case "extra_forbidden":
            known = [] if place.owner is None else [each.alias or key for key, each in place.owner.model_fields.items()]
            meant = closest(place.path[-1], known)
            return f"is not a key; {f'did you mean {meant}?' if meant else 'this section has ' + ', '.join(known)}"
        case "missing":
            return f"is missing; add {_example(place)}"
        case "literal_error" | "union_tag_invalid":
            choices = context.get("expected") or context["expected_tags"]
            names = [each.strip(" '") for each in choices.replace(" or ", ",").split(",")]
            given = error["input"] if kind == "literal_error" else context["tag"]
            meant = closest(str(given), names)
            return f"must be {_listed(names)}, not {given}" + (f"; did you mean {meant}?" if meant else "")
        case "union_tag_not_found":
            return f"is missing; write {_listed([f'{place.path[-1]} = {toml_value(each)}' for each in place.kinds])}"
        case "value_error":
            return str(context["error"])
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            word = {"greater_than": "above", "greater_than_equal": "at least", "less_than": "below"}.get(
                kind, "at most"
            )
            bound = next(context[each] for each in ("gt", "ge", "lt", "le") if each in context)
            return f"must be {word} {bound:g}, not {error['input']:g}"
        case "string_too_short":
            return f"is empty; write {_example(place)}"
    for start, words in KINDS.items():
        if kind.startswith(start) and kind != "string_pattern_mismatch":
            return f"must be {words}{_given(error, place)}; write {_example(place)}"
    return f"cannot be what it is; write {_example(place)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" or " if len(names) > 1 else "") + names[-1]


def _given(error: Any, place: _Place) -> str:
    value = error["input"]
    plain = isinstance(value, (bool, int, float, str)) and not place.secret
    hidden = place.field is None or not place.field.repr
    return f", not {json.dumps(value, ensure_ascii=False)}" if plain and not hidden else ""


def _example(place: _Place) -> str:
    key, field = place.path[-1].split("[")[0] if place.path else "", place.field
    if field is None:
        return f"{key} = …"
    value = field.examples[0] if field.examples else field.default
    nested = plain_type(field.annotation)
    if (isinstance(nested, type) and issubclass(nested, Section)) or place.kinds or not (field.examples or value):
        return f"a section [{place.key}]"
    return f"{key} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value as it is written in the file.

    >>> toml_value(Path("state")), toml_value({"header": True}), toml_value(("a", 1.5))
    ('"state"', '{ header = true }', '["a", 1.5]')
    """
    if isinstance(value, Mapping):
        keys = (f"{k if k.replace('_', '').isalnum() else json.dumps(k)} = {toml_value(v)}" for k, v in value.items())
        return f"{{ {', '.join(keys)} }}" if value else "{}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(toml_value(each) for each in value)}]"
    if isinstance(value, bool | int | float):
        return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
    return json.dumps(str(value), ensure_ascii=False)
