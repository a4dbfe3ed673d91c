"""The rows of playlists and entries, and the records read from them."""

from typing import cast

import msgspec

from penstock.datastore.access.access import not_found_error
from penstock.datastore.errors import NotFound
from penstock.datastore.playlists.records import Entry, MovableEntry, Playlist
from penstock.datastore.table.items import attributes_of, load, unknown_attributes
from penstock.datastore.table.layout import PLAYLIST, PLAYLIST_ENTRY, PLAYLIST_MEMBER, TOMBSTONE
from penstock.datastore.table.port import INDEX_HASH, Attributes, Item, Key

KIND = "PL"
PREFIX = PLAYLIST_ENTRY.sk.prefix({})


def header_key(id: str) -> Key:
    return PLAYLIST.key(playlist=id)


def member_key(user: str, id: str) -> Key:
    return PLAYLIST_MEMBER.key(user=user, playlist=id)


def tombstone_partition() -> str:
    """The index partition of playlists that are being deleted, or are not complete yet."""
    return TOMBSTONE.fill({"kind": KIND})


def header_item(playlist: Playlist) -> Item:
    return {**PLAYLIST.item(playlist=playlist.id), **attributes_of(playlist)}


def member_item(playlist: Playlist) -> Item:
    """The row that lists a playlist for its owner, who is the only member."""
    item = PLAYLIST_MEMBER.item(user=playlist.owner, playlist=playlist.id)
    return {**item, "name": playlist.name, "role": "owner", "createdAt": playlist.created_at}


def playlist_of(item: Attributes) -> Playlist:
    return load(Playlist, item, id=PLAYLIST.pk.parse(str(item["pk"]))["playlist"])


def member_of(item: Attributes) -> str:
    """The id of the playlist in a row of a user's list."""
    return PLAYLIST_MEMBER.sk.parse(str(item["sk"]))["playlist"]


def entry_key(playlist_id: str, rank: str, id: str) -> Key:
    return PLAYLIST_ENTRY.key(playlist=playlist_id, rank=rank, entry=id)


def key_of_entry(entry: Entry) -> Key:
    return entry_key(entry.playlist_id, entry.rank, entry.id)


def entry_item(entry: Entry) -> Item:
    """The row of an entry; if it has a track, the index finds it by the track."""
    attributes = msgspec.to_builtins(entry)
    for name in ("id", "playlistId", "rank"):
        del attributes[name]
    attributes |= attributes.pop("unknown", {})
    key: Item = {**key_of_entry(entry)._asdict()}
    if entry.audio_id is not None:
        key[INDEX_HASH] = PLAYLIST_ENTRY.index_partition(audio=entry.audio_id)
    return {**key, **attributes}


def entry_of(item: Attributes) -> Entry:
    place = PLAYLIST_ENTRY.sk.parse(str(item["sk"]))
    playlist = PLAYLIST_ENTRY.pk.parse(str(item["pk"]))["playlist"]
    return load(Entry, item, playlistId=playlist, id=place["entry"], rank=place["rank"])


def movable_entry_of(item: Attributes) -> MovableEntry:
    """The entry in a row, to be written under another key."""
    entry = entry_of(item)
    unknown = unknown_attributes(Entry, item)
    return MovableEntry(**msgspec.structs.asdict(entry), unknown=unknown)


def position_of(key: Key) -> str:
    """The position in the key of an entry, equal to `Entry.position`."""
    return key.sk.removeprefix(PREFIX)


def key_at_position(playlist_id: str, position: str) -> Key:
    """The key of the entry at a position."""
    return Key(PLAYLIST_ENTRY.pk.fill({"playlist": playlist_id}), f"{PREFIX}{position}")


def no_playlist() -> NotFound:
    return not_found_error("playlist")


def count_of(item: Attributes, name: str) -> int:
    return cast("int", item[name])
