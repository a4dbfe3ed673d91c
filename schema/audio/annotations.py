"""The fields that tracks and playlists share: favourites, ratings, plays and positions."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from penstock.datastore.audio.names import album_place_of, artist_place
from penstock.datastore.audio.records import Album, Artist, Audio
from penstock.datastore.listening.annotations import Thing, ThingKey
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.table.items import record_type
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime

_KINDS_AND_IDS: Mapping[type, tuple[Kind, Callable[[Any], str]]] = {
    Audio: (Kind.AUDIO, lambda audio: audio.id),
    Playlist: (Kind.PLAYLIST, lambda playlist: playlist.id),
    Album: (Kind.ALBUM, album_place_of),
    Artist: (Kind.ARTIST, lambda artist: artist_place(artist.name)),
}


def annotation_key(record: Thing) -> ThingKey:
    """The kind and the id of a record, which together identify its annotation."""
    kind, read_id = _KINDS_AND_IDS[record_type(record)]
    return kind, read_id(record)


async def _load_annotation(info: Info, record: Thing) -> Annotation:
    return await info.context.loaders.listener.annotations.load(annotation_key(record))


@strawberry.type
class AnnotationFields:
    """The favourite and rating fields of things of a library; a base, not a type of the schema."""

    @strawberry.field(
        graphql_type=DateTime | None,
        description="The time when the caller made it a favourite, in UTC; null if it is not a "
        "favourite.",
    )
    @staticmethod
    async def favourite_at(thing: strawberry.Parent[Thing], info: Info) -> str | None:
        return (await _load_annotation(info, thing)).favourite_at

    @strawberry.field(
        description="The caller's rating, from 1 to 5; null if the caller has not rated it."
    )
    @staticmethod
    async def rating(thing: strawberry.Parent[Thing], info: Info) -> int | None:
        return (await _load_annotation(info, thing)).rating


@strawberry.type
class PlayFields(AnnotationFields):
    """The annotation fields of what is played; a base, not a type of the schema."""

    @strawberry.field(
        description="The number of plays by the caller that `recordPlay` has counted; those of an "
        "album are the plays of its tracks."
    )
    @staticmethod
    async def play_count(thing: strawberry.Parent[Thing], info: Info) -> int:
        return (await _load_annotation(info, thing)).play_count

    @strawberry.field(
        graphql_type=DateTime | None,
        description="The time when the caller's latest counted play began, in UTC; null if there "
        "is none.",
    )
    @staticmethod
    async def last_played_at(thing: strawberry.Parent[Thing], info: Info) -> str | None:
        return (await _load_annotation(info, thing)).last_played_at


@strawberry.type
class ListeningFields(PlayFields):
    """The annotation fields of a track; a base, not a type of the schema."""

    @strawberry.field(
        description="The position at which the caller resumes the track, in milliseconds from its "
        "beginning; null to start at the beginning."
    )
    @staticmethod
    async def position_ms(audio: strawberry.Parent[Audio], info: Info) -> int | None:
        return (await _load_annotation(info, audio)).position_ms

    @strawberry.field(
        graphql_type=Connection[
            Annotated["Playlist", strawberry.lazy("penstock.schema.audio.playlists")]
        ],
        description="The caller's playlists that contain the track, each once, oldest first. A "
        "recent addition or removal may take a moment to show.",
    )
    @staticmethod
    async def playlists(
        audio: strawberry.Parent[Audio],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[Playlist]:
        return await read_connection(
            info,
            ("holding", audio.id),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.loaders.listener.holding.load((audio, window)),
        )
