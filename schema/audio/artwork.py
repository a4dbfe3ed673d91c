"""The mutations that upload a cover, and give it to a track or an album."""

from typing import Annotated

import strawberry

from penstock.datastore.audio.artwork.set_covers import MAX_TRACKS
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.errors import NotFound as Absent
from penstock.resolvers import audio
from penstock.schema.core.context import Info
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, NotFound, QuotaExceeded, ValidationProblem
from penstock.schema.core.files import UploadForm
from penstock.schema.core.relay import GlobalId, Node, parse_global_id


@strawberry.type(description="The permission to upload one picture.")
class CreateArtworkUploadPayload:
    object_key: str = strawberry.field(
        description="The key of the object to upload, to be given to `setArtwork` after the upload."
    )
    form: UploadForm = strawberry.field(
        description="The form that uploads the picture; it is valid for one hour."
    )


@strawberry.type(description="The result of giving a track or an album another cover.")
class SetArtworkPayload:
    node: Audio | Album = strawberry.field(
        graphql_type=Node, description="The track or the album with its new cover."
    )


@strawberry.type(description="The result of removing the cover of a track or an album.")
class RemoveArtworkPayload:
    node: Audio | Album = strawberry.field(
        graphql_type=Node,
        description="The track without a cover, or the album, none of whose tracks has one.",
    )


CreateArtworkUploadResult = Annotated[
    CreateArtworkUploadPayload | ValidationProblem | QuotaExceeded,
    strawberry.union(
        "CreateArtworkUploadResult",
        description="The upload form, or the reason why the upload is not allowed.",
    ),
]
SetArtworkResult = Annotated[
    SetArtworkPayload | NotFound | ValidationProblem | LimitExceeded,
    strawberry.union(
        "SetArtworkResult",
        description="The track or the album, or the reason why its cover did not change.",
    ),
]
RemoveArtworkResult = Annotated[
    RemoveArtworkPayload | NotFound | LimitExceeded,
    strawberry.union(
        "RemoveArtworkResult",
        description="The track or the album, or the reason why its cover was not removed.",
    ),
]


@strawberry.input(description="The picture to upload.")
class CreateArtworkUploadInput:
    file_name: str = strawberry.field(
        description="The name of the file, which becomes the last part of the object's key."
    )


@strawberry.input(description="The track or the album that gets a cover, and the cover.")
class SetArtworkInput:
    id: strawberry.ID = strawberry.field(description="The global id of a track or an album.")
    object_key: str = strawberry.field(
        description="The key of a picture that was uploaded with the form of "
        "`createArtworkUpload`: JPEG, PNG, GIF or WebP."
    )


@strawberry.input(description="The track or the album that loses its cover.")
class RemoveArtworkInput:
    id: strawberry.ID = strawberry.field(description="The global id of a track or an album.")


@strawberry.type
class ArtworkMutation:
    @strawberry.mutation(
        graphql_type=CreateArtworkUploadResult,
        description="Get a form that uploads one picture of at most 4 MiB within one hour. After "
        "the upload, call `setArtwork` with the returned key. The upload is deleted within a day "
        "after that.",
    )
    @staticmethod
    async def create_artwork_upload(
        info: Info, input: InputOf[CreateArtworkUploadInput]
    ) -> CreateArtworkUploadPayload:
        upload = await info.context.session.audio.covers.uploads.form(input.file_name)
        return CreateArtworkUploadPayload(
            object_key=upload.object_key, form=UploadForm.from_port(upload.form)
        )

    @strawberry.mutation(
        graphql_type=SetArtworkResult,
        description="Give a track, or all tracks of an album, another cover. The audio files do "
        f"not change. An album may have {MAX_TRACKS} tracks at most; a call that ends early can be "
        "sent again.",
    )
    @staticmethod
    async def set_artwork(info: Info, input: InputOf[SetArtworkInput]) -> SetArtworkPayload:
        id, key = _parse_pictured(input.id), input.object_key
        if id.type == "Audio":
            return SetArtworkPayload(node=await audio.set_cover(info.context, id.key, key))
        return SetArtworkPayload(node=await audio.set_album_cover(info.context, id.key, key))

    @strawberry.mutation(
        graphql_type=RemoveArtworkResult,
        description="Remove the cover of a track, or of all tracks of an album. The audio files do "
        f"not change. An album may have {MAX_TRACKS} tracks at most; a call that ends early can be "
        "sent again.",
    )
    @staticmethod
    async def remove_artwork(
        info: Info, input: InputOf[RemoveArtworkInput]
    ) -> RemoveArtworkPayload:
        id = _parse_pictured(input.id)
        if id.type == "Audio":
            return RemoveArtworkPayload(node=await audio.remove_cover(info.context, id.key))
        return RemoveArtworkPayload(node=await audio.remove_album_cover(info.context, id.key))


def _parse_pictured(text: str) -> GlobalId:
    """Parse the global id of a track or an album; raises NotFound for another one."""
    id = parse_global_id(text)
    if id is None or id.type not in ("Audio", "Album"):
        raise Absent("There is no track or album with this id.", ("id",))
    return id
