"""A file store whose calls a caller pays."""

from collections.abc import AsyncIterable
from contextlib import aclosing
from typing import Final, NamedTuple, Protocol, Self

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


class FilePrices(NamedTuple):
    """The units of a call that reads, one that changes files, one that writes, one that signs.

    `listed_keys` are the keys of a list in one unit, `read_bytes` and `written_bytes` the bytes of
    a file.
    """

    look: int
    change: int
    write: int
    sign: int
    listed_keys: int
    read_bytes: int = 64_000
    written_bytes: int = 16_000


class FilePayments(Protocol):
    """Takes the prices of the calls of one caller."""

    @property
    def prices(self) -> FilePrices: ...

    def begin_call(self, units: int) -> None:
        """Pay for a call that reads or signs; may refuse it by raising."""

    def begin_change(self, units: int) -> None:
        """Pay for a call that changes files; may refuse it by raising."""

    def owe(self, units: int) -> None:
        """Owe what a call turned out to cost."""

    def lend(self) -> Self:
        """Return payments of the same caller that refuse nothing."""


class MeteredFiles:
    """A file store whose calls a caller pays.

    The price of a call is taken before it, that of its bytes and keys when they have come.
    """

    __slots__ = ("_payments", "store")

    def __init__(self, store: Files, payments: FilePayments) -> None:
        self.store: Final = store
        self._payments = payments

    def on_credit(self) -> "MeteredFiles":
        """Return the same files, whose caller owes and is never refused."""
        return MeteredFiles(self.store, self._payments.lend())

    @property
    def bucket(self) -> str:
        return self.store.bucket

    @property
    def ends_forms(self) -> bool:
        return self.store.ends_forms

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        self._payments.begin_call(self._payments.prices.sign)
        return await self.store.presign_upload(
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
        self._payments.begin_call(self._payments.prices.sign)
        return await self.store.presign_download(
            key, expires_in=expires_in, filename=filename, content_type=content_type
        )

    async def stat(self, key: str) -> Stat | None:
        self._begin_look()
        return await self.store.stat(key)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        self._begin_look()
        size = 0
        try:
            async with aclosing(self.store.read(key, start=start, end=end)) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    yield chunk
        finally:
            self._payments.owe(size // self._payments.prices.read_bytes)

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        self._payments.begin_change(self._payments.prices.write)
        return await self.store.write(key, self._pay_written(chunks), content_type=content_type)

    async def drop_unfinished(self, key: str) -> None:
        self._payments.begin_change(self._payments.prices.change)
        await self.store.drop_unfinished(key)

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        self._payments.begin_change(self._payments.prices.change)
        await self.store.copy(source, target, etag)

    async def refuse_uploads(self, key: str) -> None:
        if self.store.ends_forms:
            self._payments.begin_change(self._payments.prices.change)
        await self.store.refuse_uploads(key)

    async def delete(self, key: str) -> None:
        self._payments.begin_change(self._payments.prices.change)
        await self.store.delete(key)

    async def verify(self) -> Sentences:
        self._begin_look()
        return await self.store.verify()

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        self._begin_look()
        keys = await self.store.list(prefix, after, limit)
        self._owe_listed(len(keys))
        return keys

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        self._begin_look()
        entries = await self.store.list_entries(prefix, after, limit)
        self._owe_listed(len(entries))
        return entries

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        self._begin_look()
        folders = await self.store.list_folders(prefix, after, limit)
        self._owe_listed(len(folders))
        return folders

    async def close(self) -> None:
        """Do nothing: the store stays open for other callers."""

    def _begin_look(self) -> None:
        self._payments.begin_call(self._payments.prices.look)

    def _owe_listed(self, keys: int) -> None:
        self._payments.owe(keys // self._payments.prices.listed_keys)

    async def _pay_written(self, chunks: AsyncIterable[bytes]) -> Chunks:
        size = 0
        try:
            async for chunk in chunks:
                size += len(chunk)
                yield chunk
        finally:
            self._payments.owe(size // self._payments.prices.written_bytes)


def on_credit(files: Files) -> Files:
    """Return the files for a read that callers share: the one who began it owes for it.

    A refusal would meet all who wait for the read.
    """
    return files.on_credit() if isinstance(files, MeteredFiles) else files


def shared_store(files: Files) -> Files:
    """Return the store that all callers share."""
    return files.store if isinstance(files, MeteredFiles) else files
