"""Annotations: ratings and positions that a listener keeps for things of the library.

Also the query that lists rows of the caller's partition under a prefix, latest first.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.audio.track_rules import MAX_RATING
from penstock.datastore.audio.tracks import TrackReader as AudioReading
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, Unreadable
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.playlists.reading import PlaylistReader as PlaylistReading
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.table.items import load, read_or_report, read_rows
from penstock.datastore.table.layout import ANNOTATION, LIBRARY
from penstock.datastore.table.pages import Slice, Window, read_records, slice_placed
from penstock.datastore.table.port import (
    Attributes,
    ConditionFailed,
    Exists,
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

    return slice_placed(await read_records(access.table, query, read_placed), window)


ThingKey: TypeAlias = tuple[Kind, str]
Thing: TypeAlias = Audio | Playlist | Album | Artist
AnnotatedThing: TypeAlias = tuple[Thing, Annotation]
"""A thing of the library, with its annotation."""

MAX_COMMENT = 1_000


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
        """Write fields of an annotation; a value of None removes the field."""
        setting = {name: value for name, value in facts.items() if value is not None}
        if setting:
            update = Update(key=self.key(thing), set=setting, remove=_cleared_names(facts))
            await self.access.table.transact([update])
            return
        # Without an annotation there is no row from which to remove fields.
        with suppress(ConditionFailed):
            forget = Update(key=self.key(thing), remove=_cleared_names(facts), condition=Exists())
            await self.access.table.transact([forget])

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
