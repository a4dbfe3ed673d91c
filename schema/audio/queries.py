"""The query fields of the caller's audio library."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.playlists.rules import MAX_SEED
from penstock.schema.audio.album_orders import AlbumOrder, AlbumOrderArgument, read_ordered
from penstock.schema.audio.library import AudioIdArgument, AudioLibrary, PrefixArgument, read_names
from penstock.schema.audio.track_lists import AudioOrder, TrackList, read_tracks
from penstock.schema.audio.tracks import Album, Artist, Audio, Genre
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.name_filter import NameFilter
from penstock.schema.core.relay import Connection, page_from_arguments, parse_key, read_connection

ArtistArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Only tracks of the artist with this name, sorted by year, album, "
        "disc number and track number."
    ),
]
AlbumArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Only tracks of albums with this name, sorted by disc number and "
        "track number; several albums with this name follow one another."
    ),
]
BucketArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Only tracks stored in the bucket with this name, in no defined order."
    ),
]
GenreArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Only tracks of the genre with this name, sorted by the time when "
        "they were added."
    ),
]
AudioOrderArgument = Annotated[
    AudioOrder | None,
    strawberry.argument(
        description="The order by the time when the tracks were added, for all tracks or "
        "those of a genre or a title, or RANDOM, for all tracks or those of a genre; "
        "NEWEST_FIRST if left out."
    ),
]
SeedArgument = Annotated[
    str | None,
    strawberry.argument(
        description="Any text, which draws the same order of the same tracks each time; of "
        f"at most {MAX_SEED} characters, and for the order RANDOM only."
    ),
]
TitleArgument = Annotated[
    NameFilter | None,
    strawberry.argument(
        description="Only tracks with this part of the title, sorted by the time when "
        "they were added."
    ),
]


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
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_names(info, "artists", prefix, page, lists.get_artists_by_user_id)

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
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        if order and order is not AlbumOrder.NAME:
            return await read_ordered(info, order, unset_to_none(prefix), page)
        return await read_names(info, "albums", prefix, page, lists.get_album_by_user_id)

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
        lists = info.context.session.audio.lists
        page = page_from_arguments(first, after, last, before)
        return await read_names(info, "genres", prefix, page, lists.genres)

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
        artist: ArtistArgument = UNSET,
        album: AlbumArgument = UNSET,
        bucket: BucketArgument = UNSET,
        genre: GenreArgument = UNSET,
        order: AudioOrderArgument = UNSET,
        seed: SeedArgument = UNSET,
        title: TitleArgument = UNSET,
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
