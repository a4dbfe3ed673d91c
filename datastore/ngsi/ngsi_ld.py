"""The signs of NGSI-LD, which is refused: read as NGSIv2, its values would be wrong or lost.

A sign is something that no sender of NGSIv1 or NGSIv2 writes. Attributes may have the type
`Property` in NGSIv2 too: Orion-LD converts notifications to NGSIv2 where a subscription wants that.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from penstock.datastore.errors import UnreadFormat
from penstock.datastore.ngsi.events import Json

MEDIA_TYPE: Final = "application/ld+json"
CONTEXT_RELATION: Final = "http://www.w3.org/ns/json-ld#context"
HEADER_PREFIX: Final = "ngsild-"
ATTRIBUTE_TYPES: Final = frozenset(
    (
        "property",
        "relationship",
        "geoproperty",
        "languageproperty",
        "vocabproperty",
        "jsonproperty",
        "listproperty",
        "listrelationship",
    )
)
"""The types in lower case, since a sender may spell them in any case."""

_MEMBERS_BESIDE_VALUE: Final = frozenset(("datasetId", "observedAt", "unitCode"))
_URI_SCHEMES = ("urn:", "http://", "https://")


def check_header_fields(headers: Mapping[str, str]) -> None:
    """Raise UnreadFormat if a header field, whose name is in lower case, belongs to NGSI-LD."""
    for name, value in headers.items():
        if name.startswith(HEADER_PREFIX):
            raise _refusal(f"it has the header {name}")
        if name == "content-type" and MEDIA_TYPE in value.lower():
            raise _refusal(f"its Content-Type names {MEDIA_TYPE}")
        if name == "link" and CONTEXT_RELATION in value.lower():
            raise _refusal("its Link names a JSON-LD context")


def check_envelope(body: Mapping[str, Json]) -> None:
    """Raise UnreadFormat if the object around the entities is a notification of NGSI-LD."""
    kind = body.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if any(isinstance(one, str) and _last_word(one) == "notification" for one in kinds):
        raise _refusal("its `type` is Notification")
    if "@context" in body:
        raise _refusal("it has an `@context`")


def check_entities(entities: Sequence[Json], *, bare: bool, declared: bool) -> None:
    """Raise UnreadFormat if an entity is one of NGSI-LD.

    The attributes of `bare` entities are values without types. If a header has `declared` NGSIv2,
    types alone say nothing.
    """
    for entity in entities:
        if not isinstance(entity, dict):
            continue
        if "@context" in entity and _is_context(entity["@context"]):
            raise _refusal("an entity has an `@context`")
        if bare:
            continue
        attributes = [value for name, value in entity.items() if name not in ("id", "type")]
        if any(map(_has_foreign_member, attributes)):
            raise _refusal("an attribute has members that NGSIv2 does not have")
        if _is_uri(entity.get("id")) and any(map(_is_concise_attribute, attributes)):
            raise _refusal("an attribute has members beside its value, and no type")
        looks_alike = attributes and all(map(_is_typed_attribute, attributes))
        if looks_alike and not declared and _is_uri(entity.get("id")):
            raise _refusal("all attributes have types of NGSI-LD and none has metadata")


def _refusal(sign: str) -> UnreadFormat:
    return UnreadFormat(
        f"The notification is NGSI-LD, which this server does not read: {sign}. Nothing was "
        "stored. Subscribe with NGSIv2: `POST /v2/subscriptions` at the broker."
    )


def _last_word(name: str) -> str:
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
        and _last_word(kind) in ATTRIBUTE_TYPES
    )


def _is_concise_attribute(attribute: Json) -> bool:
    """Whether it is an attribute of the concise form, which has no type, or a list of them.

    A value of NGSIv2 may have the same members, but not beside a URI as the entity's id.
    """
    if isinstance(attribute, list):
        return bool(attribute) and all(map(_is_concise_attribute, attribute))
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
