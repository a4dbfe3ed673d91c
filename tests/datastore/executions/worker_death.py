"""A table and a file store that stop working from one call on, as for a process that dies."""

from collections.abc import AsyncIterable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

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
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.support.table_interceptors import InterceptedTable, ProcessDied

T = TypeVar("T")


class WriteAllowance:
    """A number of writes that are left, of the table and the file store together."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def spend(self) -> None:
        if self.left <= 0:
            raise ProcessDied
        self.left -= 1


class MortalTable(InterceptedTable):
    def __init__(self, table: Table, life: WriteAllowance) -> None:
        super().__init__(table)
        self.life = life

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        try:
            if writes:
                self.life.spend()
            elif self.life.left <= 0:
                raise ProcessDied
        except ProcessDied:
            call.close()
            raise
        return await call


class ForwardingFiles:
    """A file store that passes every call to another one."""

    def __init__(self, files: Files) -> None:
        self.files = files

    @property
    def bucket(self) -> str:
        return self.files.bucket

    @property
    def ends_forms(self) -> bool:
        return self.files.ends_forms

    async def presign_upload(self, key: str, **more: Any) -> UploadForm:
        return await self.files.presign_upload(key, **more)

    async def presign_download(self, key: str, **more: Any) -> Download:
        return await self.files.presign_download(key, **more)

    async def stat(self, key: str) -> Stat | None:
        return await self.files.stat(key)

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        return self.files.read(key, start=start, end=end)

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        return await self.files.write(key, chunks, content_type=content_type)

    async def drop_unfinished(self, key: str) -> None:
        await self.files.drop_unfinished(key)

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        await self.files.copy(source, target, etag)

    async def refuse_uploads(self, key: str) -> None:
        await self.files.refuse_uploads(key)

    async def delete(self, key: str) -> None:
        await self.files.delete(key)

    async def verify(self) -> Sentences:
        return await self.files.verify()

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        return await self.files.list(prefix, after, limit)

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        return await self.files.list_entries(prefix, after, limit)

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        return await self.files.list_folders(prefix, after, limit)

    async def close(self) -> None:
        await self.files.close()


class MortalFiles(ForwardingFiles):
    """A file store that can also die between two pieces, and before a file is published."""

    def __init__(self, files: Files, life: WriteAllowance) -> None:
        super().__init__(files)
        self.life = life

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        async for chunk in self.files.read(key, start=start, end=end):
            self.life.spend()
            yield chunk

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        async def mortal() -> Chunks:
            async for chunk in chunks:
                self.life.spend()
                yield chunk
            self.life.spend()

        return await self.files.write(key, mortal(), content_type=content_type)

    async def drop_unfinished(self, key: str) -> None:
        self.life.spend()
        await self.files.drop_unfinished(key)

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        self.life.spend()
        await self.files.copy(source, target, etag)

    async def refuse_uploads(self, key: str) -> None:
        self.life.spend()
        await self.files.refuse_uploads(key)

    async def delete(self, key: str) -> None:
        self.life.spend()
        await self.files.delete(key)


def mortal_store(store: Store, calls: int) -> Store:
    """The store for a process that dies before its write with this number, counted from 0."""
    life = WriteAllowance(calls)
    return replace(
        store, table=MortalTable(store.table, life), files=MortalFiles(store.files, life)
    )
