"""Relay nodes and their global ids: base64 of `Type:key`."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple, TypeAlias

import strawberry

from datastore.errors import NotFound
from datastore.jobs import Job
from datastore.layout import KINDS
from datastore.records import Group, Resource

MAX_LENGTH = 1024

NodeRecord: TypeAlias = Resource | Group | Job

_TITLES = {kind.record: kind.title for kind in KINDS}
_VERSION_TITLES = {kind.version_record: kind.version_title for kind in KINDS}


class GlobalId(NamedTuple):
    """The type a global id names, and the key of the object among its like."""

    type: str
    key: str

    def text(self) -> strawberry.ID:
        raw = f"{self.type}:{self.key}".encode()
        return strawberry.ID(urlsafe_b64encode(raw).decode())


@strawberry.interface(description="An object with a globally unique id.")
class Node:
    @strawberry.field(description="The global id; opaque to clients.")
    @staticmethod
    def id(node: strawberry.Parent[NodeRecord]) -> strawberry.ID:
        return _named(node).text()


def _named(node: NodeRecord) -> GlobalId:
    if isinstance(node, Group):
        return GlobalId("Group", node.path)
    if isinstance(node, Job):
        return GlobalId("Job", node.id)
    if version := _VERSION_TITLES.get(type(node)):
        return GlobalId(version, f"{node.id}:{node.version}")
    return GlobalId(_TITLES[type(node)], node.id)


def parsed(text: str) -> GlobalId | None:
    """The parts of a global id; None for a text that we never gave out."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        kind, found, key = urlsafe_b64decode(text.encode()).decode().partition(":")
    except (binascii.Error, UnicodeError):
        return None
    id = GlobalId(kind, key)
    return id if found and id.text() == text else None


def key_of(type: str, text: str) -> str:
    """The key in a global id of the type; raises NotFound for any other text."""
    id = parsed(text)
    if id is None or id.type != type:
        raise NotFound(f"There is no {type} with this id.", ("id",))
    return id.key
