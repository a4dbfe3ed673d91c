"""Readers of entities of NGSI-LD: normalized, concise and simplified attributes.

Names stay as they were sent: no `@context` is fetched, so none is expanded. An instance of an
attribute with a `datasetId` is an attribute of its own, so that no series mixes two sensors.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.datastore.ngsi.entities import (
    UnreadableEntity,
    build_update,
    check_depth,
    default_type,
    read_type,
    require_identifier,
    require_object,
)
from penstock.datastore.ngsi.events import EntityUpdate, Json, Metadata, NotifiedAttribute, Poison
from penstock.datastore.ngsi.linked_data.signs import ATTRIBUTE_TYPES, CONTEXT, last_word

VALUE_MEMBERS: Final[Mapping[str, str]] = {
    "value": "Property",
    "object": "Relationship",
    "languageMap": "LanguageProperty",
    "vocab": "VocabProperty",
    "json": "JsonProperty",
    "valueList": "ListProperty",
    "objectList": "ListRelationship",
}
"""The members that hold an attribute's value, and the type that each gives it."""

DATASET_SEPARATOR: Final = "@"
NO_DATASET: Final = "@none"
DELETED: Final = "urn:ngsi-ld:null"
"""The URI that stands for null in JSON-LD, where a null would be left out."""

_NO_ATTRIBUTES: Final = ("id", "type", CONTEXT)
_TIMES: Final = frozenset(("createdAt", "modifiedAt", "deletedAt", "expiresAt", "observedAt"))
_ENTITY_MEMBERS: Final = _TIMES | {"scope"}
_GEOMETRIES: Final = frozenset(
    ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon")
)


def read_linked_entity(entity: Json, *, simplified: bool) -> EntityUpdate | Poison:
    """Read an entity of NGSI-LD; the attributes of a `simplified` one are bare values."""
    try:
        found = require_object(entity, "The entity")
        listed = list(_read_attributes(check_depth(found, "The entity"), simplified))
        return build_update({"id": found.get("id"), "type": _join_types(found.get("type"))}, listed)
    except UnreadableEntity as problem:
        return Poison(str(problem), entity)


def _join_types(types: Json) -> Json:
    """The type of an entity; several types are joined in an order that does not vary."""
    if isinstance(types, list) and all(isinstance(each, str) for each in types):
        return ",".join(sorted(types))
    return types


def _read_attributes(entity: Mapping[str, Json], simplified: bool) -> Iterator[NotifiedAttribute]:
    for name, content in entity.items():
        if name in _NO_ATTRIBUTES:
            continue
        require_identifier(name, "An attribute's name")
        if name in _ENTITY_MEMBERS:
            yield NotifiedAttribute(name, _member_type(name, content), content)
        elif simplified:
            yield from _read_simplified(name, content)
        else:
            for each in _instances(content):
                yield _read_instance(name, each)


def _instances(content: Json) -> list[Json]:
    """The instances of an attribute: usually one; several are a list."""
    if isinstance(content, list) and content and all(map(_is_instance, content)):
        return content
    return [content]


def _is_instance(content: Json) -> bool:
    """Whether it is an attribute with members, and not a bare value."""
    return isinstance(content, dict) and (
        not content.keys().isdisjoint(VALUE_MEMBERS) or _attribute_type(content) is not None
    )


def _attribute_type(content: Mapping[str, Json]) -> str | None:
    """The type of NGSI-LD that an attribute names; None if it names none."""
    kind = content.get("type")
    return ATTRIBUTE_TYPES.get(last_word(kind)) if isinstance(kind, str) else None


def _read_simplified(name: str, content: Json) -> Iterator[NotifiedAttribute]:
    """Read a bare value; `{"dataset": {<datasetId>: <value>}}` has several."""
    if isinstance(content, dict) and len(content) == 1:
        ((member, inner),) = content.items()
        if member == "dataset" and isinstance(inner, dict):
            for dataset, value in inner.items():
                yield _read_bare(_name_with_dataset(name, dataset), value)
            return
        if member in VALUE_MEMBERS and member not in ("value", "object"):
            yield NotifiedAttribute(name, VALUE_MEMBERS[member], inner)
            return
    yield _read_bare(name, content)


def _read_bare(name: str, value: Json) -> NotifiedAttribute:
    return NotifiedAttribute(
        require_identifier(name, "An attribute's name"), _type_of_value(value), _plain_value(value)
    )


def _type_of_value(value: Json) -> str:
    is_geometry = (
        isinstance(value, dict)
        and "coordinates" in value
        and isinstance(kind := value.get("type"), str)
        and kind in _GEOMETRIES
    )
    return "GeoProperty" if is_geometry else "Property"


def _read_instance(name: str, content: Json) -> NotifiedAttribute:
    if not _is_instance(content):
        return _read_bare(name, content)
    named = _name_with_dataset(name, content.get("datasetId"))
    kind, value = _type_and_value(content)
    return NotifiedAttribute(
        require_identifier(named, "An attribute's name"),
        kind,
        _plain_value(value),
        tuple(_read_members("", content)),
    )


def _name_with_dataset(name: str, dataset: Json) -> str:
    if dataset is None or dataset == NO_DATASET:
        return name
    return name + DATASET_SEPARATOR + require_identifier(dataset, f"The datasetId of {name!r}")


def _type_and_value(content: Mapping[str, Json]) -> tuple[str, Json]:
    """The type and the value of an attribute; without a type, its members tell it."""
    member = _value_member(content)
    value = None if member is None else content[member]
    named = _attribute_type(content) or read_type(content.get("type"), "An attribute's type")
    if named is not None:
        return named, value
    return _type_of_value(value) if member in (None, "value") else VALUE_MEMBERS[member], value


def _value_member(content: Mapping[str, Json]) -> str | None:
    return next((each for each in VALUE_MEMBERS if each in content), None)


def _is_typed_value(value: Json) -> bool:
    """Whether a type of JSON-LD wraps it: `{"@type": "DateTime", "@value": "2021-07-16"}`."""
    return isinstance(value, dict) and value.keys() == {"@type", "@value"}


def _plain_value(value: Json) -> Json:
    plain = value["@value"] if _is_typed_value(value) else value
    return None if plain == DELETED else plain


def _read_members(before: str, content: Mapping[str, Json]) -> Iterator[Metadata]:
    """The members beside the value as metadata; those of a sub-attribute follow, after its name."""
    member = _value_member(content)
    if member is not None and _is_typed_value(content[member]):
        kind = content[member]["@type"]
        yield Metadata(f"{before}@type", default_type(kind), kind)
    for name, inner in content.items():
        if name in ("type", member, CONTEXT):
            continue
        named = require_identifier(before + name, "A metadata's name")
        if name in _TIMES or not _is_instance(inner):
            yield Metadata(named, _member_type(name, inner), inner)
        else:
            kind, value = _type_and_value(inner)
            yield Metadata(named, kind, _plain_value(value))
            yield from _read_members(f"{named}.", inner)


def _member_type(name: str, value: Json) -> str:
    return "DateTime" if name in _TIMES and isinstance(value, str) else default_type(value)
