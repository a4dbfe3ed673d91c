"""A file store that reports its calls: their duration and outcome, never their keys or contents."""

from collections.abc import AsyncIterable, Sequence
from contextlib import aclosing

from penstock.datastore.objects.port import (
    LISTING,
    Chunks,
    Download,
    FileEntry,
    Files,
    Sentences,
    Stat,
    UploadForm,
)
from penstock.datastore.table.instrumentation import StoreCall, WatchCall, report_call


class InstrumentedFiles:
    """A file store that reports every call to each of the `watchers`.

    Signing a URL is not reported, because it is only arithmetic. A read ends when its last byte has
    been taken.
    """

    __slots__ = ("_files", "_watchers")

    def __init__(self, files: Files, watchers: Sequence[WatchCall]) -> None:
        self._files = files
        self._watchers = tuple(watchers)

    @property
    def bucket(self) -> str:
        return self._files.bucket

    @property
    def ends_forms(self) -> bool:
        return self._files.ends_forms

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        return await self._files.presign_upload(
            key, max_bytes=max_bytes, content_type=content_type, expires_in=expires_in
        )

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        return await self._files.presign_download(
            key, expires_in=expires_in, filename=filename, content_type=content_type
        )

    async def stat(self, key: str) -> Stat | None:
        with report_call(StoreCall("stat", 1), self._watchers):
            return await self._files.stat(key)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        call = StoreCall("read", 1)
        ended = [watch(call) for watch in self._watchers]
        try:
            async with aclosing(self._files.read(key, start=start, end=end)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except Exception as error:
            call.raised = type(error)
            raise
        finally:
            for end_of in ended:
                end_of()

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        with report_call(StoreCall("upload", 1), self._watchers):
            return await self._files.write(key, chunks, content_type=content_type)

    async def drop_unfinished(self, key: str) -> None:
        with report_call(StoreCall("delete", 1), self._watchers):
            await self._files.drop_unfinished(key)

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        with report_call(StoreCall("copy", 1), self._watchers):
            await self._files.copy(source, target, etag)

    async def refuse_uploads(self, key: str) -> None:
        await self._files.refuse_uploads(key)

    async def delete(self, key: str) -> None:
        with report_call(StoreCall("delete", 1), self._watchers):
            await self._files.delete(key)

    async def verify(self) -> Sentences:
        return await self._files.verify()

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        with report_call(StoreCall("list", 1), self._watchers):
            return await self._files.list(prefix, after, limit)

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        with report_call(StoreCall("list", 1), self._watchers):
            return await self._files.list_entries(prefix, after, limit)

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        with report_call(StoreCall("list", 1), self._watchers):
            return await self._files.list_folders(prefix, after, limit)

    async def close(self) -> None:
        await self._files.close()
