"""Creation of executions: the pipeline's version and what it uses are pinned in one write."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.access.open_uploads import MOST_PLACES
from penstock.datastore.access.work import TRANSITION_UNITS
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
    closed_error,
    limit_rows,
    note_rights,
    note_row_groups,
    require_open,
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
from penstock.datastore.executions.upload_places import commit_with_place
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
from penstock.datastore.table.commit import Attempts, Preparation, StaleRead, Write, already_done
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.layout import EXECUTION_COUNT, EXECUTION_PLAN, PIPELINE
from penstock.datastore.table.port import AllOf, Compare, Exists, Item, Key, Missing, Put, Update
from penstock.datastore.table.tombstones import NOT_DELETED, is_alive
from penstock.datastore.tag_search import tags
from penstock.datastore.text import name_problem
from penstock.transform.plan import TransformPlan

KIND = "PE"
MAX_OPERATIONS = 100
INPUT_NAME_CHARACTERS = 255


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
        id, upload_until = self.access.clock.new_id(), None
        if wanted.mode is ExecutionMode.JOB:
            upload_until = self.access.clock.now() + self.rules.upload_time
        async for _ in Attempts():
            pipeline = await ResourceReader(PIPELINE, self.access).one(wanted.pipeline_id)
            require_run(self.access.caller, pipeline)
            try:
                reached, _ = await gather(
                    pin_plan(self.access, pipeline), require_enabled(self.access, pipeline.owner)
                )
                plan = limit_rows(reached.plan, pipeline, self.access.caller)
                execution = self._new_execution(id, pipeline, wanted, reached.pins, upload_until)
                execution = note_row_groups(execution, plan)
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
            keeps_rows=pipeline.transformer.rows is not None,
            writes_dataset=pipeline.transformer.dataset is not None,
            listed=True,
            upload_until=None if upload_until is None else iso_timestamp(upload_until),
            events=1,
            revision=1,
            due=int(now.timestamp() * 1000),
        )
        return note_rights(execution, self.access.caller, pipeline)

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
            # A pipeline that an earlier release closed has no sign of it in the count.
            require_open(pipeline)
            writes += await admit_execution(self.access, pipeline, execution)
            writes.append(_count_write(execution))
            count = len(writes) + MOST_PLACES
            if count > MAX_OPERATIONS:
                limit = "operations of a transaction"
                raise LimitExceeded(limit, MAX_OPERATIONS, count, ("tags",))
            await commit_with_place(self.access, pipeline.owner, execution, writes)
        except (IllegalState, QuotaExceeded):
            if key is not None:
                # The call before may have taken the last place.
                await receipt.find_repetition(self.access, key)
            raise
        self.access.work.owe(TRANSITION_UNITS)
        report_transition(self.rules, execution, event)

    async def _read_replayed(self, id: str) -> Execution:
        (found,) = await ReadExecutions(self.access).many([id])
        if isinstance(found, Execution):
            return found
        message = f"made an {NOUN} that is gone"
        raise Invalid([FieldProblem(["idempotencyKey"], message)])


async def admit_execution(access: Access, pipeline: Pipeline, execution: Execution) -> list[Write]:
    """Admit an execution that begins, with files of the least size: nobody knows their sizes yet.

    Returns writes to send with it. Raises QuotaExceeded.
    """
    least = Amounts(files=1, bytes=1)
    return await access.quotas.admit(access.table, pipeline.owner, execution.created_by, least)


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

    def begin(standing: Item | None) -> Preparation | Exception:
        if standing is not None:
            return _closed_error(str(standing[CLOSED]))
        return Preparation([_require_enabled(execution), _first_count_write(execution)])

    count = Update(
        key=EXECUTION_COUNT.key(id=execution.pipeline_id),
        add={"count": 1},
        condition=AllOf((Exists(), Missing(CLOSED))),
    )
    return Write(count, begin)


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

    It leaves a count alone that is there, so that many first executions at once can be merged.
    """
    key = EXECUTION_COUNT.key(id=execution.pipeline_id)
    begun = Update(key=key, default={"count": 0}, condition=Missing(CLOSED))
    return Write(begun, lambda standing: _closed_error(str((standing or {})[CLOSED])))


def _closed_error(reason: str) -> Exception:
    if reason == DELETED:
        return not_found_error(PIPELINE.noun)
    return closed_error(State(reason))


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
