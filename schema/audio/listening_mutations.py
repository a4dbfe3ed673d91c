"""The mutations of favourites, ratings, plays, playback positions and the play queue."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio.track_rules import MAX_RATING
from penstock.datastore.errors import NotFound as Absent
from penstock.datastore.listening import records
from penstock.datastore.listening.annotations import Thing, ThingKey
from penstock.datastore.listening.play_queue import MAX_QUEUED
from penstock.datastore.listening.records import Kind
from penstock.resolvers import listening
from penstock.schema.audio.listening import PlayQueue
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, NotFound, ValidationProblem
from penstock.schema.core.relay import Node, parse_global_id, parse_key, parse_keys
from penstock.schema.core.scalars import DateTime

_KINDS = {
    "Audio": Kind.AUDIO,
    "Playlist": Kind.PLAYLIST,
    "Album": Kind.ALBUM,
    "Artist": Kind.ARTIST,
}
_MARKABLE_ID = "The global id of a track, a playlist, an album or an artist."
_AUDIO_ID = "The global id of the track."


@strawberry.type(description="The result of marking or unmarking a favourite.")
class SetFavouritePayload:
    node: Thing = strawberry.field(
        graphql_type=Node,
        description="The track, playlist, album or artist that was marked or unmarked.",
    )


@strawberry.type(description="The result of rating a track, a playlist, an album or an artist.")
class SetRatingPayload:
    node: Thing = strawberry.field(
        graphql_type=Node, description="The track, playlist, album or artist with its new rating."
    )


@strawberry.type(
    description="The result of recording a play; a play that is sent again is not counted again."
)
class RecordPlayPayload:
    audio: Thing = strawberry.field(graphql_type=Audio, description="The track that was played.")
    counts: bool = strawberry.field(
        description="Whether the play was long enough to be counted: at least half of the track, "
        "or four minutes."
    )


@strawberry.type(description="The result of saving a playback position.")
class SetPlayPositionPayload:
    audio: Thing = strawberry.field(
        graphql_type=Audio, description="The track with the saved playback position."
    )


@strawberry.type(description="The result of saving the play queue.")
class SavePlayQueuePayload:
    play_queue: records.PlayQueue = strawberry.field(
        graphql_type=PlayQueue, description="The play queue as it was saved."
    )


SetFavouriteResult = Annotated[
    SetFavouritePayload | NotFound,
    strawberry.union(
        "SetFavouriteResult",
        description="The track or playlist, or the reason why nothing changed.",
    ),
]
SetRatingResult = Annotated[
    SetRatingPayload | NotFound | ValidationProblem,
    strawberry.union(
        "SetRatingResult", description="The track or playlist, or the reason why nothing changed."
    ),
]
RecordPlayResult = Annotated[
    RecordPlayPayload | NotFound | ValidationProblem,
    strawberry.union(
        "RecordPlayResult", description="The track, or the reason why the play was not recorded."
    ),
]
SetPlayPositionResult = Annotated[
    SetPlayPositionPayload | NotFound | ValidationProblem,
    strawberry.union(
        "SetPlayPositionResult", description="The track, or the reason why nothing changed."
    ),
]
SavePlayQueueResult = Annotated[
    SavePlayQueuePayload | NotFound | ValidationProblem | LimitExceeded,
    strawberry.union(
        "SavePlayQueueResult",
        description="The saved queue, or the reason why the queue did not change.",
    ),
]


@strawberry.input(description="The thing to mark or unmark as a favourite.")
class SetFavouriteInput:
    id: strawberry.ID = strawberry.field(description=_MARKABLE_ID)
    favourite: bool = strawberry.field(
        description="True to make it a favourite, false to remove it from the favourites."
    )


@strawberry.input(description="The track or playlist to rate, and the rating.")
class SetRatingInput:
    id: strawberry.ID = strawberry.field(description=_MARKABLE_ID)
    rating: int | None = strawberry.field(
        default=UNSET,
        description=f"The rating from 1 to {MAX_RATING}; the rating is removed if left out or "
        "null.",
    )


@strawberry.input(description="The play of a track to record.")
class RecordPlayInput:
    id: strawberry.ID = strawberry.field(description=_AUDIO_ID)
    started_at: DateTime = strawberry.field(
        description="The time when the play began. A play is identified by this time and its track."
    )
    listened_ms: int = strawberry.field(
        description="The time that the caller listened, in milliseconds."
    )


@strawberry.input(description="The playback position to save for a track.")
class SetPlayPositionInput:
    id: strawberry.ID = strawberry.field(description=_AUDIO_ID)
    position_ms: int | None = strawberry.field(
        default=UNSET,
        description="The playback position in milliseconds from the beginning; the saved position "
        "is removed if left out or null.",
    )


@strawberry.input(description="The play queue to save, which replaces the previous one.")
class SavePlayQueueInput:
    audio_ids: list[strawberry.ID] = strawberry.field(
        description=f"The global ids of at most {MAX_QUEUED} tracks, in playing order; a track "
        "may appear more than once."
    )
    index: int | None = strawberry.field(
        default=0, description="The position of the current track in `audioIds`, counted from 0."
    )
    position_ms: int | None = strawberry.field(
        default=0,
        description="The playback position in the current track, in milliseconds from its "
        "beginning.",
    )


def _load_markable(text: str) -> ThingKey:
    """Return the key of a thing with a global id; raises NotFound for any other text."""
    id = parse_global_id(text)
    if id is None or id.type not in _KINDS:
        raise Absent("There is no track, playlist, album or artist with this id.", ("id",))
    return _KINDS[id.type], id.key


@strawberry.type
class ListeningMutation:
    @strawberry.mutation(
        graphql_type=SetFavouriteResult,
        description="Make a track, a playlist, an album or an artist a favourite of the caller, or "
        "remove it from the favourites.",
    )
    @staticmethod
    async def set_favourite(info: Info, input: InputOf[SetFavouriteInput]) -> SetFavouritePayload:
        node = await listening.set_favourite(
            info.context, _load_markable(input.id), input.favourite
        )
        return SetFavouritePayload(node=node)

    @strawberry.mutation(
        graphql_type=SetRatingResult,
        description="Rate a track or a playlist, or remove the caller's rating.",
    )
    @staticmethod
    async def set_rating(info: Info, input: InputOf[SetRatingInput]) -> SetRatingPayload:
        node = await listening.rate(
            info.context, _load_markable(input.id), unset_to_none(input.rating)
        )
        return SetRatingPayload(node=node)

    @strawberry.mutation(
        graphql_type=RecordPlayResult,
        description="Record a play of a track. Streaming a track does not count as a play by "
        "itself.",
    )
    @staticmethod
    async def record_play(info: Info, input: InputOf[RecordPlayInput]) -> RecordPlayPayload:
        play = records.Play(
            audio_id=parse_key("Audio", input.id),
            started_at=input.started_at,
            listened_ms=input.listened_ms,
        )
        audio, counts = await listening.record_play(info.context, play)
        return RecordPlayPayload(audio=audio, counts=counts)

    @strawberry.mutation(
        graphql_type=SetPlayPositionResult,
        description="Save the position at which the caller resumes a track.",
    )
    @staticmethod
    async def set_play_position(
        info: Info, input: InputOf[SetPlayPositionInput]
    ) -> SetPlayPositionPayload:
        id, position = parse_key("Audio", input.id), unset_to_none(input.position_ms)
        return SetPlayPositionPayload(
            audio=await listening.set_play_position(info.context, id, position)
        )

    @strawberry.mutation(
        graphql_type=SavePlayQueueResult,
        description="Save the caller's play queue. If several players save it, the last one wins.",
    )
    @staticmethod
    async def save_play_queue(
        info: Info, input: InputOf[SavePlayQueueInput]
    ) -> SavePlayQueuePayload:
        ids = parse_keys("Audio", input.audio_ids, "audioIds")
        queue, index = info.context.session.listening.queue, input.index or 0
        saved = await queue.save(ids, index, input.position_ms or 0)
        return SavePlayQueuePayload(play_queue=saved)
