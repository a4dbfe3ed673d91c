"""The rows of groups: their counters, their closing and their removal; grants as an antichain."""

from asyncio import gather
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from penstock.datastore.access.access import group_not_found_error, key_of_group
from penstock.datastore.errors import IllegalState, NotFound, Unavailable
from penstock.datastore.quotas.usage import forget_group
from penstock.datastore.records import GroupCounts
from penstock.datastore.roles import ROOT, GroupPath, covers, parent
from penstock.datastore.table.commit import (
    Attempts,
    Preparation,
    StaleRead,
    Write,
    already_done,
    commit,
)
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import GROUP_COUNT
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Table,
    Update,
    key_of,
)

DELETING = "deletingAt"
"""The attribute that marks the row of a group that is being deleted with all its contents."""


_OPEN: Final = AllOf((Exists(), Missing(DELETING)))


def count_in_group(group: GroupPath, attribute: str, step: int, shard: int = 0) -> Write:
    """Count a child or grant of a group, which must exist; the root always exists.

    A group that is being deleted takes no new ones. Resources are counted in the shard that they
    keep, child groups and manifests in the row of the group, which is shard 0.
    """
    if shard and group != ROOT:
        return _count_in_shard(group, attribute, step, shard)
    key = GROUP_COUNT.key(group=group, shard=shard) if shard else key_of_group(group)
    condition: Condition | None = _OPEN if step > 0 else Exists()
    if group == ROOT:
        condition = None
    update = Update(key=key, add={attribute: step}, condition=condition)
    return Write(update, lambda standing: _closed_group_error(group, standing))


def _count_in_shard(group: GroupPath, attribute: str, step: int, shard: int) -> Write:
    """Count in a shard, which says as the group's row does that the group exists and is open."""

    def describe_refusal(standing: Item | None) -> Preparation | Exception:
        if standing is None and step > 0:
            return _open_shard(group, shard)
        return _closed_group_error(group, standing)

    update = Update(
        key=GROUP_COUNT.key(group=group, shard=shard),
        add={attribute: step},
        condition=_OPEN if step > 0 else Exists(),
    )
    return Write(update, describe_refusal)


def _open_shard(group: GroupPath, shard: int) -> Preparation:
    """Make the row of a shard, and note in the group's row that there is one more."""
    noted = Update(key=key_of_group(group), add={"shards": 1}, condition=_OPEN)
    return Preparation(
        (
            Write(Put(GROUP_COUNT.item(group=group, shard=shard), Missing()), already_done),
            Write(noted, lambda standing: _closed_group_error(group, standing)),
        )
    )


async def count_group(table: Table, group: GroupPath) -> GroupCounts:
    """Add up a group's counts: `pk = G:<parent>, sk = G:<group>` and `pk = GC:<group>`.

    They are zero for a group that does not exist.
    """
    key = key_of_group(group)
    own, shards = await gather(read_rows(table, [key], consistent=True), _read_shards(table, group))
    counts = [load(GroupCounts, row) for row in (own.get(key, {}), *shards)]
    return GroupCounts(
        children=sum(one.children for one in counts), grants=sum(one.grants for one in counts)
    )


async def close_shards(table: Table, group: GroupPath, mark: Item) -> None:
    """Close the shards of a group whose row is marked, so that nothing can be added to it.

    No shard is opened any more. A group that is gone stays so, and a new one of the same path open.
    """
    shards = await _read_shards(table, group)
    if open_keys := [key_of(row) for row in shards if DELETING not in row]:
        closed = [Update(key=key, default=mark, condition=Exists()) for key in open_keys]
        # This update changes nothing. A condition check would need one more IAM permission.
        still = Update(key=key_of_group(group), default=mark, condition=Exists(DELETING))
        with suppress(ConditionFailed):
            await table.transact([*closed, still])


async def remove_group(table: Table, group: GroupPath, *, marked: bool = False) -> None:
    """Remove a group without children and grants, and subtract it from the group above.

    With `marked`, a group that is not being deleted counts as unknown. Raises IllegalState for a
    group that is not empty.
    """
    async for _ in Attempts():
        shards = [key_of(row) for row in await _read_shards(table, group)]
        with suppress(StaleRead):
            await commit(table, _removal_writes(group, shards, marked=marked))
            if shards:
                await forget_group(table, group)
            return
    raise Unavailable(f"The group {group} is being written by many at once.")


def _removal_writes(group: GroupPath, shards: Sequence[Key], *, marked: bool) -> list[Write]:
    """Remove the rows of a group, on condition that these are all its shards and all are empty."""

    def describe_refusal(standing: Item | None) -> Exception:
        if standing is None or (marked and DELETING not in standing):
            return group_not_found_error(group)
        if standing.get("shards", 0) != len(shards):
            return StaleRead()
        return _not_empty_error(group)

    def describe_shard(standing: Item | None) -> Exception:
        return StaleRead() if standing is None else _not_empty_error(group)

    known = Compare("shards", "=", len(shards)) if shards else _is_zero("shards")
    empty: tuple[Condition, ...] = (Exists(), _is_zero("children"), _is_zero("grants"), known)
    gone = Delete(key_of_group(group), AllOf((*empty, Exists(DELETING)) if marked else empty))
    drained = AllOf((Exists(), _is_zero("grants")))
    return [
        Write(gone, describe_refusal),
        *(Write(Delete(key, drained), describe_shard) for key in shards),
        count_in_group(parent(group) or ROOT, "children", -1),
    ]


async def _read_shards(table: Table, group: GroupPath) -> Sequence[Attributes]:
    partition = GROUP_COUNT.pk.fill({"group": group})
    return (await table.query(Query(partition=partition, consistent=True))).items


def _not_empty_error(group: GroupPath) -> IllegalState:
    return IllegalState(f"The group {group} is not empty.", "NOT_EMPTY")


def _closed_group_error(group: GroupPath, standing: Item | None) -> NotFound:
    if standing is None:
        return group_not_found_error(group)
    return NotFound(f"The group {group} is being deleted.", ("group",))


def _is_zero(attribute: str) -> Condition:
    return AnyOf((Missing(attribute), Compare(attribute, "=", 0)))


def with_grant(groups: Iterable[GroupPath], group: GroupPath) -> tuple[GroupPath, ...]:
    """The antichain with a grant for `group`, without the grants that the new one covers.

    It stays the same if a grant covers the group already.
    """
    held = tuple(groups)
    if any(covers(granted, group) for granted in held):
        return held
    return (*(granted for granted in held if not covers(group, granted)), group)


def without_grant(
    groups: Iterable[GroupPath], group: GroupPath, owner: GroupPath
) -> tuple[GroupPath, ...]:
    """The antichain without the grant; a grant above the owner is replaced by the owner's own."""
    rest = tuple(granted for granted in groups if granted != group)
    return (*rest, owner) if covers(group, owner) else rest
