"""The open uploads that are over: used, never come, or of a pipeline that was deleted."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from random import sample
from typing import Final, NamedTuple

from penstock.datastore.objects.port import Files
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.port import Attributes, Key, Table
from penstock.datastore.table.tombstones import is_alive

CREATION_SECONDS: Final = 60
"""The time after which a row that is watched exists, unless its creation failed."""

WAITING: Final = "waiting"

USED: Final = "usedAt"
"""The attribute of the row of a cover or a playlist file that was used, and may be used again."""

REMOVED_AFTER_USE: Final = ("cover", "playlist")
"""The kinds of uploads that stay after their use, until their place is needed or they are swept."""

AWAITED: Final = "uploadUntil"
"""The attribute of an execution with the expiry of the form that it awaits."""

FORM_ENDS: Final = "formUntil"
"""The attribute of a place with the second from which its form writes nothing more."""

MAX_LOOKS: Final = 100
"""Files that a call looks at to learn whether they are gone."""


class EndedUpload(NamedTuple):
    """The row of an upload that is open no more, and the key that its form may write still.

    One with an `unused_key` is open again if a file is there after all. The file under a `used_key`
    goes with its place.
    """

    row: Attributes
    form_key: str | None = None
    unused_key: str | None = None
    used_key: str | None = None

    @property
    def orphaned_key(self) -> str | None:
        """The key of a file that nobody can use, as its pipeline was deleted, if one may come."""
        return self.used_key if _kind_of(self.row) == "execution" else None


class _WaitingExecution(NamedTuple):
    """The row of an upload, its execution, unless that was removed, and the pipeline's key."""

    row: Attributes
    execution: Attributes | None
    pipeline: Key

    @property
    def form_key(self) -> str | None:
        """The key that the form writes; that of an execution that was removed writes none."""
        found = self.execution
        if found is None:
            return None
        pipeline, version = str(found["pipelineId"]), _number(found["pipelineVersion"])
        return input_form_key(pipeline, version, str(found["ingest"]))


def input_form_key(pipeline: str, version: int, ingest: str) -> str:
    """The key under which the input of an execution is uploaded; `ingest` is its name there."""
    return f"pipelines/{pipeline}/{version}/ingest/{pipeline}-{version}-{ingest}.txt"


@dataclass(frozen=True, slots=True)
class EndedUploads:
    """Finds out, of the rows of open uploads, which are over at the second `now`."""

    table: Table
    files: Files
    now: int

    async def end_form(self, ended: EndedUpload) -> bool:
        """Let the form write nothing more; False if it has just written what nobody uses."""
        if ended.form_key is not None:
            await self.files.refuse_uploads(ended.form_key)
        if ended.used_key is not None:
            await self.files.delete(ended.used_key)
        return ended.unused_key is None or await self.files.stat(ended.unused_key) is None

    async def count_gone(self, rows: Sequence[Attributes]) -> int:
        """Count those of the uploads that are over, and of which no file is left.

        The file of a used upload counts elsewhere, or in no quota.
        """
        ended = await self.find(rows)
        orphaned = [key for one in ended if (key := one.orphaned_key) is not None]
        return len(ended) - len(orphaned) + len(await self._find_missing(orphaned))

    async def find(self, rows: Sequence[Attributes]) -> list[EndedUpload]:
        """Return the rows of uploads that were used or never came, or of deleted pipelines."""
        watching = [_watched_key(row) for row in rows]
        keys = (key for key in watching if key is not None)
        found = await read_rows(self.table, keys, consistent=True)
        open_rows: list[tuple[Attributes, Attributes | None]] = []
        used: list[EndedUpload] = []
        for row, key in zip(rows, watching, strict=True):
            watched = None if key is None else found.get(key)
            if key is not None and self._is_used(row, watched):
                used.append(_used_upload(row))
            else:
                open_rows.append((row, watched))
        return [*used, *await self._find_unusable(open_rows)]

    async def _find_unusable(
        self, rows: Sequence[tuple[Attributes, Attributes | None]]
    ) -> list[EndedUpload]:
        """Return the rows of uploads that never came, or whose pipelines were deleted.

        Each row comes with what it watches.
        """
        waiting = [
            _WaitingExecution(row, watched, pipeline)
            for row, watched in rows
            if (pipeline := _pipeline_of(row, watched)) is not None
        ]
        pipelines = await read_rows(self.table, (one.pipeline for one in waiting), consistent=True)
        orphans: list[EndedUpload] = []
        unused = [
            EndedUpload(row, str(row["key"]), str(row["key"])) for row, _ in rows if "key" in row
        ]
        for one in waiting:
            if not is_alive(pipelines.get(one.pipeline)):
                orphans.append(EndedUpload(one.row, one.form_key, used_key=one.form_key))
            elif one.form_key is not None:
                unused.append(EndedUpload(one.row, one.form_key, one.form_key))
        over = {
            str(one.unused_key): one
            for one in unused
            if _number(one.row.get(FORM_ENDS, 2**40)) <= self.now
        }
        return [*orphans, *(over[key] for key in await self._find_missing(list(over)))]

    async def _find_missing(self, keys: Sequence[str]) -> list[str]:
        """Return those of the keys under which there is no file.

        Of very many it looks at some, which differ from call to call.
        """
        looked = sample(keys, min(len(keys), MAX_LOOKS))
        stats = await gather(*map(self.files.stat, looked))
        return [key for key, stat in zip(looked, stats, strict=True) if stat is None]

    def _is_used(self, row: Attributes, watched: Attributes | None) -> bool:
        kind = _kind_of(row)
        if kind == "audio":
            return watched is not None and "audioId" in watched
        if kind in REMOVED_AFTER_USE:
            return watched is not None and USED in watched
        if watched is None:  # an execution that was removed, or that an earlier release creates
            return self.now - _number(row["openedAt"]) > CREATION_SECONDS
        # An execution that begins again awaits another upload; earlier releases do not say which.
        awaited = row.get("opening", watched.get(AWAITED))
        is_awaited = watched.get("state") == WAITING and watched.get(AWAITED) == awaited
        return not is_awaited or "readyAt" in watched


def _kind_of(row: Attributes) -> str:
    return str(row["subject"]).partition(":")[0]


def _used_upload(row: Attributes) -> EndedUpload:
    if _kind_of(row) not in REMOVED_AFTER_USE:
        return EndedUpload(row)
    key = str(row["key"])
    return EndedUpload(row, form_key=key, used_key=key)


def _watched_key(row: Attributes) -> Key | None:
    """The key of the row by which the use of an upload shows, if there is one."""
    return Key(str(row["watchedPk"]), str(row["watchedSk"])) if "watchedPk" in row else None


def _pipeline_of(row: Attributes, execution: Attributes | None) -> Key | None:
    """The key of the pipeline; places of an earlier release do not name it."""
    named = row.get("pipeline") or (execution or {}).get("pipelineId")
    return None if named is None else PIPELINE.latest.key(id=str(named))


def _number(value: object) -> int:
    return int(str(value))
