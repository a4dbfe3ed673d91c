"""The small rows that list the executions of a group: by state, and by their end."""

from collections.abc import Sequence
from datetime import datetime

from penstock.datastore.change_log.rows import Change, ChangeKind, change_write
from penstock.datastore.executions.records import Execution
from penstock.datastore.resources.derived_rows import item_writes
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import EXECUTION_ENDED, EXECUTION_LISTED
from penstock.datastore.table.port import Condition, Item, Key, Missing, key_of

LISTED = "listed"
"""The attribute of an execution which says that these rows exist."""


def list_items(execution: Execution) -> dict[Key, Item]:
    """The rows that list an execution under the group of its pipeline.

    One lies in the list of its state, by the time of its creation. After its end another one lies
    there by the time of its end.
    """
    if execution.owner is None or not execution.listed:
        return {}
    place = {"group": execution.owner, "state": execution.state.value, "id": execution.id}
    facts: Item = {"pipelineId": execution.pipeline_id, "createdBy": execution.created_by}
    rows = [EXECUTION_LISTED.item(**place)]
    if execution.finished_at is not None:
        facts["finishedAt"] = execution.finished_at
        rows.append(EXECUTION_ENDED.item(**place, ended=epoch_milliseconds(execution.finished_at)))
    return {key_of(row): {**row, **facts} for row in rows}


def list_changes(before: Execution | None, after: Execution | None) -> list[Write]:
    """The writes that move an execution in the lists; None stands for no execution."""
    old, new = (list_items(one) if one else {} for one in (before, after))
    return item_writes(old, new)


def change_writes(before: Execution | None, after: Execution | None, at: int) -> list[Write]:
    """The row of the log of changes: what those learn who follow the list of a group."""
    some = after or before
    if some is None or some.owner is None:
        return []
    states = [one.state.value for one in (before, after) if one is not None]
    change = Change(
        id=some.id,
        at=at,
        step=some.events if after is not None else some.events + 1,
        groups=(some.owner,),
        pipeline_id=some.pipeline_id,
        states=tuple(dict.fromkeys(states)),
    )
    return [change_write(ChangeKind.EXECUTION, change)]


def still_listed(before: Execution) -> Sequence[Condition]:
    """The condition that an upgrade has not listed the execution since it was read."""
    return () if before.listed else (Missing(LISTED),)


def epoch_milliseconds(time: str) -> int:
    """A time of a record as milliseconds since 1970."""
    moment = datetime.fromisoformat(time)
    return round(moment.timestamp() * 1000)
