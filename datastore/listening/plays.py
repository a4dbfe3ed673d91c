"""Plays of tracks, each counted once even if several clients report it."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import album_place
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.listening.annotations import (
    NOUN,
    Annotations,
    ThingKey,
    list_latest,
    listed_key,
)
from penstock.datastore.listening.records import Annotation, Kind, Play
from penstock.datastore.table.commit import Write, commit, retry_on_conflict
from penstock.datastore.table.items import load
from penstock.datastore.table.layout import PLAY
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import (
    AnyOf,
    Attributes,
    Check,
    Compare,
    Exists,
    Missing,
    Put,
    Update,
)
from penstock.datastore.text import unescape

LONG_ENOUGH_MS = 240_000
"""The length of listening that always counts as a play, even of a longer track."""

MAX_CLOCK_LEAD = timedelta(minutes=1)
"""The tolerance for a client's clock that is ahead."""

LAST_PLAYED_AT = "lastPlayedAt"
PLAY_COUNT = "playCount"


class _AlreadyCounted(Exception):
    """The play was already counted."""


@dataclass(frozen=True, slots=True)
class Plays:
    """The plays of the caller."""

    access: Access

    async def record(self, play: Play) -> tuple[Audio, Annotation, bool]:
        """Count a play once for its track and time; return track, annotation and whether it counts.

        It counts if it lasted half of the track or four minutes; a shorter one is not
        stored. Streaming alone never counts.
        """
        annotations = Annotations(self.access)
        self.require_valid(play)

        async def attempt() -> tuple[Audio, bool]:
            track = await annotations.require_track(play.audio_id)
            counts = 2 * play.listened_ms >= min(track.duration_ms, 2 * LONG_ENOUGH_MS)
            if counts:
                with suppress(_AlreadyCounted):
                    await commit(self.access.table, self._writes(play, track))
            return track, counts

        track, counts = await retry_on_conflict(NOUN, attempt)
        return track, await annotations.one((Kind.AUDIO, play.audio_id)), counts

    async def page(self, window: Window) -> Slice[Play]:
        """List plays, latest first: `pk = U:<user>`, `sk` begins with `HI:`."""
        return await list_latest(self.access, PLAY.sk.prefix({}), window, _read_play)

    def _writes(self, play: Play, track: Audio) -> list[Write]:
        item = PLAY.item(user=self.access.caller.user_id, at=play.started_at, audio=play.audio_id)
        album = (Kind.ALBUM, album_place(track))
        counted = Put({**item, "listenedMs": play.listened_ms}, Missing())
        return [
            Write(counted, lambda _: _AlreadyCounted()),
            self._count_on((Kind.AUDIO, track.id), play),
            self._count_on(album, play),
            Write(Check(listed_key(self.access, album), Exists())),
        ]

    def _count_on(self, thing: ThingKey, play: Play) -> Write:
        """Count a play of a track, or of its album."""
        key = Annotations(self.access).key(thing)
        earlier = Write(Update(key=key, add={PLAY_COUNT: 1}))
        latest = Update(
            key=key,
            set={LAST_PLAYED_AT: play.started_at},
            add={PLAY_COUNT: 1},
            condition=AnyOf(
                (Missing(LAST_PLAYED_AT), Compare(LAST_PLAYED_AT, "<", play.started_at))
            ),
        )
        return Write(latest, lambda _: earlier)

    def require_valid(self, play: Play) -> None:
        """Raise Invalid for a play that cannot have been; its track is looked up later."""
        problems = []
        if play.started_at > iso_timestamp(self.access.clock.now() + MAX_CLOCK_LEAD):
            problems.append(FieldProblem(["startedAt"], "must not be in the future"))
        if play.listened_ms < 0:
            problems.append(FieldProblem(["listenedMs"], "must not be negative"))
        if problems:
            raise Invalid(problems)


def _read_play(item: Attributes) -> Play:
    found = PLAY.sk.parse(str(item["sk"]))
    return load(Play, item, audioId=found["audio"], startedAt=unescape(found["at"]))
