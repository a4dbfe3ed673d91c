"""Uploads: a form for the upload, then the registration of the object with tags and cover.

An upload is registered by a copy, whose key no form can write: a form that is still open cannot
replace what a track has. Uploads that nobody registers are swept.
"""

from asyncio import timeout
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.upload_forms import FormTerms
from penstock.datastore.access.work import BUCKET_UNITS
from penstock.datastore.audio.add_tracks import TrackAdder, TrackDraft
from penstock.datastore.audio.artwork.folder_covers import FolderCovers
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.object_keys import (
    check_file_name,
    file_name_of,
    is_owned,
    track_key,
    upload_key,
)
from penstock.datastore.audio.records import MEDIA_TYPES, Audio, AudioFile
from penstock.datastore.audio.sources import AudioSources
from penstock.datastore.audio.tags.tag_parser import round_number
from penstock.datastore.audio.tags.tag_reader import (
    ScanBudget,
    ScanResult,
    TagScan,
    invalid_object,
    require_format,
)
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.loose_objects import (
    REGISTERED,
    UPLOAD,
    LooseObjects,
    loose_key,
    no_object,
)
from penstock.datastore.audio.upkeep.user_uploads import UploadTicket, open_upload
from penstock.datastore.errors import (
    BadArgument,
    FieldProblem,
    Invalid,
    NotFound,
    ObjectTaken,
    PenstockError,
    TryAgain,
)
from penstock.datastore.objects.lasting_copies import copy_lasting
from penstock.datastore.objects.port import UNKNOWN_TYPE, Stat
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import AUDIO_BY_BUCKET

MAX_UPLOAD: Final = 1024**3
SCAN_SECONDS: Final = 60.0
UPLOADED_TYPES: Final = (*dict.fromkeys(MEDIA_TYPES.values()), UNKNOWN_TYPE)


class ObjectState(NamedTuple):
    """The track that has an object, if there is one, and whether the object is an upload."""

    taken_by: str | None
    is_upload: bool


@dataclass(frozen=True, slots=True)
class UploadRegistrar:
    """Uploads and registrations for the caller's library.

    `folder_covers` remembers those of a bucket from which many objects are read.
    """

    access: Access
    sources: AudioSources
    folder_covers: FolderCovers | None = None

    async def upload(self, file_name: str, content_type: str = UNKNOWN_TYPE) -> UploadTicket:
        """Allow one upload of at most MAX_UPLOAD bytes among the caller's objects."""
        check_file_name(file_name)
        if content_type not in UPLOADED_TYPES:
            words = f"must be one of {', '.join(UPLOADED_TYPES)}"
            raise Invalid([FieldProblem(["contentType"], words)])
        key = upload_key(self._user, self.access.clock.new_id(), file_name)
        terms = FormTerms(
            "audio", object_hash(key), key, MAX_UPLOAD, content_type, watched=loose_key(key)
        )
        return await open_upload(self.access, terms)

    async def register(self, object_key: str, connection_id: str | None = None) -> Audio:
        """Read the tags of an object and add it to the library.

        The object is an upload of the caller, or lies in the connection's bucket. Raises
        NotFound if it does not exist, Invalid if it is no audio, and ObjectTaken with the
        audio's id if it is already registered, and RateLimited.
        """
        if connection_id is not None:
            self.access.work.spend_more(BUCKET_UNITS)
        async with self.sources.open_source(connection_id) as source:
            (state,) = await self.find_states(source.bucket, [object_key], connection_id)
            if state.taken_by is not None:
                raise ObjectTaken(state.taken_by)
            draft = await self.read_draft(source, object_key, connection_id, state)
        return await TrackAdder(self.access).add(*draft)

    async def find_states(
        self, bucket: str, keys: Sequence[str], connection_id: str | None
    ) -> list[ObjectState]:
        """Find the tracks that have these objects, and the uploads among them; aligned."""
        claims = [
            AUDIO_BY_BUCKET.key(user=self._user, bucket=bucket, hash=object_hash(key))
            for key in keys
        ]
        # Whether another user has registered an upload is not for the caller to know.
        loose = {
            key: loose_key(key)
            for key in keys
            if connection_id is None and is_owned(self._user, key)
        }
        rows = await read_rows(self.access.table, [*claims, *loose.values()], consistent=True)
        states = []
        for key, claim in zip(keys, claims, strict=True):
            row = rows.get(loose[key], {}) if key in loose else {}
            held = rows.get(claim, {}).get("audioId") or row.get(REGISTERED)
            states.append(ObjectState(None if held is None else str(held), UPLOAD in row))
        return states

    async def read_draft(
        self, source: AudioSource, object_key: str, connection_id: str | None, state: ObjectState
    ) -> TrackDraft:
        """Read the track that `register` adds; also stores the cover among the caller's objects."""
        stat = await self._require_object(source, object_key, owned=connection_id is None)
        if not state.is_upload:
            return await self._read_object(source, object_key, connection_id)
        await require_format(source, object_key)
        loose, name = LooseObjects(self.access), file_name_of(object_key)
        fresh = track_key(self._user, self.access.clock.new_id(), name)
        copy = await loose.begin_copy(object_key, stat.etag, fresh)
        try:
            if copy == fresh or await source.stat(copy) is None:
                await copy_lasting(self.sources.files, object_key, copy, stat.etag)
            draft = await self._read_object(source, copy, None)
        except TryAgain:
            raise  # the next call goes on with the copy
        except NotFound:
            await loose.try_drop(copy)
            raise no_object() from None
        except PenstockError:
            await loose.try_drop(copy)
            raise
        return draft._replace(upload=object_key)

    async def _read_object(
        self, source: AudioSource, object_key: str, connection_id: str | None
    ) -> TrackDraft:
        stat = await self._require_object(source, object_key, owned=connection_id is None)
        name = file_name_of(object_key)
        title = name.rpartition(".")[0] or name
        scan = TagScan(source, object_key, stat.size, {}, ScanBudget(self._user, self.access.work))
        scanned = await _run_scan(scan, title)
        parsed = scanned.parsed
        artwork = await CoverStore(self.access).keep(parsed.picture)
        if artwork is None and connection_id is not None:
            covers = self.folder_covers or FolderCovers(self.access)
            artwork = await covers.find(source, object_key)
        file = AudioFile(
            bucket=source.bucket,
            object_key=object_key,
            file_name=name,
            connection_id=connection_id,
            duration_ms=parsed.duration_ms,
            format=scanned.format,
            bitrate=parsed.bitrate or round_number(stat.size * 8 // parsed.duration_ms),
            sample_rate=parsed.sample_rate,
            size=stat.size,
            etag=stat.etag,
            artwork=artwork,
        )
        return TrackDraft(parsed.tags, file)

    async def _require_object(self, source: AudioSource, object_key: str, *, owned: bool) -> Stat:
        if owned and not is_owned(self._user, object_key):
            raise no_object()
        try:
            stat = await source.stat(object_key)
        except BadArgument:
            raise no_object() from None
        if stat is None:
            raise no_object()
        if stat.size == 0:
            raise invalid_object("EMPTY", "is empty")
        return stat

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


async def _run_scan(scan: TagScan, title: str) -> ScanResult:
    """Read the tags of an object; raises Invalid if its bytes come too slowly."""
    try:
        async with timeout(SCAN_SECONDS):
            return await scan.run(title)
    except TimeoutError:
        words = f"could not be read in {SCAN_SECONDS:.0f} seconds"
        raise invalid_object("UNREADABLE", words) from None
