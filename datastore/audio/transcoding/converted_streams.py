"""Converted copies of tracks, which are kept for some days and swept then.

A copy is one of the objects that no track refers to: its row exists before it, says when it is
complete, and leads the sweep to it. A user has so many copies at most.
"""

from asyncio import timeout
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import conversion_units, cpu_units
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.object_keys import converted_key
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.sources import AudioSources
from penstock.datastore.audio.stream_urls import StreamSigner, url_lifetime
from penstock.datastore.audio.transcoding.ffmpeg import NO_TRANSCODER, Transcoder
from penstock.datastore.audio.transcoding.formats import Conversion
from penstock.datastore.audio.upkeep.counted_copies import CopyKind
from penstock.datastore.audio.upkeep.made_copies import CopyRules, MadeCopies
from penstock.datastore.errors import IllegalState, LimitExceeded, Unavailable
from penstock.datastore.objects.lasting_copies import run_lasting
from penstock.datastore.objects.local_copies import read_local, write_local
from penstock.datastore.objects.port import Download
from penstock.datastore.scratch_folders import scratch_folder

KEPT: Final = timedelta(days=3)
"""The time for which a converted copy is kept after its last use, but for RENEWED."""

RENEWED: Final = timedelta(days=1)
"""The time after which another use keeps a copy longer."""

COPIES: Final = CopyKind("A", 2_000, 10 * 1024**3)
"""The most converted copies of a user, and the most bytes of them."""

MAX_SOURCE: Final = 1024**3

FETCH_SECONDS: Final = 120
"""The seconds in which a file arrives: until then its user holds a place that others wait for."""


@dataclass(frozen=True, slots=True)
class ConvertedStreams:
    """The converted copies of the caller's tracks, in the server's own bucket."""

    access: Access
    sources: AudioSources
    transcoder: Transcoder

    @property
    def is_available(self) -> bool:
        """Whether the server converts audio."""
        return self.transcoder is not NO_TRANSCODER

    async def sign(self, track: Audio, conversion: Conversion | None) -> Download:
        """Sign a GET of a track as it is, or of its converted copy, which is made if need be.

        A call that is cut off leaves the conversion running, and the next one waits for it. Raises
        IllegalState if the server converts nothing or cannot convert this file, and if the track's
        connection is gone, RateLimited before a conversion begins or waits, and Unavailable if too
        many wait.
        """
        signer = StreamSigner(self.access, self.sources)
        if conversion is None:
            return await signer.sign_stream(track)
        await signer.require_connection(track)
        name, files = converted_key(self._user, _name_of(track, conversion)), self.sources.files
        key = await self._copies.find(name)
        if key is None:
            await run_lasting(files, name, partial(self._make, track, conversion, name))
            key = await self._copies.find(name)
        if key is None:
            raise Unavailable("The conversion took too long.")
        return await files.presign_download(
            key,
            expires_in=min(url_lifetime(track.duration_ms), int(RENEWED.total_seconds())),
            content_type=conversion.encoding.media_type,
        )

    async def _make(self, track: Audio, conversion: Conversion, name: str) -> None:
        if track.size > MAX_SOURCE:
            raise LimitExceeded("bytes of a file to convert", MAX_SOURCE, track.size)
        self.transcoder.require_place(self._user)
        # Paid before it waits: a caller who is in debt for the last one lets no more wait.
        prepaid = conversion_units(track.duration_ms)
        self.access.work.spend_more(prepaid)
        async with self.transcoder.turn(self._user):
            with scratch_folder("audio") as folder:
                source, target = folder / "source", folder / "target"
                await self._fetch(track, source)
                ended = await self.transcoder.convert(source, track.format, target, conversion)
                self.access.work.owe(max(0, cpu_units(ended.seconds) - prepaid))
                if not ended.succeeded:
                    words = "The sound of this file cannot be converted."
                    raise IllegalState(words, "UNCONVERTIBLE")
                media = conversion.encoding.media_type
                size = target.stat().st_size
                await self._copies.store(name, read_local(target), size, media)

    async def _fetch(self, track: Audio, target: Path) -> None:
        try:
            async with timeout(FETCH_SECONDS):
                await self._copy(track, target)
        except TimeoutError:
            words = "The file comes too slowly to be converted."
            raise IllegalState(words, "UNCONVERTIBLE") from None

    async def _copy(self, track: Audio, target: Path) -> None:
        left = MAX_SOURCE

        def require_bound(chunk: bytes) -> None:
            nonlocal left
            if (left := left - len(chunk)) < 0:
                raise IllegalState("The file is another one.", "UNCONVERTIBLE")

        async with self.sources.open_source(track.connection_id) as source:
            await write_local(source.read(track.object_key), target, require_bound)

    @property
    def _copies(self) -> MadeCopies:
        return MadeCopies(self.access, CopyRules(COPIES, KEPT, RENEWED))

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _name_of(track: Audio, conversion: Conversion) -> str:
    """The name of a copy, which is another one for another content of the track's object."""
    parts = (track.id, track.etag, str(track.size), conversion.format, str(conversion.bit_rate))
    return object_hash(":".join(parts))
