"""URLs of what came out of an execution: given only for files that are there."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from penstock.datastore.executions.keys import errors_key, output_key
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rules import ExecutionRules
from penstock.datastore.files import Download, Files, FileStatus
from penstock.datastore.resources.scope import Scope


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

    scope: Scope
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
