"""Signed URLs that play a track, valid for a limited time."""

from asyncio import gather, sleep
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.object_keys import is_owned
from penstock.datastore.audio.records import Audio, BucketConnection
from penstock.datastore.audio.sources import AudioSources
from penstock.datastore.errors import IllegalState, NotFound, PenstockError
from penstock.datastore.objects.port import EXPIRY_SECONDS, Download

LEAST_SECONDS: Final = 15 * 60
SPARE_SECONDS: Final = 5 * 60
_SIGNED_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class StreamSigner:
    """The signed URLs of the caller's tracks."""

    access: Access
    sources: AudioSources

    async def sign_stream(self, track: Audio, *, attachment: bool = False) -> Download:
        """Sign a GET of the track's bytes, with Range; as an attachment with its file name.

        It does not check that the object still exists. Raises IllegalState if the track's
        connection is gone or its bucket denies access.
        """
        (outcome,) = await self.sign_streams([(track, attachment)])
        if isinstance(outcome, PenstockError):
            raise outcome
        return outcome

    async def locate_streams(self, tracks: Sequence[Audio], duration_ms: int) -> list[str | None]:
        """Sign URLs that are valid while tracks of this length in all are played.

        None for a track that cannot be played. Other work has its turn after some of them.
        """
        found: list[str | None] = []
        for start in range(0, len(tracks), _SIGNED_AT_ONCE):
            part = [(track, False) for track in tracks[start : start + _SIGNED_AT_ONCE]]
            signed = await self.sign_streams(part, duration_ms)
            found += [one.url if isinstance(one, Download) else None for one in signed]
            await sleep(0)
        return found

    async def require_connection(self, track: Audio) -> None:
        """Raise IllegalState if the connection of a track is gone."""
        if track.connection_id is not None:
            (found,) = await self.sources.connections.many([track.connection_id])
            if isinstance(found, NotFound):
                raise _no_connection_error()

    async def sign_streams(
        self, wanted: Sequence[tuple[Audio, bool]], duration_ms: int = 0
    ) -> list[Download | PenstockError]:
        """Sign URLs of many tracks, some as attachments, with one read of all connections.

        They are valid while a track of that length could be played, or of their own if longer.
        """
        ids = list(dict.fromkeys(t.connection_id for t, _ in wanted if t.connection_id is not None))
        found = await self.sources.connections.many(ids) if ids else []
        connections = dict(zip(ids, found, strict=True))
        return list(
            await gather(
                *(
                    self._sign_track(
                        _StreamTerms(track, as_file, max(track.duration_ms, duration_ms)),
                        connections,
                    )
                    for track, as_file in wanted
                )
            )
        )

    async def _sign_track(
        self, terms: "_StreamTerms", connections: Mapping[str, BucketConnection | NotFound]
    ) -> Download | PenstockError:
        track = terms.track
        if track.owner != self._user:
            return not_found_error("audio")
        try:
            if track.connection_id is None:
                # Registration already refuses foreign objects. If a row is wrong, this check keeps
                # the server from signing a URL for another user's upload.
                if not is_owned(self._user, track.object_key):
                    return not_found_error("audio")
                return await terms.presign(self.sources.files)
            connection = connections[track.connection_id]
            if isinstance(connection, NotFound):
                return _no_connection_error()
            async with self.sources.open_connection(connection) as source:
                return await terms.presign(source)
        except PenstockError as error:
            return error

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _no_connection_error() -> IllegalState:
    words = "The connection that this audio was registered by is gone."
    return IllegalState(words, "NO_CONNECTION")


class _StreamTerms(NamedTuple):
    """A track to play or to save as a file, and the length that is played with its URL."""

    track: Audio
    as_file: bool
    duration_ms: int

    async def presign(self, source: AudioSource) -> Download:
        return await source.presign_download(
            self.track.object_key,
            expires_in=url_lifetime(self.duration_ms),
            filename=self.track.file_name if self.as_file else None,
            content_type=self.track.format.media_type,
        )


def url_lifetime(duration_ms: int) -> int:
    """The validity of a stream's URL in seconds: twice the track's length plus five minutes."""
    wanted = 2 * duration_ms // 1000 + SPARE_SECONDS
    return min(max(LEAST_SECONDS, wanted), EXPIRY_SECONDS)
