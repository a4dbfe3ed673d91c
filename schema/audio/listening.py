"""Favourites, ratings, plays, places and the queue: the viewer's lists and mutations."""

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records as audio_records
from penstock.datastore.listening import records
from penstock.datastore.listening.records import Kind
from penstock.datastore.playlists import records as playlist_records
from penstock.resolvers import listening
from penstock.schema.audio.playlists import Playlist
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, connect, page_of
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import costs

_KINDS = {"Audio": Kind.AUDIO, "Playlist": Kind.PLAYLIST}
_THING = "The global id of a track or a playlist."


@strawberry.type(description="One listening to a track that counts.")
class Play:
    started_at: DateTime = strawberry.field(description="When it began.")
    listened_ms: int = strawberry.field(description="How long it lasted, in milliseconds.")

    @strawberry.field(
        graphql_type=Audio | None, description="The track; absent where it was deleted."
    )
    @staticmethod
    async def audio(
        play: strawberry.Parent[records.Play], info: Info
    ) -> audio_records.Audio | None:
        return await listening.track_of(info.context, play)


@strawberry.type(description="What the caller listens to and will next, on any player.")
class PlayQueue:
    index: int = strawberry.field(description="Which of the tracks it is, from 0.")
    position_ms: int = strawberry.field(description="The place in that track, in milliseconds.")
    updated_at: DateTime | None = strawberry.field(description="When it was saved, if it was.")

    @strawberry.field(
        graphql_type=list[Audio | None],
        description="The tracks in order; null in the place of one that was deleted.",
        metadata=costs(100),
    )
    @staticmethod
    async def tracks(
        queue: strawberry.Parent[records.PlayQueue], info: Info
    ) -> list[audio_records.Audio | None]:
        return await listening.audio_by_ids(info.context, queue.audio_ids)


@strawberry.type
class ListeningViewer:
    @strawberry.field(
        graphql_type=Connection[Audio], description="The caller's favourite tracks, latest first."
    )
    @staticmethod
    async def favourite_audio(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[audio_records.Audio]:
        return await connect(
            info,
            ("favouriteAudio",),
            page_of(first, after, last, before),
            lambda window: listening.favourite_audio(info.context, window),
        )

    @strawberry.field(
        graphql_type=Connection[Playlist],
        description="The caller's favourite playlists, latest first.",
    )
    @staticmethod
    async def favourite_playlists(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[playlist_records.Playlist]:
        return await connect(
            info,
            ("favouritePlaylists",),
            page_of(first, after, last, before),
            lambda window: listening.favourite_playlists(info.context, window),
        )

    @strawberry.field(
        graphql_type=Connection[Play], description="What the caller played, latest first."
    )
    @staticmethod
    async def plays(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Play]:
        return await connect(
            info,
            ("plays",),
            page_of(first, after, last, before),
            info.context.session.listening.plays.page,
        )

    @strawberry.field(
        graphql_type=PlayQueue, description="The caller's one play queue; empty until it is saved."
    )
    @staticmethod
    async def play_queue(info: Info) -> records.PlayQueue:
        return await info.context.session.listening.queue.get()
