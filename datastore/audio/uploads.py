"""Uploads: a form for the upload, then the registration of the object with tags and cover.

An upload is registered by a copy, whose key no form can write: a form that is still open cannot
replace what a track has. Uploads that nobody registers are swept.
"""

from asyncio import timeout
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.open_uploads import OpenedUpload
from penstock.datastore.audio.add_tracks import TrackAdder, TrackDraft
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.endpoint_rules import unusable_endpoint
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
from penstock.datastore.audio.tag_reader import (
    ScanResult,
    TagScan,
    invalid_object,
    require_format,
)
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.loose_objects import (
    COPY_TIME,
    REGISTERED,
    UPLOAD,
    LooseObjects,
    loose_key,
    no_object,
)
from penstock.datastore.errors import (
    BadArgument,
    FieldProblem,
    Invalid,
    NotFound,
    ObjectTaken,
    PenstockError,
)
from penstock.datastore.objects.port import Stat, UploadForm
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import AUDIO_BY_BUCKET

MAX_UPLOAD: Final = 1024**3
UPLOAD_SECONDS: Final = 3600
SCAN_SECONDS: Final = 60.0
UNUSED_TIME: Final = timedelta(days=1)
"""The time for which an upload is kept after its form has expired."""

UNKNOWN_TYPE: Final = "application/octet-stream"
UPLOADED_TYPES: Final = (*dict.fromkeys(MEDIA_TYPES.values()), UNKNOWN_TYPE)


class UploadTicket(NamedTuple):
    """A form for an upload, and the key with which the object is registered afterwards."""

    object_key: str
    form: UploadForm


class ObjectState(NamedTuple):
    """The track that has an object, if there is one, and whether the object is an upload."""

    taken_by: str | None
    is_upload: bool


@dataclass(frozen=True, slots=True)
class UploadRegistrar:
    """Uploads and registrations for the caller's library."""

    access: Access
    sources: AudioSources

    async def upload(self, file_name: str, content_type: str = UNKNOWN_TYPE) -> UploadTicket:
        """Allow one upload of at most MAX_UPLOAD bytes among the caller's objects."""
        check_file_name(file_name)
        if content_type not in UPLOADED_TYPES:
            words = f"must be one of {', '.join(UPLOADED_TYPES)}"
            raise Invalid([FieldProblem(["contentType"], words)])
        key = upload_key(self._user, self.access.clock.new_id(), file_name)
        await self._open_upload(key)
        keep_for = timedelta(seconds=UPLOAD_SECONDS) + UNUSED_TIME
        await LooseObjects(self.access).note(key, keep_for, is_upload=True)
        form = await self.sources.files.presign_upload(
            key, max_bytes=MAX_UPLOAD, content_type=content_type, expires_in=UPLOAD_SECONDS
        )
        return UploadTicket(key, form)

    async def _open_upload(self, key: str) -> None:
        """Count the upload until its object is registered, or its form expires."""
        expires_at = self.access.clock.now() + timedelta(seconds=UPLOAD_SECONDS)
        opened = OpenedUpload("audio", object_hash(key), expires_at, loose_key(key))
        await self.access.open_uploads.open(opened)

    async def register(self, object_key: str, connection_id: str | None = None) -> Audio:
        """Read the tags of an object and add it to the library.

        The object is an upload of the caller, or lies in the connection's bucket. Raises
        NotFound if it does not exist, Invalid if it is no audio, and ObjectTaken with the
        audio's id if it is already registered.
        """
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
        loose = [loose_key(key) for key in keys] if connection_id is None else []
        rows = await read_rows(self.access.table, [*claims, *loose], consistent=True)
        states = []
        for n, claim in enumerate(claims):
            row = rows.get(loose[n], {}) if loose else {}
            held = rows.get(claim, {}).get("audioId") or row.get(REGISTERED)
            states.append(ObjectState(None if held is None else str(held), UPLOAD in row))
        return states

    async def read_draft(
        self, source: AudioSource, object_key: str, connection_id: str | None, state: ObjectState
    ) -> TrackDraft:
        """Read the track that `register` adds; also stores the cover among the caller's objects."""
        await self._require_object(source, object_key, owned=connection_id is None)
        if not state.is_upload:
            return await self._read_object(source, object_key, connection_id)
        await require_format(source, object_key)
        loose, name = LooseObjects(self.access), file_name_of(object_key)
        copy = track_key(self._user, self.access.clock.new_id(), name)
        await loose.note(copy, COPY_TIME)
        try:
            await self.sources.files.copy(object_key, copy)
            draft = await self._read_object(source, copy, None)
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
        scanned = await _scan_object(source, object_key, stat.size, title)
        parsed = scanned.parsed
        file = AudioFile(
            bucket=source.bucket,
            object_key=object_key,
            file_name=name,
            connection_id=connection_id,
            duration_ms=parsed.duration_ms,
            format=scanned.format,
            bitrate=parsed.bitrate or stat.size * 8 // parsed.duration_ms,
            sample_rate=parsed.sample_rate,
            size=stat.size,
            etag=stat.etag,
            artwork=await CoverStore(self.access).keep(parsed.picture),
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


async def _scan_object(source: AudioSource, key: str, size: int, title: str) -> ScanResult:
    """Read the tags of an object; raises IllegalState if its bucket sends the bytes too slowly."""
    try:
        async with timeout(SCAN_SECONDS):
            return await TagScan(source, key, size, {}).run(title)
    except TimeoutError:
        raise unusable_endpoint() from None
