"""Audio: the tracks of the caller's library."""

from typing import Annotated

import strawberry

from datastore.audio import records
from resolvers import audio
from schema.annotated import Listened
from schema.common import Info
from schema.nodes import Node, key_of


@strawberry.type(description="A track of the caller's library.")
class Audio(Node, Listened):
    title: str = strawberry.field(description="As its tags say, or as its file is called.")
    artists: list[str] = strawberry.field(description="In the order of its tags.")
    album: str | None = strawberry.field(description="The album that its tags name.")
    duration_ms: int = strawberry.field(description="Its length in milliseconds.")

    @classmethod
    def is_type_of(cls, value: object, _info: object) -> bool:
        return type(value) is records.Audio


@strawberry.type
class AudioQuery:
    @strawberry.field(graphql_type=Audio | None, description="A track by its global id.")
    @staticmethod
    async def audio(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> records.Audio | None:
        return await audio.by_id(info.context, key_of("Audio", id))
