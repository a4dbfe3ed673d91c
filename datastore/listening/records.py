"""Records of a listener: annotations, favourites, plays and the play queue."""

from enum import StrEnum

from penstock.datastore.records import StoredRecord


class Kind(StrEnum):
    """The kind of a thing with annotations, by the letters in its rows."""

    AUDIO = "AU"
    PLAYLIST = "PL"
    ALBUM = "AL"
    ARTIST = "AR"


class Annotation(StoredRecord, frozen=True, kw_only=True):
    """The caller's annotation of one thing: `pk = U:<user>, sk = AN:<kind>:<id>`.

    Albums and artists stand under their places in their lists. `rating` is 1 to 5. `position_ms` is
    the position at which to resume a track, in milliseconds, `position_comment` a note on it. Plays
    of an album are those of its tracks. A thing without an annotation has no row; it was never a
    favourite, played or rated.
    """

    kind: Kind
    id: str
    favourite_at: str | None = None
    rating: int | None = None
    play_count: int = 0
    last_played_at: str | None = None
    position_ms: int | None = None
    position_at: str | None = None
    position_comment: str | None = None


class Favourite(StoredRecord, frozen=True, kw_only=True):
    """A favourite in the list by date: `sk = FV:<kind>:<at>:<id>`."""

    kind: Kind
    id: str
    at: str


class Play(StoredRecord, frozen=True, kw_only=True):
    """One play of a track that counts: `sk = HI:<played at>:<audio>`.

    `started_at` is the time of its start, `listened_ms` its length in milliseconds.
    """

    audio_id: str
    started_at: str
    listened_ms: int


class PlayQueue(StoredRecord, frozen=True, kw_only=True):
    """The current track of the caller and those before and after it: `sk = PQ`.

    `index` counts from 0 in `audio_ids`, which may contain a track several times; `position_ms`
    is the position in the current track, in milliseconds. Without tracks both are 0.
    `changed_by` is the player that saved the queue, if it told its name.
    """

    audio_ids: tuple[str, ...] = ()
    index: int = 0
    position_ms: int = 0
    updated_at: str | None = None
    changed_by: str | None = None
