"""The types of tracks, artists, albums and genres, and of signed URLs."""

from functools import partial
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.audio.transcoding.formats import StreamFormat, choose_conversion
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.objects import port
from penstock.graphql_jit import reads_attributes
from penstock.resolvers import audio
from penstock.schema.audio.annotations import AnnotationFields, ListeningFields, PlayFields
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import (
    Connection,
    GlobalId,
    Node,
    page_from_arguments,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import price_metadata

strawberry.enum(records.AudioFormat, description="The container format of an audio file.")
describe_values(
    records.AudioFormat,
    {
        records.AudioFormat.MP3: "MPEG audio, layer III.",
        records.AudioFormat.FLAC: "FLAC: lossless audio in its native container.",
        records.AudioFormat.OGG: "Vorbis audio in an Ogg container.",
        records.AudioFormat.OPUS: "Opus audio in an Ogg container.",
        records.AudioFormat.M4A: "AAC or ALAC audio in an MPEG-4 container.",
        records.AudioFormat.WAV: "PCM audio in a WAVE file.",
        records.AudioFormat.AIFF: "PCM audio in an AIFF file.",
    },
)

SizeArgument = Annotated[
    int | None,
    strawberry.argument(
        description="The length in pixels that is enough for the longer side. The picture has the "
        "next of 64, 128, 256, 512 and 1024 pixels, or is as large as it is: above these, if it is "
        "small itself, or on a server without Pillow. By default it is as large as it is."
    ),
]

strawberry.enum(StreamFormat, description="A format to which audio can be converted.")
describe_values(
    StreamFormat,
    {
        StreamFormat.MP3: "MPEG audio, layer III, which every player knows.",
        StreamFormat.OPUS: "Opus in an Ogg container, which sounds best at low bit rates.",
        StreamFormat.AAC: "AAC in an MPEG-4 container.",
    },
)


@strawberry.type(
    description="A URL that gives access to anyone who has it. Keep it out of logs and caches."
)
class SignedUrl:
    url: str = strawberry.field(
        description="The signed URL for GET requests, with support for HTTP range requests."
    )
    expires_at: DateTime = strawberry.field(
        description="The time until which a request with the URL may start, in UTC; query the "
        "field again for a new URL."
    )

    @classmethod
    def of(cls, download: port.Download) -> "SignedUrl":
        return cls(url=download.url, expires_at=DateTime(iso_timestamp(download.expires_at)))


@strawberry.type(description="A track: an audio file of the caller's library.")
class Audio(Node, ListeningFields):
    title: str = strawberry.field(
        description="The title of the track, or the name of the file if the file has no title tag."
    )
    album_artist: str | None = strawberry.field(
        description="The artist of the album; null if the tag is absent."
    )
    compilation: bool = strawberry.field(
        description="Whether the album is a compilation of various artists."
    )
    genres: list[str] = strawberry.field(
        description="The genres as written in the tags of the file."
    )
    recording_mbid: str | None = strawberry.field(
        description="The MusicBrainz id of the recording; null if the tag is absent."
    )
    album_mbid: str | None = strawberry.field(
        description="The MusicBrainz id of the album; null if the tag is absent."
    )
    duration_ms: int = strawberry.field(description="The length of the track, in milliseconds.")
    format: records.AudioFormat = strawberry.field(
        description="The format of the file, detected from its content and not from its name."
    )
    bitrate: int | None = strawberry.field(
        description="The bitrate in kbit/s; null if it is unknown."
    )
    sample_rate: int | None = strawberry.field(
        description="The sample rate in Hz; null if it is unknown."
    )
    size: Long = strawberry.field(description="The size of the file in bytes.")
    bucket: str = strawberry.field(description="The name of the bucket that holds the object.")
    object_key: str = strawberry.field(description="The key of the object in its bucket.")
    file_name: str = strawberry.field(
        description="The name of the file: the last part of the object's key."
    )
    missing_since: DateTime | None = strawberry.field(
        description="The time when an import first found that the object is no longer in its "
        "bucket, in UTC; null as long as it is there. The track stays, and is found again if its "
        "object comes back or appears under another key."
    )
    version: int = strawberry.field(
        description="The version of the track: a number that starts at 1 and grows with each edit."
    )
    created_at: DateTime = strawberry.field(
        description="The time when the track was added to the library, in UTC."
    )
    updated_at: DateTime = strawberry.field(
        description="The time when the track was last edited, in UTC."
    )

    is_type_of = record_type_check(records.Audio)

    @strawberry.field(description="The number of the disc; null if the tag is absent.")
    @reads_attributes({"Audio": ("disc",)})
    @staticmethod
    def disc(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.disc or None

    @strawberry.field(description="The number of the track on the disc; null if the tag is absent.")
    @reads_attributes({"Audio": ("track",)})
    @staticmethod
    def track(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.track or None

    @strawberry.field(description="The number of tracks on the disc; null if the tag is absent.")
    @reads_attributes({"Audio": ("track_total",)})
    @staticmethod
    def track_total(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.track_total or None

    @strawberry.field(
        description="The year of the recording or release; null if the tag is absent."
    )
    @reads_attributes({"Audio": ("year",)})
    @staticmethod
    def year(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.year or None

    @strawberry.field(
        description="The names of the artists, joined by commas for display; null if the tag is "
        "absent."
    )
    @reads_attributes({"Audio": ("artists",)})
    @staticmethod
    def display_artist(track: strawberry.Parent[records.Audio]) -> str | None:
        return ", ".join(track.artists) or None

    @strawberry.field(
        graphql_type=list["Artist"],
        description="The artists of the track, in the order of the tag.",
    )
    @staticmethod
    async def artists(track: strawberry.Parent[records.Audio], info: Info) -> list[records.Artist]:
        return await audio.load_artists(info.context, track)

    @strawberry.field(
        graphql_type="Album | None",
        description="The album that lists the track; null if it is on none.",
    )
    @staticmethod
    async def album(track: strawberry.Parent[records.Audio], info: Info) -> records.Album | None:
        return await audio.load_album(info.context, track)

    @strawberry.field(
        graphql_type=SignedUrl | None,
        description="A URL that plays the track. It is valid for twice the length of the track "
        "plus five minutes, and for at least 15 minutes. Use range requests to seek.",
    )
    @staticmethod
    async def stream_url(
        track: strawberry.Parent[records.Audio],
        info: Info,
        attachment: Annotated[
            bool | None,
            strawberry.argument(
                description="True to have browsers save the response as a file instead of playing "
                "it; false by default."
            ),
        ] = False,
    ) -> SignedUrl:
        stream = await info.context.loaders.audio.streams.load((track, bool(attachment)))
        return SignedUrl.of(stream)

    @strawberry.field(
        graphql_type=SignedUrl | None,
        description="A URL that plays the track in a format, and with no more than a bit rate; it "
        "is converted if need be, and the converted copy is kept for some days. Without arguments, "
        "or where nothing needs to change, it plays the file itself. It fails with ILLEGAL_STATE "
        "on a server that converts no audio.",
        metadata=price_metadata(50),
    )
    @staticmethod
    async def stream(
        track: strawberry.Parent[records.Audio],
        info: Info,
        format: Annotated[
            StreamFormat | None,
            strawberry.argument(
                description="The format; by default that of the file if it can be kept, else MP3."
            ),
        ] = UNSET,
        bit_rate: Annotated[
            int | None,
            strawberry.argument(
                description="The most kbit/s, 32 or more; one of 32, 48, 64, 96, 128, 160, 192, "
                "256 and 320 is chosen. By default 192 where the format changes."
            ),
        ] = UNSET,
    ) -> SignedUrl:
        conversion = choose_conversion(track, unset_to_none(format), unset_to_none(bit_rate))
        converting = info.context.session.audio.converting
        return SignedUrl.of(await converting.sign(track, conversion))

    @strawberry.field(description="A URL of the cover image; null if the file has none.")
    @staticmethod
    async def artwork_url(
        track: strawberry.Parent[records.Audio], info: Info, size: SizeArgument = UNSET
    ) -> SignedUrl | None:
        wanted = unset_to_none(size)
        return _signed_url(await audio.cover_download(info.context, track.artwork, wanted))


@strawberry.type(description="An artist of the caller's library, identified by name.")
class Artist(Node, AnnotationFields):
    name: str = strawberry.field(
        description="The name of the artist, as it was first written or last corrected by an "
        "edit of one of its tracks."
    )
    count: int = strawberry.field(
        description="The number of tracks of the artist, including those of the artist's albums."
    )

    is_type_of = record_type_check(records.Artist)

    @strawberry.field(
        graphql_type=Connection["Audio"],
        description="The tracks of the artist, sorted by year, album, disc number and track "
        "number.",
    )
    @staticmethod
    async def audios(
        artist: strawberry.Parent[records.Artist],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Audio]:
        lists = info.context.session.audio.lists
        return await read_connection(
            info,
            ("audios of artist", artist.id),
            page_from_arguments(first, after, last, before),
            lambda window: audio.load_linked_tracks(
                info.context, window, partial(lists.by_artist, artist.id)
            ),
        )

    @strawberry.field(
        graphql_type=Connection["Album"],
        description="The albums with tracks of the artist, sorted by year and name. Each page "
        "reads the rows of all tracks of the artist.",
    )
    @staticmethod
    async def albums(
        artist: strawberry.Parent[records.Artist],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Album]:
        browsing = info.context.session.audio.browsing
        return await read_connection(
            info,
            ("albums of artist", artist.id),
            page_from_arguments(first, after, last, before),
            lambda window: browsing.page_of_albums(artist.id, window),
        )


@strawberry.type(
    description="An album of the caller's library, identified by its artist and its name."
)
class Album(Node, PlayFields):
    name: str = strawberry.field(
        description="The name of the album, as it was first written or last corrected by an "
        "edit of one of its tracks."
    )
    count: int = strawberry.field(description="The number of tracks of the album in the library.")

    is_type_of = record_type_check(records.Album)

    @strawberry.field(description="The name of the album's artist.")
    @staticmethod
    def artist_name(album: strawberry.Parent[records.Album]) -> str:
        return album.album_artist

    @strawberry.field(description="The total length of the album's tracks, in milliseconds.")
    @staticmethod
    def duration_ms(album: strawberry.Parent[records.Album]) -> Long:
        return Long(album.duration_ms)

    @strawberry.field(
        description="The year of the album, from the track with a year that was added last; null "
        "if no track has one."
    )
    @staticmethod
    def year(album: strawberry.Parent[records.Album]) -> int | None:
        return album.year or None

    @strawberry.field(
        description="A URL of the cover image, from the track with a cover that was added last; "
        "null if no track has one."
    )
    @staticmethod
    async def artwork_url(
        album: strawberry.Parent[records.Album], info: Info, size: SizeArgument = UNSET
    ) -> SignedUrl | None:
        wanted = unset_to_none(size)
        return _signed_url(await audio.cover_download(info.context, album.artwork, wanted))

    @strawberry.field(
        graphql_type=Connection["Audio"],
        description="The tracks of the album, sorted by disc number and track number.",
    )
    @staticmethod
    async def audios(
        album: strawberry.Parent[records.Album],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Audio]:
        lists = info.context.session.audio.lists
        return await read_connection(
            info,
            ("audios of album", album.id),
            page_from_arguments(first, after, last, before),
            lambda window: audio.load_linked_tracks(
                info.context, window, partial(lists.by_album, album.id)
            ),
        )

    @strawberry.field(
        graphql_type=Connection["Artist"],
        description="The artists of the album and of its tracks, each once, sorted by name. Each "
        "page reads all tracks of the album.",
    )
    @staticmethod
    async def artists(
        album: strawberry.Parent[records.Album],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Artist]:
        browsing = info.context.session.audio.browsing
        return await read_connection(
            info,
            ("artists of album", album.id),
            page_from_arguments(first, after, last, before),
            lambda window: browsing.page_of_artists(album.id, window),
        )


@strawberry.type(description="A genre of the caller's library.")
class Genre:
    name: str = strawberry.field(
        description="The name of the genre, as it was first written or last corrected by an "
        "edit of one of its tracks."
    )
    count: int = strawberry.field(description="The number of tracks of the genre in the library.")


@strawberry.type(
    description="A short form of a track in a list, with the fields that the list itself contains."
)
class AudioLink:
    title: str | None = strawberry.field(
        description="The title of the track; null in lists by bucket."
    )
    album: str | None = strawberry.field(
        description="The name of the track's album; null in lists by bucket."
    )
    duration_ms: int | None = strawberry.field(
        description="The length of the track in milliseconds; null in lists by bucket."
    )

    @strawberry.field(description="The global id of the track.")
    @staticmethod
    def audio_id(link: strawberry.Parent[records.AudioLink]) -> strawberry.ID:
        return GlobalId("Audio", link.audio_id).encode()

    @strawberry.field(
        graphql_type=Audio | None,
        description="The track with all its fields; null if it was deleted a moment ago.",
    )
    @staticmethod
    async def audio(link: strawberry.Parent[records.AudioLink], info: Info) -> records.Audio | None:
        return await audio.load_linked_track(info.context, link)


def _signed_url(download: port.Download | None) -> SignedUrl | None:
    return None if download is None else SignedUrl.of(download)
