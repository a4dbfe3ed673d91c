"""The mutations that give artists, albums and genres other names, or merge them."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio.track_rules import MAX_NAME
from penstock.datastore.errors import blame_field
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import NotFound, ValidationProblem
from penstock.schema.core.jobs import Job
from penstock.schema.core.relay import parse_key

_NAME = f"1 to {MAX_NAME} characters"
_JOB = "The job that changes the tags of the tracks in the background."


@strawberry.type(description="The result of giving an artist another name.")
class RenameArtistPayload:
    job: JobRecord = strawberry.field(graphql_type=Job, description=_JOB)


@strawberry.type(description="The result of giving an album another name or artist.")
class RenameAlbumPayload:
    job: JobRecord = strawberry.field(graphql_type=Job, description=_JOB)


@strawberry.type(description="The result of merging an album into another one.")
class MergeAlbumPayload:
    job: JobRecord = strawberry.field(graphql_type=Job, description=_JOB)


@strawberry.type(description="The result of giving a genre another name.")
class RenameGenrePayload:
    job: JobRecord = strawberry.field(graphql_type=Job, description=_JOB)


RenameArtistResult = Annotated[
    RenameArtistPayload | NotFound | ValidationProblem,
    strawberry.union(
        "RenameArtistResult", description="The job, or the reason why it was not started."
    ),
]
RenameAlbumResult = Annotated[
    RenameAlbumPayload | NotFound | ValidationProblem,
    strawberry.union(
        "RenameAlbumResult", description="The job, or the reason why it was not started."
    ),
]
MergeAlbumResult = Annotated[
    MergeAlbumPayload | NotFound | ValidationProblem,
    strawberry.union(
        "MergeAlbumResult", description="The job, or the reason why it was not started."
    ),
]
RenameGenreResult = Annotated[
    RenameGenrePayload | NotFound | ValidationProblem,
    strawberry.union(
        "RenameGenreResult", description="The job, or the reason why it was not started."
    ),
]


@strawberry.input(description="The artist to rename, and the new name.")
class RenameArtistInput:
    id: strawberry.ID = strawberry.field(description="The global id of the artist.")
    name: str = strawberry.field(
        description=f"The new name: {_NAME}. If another artist has it, both become one."
    )


@strawberry.input(description="The album to rename, with a new name, a new artist, or both.")
class RenameAlbumInput:
    id: strawberry.ID = strawberry.field(description="The global id of the album.")
    name: str | None = strawberry.field(
        default=UNSET, description=f"The new name: {_NAME}; the present one if left out."
    )
    artist_name: str | None = strawberry.field(
        default=UNSET,
        description=f"The name of the new artist of the album: {_NAME}; the present one if left "
        "out.",
    )


@strawberry.input(description="The album to merge, and the one that gets its tracks.")
class MergeAlbumInput:
    id: strawberry.ID = strawberry.field(
        description="The global id of the album whose tracks change."
    )
    into: strawberry.ID = strawberry.field(
        description="The global id of the album to which the tracks go; its name, its artist and "
        "its MusicBrainz id become theirs."
    )


@strawberry.input(description="The genre to rename, and the new name.")
class RenameGenreInput:
    name: str = strawberry.field(
        description="The present name of the genre; upper and lower case are the same."
    )
    new_name: str = strawberry.field(
        description=f"The new name: {_NAME}. If another genre has it, both become one."
    )


@strawberry.type
class RenamingMutation:
    @strawberry.mutation(
        graphql_type=RenameArtistResult,
        description="Give an artist another name in all tracks, as a job in the background. Stars "
        "and ratings of the artist and of the artist's albums, and plays of the albums, follow. "
        "The audio files do not change.",
    )
    @staticmethod
    async def rename_artist(info: Info, input: InputOf[RenameArtistInput]) -> RenameArtistPayload:
        renaming = info.context.session.listening.renaming
        place = parse_key("Artist", input.id)
        return RenameArtistPayload(job=await renaming.rename_artist(place, input.name))

    @strawberry.mutation(
        graphql_type=RenameAlbumResult,
        description="Give an album another name or artist in all tracks, as a job in the "
        "background. The star, the rating and the plays of the album follow. The audio files do "
        "not change.",
    )
    @staticmethod
    async def rename_album(info: Info, input: InputOf[RenameAlbumInput]) -> RenameAlbumPayload:
        renaming = info.context.session.listening.renaming
        name, artist = unset_to_none(input.name), unset_to_none(input.artist_name)
        place = parse_key("Album", input.id)
        return RenameAlbumPayload(job=await renaming.rename_album(place, name, artist))

    @strawberry.mutation(
        graphql_type=MergeAlbumResult,
        description="Put all tracks of an album into another album, as a job in the background. "
        "The star and the rating of the album follow where the other one has none of its own; "
        "plays are added up. The audio files do not change.",
    )
    @staticmethod
    async def merge_album(info: Info, input: InputOf[MergeAlbumInput]) -> MergeAlbumPayload:
        renaming = info.context.session.listening.renaming
        place = parse_key("Album", input.id)
        with blame_field("into"):
            into = parse_key("Album", input.into)
        return MergeAlbumPayload(job=await renaming.merge_albums(place, into))

    @strawberry.mutation(
        graphql_type=RenameGenreResult,
        description="Give a genre another name in all tracks, as a job in the background. The "
        "audio files do not change.",
    )
    @staticmethod
    async def rename_genre(info: Info, input: InputOf[RenameGenreInput]) -> RenameGenrePayload:
        renaming = info.context.session.listening.renaming
        return RenameGenrePayload(job=await renaming.rename_genre(input.name, input.new_name))
