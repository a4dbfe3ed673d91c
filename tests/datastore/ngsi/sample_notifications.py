"""Notifications for tests: the body as an object or as bytes, headers as keywords."""

import json
from typing import Any

from penstock.datastore.ngsi.events import EntityUpdate, Poison
from penstock.datastore.ngsi.notification import (
    Notification,
    NotificationDefaults,
    NotificationHeaders,
    read_headers,
    read_notification,
)


def heading(**headers: str) -> NotificationHeaders:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_headers(given, NotificationDefaults())


def read(body: Any, **headers: str) -> Notification:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_notification(heading(**headers), text)


def updates(notification: Notification) -> list[EntityUpdate]:
    found = []
    for _, entry in notification.entries:
        assert isinstance(entry, EntityUpdate), entry
        found.append(entry)
    return found


def poison(entity: Any, **headers: str) -> str:
    (_, entry), *_ = read({"data": [entity]}, **headers).entries
    assert isinstance(entry, Poison), entry
    return entry.reason
