"""The mutations of favourites, ratings, plays, places and the queue."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import NotFound as Absent
from penstock.datastore.errors import about
from penstock.datastore.listening import records
from penstock.datastore.listening.annotations import MAX_RATING, Thing
from penstock.datastore.listening.play_queue import MAX_QUEUED
from penstock.datastore.listening.records import Kind
from penstock.resolvers import listening
from penstock.schema.audio.annotations import Markable
from penstock.schema.audio.listening import PlayQueue
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import LimitExceeded, NotFound, ValidationProblem
from penstock.schema.core.relay import Node, key_of, parsed
from penstock.schema.core.scalars import DateTime

_KINDS = {"Audio": Kind.AUDIO, "Playlist": Kind.PLAYLIST}
_THING = "The global id of a track or a playlist."
_AUDIO = "The global id of the track."


@strawberry.type(description="The thing is a favourite or is none, as was wanted.")
class SetFavouritePayload:
    node: Markable = strawberry.field(graphql_type=Node)


@strawberry.type(description="The thing has the rating.")
class SetRatingPayload:
    node: Markable = strawberry.field(graphql_type=Node)


@strawberry.type(description="The play is told; it counts once, however often it is.")
class RecordPlayPayload:
    audio: Markable = strawberry.field(graphql_type=Audio)
    counts: bool = strawberry.field(
        description="Whether it lasted long enough: half of the track, or four minutes."
    )


@strawberry.type(description="The place is kept.")
class SetPlayPositionPayload:
    audio: Markable = strawberry.field(graphql_type=Audio)


@strawberry.type(description="The queue is saved.")
class SavePlayQueuePayload:
    play_queue: records.PlayQueue = strawberry.field(graphql_type=PlayQueue)


SetFavouriteResult = Annotated[
    SetFavouritePayload | NotFound,
    strawberry.union("SetFavouriteResult", description="The thing, or why nothing changed."),
]
SetRatingResult = Annotated[
    SetRatingPayload | NotFound | ValidationProblem,
    strawberry.union("SetRatingResult", description="The thing, or why nothing changed."),
]
RecordPlayResult = Annotated[
    RecordPlayPayload | NotFound | ValidationProblem,
    strawberry.union("RecordPlayResult", description="The track, or why nothing was counted."),
]
SetPlayPositionResult = Annotated[
    SetPlayPositionPayload | NotFound | ValidationProblem,
    strawberry.union("SetPlayPositionResult", description="The track, or why nothing changed."),
]
SavePlayQueueResult = Annotated[
    SavePlayQueuePayload | NotFound | ValidationProblem | LimitExceeded,
    strawberry.union("SavePlayQueueResult", description="The queue, or why it is as it was."),
]


@strawberry.input(description="What is to be a favourite, or is not to be one.")
class SetFavouriteInput:
    id: strawberry.ID = strawberry.field(description=_THING)
    favourite: bool = strawberry.field(description="Whether it is to be one.")


@strawberry.input(description="The rating to give.")
class SetRatingInput:
    id: strawberry.ID = strawberry.field(description=_THING)
    rating: int | None = strawberry.field(
        default=UNSET, description=f"1 to {MAX_RATING}; no rating if left out."
    )


@strawberry.input(description="The play to count.")
class RecordPlayInput:
    id: strawberry.ID = strawberry.field(description=_AUDIO)
    started_at: DateTime = strawberry.field(
        description="When it began; with the track it tells one play from others."
    )
    listened_ms: int = strawberry.field(description="How long it lasted, in milliseconds.")


@strawberry.input(description="Where to go on in a track.")
class SetPlayPositionInput:
    id: strawberry.ID = strawberry.field(description=_AUDIO)
    position_ms: int | None = strawberry.field(
        default=UNSET, description="In milliseconds; at the beginning if left out."
    )


@strawberry.input(description="The queue, which takes the place of the one before.")
class SavePlayQueueInput:
    audio_ids: list[strawberry.ID] = strawberry.field(
        description=f"The global ids of at most {MAX_QUEUED} tracks in order; one may come twice."
    )
    index: int | None = strawberry.field(
        default=0, description="Which of them is being played, from 0."
    )
    position_ms: int | None = strawberry.field(
        default=0, description="The place in that track, in milliseconds."
    )


def _thing(text: str) -> Thing:
    """The track or the playlist that a global id names; raises NotFound for any other text."""
    id = parsed(text)
    if id is None or id.type not in _KINDS:
        raise Absent("There is no track or playlist with this id.", ("id",))
    return _KINDS[id.type], id.key


@strawberry.type
class ListeningMutation:
    @strawberry.mutation(
        graphql_type=SetFavouriteResult,
        description="Make a track or a playlist a favourite, or none any more.",
    )
    @staticmethod
    async def set_favourite(info: Info, input: SetFavouriteInput) -> SetFavouritePayload:
        node = await listening.mark(info.context, _thing(input.id), input.favourite)
        return SetFavouritePayload(node=node)

    @strawberry.mutation(graphql_type=SetRatingResult, description="Rate a track or a playlist.")
    @staticmethod
    async def set_rating(info: Info, input: SetRatingInput) -> SetRatingPayload:
        node = await listening.rate(info.context, _thing(input.id), given(input.rating))
        return SetRatingPayload(node=node)

    @strawberry.mutation(
        graphql_type=RecordPlayResult,
        description="Count a play of a track. Streaming alone counts nothing.",
    )
    @staticmethod
    async def record_play(info: Info, input: RecordPlayInput) -> RecordPlayPayload:
        play = records.Play(
            audio_id=key_of("Audio", input.id),
            started_at=input.started_at,
            listened_ms=input.listened_ms,
        )
        audio, counts = await listening.record(info.context, play)
        return RecordPlayPayload(audio=audio, counts=counts)

    @strawberry.mutation(
        graphql_type=SetPlayPositionResult, description="Keep the place where to go on in a track."
    )
    @staticmethod
    async def set_play_position(info: Info, input: SetPlayPositionInput) -> SetPlayPositionPayload:
        id, position = key_of("Audio", input.id), given(input.position_ms)
        return SetPlayPositionPayload(audio=await listening.go_on_at(info.context, id, position))

    @strawberry.mutation(
        graphql_type=SavePlayQueueResult,
        description="Save the caller's play queue; who saves last is right.",
    )
    @staticmethod
    async def save_play_queue(info: Info, input: SavePlayQueueInput) -> SavePlayQueuePayload:
        with about("audioIds"):
            ids = [key_of("Audio", id) for id in input.audio_ids]
        queue, index = info.context.session.listening.queue, input.index or 0
        saved = await queue.save(ids, index, input.position_ms or 0)
        return SavePlayQueuePayload(play_queue=saved)
