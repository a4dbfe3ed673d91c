"""Name mappings: they change the service, path and entity that name a destination.

They affect names of tables only; the stored items keep the notified names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.ngsi.naming.patterns import PatternError, compile_pattern
from penstock.datastore.ngsi.naming.table_names import NamingPlace
from penstock.datastore.unreadable_json import JSON_ERRORS, describe_unreadable

MAX_BYTES: Final = 256 * 1024
MAX_MAPPINGS: Final = 1000


class MappingStruct(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True,
    forbid_unknown_fields=True,
):  # fmt: skip
    """The base of the document's parts; unknown fields are errors."""


class AttributeMapping(MappingStruct, frozen=True, kw_only=True):
    """A mapping of an attribute; it is accepted and has no effect, as attributes name no table."""

    original_attribute_name: str | None = None
    original_attribute_type: str | None = None
    new_attribute_name: str | None = None
    new_attribute_type: str | None = None


class EntityMapping(MappingStruct, frozen=True, kw_only=True):
    """A mapping of an entity; `new_entity_type` contains no references to groups."""

    original_entity_id: str | None = None
    original_entity_type: str | None = None
    new_entity_id: str | None = None
    new_entity_type: str | None = None
    attribute_mappings: tuple[AttributeMapping, ...] = ()


class PathMapping(MappingStruct, frozen=True, kw_only=True):
    """A mapping of a service path, and the mappings of its entities."""

    original_service_path: str | None = None
    new_service_path: str | None = None
    entity_mappings: tuple[EntityMapping, ...] = ()


class ServiceMapping(MappingStruct, frozen=True, kw_only=True):
    """A mapping of a service, and the mappings of its paths."""

    original_service: str | None = None
    new_service: str | None = None
    service_path_mappings: tuple[PathMapping, ...] = ()


class NameMappings(MappingStruct, frozen=True, kw_only=True):
    """The document of name mappings: in each list, the first mapping that matches applies.

    A mapping without an original matches everything; one without a new name keeps the old name.
    """

    service_mappings: tuple[ServiceMapping, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapper:
    """Name mappings whose patterns are all valid."""

    mappings: NameMappings

    @classmethod
    def from_mappings(cls, mappings: NameMappings) -> "Mapper":
        """Check mappings and wrap them; raises Invalid with every problem."""
        if problems := list(_problems(mappings)):
            raise Invalid(problems)
        return cls(mappings)

    def map_place(self, place: NamingPlace) -> NamingPlace:
        """The place that names the destination instead of the notified place."""
        for service in self.mappings.service_mappings:
            if _original_matches(service.original_service, place.service):
                changed = _rename_text(service.original_service, service.new_service, place.service)
                return _map_path(service, place)._replace(service=changed)
        return place


def read_mappings(document: bytes) -> NameMappings:
    """Decode a document of name mappings; raises Invalid if it is malformed."""
    if len(document) > MAX_BYTES:
        raise Invalid([FieldProblem(["mappings"], f"are more than {MAX_BYTES} bytes")])
    try:
        return msgspec.json.decode(document, type=NameMappings)
    except JSON_ERRORS as error:
        words = f"are no name mappings: {describe_unreadable(error)}"
        raise Invalid([FieldProblem(["mappings"], words)]) from None


def _map_path(service: ServiceMapping, place: NamingPlace) -> NamingPlace:
    for path in service.service_path_mappings:
        if _original_matches(path.original_service_path, place.path):
            changed = _rename_text(path.original_service_path, path.new_service_path, place.path)
            return _map_entity(path, place)._replace(path=changed)
    return place


def _map_entity(path: PathMapping, place: NamingPlace) -> NamingPlace:
    for entity in path.entity_mappings:
        if _original_matches(entity.original_entity_id, place.entity_id) and _original_matches(
            entity.original_entity_type, place.entity_type
        ):
            changed = _rename_text(entity.original_entity_id, entity.new_entity_id, place.entity_id)
            return place._replace(
                entity_id=changed, entity_type=entity.new_entity_type or place.entity_type
            )
    return place


def _original_matches(original: str | None, text: str) -> bool:
    return original is None or compile_pattern(original).matches(text)


def _rename_text(original: str | None, new: str | None, text: str) -> str:
    if new is None:
        return text
    return new if original is None else compile_pattern(original).fill_replacement(text, new)


def _problems(mappings: NameMappings) -> Iterator[FieldProblem]:
    for count, (path, original, new) in enumerate(_patterns(mappings)):
        if count == MAX_MAPPINGS:
            yield FieldProblem(["mappings"], f"are more than {MAX_MAPPINGS}")
            return
        if message := _problem(original, new):
            yield FieldProblem(path, message)


def _patterns(mappings: NameMappings) -> Iterator[tuple[list[str], str | None, str | None]]:
    """Yield every pattern with its path in the document and its replacement."""
    for i, service in enumerate(mappings.service_mappings):
        at = ["serviceMappings", str(i)]
        yield [*at, "originalService"], service.original_service, service.new_service
        for j, path in enumerate(service.service_path_mappings):
            below = [*at, "servicePathMappings", str(j)]
            original, new = path.original_service_path, path.new_service_path
            yield [*below, "originalServicePath"], original, new
            for k, entity in enumerate(path.entity_mappings):
                deep = [*below, "entityMappings", str(k)]
                yield [*deep, "originalEntityId"], entity.original_entity_id, entity.new_entity_id
                yield [*deep, "originalEntityType"], entity.original_entity_type, None


def _problem(original: str | None, new: str | None) -> str | None:
    if original is None:
        return None
    try:
        pattern = compile_pattern(original)
    except PatternError as bad:
        return str(bad)
    missing = pattern.missing_reference(new or "")
    return f"has no group {missing}" if missing else None
