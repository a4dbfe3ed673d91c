"""The signs by which NGSI-LD is told from NGSIv1 and NGSIv2, whatever the `Content-Type` says.

A sign is something that no sender of NGSIv1 or NGSIv2 writes. Attributes may have the type
`Property` in NGSIv2 too: Orion-LD converts notifications to NGSIv2 where a subscription wants that.
"""

import re
from collections.abc import Mapping
from typing import Final

from penstock.datastore.ngsi.events import Json

MEDIA_TYPE: Final = "application/ld+json"
CONTEXT_RELATION: Final = "http://www.w3.org/ns/json-ld#context"
FORMAT_HEADER: Final = "ngsild-attribute-format"
CONTEXT: Final = "@context"

ATTRIBUTE_TYPES: Final[Mapping[str, str]] = {
    kind.lower(): kind
    for kind in (
        "Property",
        "Relationship",
        "GeoProperty",
        "LanguageProperty",
        "VocabProperty",
        "JsonProperty",
        "ListProperty",
        "ListRelationship",
    )
}
"""The types of attributes by their names in lower case, since a sender may use any case."""

_MEMBERS_BESIDE_VALUE: Final = frozenset(("datasetId", "observedAt", "unitCode"))
_URI_SCHEMES = ("urn:", "http://", "https://")


def is_linked_heading(headers: Mapping[str, str]) -> bool:
    """Whether a header field, whose name is in lower case, says that the body is NGSI-LD."""
    return any(
        name == FORMAT_HEADER
        or (name == "content-type" and MEDIA_TYPE in value.lower())
        or (name == "link" and CONTEXT_RELATION in value.lower())
        for name, value in headers.items()
    )


def is_linked_envelope(body: Mapping[str, Json]) -> bool:
    """Whether the object around the entities is a notification of NGSI-LD."""
    kind = body.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    return CONTEXT in body or any(
        isinstance(one, str) and last_word(one) == "notification" for one in kinds
    )


def is_linked_entity(entity: Json, *, bare: bool, declared: bool) -> bool:
    """Whether an entity without such an envelope is one of NGSI-LD.

    The attributes of a `bare` entity are values without types. If a header has `declared` NGSIv2,
    types alone say nothing.
    """
    if not isinstance(entity, dict):
        return False
    if CONTEXT in entity and _is_context(entity[CONTEXT]):
        return True
    if bare:
        return False
    attributes = [value for name, value in entity.items() if name not in ("id", "type")]
    if any(map(_has_foreign_member, attributes)):
        return True
    if not _is_uri(entity.get("id")):
        return False
    looks_alike = attributes and all(map(_is_typed_attribute, attributes))
    return any(map(_is_concise_attribute, attributes)) or bool(looks_alike and not declared)


def last_word(name: str) -> str:
    """The name without the URI or the prefix before it, in lower case."""
    return re.split("[/:#]", name)[-1].lower()


def _is_context(value: Json) -> bool:
    """Whether it is a JSON-LD context, and not an attribute of NGSIv2 with this name."""
    if isinstance(value, dict):
        return "value" not in value
    return isinstance(value, list) or (isinstance(value, str) and value.startswith(_URI_SCHEMES))


def _is_uri(id: Json) -> bool:
    return isinstance(id, str) and id.startswith(_URI_SCHEMES)


def _is_typed_attribute(attribute: Json) -> bool:
    """Whether the attribute has a type of NGSI-LD, and no `metadata` as Orion always writes it."""
    return (
        isinstance(attribute, dict)
        and "metadata" not in attribute
        and isinstance(kind := attribute.get("type"), str)
        and last_word(kind) in ATTRIBUTE_TYPES
    )


def _is_concise_attribute(attribute: Json) -> bool:
    """Whether it is an attribute of the concise form, which has no type, or a list of them.

    A value of NGSIv2 may have the same members, but not beside a URI as the entity's id.
    """
    if isinstance(attribute, list):
        return bool(attribute) and all(map(_is_concise_instance, attribute))
    return _is_concise_instance(attribute)


def _is_concise_instance(attribute: Json) -> bool:
    return (
        isinstance(attribute, dict)
        and "value" in attribute
        and attribute.keys().isdisjoint(("type", "metadata"))
        and not attribute.keys().isdisjoint(_MEMBERS_BESIDE_VALUE)
    )


def _has_foreign_member(attribute: Json) -> bool:
    """Whether it is an attribute of NGSI-LD with more than a type and a value, or a list of them.

    Members such as `object` and `observedAt` stand beside the value there; NGSIv2 has metadata.
    """
    if isinstance(attribute, list):
        return bool(attribute) and all(map(_is_typed_attribute, attribute))
    return _is_typed_attribute(attribute) and not attribute.keys() <= {"type", "value"}
