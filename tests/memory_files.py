"""Files that last as long as a test, for tests that are not about how files are kept."""

from collections.abc import AsyncIterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from datastore import files
from datastore.errors import NotFound
from datastore.files import LISTING, Chunks, Download, Sentences, Stat, UploadForm

EPOCH = datetime(2022, 8, 10, tzinfo=UTC)
BASE = "https://files.test/"


class _Kept(NamedTuple):
    content: bytes
    content_type: str


class MemoryFiles:
    """The files port over a dict; its URLs lead nowhere."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        files.check_upload(key, max_bytes, content_type, expires_in)
        fields = (("key", key), ("Content-Type", content_type))
        return UploadForm(url=BASE, fields=fields, expires_at=EPOCH + timedelta(seconds=expires_in))

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        files.check_download(key, expires_in, filename, content_type)
        return Download(BASE + key, EPOCH + timedelta(seconds=expires_in))

    async def stat(self, key: str) -> Stat | None:
        files.check_key(key)
        kept = self._kept.get(key)
        if kept is None:
            return None
        etag = f'"{sha256(kept.content).hexdigest()}"'
        return Stat(len(kept.content), kept.content_type, etag, EPOCH)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        if key not in self._kept:
            raise NotFound("There is no such file.")
        yield self._kept[key].content[start:end]

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        content = b"".join([chunk async for chunk in chunks])
        self._kept[key] = _Kept(content, content_type)
        return f'"{sha256(content).hexdigest()}"'

    async def drop_unfinished(self, key: str) -> None:
        files.check_key(key)

    async def copy(self, source: str, target: str) -> None:
        if source not in self._kept:
            raise NotFound("There is no such file.")
        self._kept[target] = self._kept[source]

    async def delete(self, key: str) -> None:
        self._kept.pop(key, None)

    async def verify(self) -> Sentences:
        return []

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        found = sorted(key for key in self._kept if key.startswith(prefix) and key > after)
        return tuple(found[:limit])

    async def close(self) -> None:
        """Let go of nothing."""
