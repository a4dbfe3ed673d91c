"""Audio: tracks, artists, albums and genres."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.clock import canonical
from penstock.datastore.objects import port
from penstock.graphql_jit import reads
from penstock.resolvers import audio
from penstock.schema.audio.annotations import Listened
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, GlobalId, Node, connect, page_of, shows
from penstock.schema.core.scalars import DateTime, Long

strawberry.enum(records.AudioFormat, description="The container of a file.")


@strawberry.type(description="A URL for whoever holds it: keep it out of logs and of caches.")
class SignedUrl:
    url: str = strawberry.field(description="Answers GET, with ranges.")
    expires_at: DateTime = strawberry.field(
        description="Until when a request may begin. For a new one, ask again."
    )

    @classmethod
    def of(cls, download: port.Download) -> "SignedUrl":
        return cls(url=download.url, expires_at=DateTime(canonical(download.expires_at)))


@strawberry.type(description="An audio file of the caller's library.")
class Audio(Node, Listened):
    title: str = strawberry.field(description="The title, or the name of the file.")
    album_artist: str | None = strawberry.field(
        description="Whom the album is by, if the tag says so."
    )
    compilation: bool = strawberry.field(description="Whether the album is of various artists.")
    genres: list[str] = strawberry.field(description="As the tags name them.")
    recording_mbid: str | None = strawberry.field(description="MusicBrainz's id of the recording.")
    album_mbid: str | None = strawberry.field(description="MusicBrainz's id of the album.")
    duration_ms: int = strawberry.field(description="The length in milliseconds.")
    format: records.AudioFormat = strawberry.field(
        description="Told by the content, not by the name."
    )
    bitrate: int | None = strawberry.field(description="In kbit/s.")
    sample_rate: int | None = strawberry.field(description="In Hz.")
    size: Long = strawberry.field(description="In bytes.")
    bucket: str = strawberry.field(description="The bucket that the object lies in.")
    object_key: str = strawberry.field(description="The key of the object in its bucket.")
    file_name: str = strawberry.field(description="The last part of the key.")
    version: int = strawberry.field(description="Counts the edits, from 1.")
    created_at: DateTime = strawberry.field(description="When it came into the library.")
    updated_at: DateTime = strawberry.field(description="When it was last edited.")

    is_type_of = shows(records.Audio)

    @strawberry.field(description="The number of the disc. Null if the tag is absent.")
    @reads({"Audio": ("disc",)})
    @staticmethod
    def disc(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.disc or None

    @strawberry.field(description="The number of the track on the disc. Null if the tag is absent.")
    @reads({"Audio": ("track",)})
    @staticmethod
    def track(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.track or None

    @strawberry.field(description="The number of tracks on the disc. Null if the tag is absent.")
    @reads({"Audio": ("track_total",)})
    @staticmethod
    def track_total(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.track_total or None

    @strawberry.field(
        description="The year of the recording or release. Null if the tag is absent."
    )
    @reads({"Audio": ("year",)})
    @staticmethod
    def year(audio: strawberry.Parent[records.Audio]) -> int | None:
        return audio.year or None

    @strawberry.field(description="The artists as the tags name them, joined for display.")
    @reads({"Audio": ("artists",)})
    @staticmethod
    def display_artist(track: strawberry.Parent[records.Audio]) -> str | None:
        return ", ".join(track.artists) or None

    @strawberry.field(
        graphql_type=list["Artist"], description="Whom the track is by, in the order of the tag."
    )
    @staticmethod
    async def artists(track: strawberry.Parent[records.Audio], info: Info) -> list[records.Artist]:
        return await audio.artists_of(info.context, track)

    @strawberry.field(graphql_type="Album | None", description="The album that it is listed in.")
    @staticmethod
    async def album(track: strawberry.Parent[records.Audio], info: Info) -> records.Album | None:
        return await audio.album_of(info.context, track)

    @strawberry.field(
        graphql_type=SignedUrl | None,
        description="Plays the track: twice as long as it lasts and five minutes, at least a "
        "quarter of an hour. Range requests are how to seek.",
    )
    @staticmethod
    async def stream_url(
        track: strawberry.Parent[records.Audio],
        info: Info,
        attachment: Annotated[
            bool | None, strawberry.argument(description="Whether browsers save it as a file.")
        ] = False,
    ) -> SignedUrl:
        stream = await info.context.loaders.audio.streams.load((track, bool(attachment)))
        return SignedUrl.of(stream)

    @strawberry.field(description="Shows the cover, if the file has one.")
    @staticmethod
    async def artwork_url(track: strawberry.Parent[records.Audio], info: Info) -> SignedUrl | None:
        return _signed(await audio.cover(info.context, track.artwork))


@strawberry.type(description="An artist of the caller's library, told by the name.")
class Artist(Node):
    name: str = strawberry.field(description="As it was first written.")
    count: int = strawberry.field(description="How many tracks there are, albums' artists' too.")

    is_type_of = shows(records.Artist)

    @strawberry.field(
        graphql_type=Connection["Audio"], description="By year, album, disc and track."
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
        return await connect(
            info,
            ("audios of artist", artist.id),
            page_of(first, after, last, before),
            lambda window: audio.tracks_in(info.context, lists.by_artist(artist.id, window)),
        )


@strawberry.type(description="An album of the caller's library, told by artist and name.")
class Album(Node):
    name: str = strawberry.field(description="As it was first written.")
    count: int = strawberry.field(description="How many tracks there are of it.")

    is_type_of = shows(records.Album)

    @strawberry.field(description="Whom it is by.")
    @staticmethod
    def artist_name(album: strawberry.Parent[records.Album]) -> str:
        return album.album_artist

    @strawberry.field(description="The length of all tracks in milliseconds.")
    @staticmethod
    def duration_ms(album: strawberry.Parent[records.Album]) -> Long:
        return Long(album.duration_ms)

    @strawberry.field(description="That of the track which last came with one.")
    @staticmethod
    def year(album: strawberry.Parent[records.Album]) -> int | None:
        return album.year or None

    @strawberry.field(description="Shows the cover that a track last came with.")
    @staticmethod
    async def artwork_url(album: strawberry.Parent[records.Album], info: Info) -> SignedUrl | None:
        return _signed(await audio.cover(info.context, album.artwork))

    @strawberry.field(graphql_type=Connection["Audio"], description="By disc and track.")
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
        return await connect(
            info,
            ("audios of album", album.id),
            page_of(first, after, last, before),
            lambda window: audio.tracks_in(info.context, lists.by_album(album.id, window)),
        )


@strawberry.type(description="A genre of the caller's library.")
class Genre:
    name: str = strawberry.field(description="As it was first written.")
    count: int = strawberry.field(description="How many tracks there are of it.")


@strawberry.type(description="A track as a list names it, with what needs no second read.")
class AudioLink:
    title: str | None = strawberry.field(description="Absent in lists by bucket.")
    album: str | None = strawberry.field(description="The name; absent in lists by bucket.")
    duration_ms: int | None = strawberry.field(
        description="In milliseconds; absent in lists by bucket."
    )

    @strawberry.field(description="The global id of the audio.")
    @staticmethod
    def audio_id(link: strawberry.Parent[records.AudioLink]) -> strawberry.ID:
        return GlobalId("Audio", link.audio_id).text()

    @strawberry.field(graphql_type=Audio | None, description="All of it; null if just deleted.")
    @staticmethod
    async def audio(link: strawberry.Parent[records.AudioLink], info: Info) -> records.Audio | None:
        return await audio.linked(info.context, link)


def _signed(download: port.Download | None) -> SignedUrl | None:
    return None if download is None else SignedUrl.of(download)
