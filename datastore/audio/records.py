"""Records of the audio library: tracks, the rows of their lists, buckets and connections."""

from enum import StrEnum

from penstock.datastore.records import StoredRecord


class AudioFormat(StrEnum):
    """The container of a file, detected from its first bytes and not from its name."""

    MP3 = "mp3"
    FLAC = "flac"
    OGG = "ogg"
    OPUS = "opus"
    M4A = "m4a"
    WAV = "wav"
    AIFF = "aiff"

    @property
    def media_type(self) -> str:
        """The media type with which browsers play the format."""
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


class Tags(StoredRecord, frozen=True, kw_only=True):
    """The tags of a file, which its owner may edit; an absent tag is None, 0 or empty.

    `artists` are the track's own, in the order of the tag. `album_artist` is the tag itself;
    the album is listed by `penstock.datastore.audio.names.album_artist`.
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


class AudioFile(StoredRecord, frozen=True, kw_only=True):
    """The location and the properties of a track's bytes; editing tags does not change them.

    `connection_id` names the connection whose credentials read them; None is the server's own
    bucket. `duration_ms` is in milliseconds, `size` in bytes, `bitrate` in kbit/s,
    `sample_rate` in Hz. `artwork` is the digest of the cover.
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

    It repeats the fields of `AudioFile`, because a struct has one base. `version` counts edits,
    from 1. `missing_since` is the time when an import first missed the object in its bucket.
    `named` says that rows find it by the words of its title; an earlier release wrote none.
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
    missing_since: str | None = None
    version: int
    created_at: str
    updated_at: str
    named: bool = False


class AudioLink(StoredRecord, frozen=True, kw_only=True):
    """The part of a track that lists by artist, album and genre store, to spare a second read.

    Lists by bucket store only the id.
    """

    audio_id: str
    title: str | None = None
    album: str | None = None
    duration_ms: int | None = None


class Artist(StoredRecord, frozen=True, kw_only=True):
    """An artist of a user's library, with the number of tracks and the name as first written.

    An edit of a track that spells the name differently corrects it.
    """

    id: str
    name: str
    count: int


class Album(StoredRecord, frozen=True, kw_only=True):
    """An album of a user's library, with the number and the total length of its tracks.

    `year` and `artwork` come from the track that was last written with one.
    """

    id: str
    name: str
    album_artist: str
    count: int
    duration_ms: int
    year: int = 0
    artwork: str | None = None


class Genre(StoredRecord, frozen=True, kw_only=True):
    """A genre of a user's library, with the number of tracks and the name as first written.

    An edit of a track that spells the name differently corrects it.
    """

    id: str
    name: str
    count: int


class LibraryTotals(StoredRecord, frozen=True, kw_only=True):
    """The totals of a user's library: tracks, length in milliseconds and size in bytes."""

    count: int = 0
    duration_ms: int = 0
    size: int = 0


class ImportFailureCode(StrEnum):
    """The reason why an import reports an object; clients branch on it."""

    EMPTY = "EMPTY"
    UNKNOWN_FORMAT = "UNKNOWN_FORMAT"
    UNREADABLE = "UNREADABLE"
    INVALID_KEY = "INVALID_KEY"
    INVALID_TAGS = "INVALID_TAGS"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    MISSING = "MISSING"
    VANISHED = "VANISHED"
    REFUSED = "REFUSED"
    OTHER = "OTHER"


class ImportFailure(StoredRecord, frozen=True, kw_only=True):
    """An object that an import could not add or no longer finds, and the reason."""

    object_key: str
    code: ImportFailureCode
    message: str


class ConnectionKind(StrEnum):
    """The access of the server to a bucket: by a role that it assumes, or with access keys."""

    ROLE = "role"
    KEYS = "keys"


class BucketConnection(StoredRecord, frozen=True, kw_only=True):
    """A bucket of the user's own and the access to it, without any secret.

    The role's trust policy must require `external_id`. `access_key_shown` is the beginning and
    the end of the access key's id.
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
