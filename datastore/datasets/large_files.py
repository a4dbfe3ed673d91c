"""Files of datasets of any size: checked in a stream on this machine, then stored with an index."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.build_index import BLOCK_BYTES, IndexBuild
from penstock.datastore.datasets.csv import CsvCode, CsvReader, UnreadableCsv, read_table
from penstock.datastore.datasets.files import (
    CONTENT_TYPE,
    CheckedContent,
    DatasetFile,
    file_key,
    index_key,
)
from penstock.datastore.datasets.limits import IN_MEMORY, CsvLimits
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.objects.local_copies import read_local, write_local
from penstock.datastore.objects.port import UNKNOWN_TYPE, Chunks
from penstock.datastore.records import DatasetContent, ReferenceDataset
from penstock.datastore.table.commit import Write
from penstock.datastore.turn_threads import TurnThreads

T = TypeVar("T")

FOLLOW_SECONDS: Final = 1.0

_THREADS: Final = TurnThreads("dataset files", 2, most_of_one=1)
"""The file of one user leaves a thread to others, however large it is."""

Follower: TypeAlias = Callable[[int], Awaitable[None]]
"""Told about once a second how many bytes of the file are read; what it raises ends the work."""


@dataclass(slots=True)
class LargeFile:
    """The CSV of a dataset's new content and its index, both on this machine until they are stored.

    The folder of the local files must stay until then.
    """

    access: Access
    csv: Path
    index: Path
    staged: list[StagedFile] = field(default_factory=list, init=False)
    is_stored: bool = field(default=False, init=False)

    async def place(self, resource: ReferenceDataset) -> tuple[ReferenceDataset, list[Write]]:
        if not self.is_stored:
            file = self.access.clock.new_id()
            await self._store(file, file_key(resource.id, file), self.csv, CONTENT_TYPE)
            index = self.access.clock.new_id()
            await self._store(index, index_key(resource.id, file), self.index, UNKNOWN_TYPE)
            self.is_stored = True
        content = replace(resource.content, file=self.staged[0].id)
        writes = [staged.adoption_write() for staged in self.staged]
        return replace(resource, content=content), writes

    async def settle(self) -> None:
        """Do nothing: the local files go with their folder."""

    async def discard(self) -> None:
        for staged in self.staged:
            await staged.try_drop()

    async def _store(self, id: str, key: str, path: Path, content_type: str) -> None:
        staged = StagedFile(self.access, id, key)
        self.staged.append(staged)
        await staged.put(read_local(path), content_type)


@dataclass(slots=True)
class ContentStream:
    """The check of a file as it comes, in a local folder; small ones are as if they were sent.

    An index takes processor time, of which `seconds` are over.
    """

    access: Access
    folder: Path
    limits: CsvLimits
    follow: Follower
    _index: IndexBuild | None = field(default=None, init=False)

    @property
    def seconds(self) -> float:
        return 0.0 if self._index is None else self._index.seconds

    async def check(self, content: DatasetContent, chunks: Chunks) -> CheckedContent:
        """Check a file whose columns and keys are valid; return its content, or its problems.

        Raises Unavailable, and what following raises.
        """
        path = self.folder / "content.csv"
        reader = CsvReader(content.columns, content.keys, self.limits)
        try:
            copying = _copy(chunks, path, reader)
            digest, size = await keep_following(copying, partial(self.follow, 0))
            content = replace(content, checksum=digest, size_bytes=size)
            if size <= IN_MEMORY.size and (small := await self._check_in_memory(content, path)):
                return small
            return await self._check_with_index(content, path)
        except UnreadableCsv as error:
            return CheckedContent(content, error.problems, None)

    async def _check_in_memory(self, content: DatasetContent, path: Path) -> CheckedContent | None:
        """Check a file of few bytes; None if it has too many rows for the memory."""
        data = await asyncio.to_thread(path.read_bytes)
        try:
            table = await _THREADS.run(partial(read_table, data, content), self._user)
        except UnreadableCsv as error:
            if error.problems[-1].code == CsvCode.TOO_MANY_ROWS:
                return None
            raise
        return CheckedContent(
            replace(content, row_count=table.count), [], DatasetFile(self.access, data)
        )

    async def _check_with_index(self, content: DatasetContent, path: Path) -> CheckedContent:
        index = self.folder / "content.rows"
        count = await self._build(IndexBuild(path, index, content, self.limits))
        hashing = _THREADS.run(partial(_hash_file, index), self._user)
        digest, size = await keep_following(hashing, partial(self.follow, content.size_bytes))
        content = replace(content, row_count=count, index_bytes=size, index_checksum=digest)
        return CheckedContent(content, [], LargeFile(self.access, path, index))

    async def _build(self, build: IndexBuild) -> int:
        self._index = build
        running = asyncio.ensure_future(_THREADS.run(build.run, self._user))

        async def follow() -> None:
            await self.follow(build.read_bytes)

        try:
            return await keep_following(asyncio.shield(running), follow)
        finally:
            build.stop()
            if not build.has_begun:
                running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


async def keep_following(work: Awaitable[T], follow: Callable[[], Awaitable[None]]) -> T:
    """Return the result of some work, and call `follow` about once a second until it is there."""
    running = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([running], timeout=FOLLOW_SECONDS))[0]:
            await follow()
        return running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _copy(chunks: Chunks, path: Path, reader: CsvReader) -> tuple[str, int]:
    """Copy a file to this machine; return its SHA-256 and its size.

    Raises UnreadableCsv as soon as it is larger than it may be.
    """
    digest, size = sha256(), 0

    def note(chunk: bytes) -> None:
        nonlocal size
        size += len(chunk)
        reader.require_size(size)
        digest.update(chunk)

    await write_local(chunks, path, note)
    return digest.hexdigest(), size


def _hash_file(path: Path) -> tuple[str, int]:
    digest = sha256()
    with path.open("rb") as local:
        for block in iter(partial(local.read, BLOCK_BYTES), b""):
            digest.update(block)
    return digest.hexdigest(), path.stat().st_size
