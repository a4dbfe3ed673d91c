"""The permissions to run a pipeline, to keep its rows, and to control or claim an execution."""

from collections.abc import Iterable

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import IllegalState, NotPermitted
from penstock.datastore.executions.reading import find_plan
from penstock.datastore.executions.records import Execution, Pin
from penstock.datastore.records import Calculation, Pipeline, ReferenceDataset, State
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, covers
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import CALCULATION, REFERENCE_DATASET, KindDefinition
from penstock.transform.plan import TransformPlan
from penstock.transform.row_identity import RowReach

RUN_ROLE = Role.CONTRIBUTOR


def may_run(caller: Caller, pipeline: Pipeline) -> bool:
    """Whether the caller contributes to the owner group, or to a group that a grant reaches."""
    return caller.has_role(RUN_ROLE, pipeline.owner) or bool(grants_to_run(caller, pipeline))


def grants_to_run(caller: Caller, pipeline: Pipeline) -> tuple[GroupPath, ...]:
    """The groups with a grant that reaches a group to which the caller contributes."""
    contributed = [group for group, role in caller.roles.items() if role >= RUN_ROLE]
    return tuple(
        granted
        for granted in pipeline.groups
        if caller.has_role(RUN_ROLE, granted) or any(covers(granted, held) for held in contributed)
    )


def require_run(caller: Caller, pipeline: Pipeline) -> None:
    """Refuse a caller who sees the pipeline but may not run it."""
    if not may_run(caller, pipeline):
        raise NotPermitted("This needs the role CONTRIBUTOR at a group that may run the pipeline.")


def require_open(pipeline: Pipeline) -> None:
    """Refuse to begin an execution of a pipeline that is not enabled."""
    if pipeline.state is not State.ENABLED:
        raise closed_error(pipeline.state)


def closed_error(state: State) -> IllegalState:
    """The error where no execution of a pipeline in this state can begin."""
    return IllegalState(f"The pipeline is {state.value}: no execution can begin.", state.name)


def note_rights(execution: Execution, caller: Caller, pipeline: Pipeline) -> Execution:
    """The execution with that by which its creator, who calls, may run the pipeline now."""
    is_owner = caller.has_role(RUN_ROLE, pipeline.owner)
    through = () if is_owner else grants_to_run(caller, pipeline)
    return replace(execution, granted_through=through, api_key=caller.api_key)


def require_control(caller: Caller, pipeline: Pipeline, execution: Execution) -> None:
    """Refuse a caller who neither created the execution nor contributes to the owner group."""
    require_run(caller, pipeline)
    if execution.created_by != caller.user_id and not caller.has_role(RUN_ROLE, pipeline.owner):
        raise NotPermitted(f"This needs the role CONTRIBUTOR at {pipeline.owner}.")


def limit_rows(plan: TransformPlan, pipeline: Pipeline, caller: Caller) -> TransformPlan:
    """Keep a plan's rows within the groups at which the caller is a contributor.

    Raises NotPermitted if all rows would belong to a group at which the caller is none.
    """
    if plan.rows is None:
        return plan
    owner = pipeline.owner
    reach = RowReach(
        caller.has_role(RUN_ROLE, owner),
        {
            group: role >= RUN_ROLE
            for group, role in sorted(caller.roles.items())
            if group != owner and covers(owner, group)
        },
    )
    if plan.rows.group is None and not reach.owner:
        raise NotPermitted(f"This needs the role CONTRIBUTOR at {owner}, which keeps the rows.")
    return replace(plan, rows=replace(plan.rows, reach=reach))


def note_row_groups(execution: Execution, plan: TransformPlan) -> Execution:
    """The execution with the topmost groups whose rows its plan may write, if it keeps rows."""
    if plan.rows is None:
        return execution
    groups = plan.rows.reach.topmost(plan.rows.owner)
    return replace(execution, row_groups=tuple(map(GroupPath, groups)))


async def require_reach(access: Access, pipeline: Pipeline, execution: Execution) -> None:
    """Refuse to start an execution that may write what the caller may not any more.

    Its plan was pinned with the roles that its creator had then. Rows that are kept belong to
    groups, and so does a dataset.
    """
    if not (_writes_more(pipeline) or execution.keeps_rows or execution.writes_dataset):
        return
    plan = await find_plan(access.table, execution.id)
    if plan is not None and plan.sink is not None:
        _require_writer(access.caller, "a dataset", GroupPath(plan.sink.owner))
    if plan is None or plan.rows is None:
        return
    caller, pinned = access.caller, plan.rows.reach
    owner = GroupPath(plan.rows.owner)
    narrower = {*map(GroupPath, pinned.below), *(g for g in caller.roles if covers(owner, g))}
    for group in sorted({owner, *narrower}):
        if pinned.includes(group):
            _require_writer(caller, "rows", group)


def _require_writer(caller: Caller, written: str, group: GroupPath) -> None:
    """Refuse who does not contribute to a group, which may be out of sight."""
    if not caller.has_role(RUN_ROLE, group):
        named = group if caller.sees(group) else "a group out of sight"
        words = f"It writes {written} of {named}, which needs the role CONTRIBUTOR there."
        raise NotPermitted(words)


def _writes_more(pipeline: Pipeline) -> bool:
    """Whether executions write more than files."""
    return pipeline.transformer.rows is not None or pipeline.transformer.dataset is not None


async def require_full_view(access: Access, pins: Iterable[Pin]) -> None:
    """Refuse a caller who does not see every calculation and dataset that was pinned.

    A pipeline may call a calculation whose own calls and lookups only that calculation's owners
    see. The server runs such a pipeline for everybody, but hands its plan only to those who see all
    of it.
    """
    reached: tuple[KindDefinition[Calculation] | KindDefinition[ReferenceDataset], ...]
    reached = (CALCULATION, REFERENCE_DATASET)
    for kind in reached:
        ids = {pin.id for pin in pins if pin.kind == kind.letter}
        keys = {kind.latest.key(id=id): id for id in ids}
        rows = await read_rows(access.table, keys, consistent=True)
        seen = (access.sees(load(kind.record, row, id=keys[key])) for key, row in rows.items())
        # Nothing says any more who saw what was deleted: only those see it who see everything.
        is_whole = len(rows) == len(keys) or access.caller.has_role(Role.READER, ROOT)
        if not (is_whole and all(seen)):
            words = "Its formulas reach what you do not see; only the server runs and reads them."
            raise NotPermitted(words)
