"""What a listener keeps about things: marks, plays, places in tracks, and what is to come next."""

from enum import StrEnum

from penstock.datastore.records import Struct


class Kind(StrEnum):
    """A kind of thing that can be marked, by the letters of its rows."""

    AUDIO = "AU"
    PLAYLIST = "PL"


class Annotation(Struct, frozen=True, kw_only=True):
    """What the caller keeps about one thing: `pk = U:<user>, sk = AN:<kind>:<id>`.

    `rating` is 1 to 5. `position_ms` is where to go on in a track, in milliseconds. A thing about
    which nothing is kept has no row, and is never a favourite, played or rated.
    """

    kind: Kind
    id: str
    favourite_at: str | None = None
    rating: int | None = None
    play_count: int = 0
    last_played_at: str | None = None
    position_ms: int | None = None
    position_at: str | None = None


class Favourite(Struct, frozen=True, kw_only=True):
    """A favourite as it is listed by its date: `sk = FV:<kind>:<at>:<id>`."""

    kind: Kind
    id: str
    at: str


class Play(Struct, frozen=True, kw_only=True):
    """One listening to a track that counts: `sk = HI:<played at>:<audio>`.

    `started_at` is when it began, `listened_ms` how long it lasted.
    """

    audio_id: str
    started_at: str
    listened_ms: int


class PlayQueue(Struct, frozen=True, kw_only=True):
    """What the caller listens to and will next: `sk = PQ`.

    `index` counts from 0 in `audio_ids`, which may hold a track several times; `position_ms` is the
    place in that track. Without tracks both are 0.
    """

    audio_ids: tuple[str, ...] = ()
    index: int = 0
    position_ms: int = 0
    updated_at: str | None = None
