"""Tracks as rows, and reads of the caller's tracks, artists and albums by key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

import msgspec

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.audio.records import (
    Album,
    Artist,
    Audio,
    AudioFile,
    AudioLink,
    Genre,
    LibraryTotals,
    Tags,
)
from penstock.datastore.errors import NotFound
from penstock.datastore.table.items import Projection, load, read_or_report, read_rows
from penstock.datastore.table.layout import ALBUM, ARTIST, AUDIO, GENRE, LIBRARY, Row
from penstock.datastore.table.port import AllOf, Attributes, Compare, Condition, Item, Key, Missing
from penstock.datastore.text import is_id, unescape


def audio_key(user: str, id: str) -> Key:
    return AUDIO.key(user=user, audio=id)


def audio_item(track: Audio) -> Item:
    """The row of a track; its key contains the owner and the id."""
    attributes = msgspec.to_builtins(track, builtin_types=(Decimal,))
    del attributes["id"], attributes["owner"]
    lists = {name: list(attributes[name]) for name in ("artists", "genres") if name in attributes}
    return {**AUDIO.item(user=track.owner, audio=track.id), **attributes, **lists}


def audio_of(item: Attributes, projection: Projection = None) -> Audio:
    """The track in a row, which has at least the requested fields."""
    owner = unescape(AUDIO.pk.parse(str(item["pk"]))["user"])
    return load(Audio, item, projection, owner=owner, id=AUDIO.sk.parse(str(item["sk"]))["audio"])


def still_as_read(track: Audio) -> Condition:
    """The condition that nobody has written a track since, nor the words of its title."""
    unchanged = Compare("version", "=", track.version)
    return unchanged if track.named else AllOf((unchanged, Missing("named")))


def new_audio(access: Access, tags: Tags, file: AudioFile) -> Audio:
    """Make a track of the caller's, with a new id."""
    now = access.clock.timestamp()
    return Audio(
        **msgspec.structs.asdict(tags),
        **msgspec.structs.asdict(file),
        id=access.clock.new_id(),
        owner=access.caller.user_id,
        version=1,
        named=True,
        created_at=now,
        updated_at=now,
    )


def artist_of(item: Attributes) -> Artist:
    return load(Artist, item, id=ARTIST.sk.parse(str(item["sk"]))["artist"])


def album_of(item: Attributes) -> Album:
    return load(Album, item, id=ALBUM.sk.parse(str(item["sk"]))["album"])


def genre_of(item: Attributes) -> Genre:
    return load(Genre, item, id=GENRE.sk.parse(str(item["sk"]))["genre"])


def key_of_place(row: Row, user: str, place: str) -> Key:
    """The key of an artist, an album or a genre by its place in the user's list."""
    return Key(row.pk.fill({"user": user}), row.sk.prefix({}) + place)


def link_of(item: Attributes) -> AudioLink:
    """Read a row that lists a track; its key ends in the track's id, or a field has the id."""
    if "audioId" in item:
        return load(AudioLink, item)
    return load(AudioLink, item, audioId=str(item["sk"]).rpartition(":")[2])


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TrackReader:
    """Reads of the caller's library by key; tracks of other users count as absent."""

    access: Access

    async def many(self, ids: Sequence[str]) -> list[Audio | NotFound]:
        """Get audio: `pk = U:<user>, sk = AU:<id>`, batched; one answer for each id, aligned."""
        keys = {id: audio_key(self._user, id) for id in ids if is_id(id)}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        items = [rows.get(keys[id]) if id in keys else None for id in ids]
        return [
            not_found_error("audio") if item is None else read_or_report(audio_of, item)
            for item in items
        ]

    async def require_many(self, ids: Sequence[str], field: str) -> list[Audio]:
        """Get tracks as `many`; raises NotFound with the places of those that are not theirs."""
        found = await self.many(ids)
        tracks = [track for track in found if isinstance(track, Audio)]
        if len(tracks) < len(found):
            missing = [n for n, track in enumerate(found) if not isinstance(track, Audio)]
            raise NotFound.in_list("audio", field, missing)
        return tracks

    async def get_audio_files_by_audio_id(self, id: str) -> Audio:
        """getAudioFilesByAudioId: `Query(ID = :AudioId)`, here one item; raises NotFound."""
        (audio,) = await self.many([id])
        if isinstance(audio, NotFound):
            raise audio
        return audio

    async def artists(self, places: Sequence[str]) -> list[Artist | NotFound]:
        """Get artists: `pk = U:<user>, sk = AR:<place>`, batched; aligned with the places."""
        return await self._read_by_place(ARTIST, places, artist_of, "artist")

    async def albums(self, places: Sequence[str]) -> list[Album | NotFound]:
        """Get albums: `pk = U:<user>, sk = AL:<place>`, batched; aligned with the places."""
        return await self._read_by_place(ALBUM, places, album_of, "album")

    async def totals(self) -> LibraryTotals:
        """Get the totals of the library: `pk = U:<user>, sk = U`."""
        key = LIBRARY.key(user=self._user)
        found = await self.access.table.get([key], consistent=True)
        return load(LibraryTotals, found.items.get(key, {}))

    async def _read_by_place(
        self, row: Row, places: Sequence[str], read: Callable[[Attributes], T], noun: str
    ) -> list[T | NotFound]:
        keys = [key_of_place(row, self._user, place) for place in places]
        rows = await read_rows(self.access.table, keys, consistent=True)
        return [
            read_or_report(read, rows[key]) if key in rows else not_found_error(noun)
            for key in keys
        ]

    @property
    def _user(self) -> str:
        return self.access.caller.user_id
