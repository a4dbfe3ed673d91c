"""Relay nodes and their global ids: base64 of `Type:key`."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import strawberry

from penstock.datastore.audio.names import album_place_of, artist_place
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.audio.records import Connection as StorageConnection
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.records import Execution
from penstock.datastore.jobs import Job
from penstock.datastore.layout import KINDS
from penstock.datastore.manifest.records import Manifest, Run
from penstock.datastore.parts import record_type
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.records import Group, Resource
from penstock.execution import reads
from penstock.execution.asked import Reads

MAX_LENGTH = 1536

NodeRecord: TypeAlias = (
    Resource
    | Group
    | Job
    | Execution
    | Audio
    | Artist
    | Album
    | StorageConnection
    | Playlist
    | Run
    | Manifest
)

_KEYS: Mapping[type, tuple[str, Callable[[Any], str]]] = {
    Album: ("Album", album_place_of),
    Artist: ("Artist", lambda artist: artist_place(artist.name)),
    Audio: ("Audio", lambda audio: audio.id),
    StorageConnection: ("Storage", lambda connection: connection.id),
    Execution: ("Execution", lambda execution: execution.id),
    Group: ("Group", lambda group: group.path),
    Job: ("Job", lambda job: job.id),
    Manifest: ("Manifest", lambda manifest: manifest.place.text),
    Run: ("Run", lambda run: run.name.text),
    **{kind.record: (kind.title, lambda resource: resource.id) for kind in KINDS},
    **{
        kind.version_record: (kind.version_title, lambda one: f"{one.id}:{one.version}")
        for kind in KINDS
    },
    Playlist: ("Playlist", lambda playlist: playlist.id),
}
"""The type of a node and the key of one among its like, by the type of its record."""


_ID_ALONE = ("Audio", "Execution", "Job", "Playlist", "Storage", *(kind.title for kind in KINDS))
_READ: Reads = {
    **dict.fromkeys(_ID_ALONE, ("id",)),
    **{kind.version_title: ("id", "version") for kind in KINDS},
}
"""What of a record its key is made of."""


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
    @reads(_READ)
    @staticmethod
    def id(node: strawberry.Parent[NodeRecord]) -> strawberry.ID:
        return _named(node).text()


def shows(record: type[NodeRecord]) -> Any:
    """Make the `is_type_of` of a type: versions are records of a class derived from the latest."""
    return staticmethod(lambda value, _info: record_type(value) is record)


def _named(node: NodeRecord) -> GlobalId:
    title, key = _KEYS[record_type(node)]
    return GlobalId(title, key(node))


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
