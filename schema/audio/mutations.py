"""The mutations that upload, add, edit, delete and import tracks."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.audio.track_rules import MAX_ARTISTS, MAX_GENRES, MAX_NAME, MAX_TITLE
from penstock.datastore.errors import blame_field
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.resolvers import audio
from penstock.schema.audio.tracks import Audio
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    DuplicateObject,
    IllegalState,
    LimitExceeded,
    NotFound,
    QuotaExceeded,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.files import UploadForm
from penstock.schema.core.jobs import Job
from penstock.schema.core.relay import parse_key


@strawberry.type(description="The permission to upload one audio file.")
class CreateAudioUploadPayload:
    object_key: str = strawberry.field(
        description="The key of the object to upload, to be given to `addAudio` after the upload."
    )
    form: UploadForm = strawberry.field(
        description="The form that uploads the file; it is valid for one hour."
    )


@strawberry.type(description="The result of adding a track to the library.")
class AddAudioPayload:
    audio: records.Audio = strawberry.field(
        graphql_type=Audio, description="The track that was added."
    )


@strawberry.type(description="The result of editing the tags of a track.")
class UpdateAudioPayload:
    audio: records.Audio = strawberry.field(
        graphql_type=Audio, description="The track with its new tags."
    )


@strawberry.type(description="The result of deleting a track.")
class DeleteAudioPayload:
    audio: records.Audio = strawberry.field(
        graphql_type=Audio, description="The track as it was before it was deleted."
    )


@strawberry.type(description="The result of starting an import of audio files.")
class ImportAudioPayload:
    job: JobRecord = strawberry.field(
        graphql_type=Job, description="The job that imports the files in the background."
    )


ImportAudioResult = Annotated[
    ImportAudioPayload | NotFound | ValidationProblem,
    strawberry.union(
        "ImportAudioResult", description="The import job, or the reason why it was not started."
    ),
]
CreateAudioUploadResult = Annotated[
    CreateAudioUploadPayload | ValidationProblem | LimitExceeded | QuotaExceeded,
    strawberry.union(
        "CreateAudioUploadResult",
        description="The upload form, or the reason why the upload is not allowed.",
    ),
]
AddAudioResult = Annotated[
    AddAudioPayload | NotFound | ValidationProblem | DuplicateObject | QuotaExceeded | IllegalState,
    strawberry.union(
        "AddAudioResult", description="The new track, or the reason why it was not added."
    ),
]
UpdateAudioResult = Annotated[
    UpdateAudioPayload | NotFound | ValidationProblem | VersionConflict,
    strawberry.union(
        "UpdateAudioResult", description="The edited track, or the reason why nothing changed."
    ),
]
DeleteAudioResult = Annotated[
    DeleteAudioPayload | NotFound | VersionConflict,
    strawberry.union(
        "DeleteAudioResult", description="The deleted track, or the reason why it was not deleted."
    ),
]


@strawberry.input(description="The audio file to upload.")
class CreateAudioUploadInput:
    file_name: str = strawberry.field(
        description="The name of the file, which becomes the last part of the object's key."
    )
    content_type: str | None = strawberry.field(
        default=UNSET,
        description="The media type of the file, such as `audio/flac`; `application/octet-stream` "
        "if left out.",
    )


@strawberry.input(description="The object to add to the library as a track.")
class AddAudioInput:
    object_key: str = strawberry.field(
        description="The key of the object: the `objectKey` of `createAudioUpload`, or a key in "
        "the bucket of `storageId`."
    )
    storage_id: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The global id of the caller's own storage that holds the object; the "
        "caller's uploads if left out.",
    )


@strawberry.input(
    description="The tags of a track to change; a tag that is left out keeps its value."
)
class UpdateAudioInput:
    id: strawberry.ID = strawberry.field(description="The global id of the track.")
    expected_version: int = strawberry.field(
        description="The version of the track that the changes are based on; another current "
        "version is a conflict."
    )
    title: str | None = strawberry.field(
        default=UNSET, description=f"The new title: 1 to {MAX_TITLE} characters."
    )
    artists: list[str] | None = strawberry.field(
        default=UNSET,
        description=f"The new artists: at most {MAX_ARTISTS} names of 1 to {MAX_NAME} characters "
        "each.",
    )
    album: str | None = strawberry.field(
        default=UNSET, description="The new name of the album; null removes it."
    )
    album_artist: str | None = strawberry.field(
        default=UNSET, description="The new artist of the album; null removes it."
    )
    compilation: bool | None = strawberry.field(
        default=UNSET, description="Whether the album is a compilation of various artists."
    )
    disc: int | None = strawberry.field(
        default=UNSET, description="The new number of the disc; 0 or null removes it."
    )
    track: int | None = strawberry.field(
        default=UNSET, description="The new number of the track on the disc; 0 or null removes it."
    )
    track_total: int | None = strawberry.field(
        default=UNSET, description="The new number of tracks on the disc; 0 or null removes it."
    )
    year: int | None = strawberry.field(
        default=UNSET, description="The new year of the recording or release; 0 or null removes it."
    )
    genres: list[str] | None = strawberry.field(
        default=UNSET,
        description=f"The new genres: at most {MAX_GENRES} names of 1 to {MAX_NAME} characters "
        "each.",
    )

    def changes(self) -> dict[str, Any]:
        """The given values by the record's attribute names; null becomes that of an absent tag."""
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
            name: absent[name] if value is None else _to_tuple(value)
            for name, value in found.items()
            if value is not UNSET
        }


@strawberry.input(description="The track to delete.")
class DeleteAudioInput:
    id: strawberry.ID = strawberry.field(description="The global id of the track.")
    expected_version: int | None = strawberry.field(
        default=UNSET, description="The version that the track must have; any version if left out."
    )


@strawberry.input(description="The objects to import into the library.")
class ImportAudioInput:
    storage_id: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The global id of the caller's own storage that holds the objects; the "
        "caller's uploads if left out.",
    )
    prefix: str | None = strawberry.field(
        default=UNSET,
        description="Only objects with a key that begins with this text; all objects if left out.",
    )


@strawberry.type
class AudioMutation:
    @strawberry.mutation(
        graphql_type=CreateAudioUploadResult,
        description="Get a form that uploads one audio file of at most 1 GiB within one hour. "
        "After the upload, call `addAudio` with the returned key. An upload that is not added "
        "within a day after that is deleted.",
    )
    @staticmethod
    async def create_audio_upload(
        info: Info, input: InputOf[CreateAudioUploadInput]
    ) -> CreateAudioUploadPayload:
        upload = await audio.create_upload(
            info.context, input.file_name, unset_to_none(input.content_type)
        )
        return CreateAudioUploadPayload(
            object_key=upload.object_key, form=UploadForm.from_port(upload.form)
        )

    @strawberry.mutation(
        graphql_type=AddAudioResult,
        description="Add an object to the library as a track. The tags and the cover are read "
        "from the file. An upload is moved to a key that its form cannot write.",
    )
    @staticmethod
    async def add_audio(info: Info, input: InputOf[AddAudioInput]) -> AddAudioPayload:
        storage = unset_to_none(input.storage_id)
        connection = None if storage is None else _storage_key(storage)
        added = await audio.add(info.context, input.object_key, connection)
        return AddAudioPayload(audio=added)

    @strawberry.mutation(
        graphql_type=UpdateAudioResult,
        description="Edit the tags of a track in the library. The audio file itself does not "
        "change.",
    )
    @staticmethod
    async def update_audio(info: Info, input: InputOf[UpdateAudioInput]) -> UpdateAudioPayload:
        id = parse_key("Audio", input.id)
        updated = await audio.update(info.context, id, input.changes(), input.expected_version)
        return UpdateAudioPayload(audio=updated)

    @strawberry.mutation(
        graphql_type=DeleteAudioResult,
        description="Delete a track, and its object if it was uploaded. Playlist entries of the "
        "track remain and are marked as missing.",
    )
    @staticmethod
    async def delete_audio(info: Info, input: InputOf[DeleteAudioInput]) -> DeleteAudioPayload:
        expected = unset_to_none(input.expected_version)
        deleted = await audio.delete(info.context, parse_key("Audio", input.id), expected)
        return DeleteAudioPayload(audio=deleted)

    @strawberry.mutation(
        graphql_type=ImportAudioResult,
        description="Bring the library up to date with all objects whose keys have a prefix, as a "
        "job in the background. New objects are added. The tags of replaced objects are read "
        "again. A track keeps its stars and playlists if its object was moved; a track whose "
        "object is gone stays, with the time in `missingSince`. An import can safely be repeated.",
    )
    @staticmethod
    async def import_audio(info: Info, input: InputOf[ImportAudioInput]) -> ImportAudioPayload:
        storage = unset_to_none(input.storage_id)
        connection = None if storage is None else _storage_key(storage)
        prefix = unset_to_none(input.prefix) or ""
        begun = await info.context.session.audio.importing.begin(connection, prefix)
        return ImportAudioPayload(job=begun)


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _storage_key(id: strawberry.ID) -> str:
    with blame_field("storageId"):
        return parse_key("Storage", id)
