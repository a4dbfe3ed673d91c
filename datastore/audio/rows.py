"""Tracks as rows and back."""

from decimal import Decimal

import msgspec

from penstock.datastore.audio.records import Album, Artist, Audio, AudioFile, AudioLink, Genre, Tags
from penstock.datastore.items import load
from penstock.datastore.keys import unescape
from penstock.datastore.layout import ALBUM, ARTIST, AUDIO, GENRE
from penstock.datastore.parts import Asked
from penstock.datastore.resources.scope import Scope
from penstock.datastore.table import Attributes, Item, Key


def audio_key(user: str, id: str) -> Key:
    return AUDIO.key(user=user, audio=id)


def audio_item(track: Audio) -> Item:
    """The row of a track; its key holds the owner and the id."""
    attributes = msgspec.to_builtins(track, builtin_types=(Decimal,))
    del attributes["id"], attributes["owner"]
    lists = {name: list(attributes[name]) for name in ("artists", "genres") if name in attributes}
    return {**AUDIO.item(user=track.owner, audio=track.id), **attributes, **lists}


def audio_of(item: Attributes, asked: Asked = None) -> Audio:
    """The track in a row; at least what is asked for of it is there."""
    owner = unescape(AUDIO.pk.read(str(item["pk"]))["user"])
    return load(Audio, item, asked, owner=owner, id=AUDIO.sk.read(str(item["sk"]))["audio"])


def new_audio(scope: Scope, tags: Tags, file: AudioFile) -> Audio:
    """A track of the caller's, under an id of its own."""
    now = scope.clock.timestamp()
    return Audio(
        **msgspec.structs.asdict(tags),
        **msgspec.structs.asdict(file),
        id=scope.clock.new_id(),
        owner=scope.caller.user_id,
        version=1,
        created_at=now,
        updated_at=now,
    )


def artist_of(item: Attributes) -> Artist:
    return load(Artist, item, id=ARTIST.sk.read(str(item["sk"]))["artist"])


def album_of(item: Attributes) -> Album:
    return load(Album, item, id=ALBUM.sk.read(str(item["sk"]))["album"])


def genre_of(item: Attributes) -> Genre:
    return load(Genre, item, id=GENRE.sk.read(str(item["sk"]))["genre"])


def link_of(item: Attributes) -> AudioLink:
    """A row that lists a track; it ends in the track's id, or says it where it lists a bucket."""
    id = item.get("audioId") or str(item["sk"]).rpartition(":")[2]
    return load(AudioLink, item, audioId=id)
