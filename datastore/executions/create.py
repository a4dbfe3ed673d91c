"""Creation of executions: the pipeline's version and what it uses are pinned in one write."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.access.open_uploads import OpenedUpload
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    LimitExceeded,
    QuotaExceeded,
    Unavailable,
)
from penstock.datastore.executions.access import (
    keeps_rows_by_group,
    limit_rows,
    note_rights,
    require_run,
)
from penstock.datastore.executions.listed_rows import (
    change_writes,
    epoch_milliseconds,
    list_changes,
)
from penstock.datastore.executions.plans.plans import pin_plan
from penstock.datastore.executions.reading import NOUN, ReadExecutions
from penstock.datastore.executions.records import (
    EventKind,
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
    OutputFormat,
    Pin,
)
from penstock.datastore.executions.rows import (
    TransitionEvent,
    due_item,
    event_write,
    execution_item,
    report_transition,
)
from penstock.datastore.groups.states import require_enabled
from penstock.datastore.kept_rows.engine import is_installed
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files, files_unavailable
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.records import Pipeline, State, Tag
from penstock.datastore.resources import idempotency
from penstock.datastore.resources.derived_rows import (
    counter_writes,
    item_writes,
    tag_counters,
    tag_rows,
)
from penstock.datastore.resources.execution_guard import CLOSED, DELETED
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Attempts, StaleRead, Write, already_done, commit
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.layout import EXECUTION, EXECUTION_COUNT, EXECUTION_PLAN, PIPELINE
from penstock.datastore.table.port import AllOf, Compare, Exists, Item, Key, Missing, Put, Update
from penstock.datastore.table.tombstones import NOT_DELETED, is_alive
from penstock.datastore.tag_search import tags
from penstock.datastore.text import name_problem
from penstock.transform.plan import TransformPlan

KIND = "PE"
MAX_OPERATIONS = 100
INPUT_NAME_CHARACTERS = 255


class _NeverRun(Exception):
    """The pipeline has no row yet that counts its executions; its own row is the guard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRequest:
    """The input of a create; `rows` is the digest of the rows in the request."""

    pipeline_id: str
    mode: ExecutionMode = ExecutionMode.JOB
    tags: tuple[Tag, ...] = ()
    max_failed_rows: int | None = None
    rows: str | None = None
    input_name: str | None = None
    output_format: OutputFormat = OutputFormat.CSV


@dataclass(frozen=True, slots=True)
class CreateExecutions:
    """The creation of executions for the caller."""

    access: Access
    rules: ExecutionRules
    files: Files

    async def create(
        self,
        wanted: ExecutionRequest,
        idempotency_key: str | None = None,
        noted: Sequence[FieldProblem] = (),
    ) -> Execution:
        """Create an execution of the pipeline's latest version, which waits for its input.

        The same idempotency key with the same input returns the execution of the first call.
        `noted` are problems that the caller has found already.
        """
        if problems := [
            *noted,
            *_request_problems(wanted),
            *idempotency.key_problems(idempotency_key),
        ]:
            raise Invalid(problems)
        if self.files is NO_FILES:
            raise files_unavailable()
        if wanted.mode is ExecutionMode.INLINE:
            return await self._create(wanted, idempotency_key, self.access.clock.new_id())
        id = self.access.clock.new_id()
        async with self.access.open_uploads.closed_on_failure("execution", id):
            created = await self._create(wanted, idempotency_key, id)
        if created.id != id:
            await self.access.open_uploads.close("execution", id)
        return created

    async def _create(
        self, wanted: ExecutionRequest, idempotency_key: str | None, id: str
    ) -> Execution:
        is_open = wanted.mode is ExecutionMode.INLINE
        upload_until = None if is_open else self.access.clock.now() + self.rules.upload_time
        async for _ in Attempts():
            pipeline = await ResourceReader(PIPELINE, self.access).one(wanted.pipeline_id)
            require_run(self.access.caller, pipeline)
            if upload_until is not None and not is_open:
                await self._open_upload(pipeline, id, upload_until)
                is_open = True
            try:
                reached, _ = await gather(
                    pin_plan(self.access, pipeline), require_enabled(self.access, pipeline.owner)
                )
                execution = self._new_execution(id, pipeline, wanted, reached.pins, upload_until)
                plan = limit_rows(reached.plan, pipeline, self.access.caller)
                await self._commit(pipeline, execution, plan, wanted, idempotency_key)
            except StaleRead:
                continue
            except idempotency.RepeatedCall as earlier:
                return await self._read_replayed(earlier.id)
            else:
                return execution
        raise Unavailable("The pipeline is being written by many at once.")

    def _new_execution(
        self,
        id: str,
        pipeline: Pipeline,
        wanted: ExecutionRequest,
        pins: tuple[Pin, ...],
        upload_until: datetime | None,
    ) -> Execution:
        now = self.access.clock.now()
        inline = wanted.mode is ExecutionMode.INLINE
        execution = Execution(
            id=id,
            pipeline_id=pipeline.id,
            pipeline_version=pipeline.version,
            mode=wanted.mode,
            state=ExecutionState.WAITING,
            tags=wanted.tags,
            shard=choose_shard(id, self.access.shards),
            pins=pins,
            max_failed_rows=wanted.max_failed_rows,
            ingest=f"{iso_timestamp(now)}-{id}",
            created_at=iso_timestamp(now),
            created_by=self.access.caller.user_id,
            input_name=wanted.input_name,
            output_format=wanted.output_format,
            started_by=self.access.caller.user_id if inline else None,
            owner=pipeline.owner,
            rows_by_group=keeps_rows_by_group(pipeline),
            writes_dataset=pipeline.transformer.dataset is not None,
            listed=True,
            upload_until=None if upload_until is None else iso_timestamp(upload_until),
            events=1,
            revision=1,
            due=int(now.timestamp() * 1000),
        )
        return note_rights(execution, self.access.caller, pipeline)

    async def _open_upload(self, pipeline: Pipeline, id: str, expires_at: datetime) -> None:
        """Count the upload of the input until it is confirmed, or its form expires."""
        watched = EXECUTION.key(id=id, pipeline=pipeline.id)
        opened = OpenedUpload("execution", id, expires_at, watched, pipeline.id)
        await self.access.open_uploads.open(opened, pipeline.owner)

    async def _commit(
        self,
        pipeline: Pipeline,
        execution: Execution,
        plan: TransformPlan,
        wanted: ExecutionRequest,
        key: str | None,
    ) -> None:
        text = msgspec.json.encode(plan).decode()
        event = TransitionEvent(EventKind.CREATED, execution.created_by, execution.created_at)
        writes = [
            Write(Put(execution_item(execution), Missing()), already_done),
            event_write(execution, event),
            Write(Put({**EXECUTION_PLAN.item(id=execution.id), "plan": text})),
            Write(Put(due_item(execution))),
            *list_changes(None, execution),
            *change_writes(None, execution, epoch_milliseconds(execution.created_at)),
            *tag_writes(execution),
        ]
        receipt = idempotency.Receipt(
            KIND, execution.id, GroupPath(execution.pipeline_id), _receipt_content(wanted)
        )
        if key is not None:
            writes.insert(0, receipt.write(self.access, key))
        try:
            writes += await self._admit(pipeline, execution)
        except QuotaExceeded:
            if key is not None:
                await receipt.find_repetition(self.access, key)
            raise
        guard, count = _require_enabled(execution), len(writes) + 2
        if count > MAX_OPERATIONS:
            limit = "operations of a transaction"
            raise LimitExceeded(limit, MAX_OPERATIONS, count, ("tags",))
        # A pipeline that an earlier release closed has no sign of it in the count.
        guards = [] if pipeline.state is State.ENABLED else [guard]
        try:
            await commit(self.access.table, [*writes, *guards, _count_write(execution)])
        except _NeverRun:
            await commit(self.access.table, [*writes, guard, _first_count_write(execution)])
        report_transition(self.rules, execution, event)

    async def _admit(self, pipeline: Pipeline, execution: Execution) -> list[Write]:
        """Admit files of the least size: how large they will be, nobody knows."""
        least, user = Amounts(files=1, bytes=1), execution.created_by
        return await self.access.quotas.admit(self.access.table, pipeline.owner, user, least)

    async def _read_replayed(self, id: str) -> Execution:
        (found,) = await ReadExecutions(self.access).many([id])
        if isinstance(found, Execution):
            return found
        message = f"made an {NOUN} that is gone"
        raise Invalid([FieldProblem(["idempotencyKey"], message)])


def tag_items(execution: Execution) -> dict[Key, Item]:
    """The rows that find the execution by its tags."""
    cover: Item = {"tags": dict(tags.tag_map(execution.tags))}
    rows = tag_rows(KIND, execution.pipeline_id, execution.id, execution.tags)
    return {key: {**row, **cover} for key, row in rows.items()}


def tag_writes(execution: Execution, *, gone: bool = False) -> list[Write]:
    """The writes of the rows and counts of the execution's tags; `gone` removes them.

    The pipeline takes the place of the tags' group.
    """
    items = tag_items(execution)
    counted = tag_counters(
        KIND, execution.pipeline_id, execution.id, execution.tags, execution.shard
    )
    counters = {one.key: one for one in counted}
    if gone:
        return [*item_writes(items, {}), *counter_writes(counters, {})]
    return [*item_writes({}, items), *counter_writes({}, counters)]


def _count_write(execution: Execution) -> Write:
    """Count the execution.

    It fails where the pipeline takes no executions. The count's small row says so too: a condition
    on the pipeline's own row would cost the size of the pipeline.
    """
    count = Update(
        key=EXECUTION_COUNT.key(id=execution.pipeline_id),
        add={"count": 1},
        condition=AllOf((Exists(), Missing(CLOSED))),
    )
    return Write(count, _count_refusal)


def _count_refusal(standing: Item | None) -> Exception:
    return _NeverRun() if standing is None else _closed_error(str(standing[CLOSED]))


def _require_enabled(execution: Execution) -> Write:
    """Require that the pipeline is enabled, by its own row."""

    def describe_conflict(standing: Item | None) -> Exception:
        if not is_alive(standing):
            return not_found_error(PIPELINE.noun)
        return _closed_error(str(standing["state"]))

    # This update changes nothing. A condition check would need one more IAM permission.
    still = Update(
        key=PIPELINE.latest.key(id=execution.pipeline_id),
        default={"state": State.ENABLED.value},
        condition=AllOf((Compare("state", "=", State.ENABLED.value), NOT_DELETED)),
    )
    return Write(still, describe_conflict)


def _first_count_write(execution: Execution) -> Write:
    """Begin the count of a pipeline, which is the guard of later executions.

    It only adds, as the later ones do, so that many first executions at once can be merged.
    """
    key = EXECUTION_COUNT.key(id=execution.pipeline_id)
    begun = Update(key=key, add={"count": 1}, condition=Missing(CLOSED))
    return Write(begun, _count_refusal)


def _closed_error(reason: str) -> Exception:
    if reason == DELETED:
        return not_found_error(PIPELINE.noun)
    state = State(reason)
    return IllegalState(f"The pipeline is {state.value}: no execution can begin.", state.name)


def _receipt_content(wanted: ExecutionRequest) -> dict[str, Any]:
    content = {
        "mode": wanted.mode,
        "tags": wanted.tags,
        "maxFailedRows": wanted.max_failed_rows,
        "rows": wanted.rows,
    }
    if wanted.output_format is not OutputFormat.CSV:
        content["outputFormat"] = wanted.output_format
    # A call that names no input has the content that earlier releases gave it.
    return content if wanted.input_name is None else {**content, "inputName": wanted.input_name}


def _request_problems(wanted: ExecutionRequest) -> list[FieldProblem]:
    problems = [*tags.tag_problems(wanted.tags), *name_character_problems(wanted.tags, "tags")]
    if wanted.max_failed_rows is not None and wanted.max_failed_rows < 0:
        problems.append(FieldProblem(["maxFailedRows"], "must not be negative"))
    if wanted.input_name is not None and (
        problem := name_problem(wanted.input_name, INPUT_NAME_CHARACTERS)
    ):
        problems.append(FieldProblem(["inputName"], problem))
    if wanted.output_format is OutputFormat.PARQUET:
        if wanted.mode is ExecutionMode.INLINE:
            problems.append(FieldProblem(["outputFormat"], "must be CSV with INLINE"))
        elif not is_installed():
            problems.append(FieldProblem(["outputFormat"], "needs the extra `results`"))
    return problems
