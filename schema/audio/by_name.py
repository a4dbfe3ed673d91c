"""The query fields that find artists, albums and genres by their names."""

from typing import Annotated

import strawberry

from penstock.datastore.audio import records
from penstock.schema.audio.tracks import Album, Artist, Genre
from penstock.schema.core.context import Info

_COMPARED = "upper and lower case are the same."

ArtistName = Annotated[
    str, strawberry.argument(description=f"The complete name of the artist; {_COMPARED}")
]
AlbumName = Annotated[
    str, strawberry.argument(description=f"The complete name of the album; {_COMPARED}")
]
AlbumArtistName = Annotated[
    str, strawberry.argument(description=f"The complete name of the album's artist; {_COMPARED}")
]
GenreName = Annotated[
    str, strawberry.argument(description=f"The complete name of the genre; {_COMPARED}")
]


@strawberry.type
class AudioNameQuery:
    @strawberry.field(
        graphql_type=Artist | None,
        description="Find the artist of the caller's library that has a name. The result is null "
        "if there is none.",
    )
    @staticmethod
    async def artist_by_name(info: Info, name: ArtistName) -> records.Artist:
        return await info.context.session.audio.by_name.artist(name)

    @strawberry.field(
        graphql_type=Album | None,
        description="Find the album of the caller's library that has a name and an artist; the "
        "first, if MusicBrainz ids tell several apart. The result is null if there is none.",
    )
    @staticmethod
    async def album_by_name(
        info: Info, name: AlbumName, artist_name: AlbumArtistName
    ) -> records.Album:
        return await info.context.session.audio.by_name.album(name, artist_name)

    @strawberry.field(
        graphql_type=Genre | None,
        description="Find the genre of the caller's library that has a name. The result is null "
        "if there is none.",
    )
    @staticmethod
    async def genre_by_name(info: Info, name: GenreName) -> records.Genre:
        return await info.context.session.audio.by_name.genre(name)
