"""The mutation that imports a playlist file, its input and its report of unmatched tracks."""

import binascii
from base64 import b64decode
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records as audio_records
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.playlists import import_playlist as playlist_import
from penstock.datastore.playlists import records
from penstock.datastore.playlists.formats import document
from penstock.datastore.playlists.formats.document import PlaylistFormat
from penstock.resolvers import playlists
from penstock.schema.audio.playlists import Playlist
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, QuotaExceeded, ValidationProblem
from penstock.schema.core.files import UploadForm
from penstock.schema.core.scalars import Long
from penstock.schema.engine.cost import price_metadata


@strawberry.type(description="The data of one track in a playlist file.")
class FileTrack:
    location: str | None = strawberry.field(
        description="The path or URL of the track as written in the file; the server never "
        "fetches it."
    )
    title: str | None = strawberry.field(description="The title of the track.")
    creator: str | None = strawberry.field(
        description="The artist of the track; several artists are one text."
    )
    album: str | None = strawberry.field(description="The album of the track.")
    duration_ms: Long | None = strawberry.field(
        description="The length of the track, in milliseconds."
    )


@strawberry.type(
    description="A track of a playlist file that was not matched to exactly one track of the "
    "library."
)
class UnmatchedTrack:
    position: int = strawberry.field(
        description="The position of the track in the file, counted from 1."
    )
    track: document.FileTrack = strawberry.field(
        graphql_type=FileTrack, description="The data of the track in the file."
    )
    candidates: list[audio_records.Audio] = strawberry.field(
        graphql_type=list[Audio],
        description="The tracks of the library that match equally well, so that none was chosen; "
        "usually empty.",
    )


@strawberry.type(description="The result of importing a playlist file.")
class ImportPlaylistPayload:
    playlist: records.Playlist | None = strawberry.field(
        graphql_type=Playlist | None, description="The new playlist; null in a dry run."
    )
    matched: int = strawberry.field(
        description="The number of tracks in the file that were found in the library."
    )
    unmatched_count: int = strawberry.field(
        description="The number of tracks in the file that were not matched."
    )
    unmatched: list[playlist_import.UnmatchedEntry] = strawberry.field(
        graphql_type=list[UnmatchedTrack],
        description="The tracks that were not matched, in the order of the file. They are left "
        "out where a call is repeated with its idempotency key and its uploaded file is gone.",
    )


ImportPlaylistResult = Annotated[
    ImportPlaylistPayload | ValidationProblem | LimitExceeded,
    strawberry.union(
        "ImportPlaylistResult",
        description="The result of the import, or the reason why nothing was imported.",
    ),
]


@strawberry.input(description="A playlist file to import, given as `text` or as `file`.")
class ImportPlaylistInput:
    format: PlaylistFormat = strawberry.field(description="The format of the playlist file.")
    text: str | None = strawberry.field(
        default=UNSET,
        description="The content of the file as text; give one of `text`, `file` and `objectKey`.",
    )
    file: str | None = strawberry.field(
        default=UNSET,
        description="The bytes of the file in base64, if the server shall detect the character "
        "encoding; give one of `text`, `file` and `objectKey`.",
    )
    object_key: str | None = strawberry.field(
        default=UNSET,
        description="The key of a file that was uploaded with the form of `createPlaylistUpload`, "
        "which may be larger than a request; give one of `text`, `file` and `objectKey`.",
    )
    name: str | None = strawberry.field(
        default=UNSET,
        description="The name of the new playlist; the title in the file if left out.",
    )
    dry_run: bool | None = strawberry.field(
        default=False,
        description="True to report the result of the import without creating a playlist.",
    )
    keep_unmatched: bool | None = strawberry.field(
        default=False,
        description="True to add tracks without a match as entries with the data of the file; "
        "they are left out otherwise.",
    )
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="A key chosen by the client. The same key with the same input within a day "
        "returns the same playlist instead of creating another.",
    )

    def content(self) -> str | bytes | playlists.ObjectKey:
        """The content or its key; raises Invalid unless exactly one is given and readable."""
        text, file = unset_to_none(self.text), unset_to_none(self.file)
        key = unset_to_none(self.object_key)
        if sum(each is not None for each in (text, file, key)) != 1:
            raise Invalid([FieldProblem(["text"], "or else the file or its key must be given")])
        if text is not None:
            return text
        if file is None:
            return playlists.ObjectKey(str(key))
        try:
            return b64decode(file, validate=True)
        except (binascii.Error, ValueError):
            raise Invalid([FieldProblem(["file"], "must be base64")]) from None

    def import_options(self) -> playlist_import.ImportOptions:
        """The options of the import."""
        return playlist_import.ImportOptions(
            name=unset_to_none(self.name),
            keep=bool(self.keep_unmatched),
            only_look=bool(self.dry_run),
            idempotency_key=unset_to_none(self.idempotency_key),
        )


@strawberry.type(description="The permission to upload one playlist file.")
class CreatePlaylistUploadPayload:
    object_key: str = strawberry.field(
        description="The key of the file, to be given to `importPlaylist` after the upload."
    )
    form: UploadForm = strawberry.field(
        description="The form that uploads the file; it is valid for one hour."
    )


CreatePlaylistUploadResult = Annotated[
    CreatePlaylistUploadPayload | ValidationProblem | LimitExceeded | QuotaExceeded,
    strawberry.union(
        "CreatePlaylistUploadResult",
        description="The upload form, or the reason why the upload is not allowed.",
    ),
]


@strawberry.input(description="The playlist file to upload.")
class CreatePlaylistUploadInput:
    file_name: str = strawberry.field(
        description="The name of the file, which becomes the last part of the object's key."
    )


@strawberry.type
class PlaylistFileMutation:
    @strawberry.mutation(
        graphql_type=CreatePlaylistUploadResult,
        description="Get a form that uploads one playlist file of at most 1 GiB within one hour, "
        "for an import that is larger than a request. The file is deleted a day after that.",
    )
    @staticmethod
    async def create_playlist_upload(
        info: Info, input: InputOf[CreatePlaylistUploadInput]
    ) -> CreatePlaylistUploadPayload:
        upload = await info.context.session.playlists.uploads.form(input.file_name)
        return CreatePlaylistUploadPayload(
            object_key=upload.object_key, form=UploadForm.from_port(upload.form)
        )

    @strawberry.mutation(
        graphql_type=ImportPlaylistResult,
        description="Create a playlist from a playlist file. A track of the file is matched by "
        "Penstock's own track id, by its location, by the end of its path, by artist, title and "
        "length, or by its file name.",
        metadata=price_metadata(100),
    )
    @staticmethod
    async def import_playlist(
        info: Info, input: InputOf[ImportPlaylistInput]
    ) -> ImportPlaylistPayload:
        found = await playlists.import_file(
            info.context, input.format, input.content(), input.import_options()
        )
        return ImportPlaylistPayload(
            playlist=found.playlist,
            matched=found.matched,
            unmatched_count=found.unmatched_count,
            unmatched=list(found.unmatched),
        )
