"""Notifications as brokers of NGSIv1, NGSIv2 and NGSI-LD send them, read into updates."""

import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import uuid4

from penstock.datastore.errors import BadArgument, LimitExceeded
from penstock.datastore.ngsi.entities import MAX_IDENTIFIER, read_entity, read_legacy_entity
from penstock.datastore.ngsi.events import (
    MAX_KEPT_NESTING,
    EntityUpdate,
    Json,
    Poison,
    identity_digest,
    is_nested_deeper,
    read_json,
)
from penstock.datastore.ngsi.linked_data.entities import read_linked_entity
from penstock.datastore.ngsi.linked_data.signs import (
    FORMAT_HEADER,
    is_linked_entity,
    is_linked_envelope,
    is_linked_heading,
)
from penstock.datastore.ngsi.linked_data.tenants import SERVICE_HEADER, Tenants, tenant_service
from penstock.datastore.roles import GroupPath
from penstock.datastore.text import LONGEST_NAME, comparison_form, normalisation_problem
from penstock.datastore.unreadable_json import JSON_ERRORS, describe_unreadable

MAX_SERVICE: Final = 50
MAX_LEVELS: Final = 10
MAX_ENTITIES: Final = 1000
MAX_PATHS: Final = 40
"""The largest number of different service paths in a notification."""
TIME_INDEX_HEADER: Final = "fiware-timeindex-attribute"

CUSTOM_FORMAT: Final = "custom"
"""The value of `Ngsiv2-AttrsFormat` under which Orion sends what a template says."""

_SIMPLIFIED: Final = ("simplified", "keyvalues")
_NAME: Final = rf"(?!\.+(?:/|\Z))[A-Za-z0-9_.-]{{1,{MAX_SERVICE}}}"
"""The name of a service or a level: dots alone mean another level where such names are paths."""
_SERVICE = re.compile(_NAME)
_PATH = re.compile(rf"/|(/{_NAME}){{1,{MAX_LEVELS}}}")


class Format(StrEnum):
    """The form of the attributes in a body: the values of `Ngsiv2-AttrsFormat`."""

    LEGACY = "legacy"
    NORMALIZED = "normalized"
    KEY_VALUES = "keyValues"
    SIMPLIFIED_NORMALIZED = "simplifiedNormalized"
    SIMPLIFIED_KEY_VALUES = "simplifiedKeyValues"


@dataclass(frozen=True, slots=True)
class NotificationDefaults:
    """The service and the service path of a notification without FIWARE headers.

    `tenants` says which service a tenant of NGSI-LD has.
    """

    service: str = "default"
    path: str = "/"
    tenants: Tenants = Tenants.APART


@dataclass(frozen=True, slots=True)
class NotificationHeaders:
    """The headers of a notification; `format` is None if the body decides.

    `correlator` is the sender's id of the transaction, None without one. A `linked` notification is
    NGSI-LD; the attributes of a `simplified` one are bare values. `time_index` names the attribute
    or metadata with the time of the events, and is empty if the sender names none.
    """

    service: str
    paths: tuple[str, ...]
    format: Format | None = None
    correlator: str | None = None
    linked: bool = False
    simplified: bool = False
    time_index: str = ""

    @property
    def reading(self) -> tuple[str, ...]:
        """The reading of the body that the headers demand: another one gives other samples."""
        return (self.format or "", str(self.linked), str(self.simplified), self.time_index)


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification that was read; each of `entries` has its service path.

    `identity` is unique to the notification. With a correlator it is the same whenever the
    notification is sent again: then `repeatable` is true. Without one, it differs each time.
    """

    service: str
    identity: str
    repeatable: bool
    entries: tuple[tuple[str, EntityUpdate | Poison], ...]
    time_index: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The service paths of the notification, each once."""
        return tuple(dict.fromkeys(path for path, _ in self.entries))

    @property
    def samples(self) -> int:
        """The samples of all entities, and one more for each entity."""
        updates = (each for _, each in self.entries if isinstance(each, EntityUpdate))
        return len(self.entries) + sum(len(each.attributes) for each in updates)


def read_headers(headers: Mapping[str, str], defaults: NotificationDefaults) -> NotificationHeaders:
    """Read the headers of a broker; their names must be in lower case. Raises BadArgument.

    Several service paths are separated by commas, with or without spaces.
    """
    service = tenant_service(headers, defaults.tenants)
    given = headers.get("fiware-servicepath") or defaults.path
    return NotificationHeaders(
        service or check_service(headers.get(SERVICE_HEADER) or defaults.service),
        split_paths(given),
        read_format(headers.get("ngsiv2-attrsformat")),
        headers.get("fiware-correlator") or None,
        is_linked_heading(headers),
        headers.get(FORMAT_HEADER, "").strip().lower() in _SIMPLIFIED,
        headers.get(TIME_INDEX_HEADER, "").strip()[:MAX_IDENTIFIER],
    )


def split_paths(header: str) -> tuple[str, ...]:
    """Return the service paths of a header; raises BadArgument if one is not valid.

    Each text is checked once, because a header holds thousands of them, and nobody paid for it.
    Raises LimitExceeded for more than a notification has.
    """
    parts = [part.strip() for part in header.split(",", MAX_ENTITIES)]
    if len(parts) > MAX_ENTITIES:
        raise LimitExceeded("service paths of a notification", MAX_ENTITIES, len(parts))
    different = set(parts)
    if len(different) > MAX_PATHS:
        raise LimitExceeded("service paths of a notification", MAX_PATHS, len(different))
    paths = {part: check_path(part) for part in different}
    return tuple(paths[part] for part in parts)


def group_of(service: str, path: str) -> GroupPath:
    """The group of a service path; the group of the path `/` is that of the service.

    The group need not exist: roles in the groups above it apply. Raises BadArgument for a text that
    no service has, whose normal form may take very long.
    """
    if problem := normalisation_problem(service, LONGEST_NAME):
        raise BadArgument(f"The service {problem}.")
    return GroupPath(comparison_form(f"/{service}{path}".rstrip("/")))


def check_service(service: str) -> str:
    """Return the name that a `Fiware-Service` may have; raises BadArgument if it is not valid."""
    if not _SERVICE.fullmatch(service):
        raise BadArgument(
            f"A Fiware-Service has 1 to {MAX_SERVICE} letters, digits, '_', '-' and '.', "
            "and is not dots alone."
        )
    return service


def check_path(path: str) -> str:
    """Return the service path without a final slash; raises BadArgument if it is not valid."""
    trimmed = path[:-1] if len(path) > 2 and path.endswith("/") else path
    if not _PATH.fullmatch(trimmed):
        raise BadArgument(
            f"A Fiware-ServicePath has up to {MAX_LEVELS} levels, each a '/' and 1 to "
            f"{MAX_SERVICE} letters, digits, '_', '-' and '.', and none is dots alone."
        )
    return trimmed


def read_notification(heading: NotificationHeaders, body: bytes) -> Notification:
    """Read the body; raises BadArgument, LimitExceeded if it holds too much.

    An unreadable entity becomes Poison and does not affect the other entities.
    """
    text = body.removeprefix(codecs.BOM_UTF8)
    if not text.strip():
        raise BadArgument("The notification has no body.")
    try:
        found = read_json(text)
    except JSON_ERRORS as error:
        words = describe_unreadable(error, "the whole body")
        raise BadArgument(f"The body cannot be read: {words}.") from None
    if not isinstance(found, dict):
        raise BadArgument("The body is not a JSON object.")
    content = _read_content(found, heading)
    entities, correlator = content.entities, heading.correlator or content.id
    if len(entities) > MAX_ENTITIES:
        raise LimitExceeded("entities of a notification", MAX_ENTITIES, len(entities))
    paths = _path_of_each_entity(heading.paths, len(entities))
    named = (heading.service, *heading.paths, content.subscription, correlator or str(uuid4()))
    entries = [*map(content.read, entities)]
    _check_nesting(entries)
    return Notification(
        heading.service,
        identity_digest(*named, *heading.reading, sha256(body).hexdigest()),
        correlator is not None,
        tuple(zip(paths, entries, strict=True)),
        heading.time_index,
    )


def read_any_entity(entity: Json) -> EntityUpdate | Poison:
    """Read an entity whose form is unknown, and detect the form from its content."""
    if isinstance(entity, dict) and "contextElement" in entity:
        return read_legacy_entity(entity)
    return _read_detected(entity, None)


def read_format(header: str | None) -> Format | None:
    """Read `Ngsiv2-AttrsFormat`; None if the body decides. Raises BadArgument."""
    if header is None or header.strip() == CUSTOM_FORMAT:
        return None
    try:
        return Format(header.strip())
    except ValueError:
        allowed = ", ".join((*Format, CUSTOM_FORMAT))
        raise BadArgument(f"Ngsiv2-AttrsFormat {header[:50]!r} is none of {allowed}.") from None


@dataclass(frozen=True, slots=True)
class _Content:
    """The entities of a body as they were sent, and how to read each.

    `id` is the notification's own, which brokers of NGSI-LD give to each anew.
    """

    subscription: str
    entities: Sequence[Json]
    read: Callable[[Json], EntityUpdate | Poison]
    id: str | None = None


def _read_content(found: dict[str, Json], heading: NotificationHeaders) -> _Content:
    """Find the entities of the body, in the form that the headers name or the body shows."""
    form = heading.format
    subscription = found.get("subscriptionId", "")
    if not isinstance(subscription, str):
        raise BadArgument("`subscriptionId` is not a text.")
    simple = form in (Format.SIMPLIFIED_NORMALIZED, Format.SIMPLIFIED_KEY_VALUES)
    listed = isinstance(found.get("data"), list)
    if not simple and is_linked_envelope(found) and (listed or "subscriptionId" in found):
        return _read_linked_content(found, heading, subscription)
    if form is Format.LEGACY or (form is None and "contextResponses" in found):
        responses = _require_entities(found, "contextResponses")
        return _Content(subscription, responses, read_legacy_entity)
    read = partial(read_linked_entity, simplified=heading.simplified)
    if not heading.linked:
        read = partial(_read_detected, form=form)
    if simple or (form is None and "id" in found and not listed):
        # A bare entity has no envelope, so its `subscriptionId` is an ordinary attribute.
        return _Content("", [found], read)
    return _Content(subscription, _require_entities(found, "data"), read)


def _read_linked_content(
    found: dict[str, Json], heading: NotificationHeaders, subscription: str
) -> _Content:
    simplified = heading.simplified or heading.format is Format.KEY_VALUES
    read = partial(read_linked_entity, simplified=simplified)
    given = found.get("id")
    id = given if isinstance(given, str) else None
    return _Content(subscription, _require_entities(found, "data"), read, id)


def _read_detected(entity: Json, form: Format | None) -> EntityUpdate | Poison:
    """Read an entity of NGSIv2, or of NGSI-LD if a sign shows that."""
    bare = form in (Format.KEY_VALUES, Format.SIMPLIFIED_KEY_VALUES)
    if is_linked_entity(entity, bare=bare, declared=form is not None):
        return read_linked_entity(entity, simplified=bare)
    return read_entity(entity, _is_normalized(entity, form))


def _require_entities(found: dict[str, Json], name: str) -> Sequence[Json]:
    entities = found.get(name)
    if not isinstance(entities, list) or not entities:
        raise BadArgument(f"`{name}` is not a list of at least one entity.")
    return entities


def _is_normalized(entity: Json, form: Format | None) -> bool:
    """Whether attributes are objects with a value; detected if the header names no form."""
    if form is not None:
        return form in (Format.NORMALIZED, Format.SIMPLIFIED_NORMALIZED)
    if not isinstance(entity, dict):
        return True
    attributes = [value for name, value in entity.items() if name not in ("id", "type")]
    return all(isinstance(value, dict) and "value" in value for value in attributes)


def _check_nesting(entries: Iterable[EntityUpdate | Poison]) -> None:
    """Refuse what a dead letter could not show; an entity that can be read is not so deep."""
    for entry in entries:
        if isinstance(entry, Poison) and is_nested_deeper(entry.payload, MAX_KEPT_NESTING):
            raise BadArgument("The body cannot be read: it is nested too deep.")


def _path_of_each_entity(paths: tuple[str, ...], entities: int) -> tuple[str, ...]:
    if len(paths) == 1:
        return paths * entities
    if len(paths) != entities:
        raise BadArgument(f"There are {len(paths)} service paths for {entities} entities.")
    return paths
