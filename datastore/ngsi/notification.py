"""Notifications as Orion sends them: headers and body, read into updates."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final
from uuid import uuid4

import msgspec

from penstock.datastore.errors import BadArgument, LimitExceeded
from penstock.datastore.ngsi.entities import read_entity, read_legacy_entity
from penstock.datastore.ngsi.events import EntityUpdate, Json, Poison, identity_digest, read_json
from penstock.datastore.ngsi.ngsi_ld import check_entities, check_envelope, check_header_fields
from penstock.datastore.roles import GroupPath
from penstock.datastore.text import comparison_form

MAX_SERVICE: Final = 50
MAX_LEVELS: Final = 10
MAX_ENTITIES: Final = 1000
MAX_PATHS: Final = 40
"""The largest number of different service paths in a notification."""
MAX_CORRELATOR: Final = 256

_SERVICE = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_SERVICE}}}")
_PATH = re.compile(rf"/|(/[A-Za-z0-9_.-]{{1,{MAX_SERVICE}}}){{1,{MAX_LEVELS}}}")


class Format(StrEnum):
    """The form of the attributes in a body: the values of `Ngsiv2-AttrsFormat`."""

    LEGACY = "legacy"
    NORMALIZED = "normalized"
    KEY_VALUES = "keyValues"
    SIMPLIFIED_NORMALIZED = "simplifiedNormalized"
    SIMPLIFIED_KEY_VALUES = "simplifiedKeyValues"


@dataclass(frozen=True, slots=True)
class NotificationDefaults:
    """The service and the service path of a notification without FIWARE headers."""

    service: str = "default"
    path: str = "/"


@dataclass(frozen=True, slots=True)
class NotificationHeaders:
    """The headers of a notification; `format` is None if the body decides.

    `correlator` is the sender's id of the transaction, None without one.
    """

    service: str
    paths: tuple[str, ...]
    format: Format | None
    correlator: str | None


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

    @property
    def paths(self) -> tuple[str, ...]:
        """The service paths of the notification, each once."""
        return tuple(dict.fromkeys(path for path, _ in self.entries))


def read_headers(headers: Mapping[str, str], defaults: NotificationDefaults) -> NotificationHeaders:
    """Read the FIWARE headers; their names must be in lower case. Raises BadArgument, UnreadFormat.

    Several service paths are separated by commas, with or without spaces.
    """
    check_header_fields(headers)
    service = headers.get("fiware-service") or defaults.service
    given = headers.get("fiware-servicepath")
    paths = tuple(part.strip() for part in given.split(",")) if given else (defaults.path,)
    correlator = (headers.get("fiware-correlator") or "")[:MAX_CORRELATOR]
    return NotificationHeaders(
        check_service(service),
        tuple(check_path(path) for path in paths),
        _read_format(headers.get("ngsiv2-attrsformat")),
        correlator or None,
    )


def group_of(service: str, path: str) -> GroupPath:
    """The group of a service path; the group of the path `/` is that of the service.

    The group need not exist: roles in the groups above it apply.
    """
    return GroupPath(comparison_form(f"/{service}{path}".rstrip("/")))


def check_service(service: str) -> str:
    """Return the service; raises BadArgument if it is not valid."""
    if not _SERVICE.fullmatch(service):
        raise BadArgument(
            f"A Fiware-Service has 1 to {MAX_SERVICE} letters, digits, '_', '-' and '.'."
        )
    return service


def check_path(path: str) -> str:
    """Return the service path without a final slash; raises BadArgument if it is not valid."""
    trimmed = path[:-1] if len(path) > 2 and path.endswith("/") else path
    if not _PATH.fullmatch(trimmed):
        raise BadArgument(
            f"A Fiware-ServicePath has up to {MAX_LEVELS} levels, each a '/' and 1 to "
            f"{MAX_SERVICE} letters, digits, '_', '-' and '.'."
        )
    return trimmed


def read_notification(heading: NotificationHeaders, body: bytes) -> Notification:
    """Read the body; raises BadArgument, LimitExceeded if it holds too much, UnreadFormat.

    An unreadable entity becomes Poison and does not affect the other entities.
    """
    if not body.strip():
        raise BadArgument("The notification has no body.")
    try:
        found = read_json(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadArgument(f"The body is not JSON: {_error_text(error)}.") from None
    if not isinstance(found, dict):
        raise BadArgument("The body is not a JSON object.")
    subscription, entities = _read_entities(found, heading.format)
    if len(entities) > MAX_ENTITIES:
        raise LimitExceeded("entities of a notification", MAX_ENTITIES, len(entities))
    paths = _path_of_each_entity(heading.paths, len(entities))
    named = (heading.service, *heading.paths, subscription, heading.correlator or str(uuid4()))
    return Notification(
        heading.service,
        identity_digest(*named, sha256(body).hexdigest()),
        heading.correlator is not None,
        tuple(zip(paths, entities, strict=True)),
    )


def read_any_entity(entity: Json) -> EntityUpdate | Poison:
    """Read an entity whose form is unknown, and detect the form from its content."""
    if isinstance(entity, dict) and "contextElement" in entity:
        return read_legacy_entity(entity)
    return read_entity(entity, _is_normalized(entity, None))


def _read_format(header: str | None) -> Format | None:
    if header is None:
        return None
    try:
        return Format(header.strip())
    except ValueError:
        allowed = ", ".join(Format)
        raise BadArgument(f"Ngsiv2-AttrsFormat {header[:50]!r} is none of {allowed}.") from None


def _read_entities(
    found: dict[str, Json], form: Format | None
) -> tuple[str, list[EntityUpdate | Poison]]:
    """Read the entities of the body, in the form that the header names or the body shows."""
    subscription = found.get("subscriptionId", "")
    if not isinstance(subscription, str):
        raise BadArgument("`subscriptionId` is not a text.")
    if form is Format.LEGACY or (form is None and "contextResponses" in found):
        responses = _require_entities(found, "contextResponses")
        return subscription, [read_legacy_entity(each) for each in responses]
    simple = form in (Format.SIMPLIFIED_NORMALIZED, Format.SIMPLIFIED_KEY_VALUES)
    if simple or (form is None and "data" not in found and "id" in found):
        entities: Sequence[Json] = [found]
        # A bare entity has no envelope, so its `subscriptionId` is an ordinary attribute.
        subscription = ""
    else:
        check_envelope(found)
        entities = _require_entities(found, "data")
    bare = form in (Format.KEY_VALUES, Format.SIMPLIFIED_KEY_VALUES)
    check_entities(entities, bare=bare, declared=form is not None)
    return subscription, [read_entity(each, _is_normalized(each, form)) for each in entities]


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


def _path_of_each_entity(paths: tuple[str, ...], entities: int) -> tuple[str, ...]:
    if len(set(paths)) > MAX_PATHS:
        raise LimitExceeded("service paths of a notification", MAX_PATHS, len(set(paths)))
    if len(paths) == 1:
        return paths * entities
    if len(paths) != entities:
        raise BadArgument(f"There are {len(paths)} service paths for {entities} entities.")
    return paths


def _error_text(error: Exception) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)
