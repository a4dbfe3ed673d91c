"""Taking audio in, editing its tags and deleting it."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.audio.track_rules import MAX_ARTISTS, MAX_GENRES, MAX_NAME, MAX_TITLE
from penstock.datastore.errors import about
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.resolvers import audio
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import (
    DuplicateObject,
    IllegalState,
    NotFound,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.files import UploadForm
from penstock.schema.core.jobs import Job
from penstock.schema.core.relay import key_of


@strawberry.type(description="An upload was allowed.")
class CreateAudioUploadPayload:
    object_key: str = strawberry.field(description="What `addAudio` is told afterwards.")
    form: UploadForm


@strawberry.type(description="A track came into the library.")
class AddAudioPayload:
    audio: records.Audio = strawberry.field(graphql_type=Audio)


@strawberry.type(description="The tags of a track are now these.")
class UpdateAudioPayload:
    audio: records.Audio = strawberry.field(graphql_type=Audio)


@strawberry.type(description="A track was deleted; `audio` is what it was.")
class DeleteAudioPayload:
    audio: records.Audio = strawberry.field(graphql_type=Audio)


@strawberry.type(description="An import was begun.")
class ImportAudioPayload:
    job: JobRecord = strawberry.field(graphql_type=Job)


ImportAudioResult = Annotated[
    ImportAudioPayload | NotFound | ValidationProblem,
    strawberry.union("ImportAudioResult", description="The job, or why there is none."),
]
CreateAudioUploadResult = Annotated[
    CreateAudioUploadPayload | ValidationProblem,
    strawberry.union("CreateAudioUploadResult", description="A form, or why there is none."),
]
AddAudioResult = Annotated[
    AddAudioPayload | NotFound | ValidationProblem | DuplicateObject | IllegalState,
    strawberry.union("AddAudioResult", description="The new track, or why there is none."),
]
UpdateAudioResult = Annotated[
    UpdateAudioPayload | NotFound | ValidationProblem | VersionConflict,
    strawberry.union("UpdateAudioResult", description="The track, or why nothing changed."),
]
DeleteAudioResult = Annotated[
    DeleteAudioPayload | NotFound | VersionConflict,
    strawberry.union("DeleteAudioResult", description="The track that was, or why it still is."),
]


@strawberry.input(description="The file to upload.")
class CreateAudioUploadInput:
    file_name: str = strawberry.field(description="The last part of the object's key.")
    content_type: str | None = strawberry.field(
        default=UNSET,
        description="Such as `audio/flac`; `application/octet-stream` if left out.",
    )


@strawberry.input(description="The object to take in.")
class AddAudioInput:
    object_key: str = strawberry.field(description="From `createAudioUpload`, or of the storage.")
    storage_id: strawberry.ID | None = strawberry.field(
        default=UNSET, description="The caller's own bucket that it lies in, if it does."
    )


@strawberry.input(description="What to change of a track's tags; what is left out stays.")
class UpdateAudioInput:
    id: strawberry.ID = strawberry.field(description="The global id of the track.")
    expected_version: int = strawberry.field(description="The version that the caller saw.")
    title: str | None = strawberry.field(default=UNSET, description=f"1 to {MAX_TITLE} characters.")
    artists: list[str] | None = strawberry.field(
        default=UNSET, description=f"At most {MAX_ARTISTS}, of 1 to {MAX_NAME} characters each."
    )
    album: str | None = strawberry.field(default=UNSET, description="Null for none.")
    album_artist: str | None = strawberry.field(default=UNSET, description="Null for none.")
    compilation: bool | None = strawberry.field(
        default=UNSET, description="Whether the album is of various artists."
    )
    disc: int | None = strawberry.field(default=UNSET, description="0 or null for none.")
    track: int | None = strawberry.field(default=UNSET, description="0 or null for none.")
    track_total: int | None = strawberry.field(default=UNSET, description="0 or null for none.")
    year: int | None = strawberry.field(default=UNSET, description="0 or null for none.")
    genres: list[str] | None = strawberry.field(
        default=UNSET, description=f"At most {MAX_GENRES}, of 1 to {MAX_NAME} characters each."
    )

    def changes(self) -> dict[str, Any]:
        """What was given, by the names of the record; null stands for what an absent tag is."""
        absent = {
            "title": "",
            "artists": (),
            "genres": (),
            "album": None,
            "album_artist": None,
            "compilation": False,
            **dict.fromkeys(("disc", "track", "track_total", "year"), 0),
        }
        found = {name: getattr(self, name) for name in absent}
        return {
            name: absent[name] if value is None else _kept(value)
            for name, value in found.items()
            if value is not UNSET
        }


@strawberry.input(description="The track to delete.")
class DeleteAudioInput:
    id: strawberry.ID = strawberry.field(description="The global id of the track.")
    expected_version: int | None = strawberry.field(
        default=UNSET, description="If given, the version that must be the current one."
    )


@strawberry.input(description="The objects to take in.")
class ImportAudioInput:
    storage_id: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The caller's own bucket that they lie in; among the caller's uploads if left "
        "out.",
    )
    prefix: str | None = strawberry.field(
        default=UNSET, description="What their keys begin with; all of them if left out."
    )


@strawberry.type
class AudioMutation:
    @strawberry.mutation(
        graphql_type=CreateAudioUploadResult,
        description="Allow an upload of one file of at most 1 GiB within an hour. Send the form, "
        "then `addAudio` with the key.",
    )
    @staticmethod
    async def create_audio_upload(
        info: Info, input: CreateAudioUploadInput
    ) -> CreateAudioUploadPayload:
        upload = await audio.upload(info.context, input.file_name, given(input.content_type))
        return CreateAudioUploadPayload(
            object_key=upload.object_key, form=UploadForm.of(upload.form)
        )

    @strawberry.mutation(
        graphql_type=AddAudioResult,
        description="Take an object into the library: its tags and its cover are read from it.",
    )
    @staticmethod
    async def add_audio(info: Info, input: AddAudioInput) -> AddAudioPayload:
        storage = given(input.storage_id)
        connection = None if storage is None else _storage_key(storage)
        added = await audio.add(info.context, input.object_key, connection)
        return AddAudioPayload(audio=added)

    @strawberry.mutation(
        graphql_type=UpdateAudioResult,
        description="Change tags in the library; the file stays as it is.",
    )
    @staticmethod
    async def update_audio(info: Info, input: UpdateAudioInput) -> UpdateAudioPayload:
        id = key_of("Audio", input.id)
        updated = await audio.update(info.context, id, input.changes(), input.expected_version)
        return UpdateAudioPayload(audio=updated)

    @strawberry.mutation(
        graphql_type=DeleteAudioResult,
        description="Delete a track, and its object if it was uploaded. Entries of playlists stay, "
        "and say that it is missing.",
    )
    @staticmethod
    async def delete_audio(info: Info, input: DeleteAudioInput) -> DeleteAudioPayload:
        expected = given(input.expected_version)
        deleted = await audio.delete(info.context, key_of("Audio", input.id), expected)
        return DeleteAudioPayload(audio=deleted)

    @strawberry.mutation(
        graphql_type=ImportAudioResult,
        description="Take in all objects below a prefix, as a job that goes on by itself. What the "
        "library holds already is left alone, so that an import can be begun again.",
    )
    @staticmethod
    async def import_audio(info: Info, input: ImportAudioInput) -> ImportAudioPayload:
        storage = given(input.storage_id)
        connection = None if storage is None else _storage_key(storage)
        prefix = given(input.prefix) or ""
        begun = await info.context.session.audio.importing.begin(connection, prefix)
        return ImportAudioPayload(job=begun)


def _kept(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _storage_key(id: strawberry.ID) -> str:
    with about("storageId"):
        return key_of("Storage", id)
