"""The types of plays and of the play queue, and the fields of the viewer that list favourites."""

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records as audio_records
from penstock.datastore.listening import records
from penstock.datastore.playlists import records as playlist_records
from penstock.resolvers import listening
from penstock.schema.audio.playlists import Playlist
from penstock.schema.audio.tracks import Album, Artist, Audio
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import price_metadata


@strawberry.type(description="One counted play of a track by the caller.")
class Play:
    started_at: DateTime = strawberry.field(
        description="The time when the caller began to play the track, in UTC."
    )
    listened_ms: int = strawberry.field(
        description="The time that the caller listened, in milliseconds."
    )

    @strawberry.field(
        graphql_type=Audio | None,
        description="The track that was played; null if it has been deleted.",
    )
    @staticmethod
    async def audio(
        play: strawberry.Parent[records.Play], info: Info
    ) -> audio_records.Audio | None:
        return await listening.load_track(info.context, play)


@strawberry.type(
    description="The play queue of the caller: the current track and those that follow, shared by "
    "all the caller's players."
)
class PlayQueue:
    index: int = strawberry.field(
        description="The position of the current track in `tracks`, counted from 0."
    )
    position_ms: int = strawberry.field(
        description="The playback position in the current track, in milliseconds from its "
        "beginning."
    )
    updated_at: DateTime | None = strawberry.field(
        description="The time when the queue was last saved, in UTC; null if it was never saved."
    )

    @strawberry.field(
        graphql_type=list[Audio | None],
        description="The tracks of the queue in playing order, with null in place of a deleted "
        "track.",
        metadata=price_metadata(100),
    )
    @staticmethod
    async def tracks(
        queue: strawberry.Parent[records.PlayQueue], info: Info
    ) -> list[audio_records.Audio | None]:
        return await listening.load_tracks(info.context, queue.audio_ids)


@strawberry.type
class ListeningViewer:
    @strawberry.field(
        graphql_type=Connection[Audio],
        description="The caller's favourite tracks, the most recently chosen first.",
    )
    @staticmethod
    async def favourite_audio(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[audio_records.Audio]:
        return await read_connection(
            info,
            ("favouriteAudio",),
            page_from_arguments(first, after, last, before),
            lambda window: listening.favourite_audio(info.context, window),
        )

    @strawberry.field(
        graphql_type=Connection[Album],
        description="The caller's favourite albums, the most recently chosen first. One whose "
        "last track was deleted is left out.",
    )
    @staticmethod
    async def favourite_albums(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[audio_records.Album]:
        return await read_connection(
            info,
            ("favouriteAlbums",),
            page_from_arguments(first, after, last, before),
            lambda window: listening.favourite_albums(info.context, window),
        )

    @strawberry.field(
        graphql_type=Connection[Artist],
        description="The caller's favourite artists, the most recently chosen first. One whose "
        "last track was deleted is left out.",
    )
    @staticmethod
    async def favourite_artists(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[audio_records.Artist]:
        return await read_connection(
            info,
            ("favouriteArtists",),
            page_from_arguments(first, after, last, before),
            lambda window: listening.favourite_artists(info.context, window),
        )

    @strawberry.field(
        graphql_type=Connection[Playlist],
        description="The caller's favourite playlists, the most recently chosen first.",
    )
    @staticmethod
    async def favourite_playlists(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[playlist_records.Playlist]:
        return await read_connection(
            info,
            ("favouritePlaylists",),
            page_from_arguments(first, after, last, before),
            lambda window: listening.favourite_playlists(info.context, window),
        )

    @strawberry.field(
        graphql_type=Connection[Play],
        description="The caller's counted plays of tracks, latest first.",
    )
    @staticmethod
    async def plays(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Play]:
        return await read_connection(
            info,
            ("plays",),
            page_from_arguments(first, after, last, before),
            info.context.session.listening.plays.page,
        )

    @strawberry.field(
        graphql_type=PlayQueue,
        description="The play queue of the caller, who has exactly one; it is empty until it is "
        "first saved.",
    )
    @staticmethod
    async def play_queue(info: Info) -> records.PlayQueue:
        return await info.context.session.listening.queue.get()
