"""Where the files of an execution lie.

A file that is written while its content comes into being, and published whole or not at all.

URLs of what came out of an execution: given only for files that are there.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.executions.records import Execution, ExecutionRules, ExecutionState
from penstock.datastore.objects.port import Download, Files, FileStatus


def ingest_key(execution: Execution) -> str:
    """Where the input is uploaded to."""
    pipeline, version = execution.pipeline_id, execution.pipeline_version
    return f"pipelines/{pipeline}/{version}/ingest/{pipeline}-{version}-{execution.ingest}.txt"


def input_key(execution: Execution) -> str:
    """The input as it was when the execution began; uploads no longer reach it."""
    return f"{_folder(execution)}/input.txt"


def output_key(execution: Execution) -> str:
    return f"{_folder(execution)}/output.txt"


def errors_key(execution: Execution) -> str:
    """The rejected rows."""
    return f"{_folder(execution)}/errors.csv"


def staged(key: str, fence: int) -> str:
    """Where an outside worker uploads a file to, which no other claim shares."""
    return f"{key}.{fence}"


def all_keys(execution: Execution) -> tuple[str, ...]:
    made = (output_key(execution), errors_key(execution))
    claims = range(1, execution.fence + 1)
    uploads = [staged(key, fence) for fence in claims for key in made]
    return (ingest_key(execution), input_key(execution), *made, *uploads)


def _folder(execution: Execution) -> str:
    pipeline, version = execution.pipeline_id, execution.pipeline_version
    return f"pipelines/{pipeline}/{version}/executions/{execution.id}"


QUEUED = 4
CSV = "text/csv; charset=utf-8"


class Growing:
    """One file of a store, fed piece by piece; it appears when `publish` returns.

    `feed` waits while the store is slower than the feeder. What keeps the store from writing is
    raised by whichever of the methods is called next.
    """

    def __init__(self, files: Files, key: str) -> None:
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUED)
        self._writing = asyncio.create_task(files.write(key, self._content(), content_type=CSV))

    async def feed(self, piece: bytes) -> None:
        if piece:
            await self._put(piece)

    async def publish(self) -> None:
        """End the file, and wait until it is in place."""
        await self._put(None)
        await self._writing

    async def abandon(self) -> None:
        """Leave what stood under the key as it was; nothing to do for a file that is published."""
        self._writing.cancel()
        await asyncio.wait([self._writing])
        if not self._writing.cancelled():
            self._writing.exception()

    async def _put(self, piece: bytes | None) -> None:
        putting = asyncio.ensure_future(self._pieces.put(piece))
        try:
            await asyncio.wait([putting, self._writing], return_when=asyncio.FIRST_COMPLETED)
            if not putting.done():
                await self._writing
        finally:
            putting.cancel()

    async def _content(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            yield piece


class FileKind(StrEnum):
    """Which of the files that come out of an execution."""

    OUTPUT = "output"
    ERRORS = "errors"


class FileDownload(NamedTuple):
    """How a file stands, and the URL of one that is there; `size` in bytes."""

    status: FileStatus
    download: Download | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Downloads:
    """What came out of executions, in the caller's scope."""

    access: Access
    rules: ExecutionRules
    files: Files

    async def one(
        self, execution: Execution, kind: FileKind, expires_in: int | None = None
    ) -> FileDownload:
        """A URL for a file of an execution in hand, valid for so many seconds.

        An output is there only after success; rejected rows also after a failure.
        """
        if not execution.state.is_over:
            return FileDownload(FileStatus.NOT_READY)
        wanted = {ExecutionState.SUCCESS} | ({ExecutionState.FAILED} if kind == "errors" else set())
        key = output_key(execution) if kind is FileKind.OUTPUT else errors_key(execution)
        stat = await self.files.stat(key) if execution.state in wanted else None
        if stat is None:
            return FileDownload(FileStatus.GONE)
        seconds = expires_in
        if seconds is None:
            seconds = int(self.rules.download.total_seconds())
        download = await self.files.presign_download(
            key, expires_in=seconds, filename=f"{execution.id}-{kind.value}.csv"
        )
        return FileDownload(FileStatus.READY, download, stat.size)
