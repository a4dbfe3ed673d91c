"""Readers of a notification's entities, in each form that NGSI defines."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from penstock.datastore.ngsi.events import (
    MAX_NESTING,
    EntityUpdate,
    Json,
    Metadata,
    NotifiedAttribute,
    Poison,
)
from penstock.datastore.text import character_problem

MAX_IDENTIFIER: Final = 256
MAX_ATTRIBUTES: Final = 500

_RESERVED: Final = ("id", "type")


class UnreadableEntity(Exception):
    """An entity breaks the format of NGSI; the message gives the reason."""


def read_entity(entity: Json, normalized: bool) -> EntityUpdate | Poison:
    """Read an entity of NGSIv2: `{id, type, <attribute>: {type, value, metadata}}`.

    If it is not normalized, its attributes are bare values, and get the types that Orion
    assigns.
    """
    read = _read_normalized if normalized else _read_bare
    try:
        found = require_object(entity, "The entity")
        attributes = [read(name, each) for name, each in found.items() if name not in _RESERVED]
        return build_update(found, attributes)
    except UnreadableEntity as problem:
        return Poison(str(problem), entity)


def read_legacy_entity(response: Json) -> EntityUpdate | Poison:
    """Read an entity of NGSIv1: a context response, whose status code is ignored."""
    try:
        found = require_object(
            require_object(response, "The response").get("contextElement"), "The element"
        )
        listed = found.get("attributes")
        return build_update(found, list(_read_legacy([] if listed is None else listed)))
    except UnreadableEntity as problem:
        return Poison(str(problem), response)


def build_update(found: Mapping[str, Json], attributes: list[NotifiedAttribute]) -> EntityUpdate:
    if len(attributes) > MAX_ATTRIBUTES:
        raise UnreadableEntity(f"The entity has more than {MAX_ATTRIBUTES} attributes.")
    return EntityUpdate(
        require_identifier(found.get("id"), "The entity's id"),
        read_type(found.get("type"), "The entity's type") or "",
        tuple(attributes),
    )


def _read_normalized(name: str, attribute: Json) -> NotifiedAttribute:
    words = f"The attribute {name[:MAX_IDENTIFIER]!r}"
    found = require_object(attribute, words)
    value = check_depth(found.get("value"), words)
    metadata = require_object(
        found.get("metadata") or {}, f"The metadata of {name[:MAX_IDENTIFIER]!r}"
    )
    return NotifiedAttribute(
        require_identifier(name, "An attribute's name"),
        read_type(found.get("type"), f"{words}'s type") or default_type(value),
        value,
        tuple(_read_metadata(each, content) for each, content in metadata.items()),
    )


def _read_bare(name: str, value: Json) -> NotifiedAttribute:
    value = check_depth(value, f"The attribute {name[:MAX_IDENTIFIER]!r}")
    return NotifiedAttribute(
        require_identifier(name, "An attribute's name"), default_type(value), value
    )


def _read_legacy(attributes: Json) -> Iterator[NotifiedAttribute]:
    for attribute in _require_list(attributes, "The attributes"):
        found = require_object(attribute, "An attribute")
        name = require_identifier(found.get("name"), "An attribute's name")
        listed = found.get("metadatas") or []
        yield NotifiedAttribute(
            name,
            read_type(found.get("type"), f"The type of {name!r}") or "",
            check_depth(found.get("value"), f"The attribute {name!r}"),
            tuple(
                _read_metadata(require_object(each, "A metadata").get("name"), each)
                for each in _require_list(listed, "The metadatas")
            ),
        )


def _read_metadata(name: Json, content: Json) -> Metadata:
    found = require_object(content, "A metadata")
    value = check_depth(found.get("value"), "A metadata")
    return Metadata(
        require_identifier(name, "A metadata's name"),
        read_type(found.get("type"), "A metadata's type") or default_type(value),
        value,
    )


def require_object(found: Json, words: str) -> Mapping[str, Json]:
    if not isinstance(found, dict):
        raise UnreadableEntity(f"{words} is not an object.")
    return found


def _require_list(found: Json, words: str) -> list[Json]:
    if not isinstance(found, list):
        raise UnreadableEntity(f"{words} are not a list.")
    return found


def require_identifier(text: Json, words: str) -> str:
    if not isinstance(text, str) or not text:
        raise UnreadableEntity(f"{words} is missing or not a text.")
    return _check_text(text, words)


def read_type(text: Json, words: str) -> str | None:
    """Check a type; None if there is none."""
    if text is not None and not isinstance(text, str):
        raise UnreadableEntity(f"{words} is not a text.")
    return _check_text(text, words) if text else None


def _check_text(text: str, words: str) -> str:
    if len(text) > MAX_IDENTIFIER:
        raise UnreadableEntity(f"{words} is longer than {MAX_IDENTIFIER} characters.")
    if problem := character_problem(text):
        raise UnreadableEntity(f"{words} {problem}.")
    return text


def check_depth(value: Json, words: str, level: int = 0) -> Json:
    """Return the value; raises UnreadableEntity if it is nested too deeply."""
    if level > MAX_NESTING:
        raise UnreadableEntity(f"{words} is nested more than {MAX_NESTING} levels deep.")
    if isinstance(value, dict):
        for each in value.values():
            check_depth(each, words, level + 1)
    elif isinstance(value, list):
        for each in value:
            check_depth(each, words, level + 1)
    return value


def default_type(value: Json) -> str:
    """The type that Orion assigns to a value without a type."""
    match value:
        case None:
            return "None"
        case bool():
            return "Boolean"
        case str():
            return "Text"
        case int() | msgspec.Raw():
            return "Number"
        case _:
            return "StructuredValue"
