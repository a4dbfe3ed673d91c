"""The mutations of playlists and their entries: inputs, results and fields."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import about
from penstock.datastore.playlists import records
from penstock.datastore.playlists.change_target import Target
from penstock.datastore.playlists.records import MAX_CHANGED, MAX_MOVED, MAX_NAME
from penstock.resolvers import playlists
from penstock.schema.audio.playlists import Playlist, PlaylistEntry, entries_of
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import (
    LimitExceeded,
    NotFound,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.relay import key_of, positions

_ID = "The global id of the playlist."
_NAME = f"1 to {MAX_NAME} characters; several playlists may have the same."
_EXPECTED = "If given, the version that must be the current one."
_CURSORS = (
    "Cursors of the named entries, where they are known: with them a change of a long playlist "
    "reads no more than it changes. One that is out of date does no harm."
)


@strawberry.type(description="A playlist was made, or found by its idempotency key.")
class CreatePlaylistPayload:
    playlist: records.Playlist = strawberry.field(graphql_type=Playlist)


@strawberry.type(description="The playlist has its new name.")
class RenamePlaylistPayload:
    playlist: records.Playlist = strawberry.field(graphql_type=Playlist)


@strawberry.type(description="A playlist was deleted; `playlist` is what it was.")
class DeletePlaylistPayload:
    playlist: records.Playlist = strawberry.field(graphql_type=Playlist)


@strawberry.type(description="The entries were added, now or before under the idempotency key.")
class AddPlaylistEntriesPayload:
    playlist: records.Playlist = strawberry.field(graphql_type=Playlist)
    entries: list[records.Entry] = strawberry.field(
        graphql_type=list[PlaylistEntry], description="The new entries, in order."
    )


@strawberry.type(description="The entries are where they were wanted.")
class MovePlaylistEntriesPayload:
    playlist: records.Playlist = strawberry.field(graphql_type=Playlist)


@strawberry.type(description="The entries are gone.")
class RemovePlaylistEntriesPayload:
    playlist: records.Playlist = strawberry.field(graphql_type=Playlist)


CreatePlaylistResult = Annotated[
    CreatePlaylistPayload | ValidationProblem,
    strawberry.union("CreatePlaylistResult", description="The new playlist, or why there is none."),
]
RenamePlaylistResult = Annotated[
    RenamePlaylistPayload | NotFound | ValidationProblem | VersionConflict,
    strawberry.union("RenamePlaylistResult", description="The playlist, or why nothing changed."),
]
DeletePlaylistResult = Annotated[
    DeletePlaylistPayload | NotFound | VersionConflict,
    strawberry.union("DeletePlaylistResult", description="What it was, or why it still is."),
]
AddPlaylistEntriesResult = Annotated[
    AddPlaylistEntriesPayload | NotFound | ValidationProblem | VersionConflict | LimitExceeded,
    strawberry.union("AddPlaylistEntriesResult", description="What is new, or why nothing is."),
]
MovePlaylistEntriesResult = Annotated[
    MovePlaylistEntriesPayload | NotFound | ValidationProblem | VersionConflict | LimitExceeded,
    strawberry.union(
        "MovePlaylistEntriesResult", description="The playlist, or why nothing changed."
    ),
]
RemovePlaylistEntriesResult = Annotated[
    RemovePlaylistEntriesPayload | NotFound | ValidationProblem | VersionConflict | LimitExceeded,
    strawberry.union(
        "RemovePlaylistEntriesResult", description="The playlist, or why nothing changed."
    ),
]


@strawberry.input(description="The playlist to make, without entries.")
class CreatePlaylistInput:
    name: str = strawberry.field(description=_NAME)
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The same key with the same name within a day gives the same playlist.",
    )


@strawberry.input(description="The name to give.")
class RenamePlaylistInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    name: str = strawberry.field(description=_NAME)
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED)


@strawberry.input(description="The playlist to delete.")
class DeletePlaylistInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED)


@strawberry.input(description="The tracks to add, and where.")
class AddPlaylistEntriesInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    audio_ids: list[strawberry.ID] = strawberry.field(
        description=f"The global ids of 1 to {MAX_CHANGED} tracks in order; one may come twice."
    )
    after: strawberry.ID | None = strawberry.field(
        default=UNSET, description="The entry to add them behind; at the end if left out."
    )
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED)
    cursors: list[str] | None = strawberry.field(default=UNSET, description=_CURSORS)
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The same key with the same input within a day adds once.",
    )


@strawberry.input(description="The entries to move, and where.")
class MovePlaylistEntriesInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    entry_ids: list[strawberry.ID] = strawberry.field(
        description=f"1 to {MAX_MOVED} entries; they keep the order that they have."
    )
    after: strawberry.ID | None = strawberry.field(
        default=UNSET, description="The entry to put them behind; before all if left out."
    )
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED)
    cursors: list[str] | None = strawberry.field(default=UNSET, description=_CURSORS)


@strawberry.input(description="The entries to remove.")
class RemovePlaylistEntriesInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    entry_ids: list[strawberry.ID] = strawberry.field(description=f"1 to {MAX_CHANGED} entries.")
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED)
    cursors: list[str] | None = strawberry.field(default=UNSET, description=_CURSORS)


def _target(
    info: Info,
    input: AddPlaylistEntriesInput | MovePlaylistEntriesInput | RemovePlaylistEntriesInput,
) -> Target:
    id = key_of("Playlist", input.id)
    hints = positions(info, entries_of(id), given(input.cursors) or ())
    return Target(id=id, version=given(input.expected_version), hints=hints)


@strawberry.type
class PlaylistMutation:
    @strawberry.mutation(
        graphql_type=CreatePlaylistResult, description="Make a playlist of the caller's."
    )
    @staticmethod
    async def create_playlist(info: Info, input: CreatePlaylistInput) -> CreatePlaylistPayload:
        key = given(input.idempotency_key)
        return CreatePlaylistPayload(playlist=await playlists.create(info.context, input.name, key))

    @strawberry.mutation(graphql_type=RenamePlaylistResult, description="Give a playlist a name.")
    @staticmethod
    async def rename_playlist(info: Info, input: RenamePlaylistInput) -> RenamePlaylistPayload:
        id, expected = key_of("Playlist", input.id), given(input.expected_version)
        renamed = await playlists.rename(info.context, id, input.name, expected)
        return RenamePlaylistPayload(playlist=renamed)

    @strawberry.mutation(
        graphql_type=DeletePlaylistResult,
        description="Delete a playlist and its entries; the tracks stay in the library.",
    )
    @staticmethod
    async def delete_playlist(info: Info, input: DeletePlaylistInput) -> DeletePlaylistPayload:
        id, expected = key_of("Playlist", input.id), given(input.expected_version)
        return DeletePlaylistPayload(playlist=await playlists.delete(info.context, id, expected))

    @strawberry.mutation(
        graphql_type=AddPlaylistEntriesResult, description="Add tracks to a playlist."
    )
    @staticmethod
    async def add_playlist_entries(
        info: Info, input: AddPlaylistEntriesInput
    ) -> AddPlaylistEntriesPayload:
        target = _target(info, input)
        with about("audioIds"):
            audio_ids = [key_of("Audio", id) for id in input.audio_ids]
        playlist, entries = await playlists.add(
            info.context, target, audio_ids, given(input.after), given(input.idempotency_key)
        )
        return AddPlaylistEntriesPayload(playlist=playlist, entries=list(entries))

    @strawberry.mutation(
        graphql_type=MovePlaylistEntriesResult,
        description="Move entries of a playlist, as one block. Moves of different entries at once "
        "all happen.",
    )
    @staticmethod
    async def move_playlist_entries(
        info: Info, input: MovePlaylistEntriesInput
    ) -> MovePlaylistEntriesPayload:
        moved = await playlists.move(
            info.context, _target(info, input), input.entry_ids, given(input.after)
        )
        return MovePlaylistEntriesPayload(playlist=moved)

    @strawberry.mutation(
        graphql_type=RemovePlaylistEntriesResult, description="Remove entries from a playlist."
    )
    @staticmethod
    async def remove_playlist_entries(
        info: Info, input: RemovePlaylistEntriesInput
    ) -> RemovePlaylistEntriesPayload:
        left = await playlists.remove(info.context, _target(info, input), input.entry_ids)
        return RemovePlaylistEntriesPayload(playlist=left)
