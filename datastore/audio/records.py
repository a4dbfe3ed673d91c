"""Audio as it is stored: what a player needs of a track, and the short rows that lists are of."""

from enum import StrEnum

from penstock.datastore.records import Struct


class AudioFormat(StrEnum):
    """The container of a file, told by its first bytes and not by its name."""

    MP3 = "mp3"
    FLAC = "flac"
    OGG = "ogg"
    OPUS = "opus"
    M4A = "m4a"
    WAV = "wav"
    AIFF = "aiff"

    @property
    def media_type(self) -> str:
        """The media type that browsers play it by."""
        return MEDIA_TYPES[self]


MEDIA_TYPES = {
    AudioFormat.MP3: "audio/mpeg",
    AudioFormat.FLAC: "audio/flac",
    AudioFormat.OGG: "audio/ogg",
    AudioFormat.OPUS: "audio/ogg",
    AudioFormat.M4A: "audio/mp4",
    AudioFormat.WAV: "audio/wav",
    AudioFormat.AIFF: "audio/aiff",
}


class Tags(Struct, frozen=True, kw_only=True):
    """What the tags of a file say, and what its owner may edit; absent is None, 0 or empty.

    `artists` are the track's own, in the order of the tag. `album_artist` is the tag as it stands;
    `penstock.datastore.audio.names.album_artist` is what the album is listed by.
    """

    title: str
    artists: tuple[str, ...] = ()
    album: str | None = None
    album_artist: str | None = None
    compilation: bool = False
    disc: int = 0
    track: int = 0
    track_total: int = 0
    year: int = 0
    genres: tuple[str, ...] = ()
    recording_mbid: str | None = None
    album_mbid: str | None = None


class AudioFile(Struct, frozen=True, kw_only=True):
    """Where the bytes of a track are and what they are; no edit of tags touches it.

    `connection_id` says with whose credentials they are read (None: they lie in the server's own
    bucket). `duration_ms` is in milliseconds, `size` in bytes, `bitrate` in kbit/s, `sample_rate`
    in Hz. `artwork` names the content of the cover, wherever it is kept.
    """

    bucket: str
    object_key: str
    file_name: str
    connection_id: str | None = None
    duration_ms: int
    format: AudioFormat
    bitrate: int | None = None
    sample_rate: int | None = None
    size: int
    etag: str
    artwork: str | None = None


class Audio(Tags, frozen=True, kw_only=True):
    """One audio file of one user: `pk = U:<owner>, sk = AU:<id>`.

    The fields of `AudioFile` are here again: a struct has one ancestor. `version` counts edits,
    from 1.
    """

    id: str
    owner: str
    bucket: str
    object_key: str
    file_name: str
    connection_id: str | None = None
    duration_ms: int
    format: AudioFormat
    bitrate: int | None = None
    sample_rate: int | None = None
    size: int
    etag: str
    artwork: str | None = None
    version: int
    created_at: str
    updated_at: str


class AudioLink(Struct, frozen=True, kw_only=True):
    """A track as lists by artist, album and genre carry it, so that they need no second read.

    Lists by bucket carry the id alone.
    """

    audio_id: str
    title: str | None = None
    album: str | None = None
    duration_ms: int | None = None


class Artist(Struct, frozen=True, kw_only=True):
    """An artist of a user's library, with the number of tracks; named as first written."""

    id: str
    name: str
    count: int


class Album(Struct, frozen=True, kw_only=True):
    """An album of a user's library, with the number and the length of its tracks.

    `year` and `artwork` are those of the track that was last written with one.
    """

    id: str
    name: str
    album_artist: str
    count: int
    duration_ms: int
    year: int = 0
    artwork: str | None = None


class Genre(Struct, frozen=True, kw_only=True):
    """A genre of a user's library, with the number of tracks; named as first written."""

    id: str
    name: str
    count: int


class Totals(Struct, frozen=True, kw_only=True):
    """What a user's library holds: tracks, their length in milliseconds and size in bytes."""

    count: int = 0
    duration_ms: int = 0
    size: int = 0


class ImportFailure(Struct, frozen=True, kw_only=True):
    """An object that an import did not take in, and why."""

    object_key: str
    code: str
    message: str


class ConnectionKind(StrEnum):
    """How the server is let into a bucket: by a role that it assumes, or with keys it was given."""

    ROLE = "role"
    KEYS = "keys"


class Connection(Struct, frozen=True, kw_only=True):
    """A bucket of the user's own, and how the server gets at it; nothing of it is secret.

    `external_id` is what the role's trust policy must ask for. `access_key_shown` is the masked
    beginning and end of the id of the access key.
    """

    id: str
    name: str
    kind: ConnectionKind
    bucket: str
    region: str
    endpoint: str | None = None
    role_arn: str | None = None
    external_id: str | None = None
    access_key_shown: str | None = None
    created_at: str
