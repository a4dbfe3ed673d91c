"""Playlists from files: the input, the report and the mutation."""

import binascii
from base64 import b64decode
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records as audio_records
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.playlists import import_playlist as importing
from penstock.datastore.playlists import records
from penstock.datastore.playlists.formats import document
from penstock.datastore.playlists.formats.document import PlaylistFormat
from penstock.resolvers import playlists
from penstock.schema.audio.playlists import Playlist
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import LimitExceeded, ValidationProblem
from penstock.schema.core.scalars import Long
from penstock.schema.engine.cost import costs


@strawberry.type(description="What a playlist file says of one track.")
class FileTrack:
    location: str | None = strawberry.field(description="A path or a URL, which nobody fetches.")
    title: str | None = strawberry.field(description="The title.")
    creator: str | None = strawberry.field(description="The artist, or several in one text.")
    album: str | None = strawberry.field(description="The album.")
    duration_ms: Long | None = strawberry.field(description="The length in milliseconds.")


@strawberry.type(description="A track of a file that is no one track of the library.")
class UnmatchedTrack:
    position: int = strawberry.field(description="Which one of the file it is, from 1.")
    track: document.Track = strawberry.field(
        graphql_type=FileTrack, description="What the file says of it."
    )
    candidates: list[audio_records.Audio] = strawberry.field(
        graphql_type=list[Audio],
        description="The tracks of the library between which nothing decides; mostly none.",
    )


@strawberry.type(description="What came of the file.")
class ImportPlaylistPayload:
    playlist: records.Playlist | None = strawberry.field(
        graphql_type=Playlist | None, description="The new playlist; absent in a dry run."
    )
    matched: int = strawberry.field(description="How many of its tracks the library has.")
    unmatched: list[importing.Unmatched] = strawberry.field(
        graphql_type=list[UnmatchedTrack], description="Every other one, in the order of the file."
    )


ImportPlaylistResult = Annotated[
    ImportPlaylistPayload | ValidationProblem | LimitExceeded,
    strawberry.union("ImportPlaylistResult", description="What came of it, or why nothing did."),
]


@strawberry.input(description="A playlist file, as `text` or as `file`.")
class ImportPlaylistInput:
    format: PlaylistFormat = strawberry.field(description="Its format.")
    text: str | None = strawberry.field(default=UNSET, description="Its content.")
    file: str | None = strawberry.field(
        default=UNSET,
        description="Its bytes in base64, for the server to find out their encoding.",
    )
    name: str | None = strawberry.field(
        default=UNSET, description="What to call the playlist; the title in the file if left out."
    )
    dry_run: bool | None = strawberry.field(
        default=False, description="Whether to say what would come of it and to make nothing."
    )
    keep_unmatched: bool | None = strawberry.field(
        default=False,
        description="Whether tracks that the library has not become entries with what the file "
        "says; they are left out else.",
    )
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The same key with the same input within a day gives the same playlist.",
    )

    def data(self) -> str | bytes:
        """The content; raises Invalid unless there is one, and readable."""
        text, file = given(self.text), given(self.file)
        if text is not None and file is None:
            return text
        if file is None or text is not None:
            raise Invalid([FieldProblem(["text"], "or else the file must be given")])
        try:
            return b64decode(file, validate=True)
        except (binascii.Error, ValueError):
            raise Invalid([FieldProblem(["file"], "must be base64")]) from None

    def wish(self) -> importing.Wish:
        """How the file is to be imported."""
        return importing.Wish(
            name=given(self.name),
            keep=bool(self.keep_unmatched),
            only_look=bool(self.dry_run),
            idempotency_key=given(self.idempotency_key),
        )


@strawberry.type
class PlaylistFileMutation:
    @strawberry.mutation(
        graphql_type=ImportPlaylistResult,
        description="Make a playlist of a file. A track of the file is found by our own id, by its "
        "place, by the end of its path, by artist, title and length, or by its file name.",
        metadata=costs(100),
    )
    @staticmethod
    async def import_playlist(info: Info, input: ImportPlaylistInput) -> ImportPlaylistPayload:
        found = await playlists.imported(info.context, input.format, input.data(), input.wish())
        return ImportPlaylistPayload(
            playlist=found.playlist, matched=found.matched, unmatched=list(found.unmatched)
        )
