"""Playlists and their entries: types and query fields."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records as audio_records
from penstock.datastore.playlists import records
from penstock.datastore.playlists.formats import files
from penstock.datastore.playlists.formats.document import PlaylistFormat
from penstock.resolvers import playlists
from penstock.schema.audio.annotations import Marked
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import After, Before, First, Info, Last, Order
from penstock.schema.core.relay import Connection, Node, connect, key_of, page_of, shows
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import costs

strawberry.enum(PlaylistFormat, description="A format of playlist files.")


def entries_of(playlist_id: str) -> tuple[object, ...]:
    """What names the list of a playlist's entries."""
    return "entries", playlist_id


@strawberry.type(description="One place in a playlist; a track may be in several.")
class PlaylistEntry:
    id: strawberry.ID = strawberry.field(
        description="Names the entry in its playlist, wherever it is moved."
    )
    location: str | None = strawberry.field(
        description="Where a file said that the track is, if it matched none of the library."
    )
    title: str | None = strawberry.field(description="The track's title when it was added.")
    artist: str | None = strawberry.field(description="Its artists when it was added.")
    album: str | None = strawberry.field(description="Its album when it was added.")
    duration_ms: int | None = strawberry.field(
        description="Its length when it was added, in milliseconds."
    )
    added_at: DateTime = strawberry.field(description="When it was added.")
    added_by: str = strawberry.field(description="The id of the user who added it.")

    @strawberry.field(
        graphql_type=Audio | None,
        description="The track as it is now; absent where it was deleted, or never was.",
    )
    @staticmethod
    async def audio(
        entry: strawberry.Parent[records.Entry], info: Info
    ) -> audio_records.Audio | None:
        return await playlists.track_of(info.context, entry)

    @strawberry.field(description="Whether there is no track of the library to play.")
    @staticmethod
    async def missing(entry: strawberry.Parent[records.Entry], info: Info) -> bool:
        return await playlists.track_of(info.context, entry) is None


@strawberry.type(description="A playlist of the caller's.")
class Playlist(Node, Marked):
    name: str = strawberry.field(description="Several may have the same.")
    version: int = strawberry.field(description="Counts changes of name and entries, from 1.")
    entry_count: int = strawberry.field(description="How many entries it has.")
    duration_ms: Long = strawberry.field(
        description="Their length together, in milliseconds, as it was when they were added."
    )
    created_at: DateTime = strawberry.field(description="When it was made.")
    updated_at: DateTime = strawberry.field(description="When it was last changed.")

    is_type_of = shows(records.Playlist)

    @strawberry.field(
        graphql_type=Connection[PlaylistEntry],
        description="The entries in order. The cursor of an entry also tells changes where it was.",
    )
    @staticmethod
    async def entries(
        playlist: strawberry.Parent[records.Playlist],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Entry]:
        return await connect(
            info,
            entries_of(playlist.id),
            page_of(first, after, last, before),
            lambda window: info.context.loaders.listener.entries.load((playlist, window)),
        )


@strawberry.type(description="A playlist as a file.")
class PlaylistFile:
    text: str = strawberry.field(description="The content, to be saved in UTF-8.")
    media_type: str = strawberry.field(description="The media type of the format.")
    file_name: str = strawberry.field(description="A name to save it under.")


@strawberry.type
class PlaylistQuery:
    @strawberry.field(graphql_type=Playlist | None, description="A playlist by its global id.")
    @staticmethod
    async def playlist(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> records.Playlist | None:
        return await info.context.loaders.listener.playlists.load(key_of("Playlist", id))

    @strawberry.field(
        graphql_type=Connection[Playlist],
        description="The caller's playlists, by the time they were made.",
    )
    @staticmethod
    async def playlists(
        info: Info,
        order: Annotated[
            Order | None, strawberry.argument(description="Which of them comes first.")
        ] = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Playlist]:
        newest_first = order is not Order.OLDEST_FIRST
        return await connect(
            info,
            ("playlists", newest_first),
            page_of(first, after, last, before),
            lambda window: playlists.page(info.context, window, newest_first),
        )

    @strawberry.field(
        graphql_type=PlaylistFile | None,
        description="A playlist as a file, with all its entries, which `importPlaylist` reads "
        "again as it was.",
        metadata=costs(100),
    )
    @staticmethod
    async def export_playlist(
        info: Info,
        id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")],
        format: Annotated[
            PlaylistFormat, strawberry.argument(description="What players of the file can read.")
        ],
    ) -> files.PlaylistFile | None:
        return await playlists.exported(info.context, key_of("Playlist", id), format)
