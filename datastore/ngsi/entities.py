"""Readers of a notification's entities, in each form that NGSI defines."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from penstock.datastore.ngsi.events import NESTING, Attribute, Json, Metadata, Poison, Update
from penstock.datastore.text import character_problem

MAX_IDENTIFIER: Final = 256
MAX_ATTRIBUTES: Final = 500

_RESERVED: Final = ("id", "type")


class _Unreadable(Exception):
    """An entity breaks the format of NGSI; the message gives the reason."""


def entity_of(entity: Json, normalized: bool) -> Update | Poison:
    """Read an entity of NGSIv2: `{id, type, <attribute>: {type, value, metadata}}`.

    If it is not normalized, its attributes are bare values, and get the types that Orion
    assigns.
    """
    read = _normalized if normalized else _bare
    try:
        found = _object(entity, "The entity")
        attributes = [read(name, each) for name, each in found.items() if name not in _RESERVED]
        return _update(found, attributes)
    except _Unreadable as problem:
        return Poison(str(problem), entity)


def legacy_entity_of(response: Json) -> Update | Poison:
    """Read an entity of NGSIv1: a context response, whose status code is ignored."""
    try:
        found = _object(_object(response, "The response").get("contextElement"), "The element")
        listed = found.get("attributes")
        return _update(found, list(_legacy([] if listed is None else listed)))
    except _Unreadable as problem:
        return Poison(str(problem), response)


def _update(found: Mapping[str, Json], attributes: list[Attribute]) -> Update:
    if len(attributes) > MAX_ATTRIBUTES:
        raise _Unreadable(f"The entity has more than {MAX_ATTRIBUTES} attributes.")
    return Update(
        _identifier(found.get("id"), "The entity's id"),
        _type(found.get("type"), "The entity's type") or "",
        tuple(attributes),
    )


def _normalized(name: str, attribute: Json) -> Attribute:
    words = f"The attribute {name[:MAX_IDENTIFIER]!r}"
    found = _object(attribute, words)
    value = _value(found.get("value"), words)
    metadata = _object(found.get("metadata") or {}, f"The metadata of {name[:MAX_IDENTIFIER]!r}")
    return Attribute(
        _identifier(name, "An attribute's name"),
        _type(found.get("type"), f"{words}'s type") or _type_of(value),
        value,
        tuple(_metadata(each, content) for each, content in metadata.items()),
    )


def _bare(name: str, value: Json) -> Attribute:
    value = _value(value, f"The attribute {name[:MAX_IDENTIFIER]!r}")
    return Attribute(_identifier(name, "An attribute's name"), _type_of(value), value)


def _legacy(attributes: Json) -> Iterator[Attribute]:
    for attribute in _list(attributes, "The attributes"):
        found = _object(attribute, "An attribute")
        name = _identifier(found.get("name"), "An attribute's name")
        listed = found.get("metadatas") or []
        yield Attribute(
            name,
            _type(found.get("type"), f"The type of {name!r}") or "",
            _value(found.get("value"), f"The attribute {name!r}"),
            tuple(
                _metadata(_object(each, "A metadata").get("name"), each)
                for each in _list(listed, "The metadatas")
            ),
        )


def _metadata(name: Json, content: Json) -> Metadata:
    found = _object(content, "A metadata")
    value = _value(found.get("value"), "A metadata")
    return Metadata(
        _identifier(name, "A metadata's name"),
        _type(found.get("type"), "A metadata's type") or _type_of(value),
        value,
    )


def _object(found: Json, words: str) -> Mapping[str, Json]:
    if not isinstance(found, dict):
        raise _Unreadable(f"{words} is not an object.")
    return found


def _list(found: Json, words: str) -> list[Json]:
    if not isinstance(found, list):
        raise _Unreadable(f"{words} are not a list.")
    return found


def _identifier(text: Json, words: str) -> str:
    if not isinstance(text, str) or not text:
        raise _Unreadable(f"{words} is missing or not a text.")
    return _checked(text, words)


def _type(text: Json, words: str) -> str | None:
    """Check a type; None if there is none."""
    if text is not None and not isinstance(text, str):
        raise _Unreadable(f"{words} is not a text.")
    return _checked(text, words) if text else None


def _checked(text: str, words: str) -> str:
    if len(text) > MAX_IDENTIFIER:
        raise _Unreadable(f"{words} is longer than {MAX_IDENTIFIER} characters.")
    if problem := character_problem(text):
        raise _Unreadable(f"{words} {problem}.")
    return text


def _value(value: Json, words: str, level: int = 0) -> Json:
    """Return the value; raises _Unreadable if it is nested too deeply."""
    if level > NESTING:
        raise _Unreadable(f"{words} is nested more than {NESTING} levels deep.")
    if isinstance(value, dict):
        for each in value.values():
            _value(each, words, level + 1)
    elif isinstance(value, list):
        for each in value:
            _value(each, words, level + 1)
    return value


def _type_of(value: Json) -> str:
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
