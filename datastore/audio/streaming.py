"""URLs that play a track and show its cover: signed for a while, kept nowhere."""

from dataclasses import dataclass
from typing import Final

from datastore.audio.objects import artwork_key, is_owned
from datastore.audio.records import Audio
from datastore.files import EXPIRY_SECONDS, Download, Files
from datastore.resources.scope import Scope, absent

LEAST_SECONDS: Final = 15 * 60
SPARE_SECONDS: Final = 5 * 60


@dataclass(frozen=True, slots=True)
class Streaming:
    """The URLs of the caller's tracks; `files` is the server's own bucket."""

    scope: Scope
    files: Files

    async def stream(self, track: Audio, *, attachment: bool = False) -> Download:
        """Sign a GET of the track's bytes, with Range; as an attachment under its file name.

        Whether the object is still there is not looked up: signing asks nobody.
        """
        self._require_owned(track)
        return await self.files.presign_download(
            track.object_key,
            expires_in=lifetime(track.duration_ms),
            filename=track.file_name if attachment else None,
            content_type=track.format.media_type,
        )

    async def artwork(self, track: Audio) -> Download | None:
        """Sign a GET of the track's cover; None where it has none."""
        if track.artwork is None:
            return None
        key = artwork_key(self._user, track.artwork)
        return await self.files.presign_download(key, expires_in=LEAST_SECONDS)

    def _require_owned(self, track: Audio) -> None:
        """Sign nothing of the server's bucket but what lies among the caller's objects.

        It was refused at registration already; whatever came to stand in a row since, a signature
        of ours must not give away what others uploaded.
        """
        if track.owner != self._user or not is_owned(self._user, track.object_key):
            raise absent("audio")

    @property
    def _user(self) -> str:
        return self.scope.caller.user_id


def lifetime(duration_ms: int) -> int:
    """How long a stream's URL holds, in seconds: twice the track, for pauses, and five minutes."""
    wanted = 2 * duration_ms // 1000 + SPARE_SECONDS
    return min(max(LEAST_SECONDS, wanted), EXPIRY_SECONDS)
