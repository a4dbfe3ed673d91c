"""The files of an execution: their keys, the writer of its output, and download URLs."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.access.ended_uploads import input_form_key
from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.executions.file_access import require_whole_files
from penstock.datastore.executions.records import (
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
    OutputFormat,
)
from penstock.datastore.kept_rows.part_keys import delete_lost_parts
from penstock.datastore.objects.own_keys import delete_below, walk_numbered_keys
from penstock.datastore.objects.port import Download, Files, FileStatus, Stat

EARLIER_CLAIMS: Final = 16
"""The claims before the present one whose uploads are ended; what is older goes at the removal."""

STAGED_FORM_TIME: Final = timedelta(hours=24)
"""The time for which the forms of a claim are valid."""

NAME_DIGITS: Final = 16
"""Digits of each of the two digests in the name of a copy."""

AGAIN: Final = "_"
"""What separates the name of an upload from its number, where the first was given up."""


def ingest_key(execution: Execution) -> str:
    """The key under which the input is uploaded."""
    version = execution.pipeline_version
    return input_form_key(execution.pipeline_id, version, execution.ingest)


def next_ingest(execution: Execution) -> str:
    """The name of another upload of the input: forms of the earlier ones then write elsewhere."""
    first, _, number = execution.ingest.partition(AGAIN)
    return f"{first}{AGAIN}{int(number or 0) + 1}"


def input_key(execution: Execution) -> str:
    """The key of the input that the execution uses, which uploads can no longer change.

    Every attempt to confirm an upload makes a copy of its own, and only one of them is used.
    """
    copy = "" if execution.input_copy is None else f".{execution.input_copy}"
    return f"{_execution_folder(execution)}/input{copy}.txt"


def name_copy(execution: Execution, content: Stat) -> str:
    """The name of the copy of an upload: of this content, and of no other upload."""
    return _upload_digest(execution) + _digest(f"{content.size} {content.etag}")


def _upload_digest(execution: Execution) -> str:
    return _digest(execution.ingest)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:NAME_DIGITS]


async def delete_copies(files: Files, execution: Execution) -> None:
    """Delete all copies of the present upload, as those of starts that were killed."""
    await delete_below(files, f"{_execution_folder(execution)}/input.{_upload_digest(execution)}")


def table_key(execution: Execution) -> str:
    """The key of the input as CSV, for an input of another kind."""
    return f"{_execution_folder(execution)}/table{_claim_part(execution)}.csv"


def read_key(execution: Execution) -> str:
    """The key of the CSV whose rows are read: the input, or what was made of it."""
    return input_key(execution) if execution.table_bytes is None else table_key(execution)


def output_key(execution: Execution) -> str:
    """The key of the output; it has the number of the claim, but for the first one of a server.

    So what a worker writes or copies after it lost its claim never replaces what the next one made.
    """
    return f"{_execution_folder(execution)}/output{_claim_part(execution)}.txt"


def parquet_key(execution: Execution) -> str:
    """The key of the output as Parquet, where that was asked for."""
    return f"{_execution_folder(execution)}/output{_claim_part(execution)}.parquet"


def errors_key(execution: Execution) -> str:
    """The key of the rejected rows, as that of the output."""
    return f"{_execution_folder(execution)}/errors{_claim_part(execution)}.csv"


def _claim_part(execution: Execution) -> str:
    """The number of the claim in a name; the first claim, if it is of a server, has none."""
    is_latest = execution.placed is not None and execution.placed == execution.fence
    return f".{execution.placed}" if is_latest else ""


def place_files(execution: Execution) -> Execution:
    """The execution with the place for what the worker elsewhere of its claim made.

    Nothing is in it yet, and what earlier claims made counts no more.
    """
    return _place_nothing(execution, execution.fence)


def place_own_files(execution: Execution) -> Execution:
    """The execution with the place for what the worker of a server makes of its claim."""
    return _place_nothing(execution, execution.fence if execution.fence > 1 else None)


def _place_nothing(execution: Execution, placed: int | None) -> Execution:
    return replace(execution, placed=placed, result_bytes=None, table_bytes=None)


def has_results(execution: Execution) -> bool:
    """Whether something counts that a claim has stored."""
    return execution.result_bytes is not None or execution.table_bytes is not None


def lost_keys(execution: Execution) -> list[str]:
    """The keys of what workers of earlier claims put into their places."""
    if execution.fence <= 1:
        return []
    fences = range(max(1, execution.fence - EARLIER_CLAIMS), execution.fence)
    places = [place_files(replace(execution, fence=fence)) for fence in fences]
    first = replace(execution, placed=None)
    return [key for place in (first, *places) for key in written_keys(place)]


def placed_keys(execution: Execution) -> tuple[str, ...]:
    """The keys of what workers of the present claim, of a server or elsewhere, put into place."""
    return written_keys(place_own_files(execution)) + written_keys(place_files(execution))


def written_keys(execution: Execution) -> tuple[str, ...]:
    """The keys of all files that the worker of a server writes in its place."""
    output, errors = output_key(execution), errors_key(execution)
    return output, errors, table_key(execution), parquet_key(execution)


def staged_rows_key(execution: Execution, piece: int, kind: str) -> str:
    """The key under which a machine of a cluster uploads what it made of a piece of the output."""
    return f"{_staged_rows(execution)}{execution.fence}.{piece}.{kind}"


def _staged_rows(execution: Execution) -> str:
    return f"{_execution_folder(execution)}/rows."


async def delete_staged_rows(files: Files, execution: Execution) -> None:
    """Delete what machines uploaded for the present claim and those before it.

    No file of rows that stand is among these: each is a copy.
    """
    async for key in walk_numbered_keys(files, _staged_rows(execution), execution.fence):
        await files.refuse_uploads(key)
        await files.delete(key)


def staged_key(key: str, fence: int) -> str:
    """The key under which an external worker uploads a file, different for each claim."""
    return f"{key}.{fence}"


def staged_keys(execution: Execution) -> list[str]:
    """The keys under which workers of the present claim and of those before it upload files."""
    first = max(1, execution.fence - EARLIER_CLAIMS)
    fences = range(first, execution.fence + 1)
    plain = replace(execution, placed=None)
    made = output_key(plain), errors_key(plain)
    return [staged_key(key, fence) for fence in fences for key in made]


async def refuse_staged_uploads(files: Files, execution: Execution) -> None:
    """Let the forms of all claims write nothing any more, whether they have forms or not."""
    for key in staged_keys(execution):
        await files.refuse_uploads(key)


async def end_earlier_uploads(files: Files, claimed: Execution) -> None:
    """Remove what was sent for the input and for the claims before the present one.

    More of these claims is refused. A process that died has ended nothing, so each claim does this
    for all before it: their results count until the present claim ends.
    """
    before = replace(claimed, fence=claimed.fence - 1)
    await refuse_staged_uploads(files, before)
    await delete_used_upload(files, claimed)
    for key in (*staged_keys(before), *lost_keys(claimed)):
        await files.delete(key)
    if before.fence:
        await delete_lost_rows(files, before)


async def delete_lost_rows(files: Files, execution: Execution) -> None:
    """Delete the rows to be kept that workers of the present claim and of those before it wrote."""
    await delete_staged_rows(files, execution)
    await delete_lost_parts(files, execution.pipeline_id, execution.id, execution.fence)


async def end_upload(files: Files, execution: Execution) -> None:
    """Let the form of the input write nothing any more, and delete what was sent with it."""
    await files.refuse_uploads(ingest_key(execution))
    await files.delete(ingest_key(execution))


async def delete_used_upload(files: Files, execution: Execution) -> None:
    """Delete the upload of an execution that has its copy: only the copy counts for quotas."""
    if execution.input_copy is not None:
        await files.delete(ingest_key(execution))


async def delete_staged_files(files: Files, execution: Execution) -> None:
    """Remove what was uploaded for the present claim and those before it.

    What those before it put into place goes as well.
    """
    for key in (*staged_keys(execution), *lost_keys(execution)):
        await files.delete(key)


async def delete_files(files: Files, execution: Execution) -> None:
    """Delete all files of an execution, also copies and uploads that were never used."""
    await files.delete(ingest_key(execution))
    if AGAIN in execution.ingest:
        earlier = ingest_key(execution).rpartition(AGAIN)[0]
        await delete_below(files, earlier)
    await delete_below(files, f"{_execution_folder(execution)}/")


def pipeline_folder(pipeline: str) -> str:
    """The folder of all files of a pipeline's executions."""
    return f"pipelines/{pipeline}/"


def _execution_folder(execution: Execution) -> str:
    folder = pipeline_folder(execution.pipeline_id)
    return f"{folder}{execution.pipeline_version}/executions/{execution.id}"


MAX_QUEUED_PIECES = 4
CSV_TYPE = "text/csv; charset=utf-8"


class GrowingFile:
    """A file that is written piece by piece and appears as a whole when `publish` returns.

    `feed` waits while the store is slower than the feeder. A failure of the store is raised by the
    next method that is called. `size` is the number of bytes so far.
    """

    def __init__(self, files: Files, key: str) -> None:
        self.size = 0
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_QUEUED_PIECES)
        self._writing = asyncio.create_task(
            files.write(key, self._read_queue(), content_type=CSV_TYPE)
        )

    async def feed(self, piece: bytes) -> None:
        if piece:
            self.size += len(piece)
            await self._queue_piece(piece)

    async def publish(self) -> None:
        """End the file, and wait until it is stored."""
        await self._queue_piece(None)
        await self._writing

    async def abandon(self) -> None:
        """Stop writing and keep the former content of the key; does nothing after `publish`."""
        self._writing.cancel()
        await asyncio.wait([self._writing])
        retrieve_failure(self._writing)

    async def _queue_piece(self, piece: bytes | None) -> None:
        if not (self._pieces.full() or self._writing.done()):
            self._pieces.put_nowait(piece)
            return
        putting = asyncio.ensure_future(self._pieces.put(piece))
        try:
            await asyncio.wait([putting, self._writing], return_when=asyncio.FIRST_COMPLETED)
            if not putting.done():
                await self._writing
        finally:
            putting.cancel()

    async def _read_queue(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            yield piece


class FileKind(StrEnum):
    """The kinds of files of an execution: what it reads, and what it writes."""

    INPUT = "input"
    OUTPUT = "output"
    ERRORS = "errors"


def _shown_file(execution: Execution, kind: FileKind) -> tuple[str, str]:
    """The key of a file that users get, and the extension of its name."""
    if kind is FileKind.INPUT:
        return input_key(execution), _input_extension(execution)
    if kind is FileKind.ERRORS:
        return errors_key(execution), "csv"
    if execution.output_format is OutputFormat.PARQUET:
        return parquet_key(execution), "parquet"
    return output_key(execution), "csv"


def _input_extension(execution: Execution) -> str:
    """The extension that the creator's name for the input has, where it is a plain one."""
    if execution.mode is ExecutionMode.INLINE:
        return "json"
    extension = (execution.input_name or "").rpartition(".")[2].lower()
    return extension if extension.isascii() and extension.isalnum() else "csv"


def _status_by_state(execution: Execution, kind: FileKind) -> FileStatus | None:
    """The status of a file that cannot be there in the execution's state; None if it can be."""
    if kind is FileKind.INPUT:
        return FileStatus.NOT_READY if execution.ready_at is None else None
    if not execution.state.is_over:
        return FileStatus.NOT_READY
    after_failure = kind is FileKind.ERRORS and execution.state is ExecutionState.FAILED
    return None if after_failure or execution.state is ExecutionState.SUCCESS else FileStatus.GONE


class FileDownload(NamedTuple):
    """The status of a file, and the download URL of one that exists; `size` is in bytes."""

    status: FileStatus
    download: Download | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionDownloads:
    """Download URLs of the files of executions for the caller."""

    access: Access
    rules: ExecutionRules
    files: Files

    async def one(
        self, execution: Execution, kind: FileKind, expires_in: int | None = None
    ) -> FileDownload:
        """The download of a file, with a URL that is valid for `expires_in` seconds.

        There is an input once it is complete, an output only after a success, and rejected rows
        also after a failure. Raises NotPermitted for rows of groups that the caller does not read.
        """
        require_whole_files(self.access.caller, execution)
        status = _status_by_state(execution, kind)
        if status is not None:
            return FileDownload(status)
        key, extension = _shown_file(execution, kind)
        stat = await self.files.stat(key)
        if stat is None:
            return FileDownload(FileStatus.GONE)
        seconds = expires_in
        if seconds is None:
            seconds = int(self.rules.download_time.total_seconds())
        download = await self.files.presign_download(
            key, expires_in=seconds, filename=f"{execution.id}-{kind.value}.{extension}"
        )
        return FileDownload(FileStatus.READY, download, stat.size)
