"""The library of the caller: query fields, and the use cases under the names of their document."""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Annotated, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.errors import BadInput
from penstock.datastore.table.pages import Slice, Window
from penstock.graphql_jit import attributes_asked
from penstock.resolvers import audio
from penstock.schema.audio.tracks import Album, Artist, Audio, AudioLink, Genre
from penstock.schema.core.context import After, Before, First, Info, Last, PageArguments, given
from penstock.schema.core.relay import Connection, connect, key_of, page_of
from penstock.schema.core.scalars import Long

T = TypeVar("T")

OfAudio = Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
Prefix = Annotated[
    str | None,
    strawberry.argument(
        description="Those whose names begin so, in any case and without a leading article."
    ),
]
WholeName = Annotated[str, strawberry.argument(description="The whole name.")]
OfBucket = Annotated[
    str, strawberry.argument(name="s3BucketName", description="The whole name of the bucket.")
]


@strawberry.enum(description="The order of a list by when things came into the library.")
class AudioOrder(Enum):
    NEWEST_FIRST = "NEWEST_FIRST"
    OLDEST_FIRST = "OLDEST_FIRST"


async def _list_shelf(
    info: Info,
    name: str,
    prefix: str | None,
    page: PageArguments,
    read: Callable[[Window, str], Awaitable[Slice[T]]],
) -> Connection[T]:
    """Read a page of artists, albums or genres: all, or those with a prefix."""
    wanted = given(prefix) or ""
    return await connect(info, (name, wanted), page, lambda window: read(window, wanted))


@strawberry.type(
    description="What belongs to the caller, by the use cases of the audio document under its own "
    "names. Each is one query. Whose library it is follows from the token alone."
)
class AudioLibrary:
    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The tracks of one artist, by year, album, disc and track.",
    )
    @staticmethod
    async def get_audio_id_by_user_id_by_artist(
        info: Info,
        artist: WholeName,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await connect(
            info,
            ("artist", artist),
            page,
            lambda window: lists.get_audio_id_by_user_id_by_artist(artist, window),
        )

    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The tracks of the albums with one name, album by album, by disc and track.",
    )
    @staticmethod
    async def get_audio_id_by_user_id_by_album(
        info: Info,
        album: WholeName,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await connect(
            info,
            ("album", album),
            page,
            lambda window: lists.get_audio_id_by_user_id_by_album(album, window),
        )

    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The tracks of one bucket, in no defined order.",
    )
    @staticmethod
    async def get_audio_id_by_user_id_by_s3bucket_name(
        info: Info,
        bucket: OfBucket,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.AudioLink]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await connect(
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
        prefix: Prefix = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Artist]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await _list_shelf(
            info, "getArtistsByUserId", prefix, page, lists.get_artists_by_user_id
        )

    @strawberry.field(
        graphql_type=Connection[Album],
        description="The albums of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def get_album_by_user_id(
        info: Info,
        prefix: Prefix = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Album]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await _list_shelf(info, "getAlbumByUserId", prefix, page, lists.get_album_by_user_id)

    @strawberry.field(graphql_type=Audio | None, description="One track, all of it.")
    @staticmethod
    async def get_audio_files_by_audio_id(info: Info, audio_id: OfAudio) -> records.Audio:
        return await info.context.loaders.audio.tracks.load(key_of("Audio", audio_id))

    @strawberry.field(
        graphql_type=Connection[AudioLink],
        description="The ids of all tracks, in no order of theirs.",
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
        page = page_of(first, after, last, before)
        return await connect(info, ("all audio",), page, lists.get_audio_id_by_user_id)

    @strawberry.field(description="How many tracks there are.")
    @staticmethod
    async def count(info: Info) -> int:
        return (await _totals(info)).count

    @strawberry.field(description="The length of all tracks in milliseconds.")
    @staticmethod
    async def duration_ms(info: Info) -> Long:
        return Long((await _totals(info)).duration_ms)

    @strawberry.field(description="The size of all tracks in bytes.")
    @staticmethod
    async def size(info: Info) -> Long:
        return Long((await _totals(info)).size)


@strawberry.type
class AudioQuery:
    @strawberry.field(
        graphql_type=Connection[Artist],
        description="The artists of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def artists(
        info: Info,
        prefix: Prefix = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Artist]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await _list_shelf(info, "artists", prefix, page, lists.get_artists_by_user_id)

    @strawberry.field(
        graphql_type=Connection[Album],
        description="The albums of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def albums(
        info: Info,
        prefix: Prefix = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Album]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await _list_shelf(info, "albums", prefix, page, lists.get_album_by_user_id)

    @strawberry.field(
        graphql_type=Connection[Genre],
        description="The genres of the caller's library, each once, sorted by name.",
    )
    @staticmethod
    async def genres(
        info: Info,
        prefix: Prefix = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Genre]:
        page, lists = page_of(first, after, last, before), info.context.session.audio.lists
        return await _list_shelf(info, "genres", prefix, page, lists.genres)

    @strawberry.field(description="The caller's own library of audio.")
    @staticmethod
    def audio_library() -> AudioLibrary:
        return AudioLibrary()

    @strawberry.field(graphql_type=Audio | None, description="A track by its global id.")
    @staticmethod
    async def audio(info: Info, id: OfAudio) -> records.Audio:
        return await info.context.loaders.audio.tracks.load(key_of("Audio", id))

    @strawberry.field(
        graphql_type=Connection[Audio],
        description="Tracks of the caller's library: all, or those of one artist, album, bucket or "
        "genre, by its name.",
    )
    @staticmethod
    async def audios(
        info: Info,
        artist: Annotated[
            str | None, strawberry.argument(description="By year, album, disc and track.")
        ] = UNSET,
        album: Annotated[
            str | None,
            strawberry.argument(description="By disc and track; albums of one name in a row."),
        ] = UNSET,
        bucket: Annotated[
            str | None, strawberry.argument(description="In no order of theirs.")
        ] = UNSET,
        genre: Annotated[str | None, strawberry.argument(description="By when they came.")] = UNSET,
        order: Annotated[
            AudioOrder | None,
            strawberry.argument(description="Of all, or of a genre; the newest first if absent."),
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Audio]:
        names = {"artist": artist, "album": album, "bucket": bucket, "genre": genre}
        wanted = {name: text for name, text in names.items() if text}
        newest_first = _newest_first(wanted, given(order))
        return await connect(
            info,
            ("audios", wanted, newest_first),
            page_of(first, after, last, before),
            lambda window: _page(info, wanted, newest_first, window),
        )


async def _totals(info: Info) -> records.Totals:
    """The totals of the caller's library, read once for all fields of a request."""
    return await info.context.loaders.audio.totals.load(info.context.caller.user_id)


def _newest_first(wanted: dict[str, str], order: AudioOrder | None) -> bool:
    """Settle the order; raises BadInput for arguments that do not go together."""
    if len(wanted) > 1:
        raise BadInput(f"Give one of {' and '.join(wanted)}.")
    if order is not None and wanted and "genre" not in wanted:
        raise BadInput("This list has an order of its own.", ("order",))
    return order is not AudioOrder.OLDEST_FIRST


async def _page(
    info: Info, wanted: dict[str, str], newest_first: bool, window: Window
) -> Slice[records.Audio]:
    lists = info.context.session.audio.lists
    match tuple(wanted.items()):
        case (("artist", name),):
            links = lists.get_audio_id_by_user_id_by_artist(name, window)
        case (("album", name),):
            links = lists.get_audio_id_by_user_id_by_album(name, window)
        case (("bucket", name),):
            links = lists.get_audio_id_by_user_id_by_s3bucket_name(name, window)
        case (("genre", name),):
            links = lists.by_genre(name, window, newest_first=newest_first)
        case _:
            asked = attributes_asked(info, "Audio")
            return await audio.newest(info.context, window, asked, newest_first=newest_first)
    return await audio.tracks_in(info.context, links)
