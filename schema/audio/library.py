"""The queries of the caller's audio library, also under the names of the audio specification."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.playlists.rules import MAX_SEED
from penstock.datastore.table.pages import Slice, Window
from penstock.schema.audio.album_orders import AlbumOrder, AlbumOrderArgument, read_ordered
from penstock.schema.audio.track_lists import AudioOrder, TrackList, read_tracks
from penstock.schema.audio.tracks import Album, Artist, Audio, AudioLink, Genre
from penstock.schema.core.context import (
    After,
    Before,
    First,
    Info,
    Last,
    PageArguments,
    unset_to_none,
)
from penstock.schema.core.name_filter import NameFilter
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


async def _read_names(
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
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
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
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
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
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
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
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
        return await _read_names(
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
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
        return await _read_names(info, "getAlbumByUserId", prefix, page, lists.get_album_by_user_id)

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


@strawberry.type
class AudioQuery:
    @strawberry.field(
        graphql_type=Connection[Artist],
        description="The artists of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def artists(
        info: Info,
        prefix: PrefixArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Artist]:
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
        return await _read_names(info, "artists", prefix, page, lists.get_artists_by_user_id)

    @strawberry.field(
        graphql_type=Connection[Album],
        description="The albums of the caller's library, each once, sorted by name or as `order` "
        "says.",
    )
    @staticmethod
    async def albums(
        info: Info,
        prefix: PrefixArgument = UNSET,
        order: AlbumOrderArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Album]:
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
        if order and order is not AlbumOrder.NAME:
            return await read_ordered(info, order, unset_to_none(prefix), page)
        return await _read_names(info, "albums", prefix, page, lists.get_album_by_user_id)

    @strawberry.field(
        graphql_type=Connection[Genre],
        description="The genres of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def genres(
        info: Info,
        prefix: PrefixArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Genre]:
        page, lists = (
            page_from_arguments(first, after, last, before),
            info.context.session.audio.lists,
        )
        return await _read_names(info, "genres", prefix, page, lists.genres)

    @strawberry.field(
        description="The caller's own audio library, with the queries of the audio specification."
    )
    @staticmethod
    def audio_library() -> AudioLibrary:
        return AudioLibrary()

    @strawberry.field(graphql_type=Audio | None, description="The track with the given global id.")
    @staticmethod
    async def audio(info: Info, id: AudioIdArgument) -> records.Audio:
        return await info.context.loaders.audio.tracks.load(parse_key("Audio", id))

    @strawberry.field(
        graphql_type=Connection[Audio],
        description="The tracks of the caller's library: all of them, or those of one artist, "
        "album, bucket, genre or title. At most one of these filters can be given.",
    )
    @staticmethod
    async def audios(
        info: Info,
        artist: Annotated[
            str | None,
            strawberry.argument(
                description="Only tracks of the artist with this name, sorted by year, album, "
                "disc number and track number."
            ),
        ] = UNSET,
        album: Annotated[
            str | None,
            strawberry.argument(
                description="Only tracks of albums with this name, sorted by disc number and "
                "track number; several albums with this name follow one another."
            ),
        ] = UNSET,
        bucket: Annotated[
            str | None,
            strawberry.argument(
                description="Only tracks stored in the bucket with this name, in no defined order."
            ),
        ] = UNSET,
        genre: Annotated[
            str | None,
            strawberry.argument(
                description="Only tracks of the genre with this name, sorted by the time when "
                "they were added."
            ),
        ] = UNSET,
        order: Annotated[
            AudioOrder | None,
            strawberry.argument(
                description="The order by the time when the tracks were added, for all tracks or "
                "those of a genre or a title, or RANDOM, for all tracks or those of a genre; "
                "NEWEST_FIRST if left out."
            ),
        ] = UNSET,
        seed: Annotated[
            str | None,
            strawberry.argument(
                description="Any text, which draws the same order of the same tracks each time; of "
                f"at most {MAX_SEED} characters, and for the order RANDOM only."
            ),
        ] = UNSET,
        title: Annotated[
            NameFilter | None,
            strawberry.argument(
                description="Only tracks with this part of the title, sorted by the time when "
                "they were added."
            ),
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Audio]:
        names = {"artist": artist, "album": album, "bucket": bucket, "genre": genre}
        part = unset_to_none(title)
        listed = TrackList(
            {name: text for name, text in names.items() if text},
            None if part is None else part.filter(),
            unset_to_none(order),
            unset_to_none(seed),
        )
        return await read_connection(
            info,
            listed.identity,
            page_from_arguments(first, after, last, before),
            lambda window: read_tracks(info, listed, window),
        )


async def _load_totals(info: Info) -> records.LibraryTotals:
    """Load the totals of the caller's library, once for all fields of a request."""
    return await info.context.loaders.audio.totals.load(info.context.caller.user_id)
