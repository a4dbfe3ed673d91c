"""Executions run by external workers, which claim, report and end them under a fence."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import TRANSITION_UNITS
from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    NotFound,
    NotPermitted,
    Unavailable,
)
from penstock.datastore.executions.access import RUN_ROLE, require_full_view
from penstock.datastore.executions.cancel_and_retry import illegal_state_error
from penstock.datastore.executions.claims.claims import (
    ClaimLost,
    Claims,
    with_counts,
    with_end_state,
)
from penstock.datastore.executions.failure_codes import WORKER_CODES, FailureCode
from penstock.datastore.executions.files import (
    CSV_TYPE,
    STAGED_FORM_TIME,
    delete_staged_files,
    end_earlier_uploads,
    errors_key,
    input_key,
    output_key,
    place_files,
    refuse_staged_uploads,
    staged_key,
)
from penstock.datastore.executions.plans.pinned_inputs import find_datasets, find_input
from penstock.datastore.executions.reading import ReadExecutions, find_plan
from penstock.datastore.executions.records import (
    OF_USER,
    Execution,
    ExecutionRules,
    ExecutionState,
    OutputFormat,
    external_worker_name,
)
from penstock.datastore.executions.workers.late_files import delete_late_files
from penstock.datastore.objects.port import Download, Files, UploadForm
from penstock.datastore.records import DatasetContent
from penstock.datastore.text import multiline_problem, name_problem
from penstock.transform.outcome import RowCounts, TransformEnding
from penstock.transform.problems import InputRefused, TransformCode

MAX_WORKER = 128
MAX_MESSAGE = 1000
URL_SECONDS: Final = int(STAGED_FORM_TIME.total_seconds())
"""The seconds for which URLs and forms are valid."""

MAX_COUNT: Final = 10**15
"""The upper bound of each count, more rows or bytes than any file has."""

_COUNT_FIELDS: Final = MappingProxyType(
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


class ClaimedExecution(NamedTuple):
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

    async def claim(self, id: str, worker: str) -> ClaimedExecution:
        """Claim an execution that is ready, or whose worker sent no heartbeat for too long.

        Raises IllegalState if it cannot be claimed, NotPermitted if the caller does not see
        everything that it uses.
        """
        if message := _worker_name_problem(worker):
            raise Invalid([FieldProblem(["worker"], message)])
        execution = await self._read_permitted(id)
        await require_full_view(self.access, execution.pins)
        await self._require_csv_alone(execution)
        name = external_worker_name(self.access.caller.user_id, worker)
        claimed = await self._claims.claim(execution, name)
        if claimed is None:
            raise illegal_state_error(await self._read_permitted(id))
        self.access.work.owe(TRANSITION_UNITS)
        await end_earlier_uploads(self.files, claimed)
        return await self._prepare_claim(claimed)

    async def _require_csv_alone(self, execution: Execution) -> None:
        """Refuse what only workers of the server make: kept rows, datasets, and Parquet."""
        plan = await find_plan(self.access.table, execution.id)
        if plan is not None and not plan.only_writes_files:
            kept = "Its rows are kept" if plan.rows is not None else "It writes a dataset"
            message = f"{kept}: only workers of the server run it."
            raise IllegalState(message, execution.state.name)
        if execution.output_format is OutputFormat.PARQUET:
            message = "Its output is Parquet: only workers of the server run it."
            raise IllegalState(message, execution.state.name)

    async def heartbeat(self, id: str, fence: int, counts: RowCounts) -> Execution:
        """Renew the claim and report the progress; IllegalState if the claim is lost."""
        _require_counts(counts)
        await self._send_heartbeat(await self._read_held(id, fence), counts)
        return await self._read_permitted(id)

    async def complete(self, id: str, fence: int, counts: RowCounts) -> Execution:
        """End the execution in success, after its output and rejected rows were uploaded.

        A repeated call changes nothing. Raises Invalid for counts with which workers of the server
        end an execution in failure.
        """
        _require_counts(counts)
        claimed = await self._read_permitted(id)
        if claimed.fence == fence and claimed.state is ExecutionState.SUCCESS:
            await self._try_delete_staged_files(claimed)
            return claimed
        self._require_held(claimed, fence)
        _require_success(claimed, counts)
        for key_of in (output_key, errors_key):
            if not await self._is_uploaded(claimed, key_of):
                name = key_of(claimed).rpartition("/")[2]
                raise IllegalState(f"{name} was not uploaded yet.", claimed.state.name)
        async with self._late_files_removed(claimed):
            await self._publish(claimed, counts, (output_key, errors_key))
            return await self._end(claimed, ExecutionState.SUCCESS, counts)

    async def fail(self, id: str, fence: int, code: str, message: str) -> Execution:
        """End the execution in failure with a reason; uploaded rejected rows are kept."""
        if problems := [*_reason_problems(code, message)]:
            raise Invalid(problems)
        claimed = await self._read_held(id, fence)
        async with self._late_files_removed(claimed):
            if await self._is_uploaded(claimed, errors_key):
                await self._publish(claimed, claimed.counts, [errors_key])
            return await self._end(claimed, ExecutionState.FAILED, claimed.counts, code, message)

    @asynccontextmanager
    async def _late_files_removed(self, claimed: Execution) -> AsyncIterator[None]:
        """Remove what is published where the claim was lost meanwhile."""
        try:
            yield
        except (IllegalState, NotFound):
            with suppress(Unavailable):  # They then go with the execution, or by its next claim.
                await delete_late_files(self.access.table, self.files, place_files(claimed))
            raise

    async def _end(
        self,
        claimed: Execution,
        state: ExecutionState,
        counts: RowCounts,
        code: str | None = None,
        message: str | None = None,
    ) -> Execution:
        await refuse_staged_uploads(self.files, claimed)
        after = with_counts(
            with_end_state(claimed, state, self.access.clock.now(), self.rules), counts
        )
        after = place_files(after)
        size = await self._measure_result(after)
        try:
            await self._claims.end(
                claimed, replace(after, code=code, message=message, result_bytes=size)
            )
        except ClaimLost as lost:
            raise _claim_lost_error(lost) from None
        self.access.work.owe(TRANSITION_UNITS)
        await self._try_delete_staged_files(claimed)
        return await self._read_permitted(claimed.id)

    async def _try_delete_staged_files(self, ended: Execution) -> None:
        with suppress(Unavailable):  # They are then removed with the execution.
            await delete_staged_files(self.files, ended)

    async def _is_uploaded(self, claimed: Execution, key_of: Callable[[Execution], str]) -> bool:
        return await self.files.stat(staged_key(key_of(claimed), claimed.fence)) is not None

    async def _measure_result(self, ended: Execution) -> int | None:
        """The bytes of the output and the rejected rows in place; None if there is neither."""
        found = [await self.files.stat(key) for key in (output_key(ended), errors_key(ended))]
        sizes = [stat.size for stat in found if stat is not None]
        return sum(sizes) if sizes else None

    async def _publish(
        self, claimed: Execution, counts: RowCounts, keys: Iterable[Callable[[Execution], str]]
    ) -> None:
        """Copy the uploads into the place of the claim, if it is still held.

        The uploads stay, so that an interrupted call can be repeated.
        """
        await self._send_heartbeat(claimed, counts)
        for key_of in keys:
            staged = staged_key(key_of(claimed), claimed.fence)
            await self.files.copy(staged, key_of(place_files(claimed)))

    async def _send_heartbeat(self, claimed: Execution, counts: RowCounts) -> None:
        try:
            await self._claims.send_heartbeat(claimed, counts)
        except ClaimLost as lost:
            raise _claim_lost_error(lost) from None

    async def _prepare_claim(self, claimed: Execution) -> ClaimedExecution:
        """The claimed execution with its plan, the URLs of its files and the upload forms."""
        plan, content = (
            await find_plan(self.access.table, claimed.id),
            await find_input(self.files, claimed),
        )
        if plan is None or content is None:
            raise await self._fail_unrunnable(
                claimed, FailureCode.INPUT_GONE, "The input of the execution is gone."
            )
        try:
            datasets = await find_datasets(self.access.table, plan)
        except InputRefused as refused:
            raise await self._fail_unrunnable(
                claimed, refused.problem.code, refused.problem.message
            ) from None
        return ClaimedExecution(
            claimed,
            {key: part for key, part in to_builtins(plan).items() if key != "rows"},
            await self._download(input_key(claimed)),
            tuple(
                [
                    ClaimedDataset(identity, one.content, await self._download(key_of_file(one)))
                    for identity, one in datasets.items()
                ]
            ),
            await self._upload_form(staged_key(output_key(claimed), claimed.fence)),
            await self._upload_form(staged_key(errors_key(claimed), claimed.fence)),
        )

    async def _fail_unrunnable(self, claimed: Execution, code: str, message: str) -> IllegalState:
        """Fail an execution that no worker could run."""
        ended = await self._end(claimed, ExecutionState.FAILED, RowCounts(), code, message)
        return illegal_state_error(ended)

    async def _download(self, key: str) -> Download:
        return await self.files.presign_download(key, expires_in=URL_SECONDS)

    async def _upload_form(self, key: str) -> UploadForm:
        return await self.files.presign_upload(
            key, max_bytes=self.rules.max_bytes, content_type=CSV_TYPE, expires_in=URL_SECONDS
        )

    async def _read_held(self, id: str, fence: int) -> Execution:
        """The execution, if it is claimed under this fence; otherwise raises IllegalState."""
        execution = await self._read_permitted(id)
        self._require_held(execution, fence)
        return execution

    def _require_held(self, execution: Execution, fence: int) -> None:
        """Require the latest claim, made by the caller: a fence is a small number to guess."""
        if execution.state is not ExecutionState.IN_PROGRESS:
            raise illegal_state_error(execution)
        if execution.fence != fence:
            raise IllegalState("Another worker took it over.", execution.state.name)
        if not execution.is_claimed_by(self.access.caller.user_id):
            raise IllegalState("A worker of somebody else holds it.", execution.state.name)

    async def _read_permitted(self, id: str) -> Execution:
        execution, pipeline = await ReadExecutions(self.access).one(id)
        if not self.access.caller.has_role(RUN_ROLE, pipeline.owner):
            raise NotPermitted(f"This needs the role CONTRIBUTOR at {pipeline.owner}.")
        return execution

    @property
    def _claims(self) -> Claims:
        return Claims(self.access.table, self.access.clock, self.rules)


def _worker_name_problem(name: str) -> str | None:
    """Describe why no worker can have this name; None for one that it can have."""
    return f"must not hold {OF_USER!r}" if OF_USER in name else name_problem(name, MAX_WORKER)


def _reason_problems(code: str, message: str) -> Iterator[FieldProblem]:
    """Tell what is wrong with the code and the message of a failure that a worker reports."""
    if code not in WORKER_CODES:
        yield FieldProblem(["code"], f"must be one of {', '.join(WORKER_CODES)}")
    if problem := multiline_problem(message, MAX_MESSAGE):
        yield FieldProblem(["message"], problem)


def _require_counts(counts: RowCounts) -> None:
    given = asdict(counts)
    if problems := [
        FieldProblem(["progress", _COUNT_FIELDS[name]], f"must be 0 to {MAX_COUNT}")
        for name, count in given.items()
        if name in _COUNT_FIELDS and not 0 <= count <= MAX_COUNT
    ]:
        raise Invalid(problems)


def _require_success(claimed: Execution, counts: RowCounts) -> None:
    most = claimed.max_failed_rows
    if most is not None and counts.failed > most:
        fault = f"is more than maxFailedRows, {most}"
        raise _failure_error("rowsFailed", fault, TransformCode.TOO_MANY_FAILED_ROWS)
    if not TransformEnding(counts).succeeded:
        fault = "must be 1 or more where there are rows"
        raise _failure_error("rowsSucceeded", fault, FailureCode.ALL_ROWS_FAILED)


def _failure_error(field: str, fault: str, code: str) -> Invalid:
    advice = f"`failExecution` with the code {code} ends such an execution"
    return Invalid([FieldProblem(["progress", field], f"{fault}; {advice}")])


def _claim_lost_error(lost: ClaimLost) -> IllegalState:
    state = "GONE" if lost.state is None else lost.state.name
    return IllegalState("The execution is no longer this worker's.", state)
