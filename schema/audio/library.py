"""The caller's audio library with the queries of the audio specification, under their names."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.table.pages import Slice, Window
from penstock.schema.audio.tracks import Album, Artist, Audio, AudioLink
from penstock.schema.core.context import (
    After,
    Before,
    First,
    Info,
    Last,
    PageArguments,
    unset_to_none,
)
from penstock.schema.core.relay import Connection, page_from_arguments, parse_key, read_connection
from penstock.schema.core.scalars import Long

T = TypeVar("T")

AudioIdArgument = Annotated[
    strawberry.ID, strawberry.argument(description="The global id of the track.")
]
PrefixArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Only names that begin with this text; upper and lower case are the same and "
        "a leading article is ignored. All names if left out."
    ),
]
NameArgument = Annotated[
    str,
    strawberry.argument(
        description="The complete name of the artist or album; upper and lower case are the same."
    ),
]
BucketArgument = Annotated[
    str, strawberry.argument(name="s3BucketName", description="The complete name of the S3 bucket.")
]


async def read_names(
    info: Info,
    name: str,
    prefix: str | None,
    page: PageArguments,
    read: Callable[[Window, str], Awaitable[Slice[T]]],
) -> Connection[T]:
    """Read a page of artists, albums or genres: all, or those whose names have a prefix."""
    wanted = unset_to_none(prefix) or ""
    return await read_connection(info, (name, wanted), page, lambda window: read(window, wanted))


@strawberry.type(
    description="The audio library of the caller. Its fields are the queries of the audio "
    "specification, under their original names. The access token alone decides whose library "
    "is read."
)
class AudioLibrary:
    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The tracks of one artist, sorted by year, album, disc number and track "
        "number.",
    )
    @staticmethod
    async def get_audio_id_by_user_id_by_artist(
        info: Info,
        artist: NameArgument,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_connection(
            info,
            ("artist", artist),
            page,
            lambda window: lists.get_audio_id_by_user_id_by_artist(artist, window),
        )

    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The tracks of all albums with the given name, one album after the other, "
        "sorted by disc number and track number.",
    )
    @staticmethod
    async def get_audio_id_by_user_id_by_album(
        info: Info,
        album: NameArgument,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_connection(
            info,
            ("album", album),
            page,
            lambda window: lists.get_audio_id_by_user_id_by_album(album, window),
        )

    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The tracks stored in one bucket, in no defined order.",
    )
    @staticmethod
    async def get_audio_id_by_user_id_by_s3bucket_name(
        info: Info,
        bucket: BucketArgument,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_connection(
            info,
            ("s3BucketName", bucket),
            page,
            lambda window: lists.get_audio_id_by_user_id_by_s3bucket_name(bucket, window),
        )

    @strawberry.field(
        graphql_type=Connection[Artist],
        description="The artists of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def get_artists_by_user_id(
        info: Info,
        prefix: PrefixArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Artist]:
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_names(
            info, "getArtistsByUserId", prefix, page, lists.get_artists_by_user_id
        )

    @strawberry.field(
        graphql_type=Connection[Album],
        description="The albums of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def get_album_by_user_id(
        info: Info,
        prefix: PrefixArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Album]:
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_names(info, "getAlbumByUserId", prefix, page, lists.get_album_by_user_id)

    @strawberry.field(
        graphql_type=Audio | None, description="The track with the given id, with all its fields."
    )
    @staticmethod
    async def get_audio_files_by_audio_id(info: Info, audio_id: AudioIdArgument) -> records.Audio:
        return await info.context.loaders.audio.tracks.load(parse_key("Audio", audio_id))

    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The ids of all tracks of the caller's library, in no defined order.",
    )
    @staticmethod
    async def get_audio_id_by_user_id(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_connection(info, ("all audio",), page, lists.get_audio_id_by_user_id)

    @strawberry.field(description="The number of tracks in the library.")
    @staticmethod
    async def count(info: Info) -> int:
        return (await _load_totals(info)).count

    @strawberry.field(description="The total length of all tracks, in milliseconds.")
    @staticmethod
    async def duration_ms(info: Info) -> Long:
        return Long((await _load_totals(info)).duration_ms)

    @strawberry.field(description="The total size of all audio files, in bytes.")
    @staticmethod
    async def size(info: Info) -> Long:
        return Long((await _load_totals(info)).size)


async def _load_totals(info: Info) -> records.LibraryTotals:
    """Load the totals of the caller's library, once for all fields of a request."""
    return await info.context.loaders.audio.totals.load(info.context.caller.user_id)
