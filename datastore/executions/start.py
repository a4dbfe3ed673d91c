"""The start of an execution: what was uploaded is pinned by a copy, which the execution names."""

from asyncio import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.access.work import TRANSITION_UNITS
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.executions.files import (
    delete_used_upload,
    ingest_key,
    input_key,
    name_copy,
)
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import EventKind, Execution
from penstock.datastore.executions.rows import TransitionEvent, transition_writes
from penstock.datastore.executions.upload_places import awaits_upload
from penstock.datastore.objects.lasting_copies import run_lasting
from penstock.datastore.objects.metered_files import on_credit
from penstock.datastore.objects.port import FileReplaced, Files, Stat
from penstock.datastore.table.commit import Attempts, StaleRead, commit

ATTEMPTS: Final = 3


async def make_ready(
    access: Access, files: Files, execution: Execution, by: str
) -> Execution | None:
    """Pin what was uploaded, and make the execution ready with it; None if nothing was uploaded.

    Returns the current state of the execution, also if that was done already. Later uploads change
    nothing: the copy is named after its content, and the transaction that makes the execution ready
    names it. An attempt uses the copy of an interrupted one, and removes a copy that nobody can use
    any more.
    """
    found = await _copy_upload(access, files, execution)
    if found is None:
        return None
    pinned, stat = found
    try:
        ready = await _commit_ready(access, pinned, stat, by)
    except NotFound:
        await files.delete(input_key(pinned))
        raise
    if ready.input_copy != pinned.input_copy:
        await files.delete(input_key(pinned))
    if ready.ready_at is not None:
        with suppress(Unavailable):  # It then goes with the first claim.
            await delete_used_upload(files, ready)
    return ready


async def _copy_upload(
    access: Access, files: Files, execution: Execution
) -> tuple[Execution, Stat] | None:
    """Copy what was uploaded, unless an earlier call did; None if nothing was uploaded.

    Returns the execution with the name of the copy. The form ends first, where forms can be ended:
    what came behind the copy would be stored and count nowhere.
    """
    for _ in range(ATTEMPTS):
        uploaded = await files.stat(ingest_key(execution))
        if uploaded is None:
            return None
        await files.refuse_uploads(ingest_key(execution))
        pinned = replace(execution, input_copy=name_copy(execution, uploaded))
        if await files.stat(input_key(pinned)) is not None:
            return pinned, uploaded
        try:
            await _UploadCopy(access, on_credit(files), pinned, uploaded.etag).make()
        except FileReplaced:
            continue
        except NotFound:
            return None
        return pinned, uploaded
    raise Unavailable("The input is being replaced again and again.")


@dataclass(slots=True)
class _UploadCopy:
    """A copy of an upload, which may take longer than the call that wants it.

    It goes on where the call is cut off. By its end, the execution may be one that was cancelled:
    the copy is removed then, as nobody else knows of it.
    """

    access: Access
    files: Files
    pinned: Execution
    etag: str
    is_cut_off: bool = False

    async def make(self) -> None:
        """Make the copy, or wait for one that is under way; NotFound, FileReplaced."""
        try:
            await run_lasting(self.files, input_key(self.pinned), self._copy)
        except CancelledError:
            self.is_cut_off = True
            raise

    async def _copy(self) -> None:
        target = input_key(self.pinned)
        await self.files.copy(ingest_key(self.pinned), target, self.etag)
        if self.is_cut_off and not await self._is_wanted():
            await self.files.delete(target)

    async def _is_wanted(self) -> bool:
        """Whether the execution has the copy, or may start with it."""
        found = await find_execution(self.access.table, self.pinned.id)
        if found is None or found.ingest != self.pinned.ingest:
            return False
        return awaits_upload(found) or found.input_copy == self.pinned.input_copy


async def _commit_ready(access: Access, pinned: Execution, stat: Stat, by: str) -> Execution:
    """Make the execution ready unless that was done already; return its current state."""
    execution = replace(pinned, input_copy=None)
    async for _ in Attempts():
        if not awaits_upload(execution) or execution.ingest != pinned.ingest:
            # Tried again since it was read, it waits for what comes by another form.
            return execution
        now = access.clock.timestamp()
        after = replace(
            execution, ready_at=now, bytes_total=stat.size, input_copy=pinned.input_copy
        )
        event = TransitionEvent(EventKind.UPLOADED, by, now)
        try:
            await commit(access.table, transition_writes(execution, after, event))
        except StaleRead:
            execution = await require_execution(access, execution.id)
        else:
            access.work.owe(TRANSITION_UNITS)
            return await require_execution(access, execution.id)
    raise Unavailable("The execution is being written by many at once.")


async def require_execution(access: Access, id: str) -> Execution:
    """The current state of an execution; raises NotFound if it was removed."""
    found = await find_execution(access.table, id)
    if found is None:
        raise not_found_error("execution")
    return found
