"""The rows of groups: their counters, their closing and their removal; grants as an antichain."""

from asyncio import gather
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from penstock.datastore.access.access import group_not_found_error, key_of_group
from penstock.datastore.access.open_uploads import find_places_of_group, free_places
from penstock.datastore.errors import IllegalState, NotFound, Unavailable
from penstock.datastore.quotas.usage import forget_group
from penstock.datastore.records import GroupCounts
from penstock.datastore.roles import ROOT, GroupPath, covers, parent
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import GROUP_COUNT
from penstock.datastore.table.port import Item, Table, Update
from penstock.datastore.table.sharded_counts import DELETING, ShardedCounts


def _counts(group: GroupPath) -> ShardedCounts:
    return ShardedCounts(
        key_of_group(group), GROUP_COUNT, {"group": group}, partial(closed_group_error, group)
    )


def count_in_group(group: GroupPath, attribute: str, step: int, shard: int = 0) -> Write:
    """Count a child or grant of a group, which must exist; the root always exists.

    A group that is being deleted takes no new ones. Resources are counted in the shard that they
    keep, child groups and manifests in the row of the group, which is shard 0.
    """
    counts = _counts(group)
    if group == ROOT:
        return Write(Update(key=counts.key(shard), add={attribute: step}))
    return counts.change(shard, attribute, step)


async def count_group(table: Table, group: GroupPath) -> GroupCounts:
    """Add up a group's counts: `pk = G:<parent>, sk = G:<group>` and `pk = GC:<group>`.

    They are zero for a group that does not exist.
    """
    key = key_of_group(group)
    own, shards = await gather(
        read_rows(table, [key], consistent=True), _counts(group).read_shards(table)
    )
    counts = [load(GroupCounts, row) for row in (own.get(key, {}), *shards)]
    return GroupCounts(
        children=sum(one.children for one in counts), grants=sum(one.grants for one in counts)
    )


async def close_shards(table: Table, group: GroupPath, mark: Item) -> None:
    """Close the shards of a group whose row is marked, so that nothing can be added to it."""
    await _counts(group).close_shards(table, mark)


async def remove_group(
    table: Table, group: GroupPath, logged: Sequence[Write] = (), *, marked: bool = False
) -> None:
    """Remove a group without children and grants, and subtract it from the group above.

    `logged` are written with the removal. With `marked`, a group that is not being deleted counts
    as unknown, and the places of its uploads are free already. Raises IllegalState for a group that
    is not empty.
    """

    def refuse(standing: Item | None) -> Exception | None:
        unknown = standing is None or (marked and DELETING not in standing)
        return group_not_found_error(group) if unknown else None

    above, not_empty = parent(group) or ROOT, _not_empty_error(group)
    # Places of the next group of this path are none of these.
    places = [] if marked else await find_places_of_group(table, group)
    async for _ in Attempts():
        removed = await _counts(group).removal_writes(
            table, ("children", "grants"), refuse, not_empty, marked=marked
        )
        with suppress(StaleRead):
            await commit(table, [*removed, *logged, count_in_group(above, "children", -1)])
            if len(removed) > 1:
                await forget_group(table, group)
            await free_places(table, places)
            return
    raise Unavailable(f"The group {group} is being written by many at once.")


def _not_empty_error(group: GroupPath) -> IllegalState:
    return IllegalState(f"The group {group} is not empty.", "NOT_EMPTY")


def closed_group_error(group: GroupPath, standing: Item | None) -> NotFound:
    """The error for a write to a group that is gone, or being deleted."""
    if standing is None:
        return group_not_found_error(group)
    return NotFound(f"The group {group} is being deleted.", ("group",))


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
