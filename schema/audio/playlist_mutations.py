"""The mutations that change playlists and their entries, with their inputs and results."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.playlists import records
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.records import MAX_CHANGED, MAX_MOVED, MAX_NAME
from penstock.resolvers import playlists
from penstock.schema.audio.playlist_rules import PlaylistRuleInput
from penstock.schema.audio.playlists import Playlist, PlaylistEntry, entry_list_key
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    LimitExceeded,
    NotFound,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.relay import parse_key, parse_keys, read_positions

_ID = "The global id of the playlist."
_NAME = (
    f"The name of the playlist: 1 to {MAX_NAME} characters. Several playlists may have the same "
    "name."
)
_EXPECTED_VERSION = "The version that the playlist must have; any version if left out."
_CURSORS = (
    "The cursors of the named entries, if the client has them. With cursors the server reads only "
    "the entries that change, even in a long playlist. An outdated cursor is harmless."
)


@strawberry.type(description="The result of creating a playlist.")
class CreatePlaylistPayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist,
        description="The new playlist, or the one created before with the same idempotency key.",
    )


@strawberry.type(description="The result of renaming a playlist.")
class RenamePlaylistPayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist, description="The playlist with its new name."
    )


@strawberry.type(description="The result of giving a smart playlist another rule.")
class SetPlaylistRulePayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist, description="The playlist with its new rule."
    )


@strawberry.type(description="The result of deleting a playlist.")
class DeletePlaylistPayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist, description="The playlist as it was before it was deleted."
    )


@strawberry.type(description="The result of adding entries to a playlist.")
class AddPlaylistEntriesPayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist, description="The playlist with the new entries."
    )
    entries: list[records.Entry] = strawberry.field(
        graphql_type=list[PlaylistEntry],
        description="The new entries in order, or those added before with the same idempotency "
        "key.",
    )


@strawberry.type(description="The result of moving entries of a playlist.")
class MovePlaylistEntriesPayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist, description="The playlist with its entries in the new order."
    )


@strawberry.type(description="The result of removing entries from a playlist.")
class RemovePlaylistEntriesPayload:
    playlist: records.Playlist = strawberry.field(
        graphql_type=Playlist, description="The playlist without the removed entries."
    )


CreatePlaylistResult = Annotated[
    CreatePlaylistPayload | ValidationProblem,
    strawberry.union(
        "CreatePlaylistResult",
        description="The new playlist, or the reason why it was not created.",
    ),
]
RenamePlaylistResult = Annotated[
    RenamePlaylistPayload | NotFound | ValidationProblem | VersionConflict,
    strawberry.union(
        "RenamePlaylistResult",
        description="The renamed playlist, or the reason why nothing changed.",
    ),
]
SetPlaylistRuleResult = Annotated[
    SetPlaylistRulePayload | NotFound | ValidationProblem | VersionConflict,
    strawberry.union(
        "SetPlaylistRuleResult",
        description="The playlist with its new rule, or the reason why nothing changed.",
    ),
]
DeletePlaylistResult = Annotated[
    DeletePlaylistPayload | NotFound | VersionConflict,
    strawberry.union(
        "DeletePlaylistResult",
        description="The deleted playlist, or the reason why it was not deleted.",
    ),
]
AddPlaylistEntriesResult = Annotated[
    AddPlaylistEntriesPayload | NotFound | ValidationProblem | VersionConflict | LimitExceeded,
    strawberry.union(
        "AddPlaylistEntriesResult",
        description="The playlist with the new entries, or the reason why nothing was added.",
    ),
]
MovePlaylistEntriesResult = Annotated[
    MovePlaylistEntriesPayload | NotFound | ValidationProblem | VersionConflict | LimitExceeded,
    strawberry.union(
        "MovePlaylistEntriesResult",
        description="The playlist, or the reason why nothing was moved.",
    ),
]
RemovePlaylistEntriesResult = Annotated[
    RemovePlaylistEntriesPayload | NotFound | ValidationProblem | VersionConflict | LimitExceeded,
    strawberry.union(
        "RemovePlaylistEntriesResult",
        description="The playlist, or the reason why nothing was removed.",
    ),
]


@strawberry.input(
    description="The playlist to create. It has no entries at first, or a rule that chooses them."
)
class CreatePlaylistInput:
    name: str = strawberry.field(description=_NAME)
    rule: PlaylistRuleInput | None = strawberry.field(
        default=UNSET,
        description="The rule of a smart playlist, which has no entries of its own. If left out, "
        "tracks are added to the playlist.",
    )
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="A key chosen by the client. The same key with the same input within a day "
        "returns the same playlist instead of creating another.",
    )


@strawberry.input(description="The playlist to rename, and its new name.")
class RenamePlaylistInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    name: str = strawberry.field(description=_NAME)
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED_VERSION)


@strawberry.input(description="The smart playlist, and its new rule.")
class SetPlaylistRuleInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    rule: PlaylistRuleInput = strawberry.field(description="The rule, in place of the present one.")
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED_VERSION)


@strawberry.input(description="The playlist to delete.")
class DeletePlaylistInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED_VERSION)


@strawberry.input(
    description="The tracks to add to a playlist, and the position of the new entries."
)
class AddPlaylistEntriesInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    audio_ids: list[strawberry.ID] = strawberry.field(
        description=f"The global ids of 1 to {MAX_CHANGED} tracks in order; a track may appear "
        "more than once."
    )
    after: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The id of the entry after which the tracks are added; they are added at the "
        "end if left out.",
    )
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED_VERSION)
    cursors: list[str] | None = strawberry.field(default=UNSET, description=_CURSORS)
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="A key chosen by the client. The same key with the same input within a day "
        "adds the tracks only once.",
    )
    skip_duplicates: bool | None = strawberry.field(
        default=False,
        description="True to leave out tracks that the playlist holds already, and to add a track "
        "that is named several times only once. It reads all entries of the playlist.",
    )


@strawberry.input(description="The entries of a playlist to move, and their new position.")
class MovePlaylistEntriesInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    entry_ids: list[strawberry.ID] = strawberry.field(
        description=f"The ids of 1 to {MAX_MOVED} entries to move; they keep their present order."
    )
    after: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The id of the entry after which the moved entries are placed; they become "
        "the first entries if left out.",
    )
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED_VERSION)
    cursors: list[str] | None = strawberry.field(default=UNSET, description=_CURSORS)


@strawberry.input(description="The entries to remove from a playlist.")
class RemovePlaylistEntriesInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    entry_ids: list[strawberry.ID] = strawberry.field(
        description=f"The ids of 1 to {MAX_CHANGED} entries to remove."
    )
    expected_version: int | None = strawberry.field(default=UNSET, description=_EXPECTED_VERSION)
    cursors: list[str] | None = strawberry.field(default=UNSET, description=_CURSORS)


def _change_target(
    info: Info,
    input: AddPlaylistEntriesInput | MovePlaylistEntriesInput | RemovePlaylistEntriesInput,
) -> ChangeTarget:
    id = parse_key("Playlist", input.id)
    hints = read_positions(info, entry_list_key(id), unset_to_none(input.cursors) or ())
    return ChangeTarget(id=id, version=unset_to_none(input.expected_version), hints=hints)


@strawberry.type
class PlaylistMutation:
    @strawberry.mutation(
        graphql_type=CreatePlaylistResult,
        description="Create an empty playlist that belongs to the caller, or a smart one, whose "
        "rule chooses its entries.",
    )
    @staticmethod
    async def create_playlist(
        info: Info, input: InputOf[CreatePlaylistInput]
    ) -> CreatePlaylistPayload:
        key, rule = unset_to_none(input.idempotency_key), unset_to_none(input.rule)
        created = await playlists.create(
            info.context, input.name, key, None if rule is None else rule.record()
        )
        return CreatePlaylistPayload(playlist=created)

    @strawberry.mutation(
        graphql_type=RenamePlaylistResult, description="Give a playlist of the caller a new name."
    )
    @staticmethod
    async def rename_playlist(
        info: Info, input: InputOf[RenamePlaylistInput]
    ) -> RenamePlaylistPayload:
        id, expected = parse_key("Playlist", input.id), unset_to_none(input.expected_version)
        renamed = await playlists.rename(info.context, id, input.name, expected)
        return RenamePlaylistPayload(playlist=renamed)

    @strawberry.mutation(
        graphql_type=SetPlaylistRuleResult,
        description="Give a smart playlist another rule. A playlist with entries of its own does "
        "not become a smart one.",
    )
    @staticmethod
    async def set_playlist_rule(
        info: Info, input: InputOf[SetPlaylistRuleInput]
    ) -> SetPlaylistRulePayload:
        id, expected = parse_key("Playlist", input.id), unset_to_none(input.expected_version)
        changed = await playlists.set_rule(info.context, id, input.rule.record(), expected)
        return SetPlaylistRulePayload(playlist=changed)

    @strawberry.mutation(
        graphql_type=DeletePlaylistResult,
        description="Delete a playlist and its entries. The tracks remain in the library.",
    )
    @staticmethod
    async def delete_playlist(
        info: Info, input: InputOf[DeletePlaylistInput]
    ) -> DeletePlaylistPayload:
        id, expected = parse_key("Playlist", input.id), unset_to_none(input.expected_version)
        return DeletePlaylistPayload(playlist=await playlists.delete(info.context, id, expected))

    @strawberry.mutation(
        graphql_type=AddPlaylistEntriesResult, description="Add tracks to a playlist of the caller."
    )
    @staticmethod
    async def add_playlist_entries(
        info: Info, input: InputOf[AddPlaylistEntriesInput]
    ) -> AddPlaylistEntriesPayload:
        target = _change_target(info, input)
        audio_ids = parse_keys("Audio", input.audio_ids, "audioIds")
        playlist, entries = await playlists.add(
            info.context,
            target,
            audio_ids,
            unset_to_none(input.after),
            unset_to_none(input.idempotency_key),
            skip_duplicates=bool(input.skip_duplicates),
        )
        return AddPlaylistEntriesPayload(playlist=playlist, entries=list(entries))

    @strawberry.mutation(
        graphql_type=MovePlaylistEntriesResult,
        description="Move entries of a playlist as one block. Concurrent moves of different "
        "entries all take effect.",
    )
    @staticmethod
    async def move_playlist_entries(
        info: Info, input: InputOf[MovePlaylistEntriesInput]
    ) -> MovePlaylistEntriesPayload:
        moved = await playlists.move(
            info.context, _change_target(info, input), input.entry_ids, unset_to_none(input.after)
        )
        return MovePlaylistEntriesPayload(playlist=moved)

    @strawberry.mutation(
        graphql_type=RemovePlaylistEntriesResult,
        description="Remove entries from a playlist. The tracks remain in the library.",
    )
    @staticmethod
    async def remove_playlist_entries(
        info: Info, input: InputOf[RemovePlaylistEntriesInput]
    ) -> RemovePlaylistEntriesPayload:
        left = await playlists.remove(info.context, _change_target(info, input), input.entry_ids)
        return RemovePlaylistEntriesPayload(playlist=left)
