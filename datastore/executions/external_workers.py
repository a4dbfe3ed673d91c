"""Executions run by external workers, which claim, report and end them under a fence."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.errors import FieldProblem, IllegalState, Invalid, NotPermitted, Unavailable
from penstock.datastore.executions.access import RUN, require_sight
from penstock.datastore.executions.cancel_and_retry import illegal
from penstock.datastore.executions.claims import ClaimLost, Claims, counted, ended
from penstock.datastore.executions.files import CSV, errors_key, input_key, output_key, staged
from penstock.datastore.executions.pinned_inputs import find_datasets, pinned_input
from penstock.datastore.executions.reading import ReadExecutions, find_plan
from penstock.datastore.executions.records import Execution, ExecutionRules, ExecutionState
from penstock.datastore.objects.port import Download, Files, UploadForm
from penstock.datastore.records import DatasetContent
from penstock.datastore.text import prose_problem, text_problem
from penstock.transform.outcome import Counts
from penstock.transform.problems import Refused

MAX_WORKER = 128
MAX_CODE = 64
MAX_MESSAGE = 1000
SECONDS = 24 * 3600
"""The seconds for which URLs and forms are valid."""

MOST: Final = 10**15
"""The upper bound of each count, more rows or bytes than any file has."""

_FIELDS: Final = MappingProxyType(
    {
        "succeeded": "rowsSucceeded",
        "failed": "rowsFailed",
        "bytes_read": "bytesRead",
        "bytes_written": "bytesWritten",
    }
)


class ClaimedDataset(NamedTuple):
    """A dataset that the plan looks up: its identity in the plan, its columns and its file."""

    identity: str
    content: DatasetContent
    download: Download


class Claimed(NamedTuple):
    """An execution claimed by an external worker, with everything the worker needs.

    `plan` describes the processing of each row, as JSON. The two forms upload the output and the
    rejected rows.
    """

    execution: Execution
    plan: dict[str, Any]
    input: Download
    datasets: tuple[ClaimedDataset, ...]
    output: UploadForm
    errors: UploadForm


@dataclass(frozen=True, slots=True)
class ExternalWorkers:
    """The calls of external workers, who must be contributors at the pipeline's owner group."""

    access: Access
    rules: ExecutionRules
    files: Files

    async def claim(self, id: str, worker: str) -> Claimed:
        """Claim an execution that is ready, or whose worker sent no heartbeat for too long.

        Raises IllegalState if it cannot be claimed, NotPermitted if the caller does not see
        everything that it uses.
        """
        if message := text_problem(worker, MAX_WORKER):
            raise Invalid([FieldProblem(["worker"], message)])
        execution = await self._admitted(id)
        await require_sight(self.access, execution)
        name = f"{self.access.caller.user_id}: {worker}"
        held = await self._claims.take(execution, name)
        if held is None:
            raise illegal(await self._admitted(id))
        return await self._equipped(held)

    async def heartbeat(self, id: str, fence: int, counts: Counts) -> Execution:
        """Renew the claim and report the progress; IllegalState if the claim is lost."""
        _require_counts(counts)
        await self._beat(await self._held(id, fence), counts)
        return await self._admitted(id)

    async def complete(self, id: str, fence: int, counts: Counts) -> Execution:
        """End the execution in success, after its output and rejected rows were uploaded.

        A repeated call changes nothing.
        """
        _require_counts(counts)
        held = await self._admitted(id)
        if held.fence == fence and held.state is ExecutionState.SUCCESS:
            return held
        _require_held(held, fence)
        keys = (output_key(held), errors_key(held))
        for key in keys:
            if not await self._is_uploaded(held, key):
                name = key.rpartition("/")[2]
                raise IllegalState(f"{name} was not uploaded yet.", held.state.name)
        await self._publish(held, counts, keys)
        over = await self._end(held, ExecutionState.SUCCESS, counts)
        with suppress(Unavailable):  # They are then removed with the execution.
            for key in keys:
                await self.files.delete(staged(key, fence))
        return over

    async def fail(self, id: str, fence: int, code: str, message: str) -> Execution:
        """End the execution in failure with a reason; uploaded rejected rows are kept."""
        found = (
            ("code", text_problem(code, MAX_CODE)),
            ("message", prose_problem(message, MAX_MESSAGE)),
        )
        if problems := [FieldProblem([field], text) for field, text in found if text]:
            raise Invalid(problems)
        held = await self._held(id, fence)
        if await self._is_uploaded(held, errors_key(held)):
            await self._publish(held, held.counts, [errors_key(held)])
        why = replace(held, code=code, message=message)
        return await self._end(why, ExecutionState.FAILED, held.counts)

    async def _end(self, held: Execution, state: ExecutionState, counts: Counts) -> Execution:
        after = counted(ended(held, state, self.access.clock.now(), self.rules), counts)
        try:
            await self._claims.end(replace(held, code=None, message=None), after)
        except ClaimLost as lost:
            raise _lost(lost) from None
        return await self._admitted(held.id)

    async def _is_uploaded(self, held: Execution, key: str) -> bool:
        return await self.files.stat(staged(key, held.fence)) is not None

    async def _publish(self, held: Execution, counts: Counts, keys: Iterable[str]) -> None:
        """Copy the uploads into place, if the claim is still held.

        The uploads stay, so that an interrupted call can be repeated.
        """
        await self._beat(held, counts)
        for key in keys:
            await self.files.copy(staged(key, held.fence), key)

    async def _beat(self, held: Execution, counts: Counts) -> None:
        try:
            await self._claims.beat(held, counts)
        except ClaimLost as lost:
            raise _lost(lost) from None

    async def _equipped(self, held: Execution) -> Claimed:
        """The claimed execution with its plan, the URLs of its files and the upload forms."""
        plan, content = (
            await find_plan(self.access.table, held.id),
            await pinned_input(self.files, held),
        )
        if plan is None or content is None:
            raise await self._gone(held, "INPUT_GONE", "The input of the execution is gone.")
        try:
            datasets = await find_datasets(self.access.table, plan)
        except Refused as refused:
            raise await self._gone(held, refused.problem.code, refused.problem.message) from None
        return Claimed(
            held,
            to_builtins(plan),
            await self._download(input_key(held)),
            tuple(
                [
                    ClaimedDataset(identity, one.content, await self._download(key_of_file(one)))
                    for identity, one in datasets.items()
                ]
            ),
            await self._form(staged(output_key(held), held.fence)),
            await self._form(staged(errors_key(held), held.fence)),
        )

    async def _gone(self, held: Execution, code: str, message: str) -> IllegalState:
        """Fail an execution that no worker could run."""
        why = replace(held, code=code, message=message)
        return illegal(await self._end(why, ExecutionState.FAILED, Counts()))

    async def _download(self, key: str) -> Download:
        return await self.files.presign_download(key, expires_in=SECONDS)

    async def _form(self, key: str) -> UploadForm:
        return await self.files.presign_upload(
            key, max_bytes=self.rules.max_bytes, content_type=CSV, expires_in=SECONDS
        )

    async def _held(self, id: str, fence: int) -> Execution:
        """The execution, if it is claimed under this fence; otherwise raises IllegalState."""
        execution = await self._admitted(id)
        _require_held(execution, fence)
        return execution

    async def _admitted(self, id: str) -> Execution:
        execution, pipeline = await ReadExecutions(self.access).one(id, consistent=True)
        if not self.access.caller.has(RUN, pipeline.owner):
            raise NotPermitted(f"This needs the role CONTRIBUTOR at {pipeline.owner}.")
        return execution

    @property
    def _claims(self) -> Claims:
        return Claims(self.access.table, self.access.clock, self.rules)


def _require_held(execution: Execution, fence: int) -> None:
    if execution.state is not ExecutionState.IN_PROGRESS:
        raise illegal(execution)
    if execution.fence != fence:
        raise IllegalState("Another worker took it over.", execution.state.name)


def _require_counts(counts: Counts) -> None:
    given = asdict(counts)
    if problems := [
        FieldProblem(["progress", _FIELDS[name]], f"must be 0 to {MOST}")
        for name, count in given.items()
        if name in _FIELDS and not 0 <= count <= MOST
    ]:
        raise Invalid(problems)


def _lost(lost: ClaimLost) -> IllegalState:
    state = "GONE" if lost.state is None else lost.state.name
    return IllegalState("The execution is no longer this worker's.", state)
