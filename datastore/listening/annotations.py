"""Annotations: ratings and positions that a listener keeps for things of the library.

Also the query that lists rows of the caller's partition under a prefix, latest first.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.audio.track_rules import MAX_RATING
from penstock.datastore.audio.tracks import TrackReader as AudioReading
from penstock.datastore.audio.tracks import key_of_place
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, Unreadable
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.playlists.reading import PlaylistReader as PlaylistReading
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.items import load, read_or_report, read_rows
from penstock.datastore.table.layout import ALBUM, ANNOTATION, ARTIST, LIBRARY
from penstock.datastore.table.pages import Slice, Window, read_records, slice_placed
from penstock.datastore.table.port import (
    Attributes,
    Check,
    Exists,
    Item,
    Key,
    Query,
    Range,
    Update,
    Value,
)
from penstock.datastore.text import is_id, multiline_problem, unescape

T = TypeVar("T")


async def list_latest(
    access: Access, prefix: str, window: Window, read: Callable[[Attributes], T]
) -> Slice[T]:
    """One page of the rows with the prefix; a position is the rest of the sort key after it."""
    pk = LIBRARY.pk.fill({"user": access.caller.user_id})
    query = Query(
        partition=pk,
        range=Range(prefix),
        after=None if window.after is None else Key(pk, prefix + window.after),
        descending=not window.backward,
        limit=window.size + 1,
    )

    def read_placed(item: Attributes) -> tuple[str, T]:
        return str(item["sk"]).removeprefix(prefix), read(item)

    return slice_placed(await read_records(access.paid_rows, query, read_placed), window)


ThingKey: TypeAlias = tuple[Kind, str]
Thing: TypeAlias = Audio | Playlist | Album | Artist
AnnotatedThing: TypeAlias = tuple[Thing, Annotation]
"""A thing of the library, with its annotation."""

NOUN: Final = "annotation"
MAX_COMMENT = 1_000

LISTED: Final = {Kind.ALBUM: ALBUM, Kind.ARTIST: ARTIST}
"""The rows that list the things with a place, and count their tracks."""

THINGS: Final = {Kind.ALBUM: "album", Kind.ARTIST: "artist"}


class _NoAnnotation(Exception):
    """There is no annotation from which to remove fields."""


def _no_annotation(_standing: Item | None) -> Exception:
    return _NoAnnotation()


@dataclass(frozen=True, slots=True)
class Annotations:
    """The caller's annotations of their tracks, playlists, albums and artists."""

    access: Access

    async def many(self, things: Sequence[ThingKey]) -> list[Annotation]:
        """Get annotations: `pk = U:<user>, sk = AN:<kind>:<id>`, batched; aligned with the things.

        It does not check that the things exist.
        """
        keys = {thing: self.key(thing) for thing in things if _has_row(thing)}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        items = [rows.get(keys[thing], {}) if thing in keys else {} for thing in things]
        return [_read_annotation(thing, item) for thing, item in zip(things, items, strict=True)]

    async def page(self, kind: Kind, window: Window) -> Slice[Annotation]:
        """List annotations of a kind: `pk = U:<user>`, `sk` begins with `AN:<kind>:`.

        In no order that means anything.
        """
        prefix = ANNOTATION.sk.prefix({"kind": kind})
        return await list_latest(self.access, prefix, window, annotation_of)

    async def one(self, thing: ThingKey) -> Annotation:
        """Read the annotation of a thing, consistently."""
        (found,) = await self.many([thing])
        return found

    async def rate(self, thing: ThingKey, rating: int | None) -> AnnotatedThing:
        """Set a rating from 1 to 5, or clear it; raises NotFound if the thing is not theirs."""
        if rating is not None and not 1 <= rating <= MAX_RATING:
            raise Invalid([FieldProblem(["rating"], f"must be 1 to {MAX_RATING}")])
        rated = await self.require_thing(thing)
        await self.write_fields(thing, {"rating": rating})
        return rated, await self.one(thing)

    async def set_position(
        self, audio_id: str, position_ms: int | None, comment: str | None = None
    ) -> AnnotatedThing:
        """Set the position in milliseconds at which to resume a track, or clear it."""
        thing = (Kind.AUDIO, audio_id)
        track = await self.require_track(audio_id)
        if position_ms is not None and not 0 <= position_ms <= track.duration_ms:
            words = f"must be 0 to the length of the track, {track.duration_ms}"
            raise Invalid([FieldProblem(["positionMs"], words)])
        if comment is not None and (problem := multiline_problem(comment, MAX_COMMENT)):
            raise Invalid([FieldProblem(["comment"], problem)])
        at = None if position_ms is None else self.access.clock.timestamp()
        position: dict[str, Value] = {"positionMs": position_ms, "positionAt": at}
        await self.write_fields(thing, {**position, "positionComment": comment or None})
        return track, await self.one(thing)

    async def write_fields(self, thing: ThingKey, facts: dict[str, Value]) -> None:
        """Write fields of an annotation; a value of None removes the field.

        Raises NotFound for an album or artist whose last track has left.
        """
        setting = {name: value for name, value in facts.items() if value is not None}
        key, cleared = self.key(thing), _cleared_names(facts)
        if setting:
            write = Write(Update(key=key, set=setting, remove=cleared))
        else:
            # Without an annotation there is no row from which to remove fields.
            write = Write(Update(key=key, remove=cleared, condition=Exists()), _no_annotation)
        with suppress(_NoAnnotation):
            await commit(self.access.table, [*self.thing_checks(thing), write])

    def thing_checks(self, thing: ThingKey) -> list[Write]:
        """The checks that let a write fail with NotFound once an album or artist has no tracks.

        With its last track goes what is noted of it, so nothing may be noted of it later. Ids of
        tracks and playlists are never used again.
        """
        kind, _ = thing
        if kind not in LISTED:
            return []
        check = Check(listed_key(self.access, thing), Exists())
        return [Write(check, lambda _: not_found_error(THINGS[kind]))]

    async def require_thing(self, thing: ThingKey) -> Thing:
        """Read the thing itself; raises NotFound if the caller has no such thing."""
        kind, id = thing
        match kind:
            case Kind.AUDIO:
                return await self.require_track(id)
            case Kind.PLAYLIST:
                return await PlaylistReading(self.access).one(id)
            case Kind.ALBUM:
                return _require((await AudioReading(self.access).albums([id]))[0])
            case Kind.ARTIST:
                return _require((await AudioReading(self.access).artists([id]))[0])

    async def require_track(self, id: str) -> Audio:
        """Read a track of the caller; raises NotFound."""
        return await AudioReading(self.access).get_audio_files_by_audio_id(id)

    def key(self, thing: ThingKey) -> Key:
        kind, id = thing
        return ANNOTATION.key(user=self.access.caller.user_id, kind=kind, id=id)


def listed_key(access: Access, thing: ThingKey) -> Key:
    """The key of the row that lists an album or an artist, and counts its tracks."""
    kind, place = thing
    return key_of_place(LISTED[kind], access.caller.user_id, place)


def _require(found: T | NotFound) -> T:
    if isinstance(found, NotFound):
        raise found
    return found


def _has_row(thing: ThingKey) -> bool:
    """Whether the thing can have an annotation: by an id, or by a place that its reader checks."""
    kind, id = thing
    return is_id(id) or kind in (Kind.ALBUM, Kind.ARTIST)


def annotation_of(item: Attributes) -> Annotation:
    """The annotation in a row of a list, whose key names the thing."""
    found = ANNOTATION.sk.parse(str(item["sk"]))
    return load(Annotation, item, kind=Kind(found["kind"]), id=unescape(found["id"]))


def _read_annotation(thing: ThingKey, item: Attributes) -> Annotation:
    """The annotation in a row; one that cannot be read counts as empty."""
    kind, id = thing
    found = read_or_report(lambda row: load(Annotation, row, kind=kind, id=id), item)
    return Annotation(kind=kind, id=id) if isinstance(found, Unreadable) else found


def _cleared_names(facts: dict[str, Value]) -> tuple[str, ...]:
    return tuple(name for name, value in facts.items() if value is None)
