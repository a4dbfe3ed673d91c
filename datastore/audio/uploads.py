"""Uploads: a form for the upload, then the registration of the object with tags and cover.

Covers are stored once for each content among the objects of their owner.
"""

from asyncio import timeout
from base64 import b32encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.audio.add_tracks import TrackAdder, TrackDraft
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.endpoint_rules import unusable_endpoint
from penstock.datastore.audio.file_type import picture_type
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.object_keys import (
    artwork_key,
    check_file_name,
    file_name_of,
    is_owned,
    upload_key,
)
from penstock.datastore.audio.records import MEDIA_TYPES, Audio, AudioFile
from penstock.datastore.audio.sources import AudioSources
from penstock.datastore.audio.tag_reader import ScanResult, TagScan, invalid_object
from penstock.datastore.errors import BadArgument, FieldProblem, Invalid, NotFound, ObjectTaken
from penstock.datastore.objects.port import Files, Stat, UploadForm
from penstock.datastore.table.layout import AUDIO_BY_BUCKET

DIGEST_LETTERS: Final = 26


async def keep_artwork(files: Files, user: str, picture: bytes | None) -> str | None:
    """Store the bytes if they are a picture; return the digest that names them."""
    kind = None if picture is None else picture_type(picture)
    if picture is None or kind is None:
        return None
    name = b32encode(sha256(picture).digest())[:DIGEST_LETTERS].decode().lower()
    key = artwork_key(user, name)
    if await files.stat(key) is None:
        await files.write(key, _single_chunk(picture), content_type=kind)
    return name


async def _single_chunk(content: bytes) -> AsyncIterator[bytes]:
    yield content


MAX_UPLOAD: Final = 1024**3
UPLOAD_SECONDS: Final = 3600
SCAN_SECONDS: Final = 60.0
UNKNOWN_TYPE: Final = "application/octet-stream"
UPLOADED_TYPES: Final = (*dict.fromkeys(MEDIA_TYPES.values()), UNKNOWN_TYPE)


class UploadTicket(NamedTuple):
    """A form for an upload, and the key with which the object is registered afterwards."""

    object_key: str
    form: UploadForm


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
        form = await self.sources.files.presign_upload(
            key, max_bytes=MAX_UPLOAD, content_type=content_type, expires_in=UPLOAD_SECONDS
        )
        return UploadTicket(key, form)

    async def register(self, object_key: str, connection_id: str | None = None) -> Audio:
        """Read the tags of an object and add it to the library.

        The object is an upload of the caller, or lies in the connection's bucket. Raises
        NotFound if it does not exist, Invalid if it is no audio, and ObjectTaken with the
        audio's id if it is already registered.
        """
        async with self.sources.open_source(connection_id) as source:
            await self.require_new(source.bucket, object_key)
            draft = await self.read_draft(source, object_key, connection_id)
        return await TrackAdder(self.access).add(*draft)

    async def read_draft(
        self, source: AudioSource, object_key: str, connection_id: str | None = None
    ) -> TrackDraft:
        """Read the track that `register` adds; also stores the cover among the caller's objects."""
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
            artwork=await keep_artwork(self.sources.files, self._user, parsed.picture),
        )
        return TrackDraft(parsed.tags, file)

    async def _require_object(self, source: AudioSource, object_key: str, *, owned: bool) -> Stat:
        if owned and not is_owned(self._user, object_key):
            raise _no_object()
        try:
            stat = await source.stat(object_key)
        except BadArgument:
            raise _no_object() from None
        if stat is None:
            raise _no_object()
        if stat.size == 0:
            raise invalid_object("EMPTY", "is empty")
        return stat

    async def require_new(self, bucket: str, object_key: str) -> None:
        """Raise ObjectTaken before reading an object that the library already has."""
        key = AUDIO_BY_BUCKET.key(user=self._user, bucket=bucket, hash=object_hash(object_key))
        held = (await self.access.table.get([key], consistent=True)).items.get(key)
        if held is not None:
            raise ObjectTaken(str(held["audioId"]))

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


def _no_object() -> NotFound:
    return NotFound("There is no such object.", ("objectKey",))
