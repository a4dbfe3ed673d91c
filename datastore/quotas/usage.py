"""The rows that count what is kept: for each user in each group, in shards.

The partition of a row is that of the group's highest ancestor below the root, and its sort key
begins with the path of the group. So one query adds up a group with all below it. The rows of one
user are found by a row for each, which is made once.
"""

from asyncio import gather
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec

from penstock.datastore.quotas.amounts import NOTHING, Amounts
from penstock.datastore.records import ReferenceDataset, Resource
from penstock.datastore.roles import ROOT, GroupPath, ancestors
from penstock.datastore.table.commit import Preparation, Write
from penstock.datastore.table.counters import Counter, CounterDrift
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import GROUP, KEPT, KEPT_OF_USER, LIBRARY, QUOTA_GATE
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Query,
    Range,
    Table,
    Update,
    key_of,
)
from penstock.datastore.text import escape, unescape

R = TypeVar("R", bound=Resource)

_NAMES: Final = ("count", "versions", "files", "bytes")
"""The attributes of a row, in the order of amounts."""
_USER_BYTES: Final = 16
"""The bytes of the digest of a user's id, which could be too long for a sort key."""


def count_kept(before: R | None, after: R, *, restores: bool = False) -> R:
    """The new state of a resource, with the amounts by which it counts.

    A write that `restores` an earlier version brings no file that is not counted.

    A resource that an earlier release made counts from its next write on: by all its versions, and
    by the file that it has.
    """
    counted = before.counted_versions if before else 0
    is_new_version = before is None or after.version != before.version
    versions = counted + is_new_version if counted else after.version
    changes: dict[str, Any] = {"counted_versions": versions}
    if isinstance(after, ReferenceDataset):
        had = before.content.file if counted and isinstance(before, ReferenceDataset) else None
        adds_file = after.content.file != had and not (counted and restores)
        changes |= {
            "counted_files": after.counted_files + adds_file,
            "counted_bytes": after.counted_bytes + adds_file * after.content.stored_bytes,
        }
    return msgspec.structs.replace(after, **changes)


def amounts_of_resource(resource: Resource | None) -> Amounts:
    """The amounts by which a resource counts; none if it is not counted yet."""
    if resource is None or not resource.counted_versions:
        return NOTHING
    if isinstance(resource, ReferenceDataset):
        files, size = resource.counted_files, resource.counted_bytes
        return Amounts(1, resource.counted_versions, files, size)
    return Amounts(1, resource.counted_versions)


def growth_of(before: Resource | None, after: Resource) -> Amounts:
    """The amounts that a write adds to those that are kept, where `after` is counted.

    The state before may be that of an earlier release, which is not counted.
    """
    if before is None or before.counted_versions:
        return amounts_of_resource(after).plus(amounts_of_resource(before), -1)
    return Amounts(versions=after.version - before.version)


def kept_counter(resource: Resource | None) -> Counter | None:
    """The counter that a resource raises: that of its owner group and the user who made it."""
    if resource is None or not resource.counted_versions:
        return None
    amounts = amounts_of_resource(resource)
    return counter_of(resource.owner, resource.created_by, resource.shard, amounts)


def counter_of(group: GroupPath, user: str, shard: int, amounts: Amounts) -> Counter:
    """The counter of what a user keeps in a group, with these amounts."""
    named = zip(_NAMES, (amount for _, amount in amounts), strict=True)
    counts = {name: amount for name, amount in named if amount}
    return Counter(kept_key(group, user, shard), counts, {"user": user})


def kept_key(group: GroupPath, user: str, shard: int) -> Key:
    """The key of the row that counts what a user keeps in a group: `QG:<top>, QG:<group>/:...`."""
    return KEPT.key(top=_top(group), group=f"{group}/", user=_digest(user), shard=shard)


def kept_writes(before: Resource | None, after: Resource | None) -> list[Write]:
    """The writes that turn the counts of one state of a resource into those of the next."""
    return change_kept(kept_counter(before), kept_counter(after))


def merge_kept(writes: Iterable[Write]) -> list[Write]:
    """The writes with those that change the same row of what is kept made one.

    Two things that change in one transaction may count in the same shard, and a transaction names
    no row twice.
    """
    merged: list[Write] = []
    places: dict[Key, int] = {}
    for write in writes:
        key = write.operation.key
        both = _add_changes(merged[places[key]], write) if key in places else None
        if both is not None:
            merged[places[key]] = both
            continue
        places[key] = len(merged)
        merged.append(write)
    return merged


def _add_changes(one: Write, other: Write) -> Write | None:
    """One write for two that add to a row and change nothing else of it; None for others."""
    first, second = one.operation, other.operation
    if not isinstance(first, Update) or not isinstance(second, Update):
        return None
    if any(each.set or each.default or each.remove for each in (first, second)):
        return None
    names = {**first.add, **second.add}
    conditions = tuple(each.condition for each in (first, second) if each.condition is not None)
    both = Update(
        key=first.key,
        add={name: first.add.get(name, 0) + second.add.get(name, 0) for name in names},
        condition=AllOf(conditions),
    )
    return Write(both, one.refusal)


def change_kept(old: Counter | None, new: Counter | None) -> list[Write]:
    """The write that subtracts the amounts of `old` and adds those of `new`, if they differ.

    A row whose counts are zero stays, so that the next resource need not make it again.
    """
    counter = new or old
    if counter is None:
        return []
    before, after = (old.amounts if old else {}), (new.amounts if new else {})
    steps = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    steps = {name: step for name, step in steps.items() if step}
    if not steps:
        return []
    taken = -steps.get("count", 0)
    there = Compare("count", ">=", taken) if taken > 0 else Exists()
    change = Update(key=counter.key, add=steps, condition=there)

    def describe_refusal(standing: Item | None) -> Preparation | Exception:
        if standing is not None or before:
            return CounterDrift(f"counter is {standing}")
        return _make_row(counter)

    return [Write(change, describe_refusal)]


def _make_row(counter: Counter) -> Preparation:
    """Make the row of a counter, and name it in the list of its user.

    Updates, and not Puts, so that those of many that wait for the row go together.
    """
    listed = key_of(listed_row({**counter.key._asdict(), **counter.labels}))
    made = [Update(key=key, default=counter.labels) for key in (listed, counter.key)]
    return Preparation([Write(each) for each in made])


async def forget_group(table: Table, group: GroupPath) -> None:
    """Remove the rows of a group that is gone: `pk = QG:<top>, sk` from `QG:<group>/:` on."""
    query = Query(
        partition=KEPT.pk.fill({"top": _top(group)}),
        range=Range(KEPT.sk.prefix({"group": f"{group}/"})),
        consistent=True,
    )
    empty = AllOf(tuple(AnyOf((Missing(name), Compare(name, "=", 0))) for name in _NAMES))
    gone = [Delete(QUOTA_GATE.key(kind="group", holder=group))]
    rows = [row async for row in query_items(table, query)]
    # Executions of deleted pipelines may be left, and count until they are removed.
    for row in [row for row in rows if not any(row.get(name) for name in _NAMES)]:
        gone += [Delete(key_of(row), empty), Delete(key_of(listed_row(row)))]
    for start in range(0, len(gone), TRANSACTION_OPERATIONS):
        await _remove_rows(table, gone[start : start + TRANSACTION_OPERATIONS])


async def _remove_rows(table: Table, gone: Sequence[Delete]) -> None:
    with suppress(ConditionFailed):  # A new group of the same path counts already.
        await table.transact(gone)


def listed_row(row: Attributes) -> Item:
    """The row by which a count is found among those of its user: `QU:<user>, QU:<group>:...`."""
    found = KEPT.sk.parse(str(row["sk"]))
    group = unescape(found["group"]).removesuffix("/") or ROOT
    user = str(row["user"])
    key = KEPT_OF_USER.key(user=user, group=group, shard=int(found["shard"]))
    return {**key._asdict(), "user": user}


async def sum_group(table: Table, group: GroupPath) -> Amounts:
    """Add up what a group and all below it keep: `pk = QG:<top>, sk` from `QG:<group>/` on.

    The root has all partitions, so that it takes a query for each group below it.
    """
    tops = [_top(group)]
    if group == ROOT:
        below = Query(partition=GROUP.pk.fill({"parent": ROOT}), range=Range(GROUP.sk.prefix({})))
        rows = query_items(table, below)
        tops += [GroupPath(unescape(GROUP.sk.parse(str(row["sk"]))["group"])) async for row in rows]
    prefix = "" if group == ROOT else f"{escape(group)}/"
    total = NOTHING
    for top in tops:
        query = Query(
            partition=KEPT.pk.fill({"top": top}),
            range=Range(f"{KEPT.sk.leader}:{prefix}"),
            consistent=True,
        )
        total = _add_rows(total, [row async for row in query_items(table, query)])
    return total


async def sum_user(table: Table, user: str) -> Amounts:
    """Add up what a user keeps in all groups, and in the library.

    Reads `pk = QU:<user>`, the rows that it lists, and `pk = U:<user>, sk` from `U` on.
    """
    listed = Query(partition=KEPT_OF_USER.pk.fill({"user": user}), consistent=True)
    found = [KEPT_OF_USER.sk.parse(str(row["sk"])) async for row in query_items(table, listed)]
    keys = [
        kept_key(GroupPath(unescape(each["group"])), user, int(each["shard"])) for each in found
    ]
    rows, tracks = await gather(read_rows(table, keys, consistent=True), _sum_tracks(table, user))
    return _add_rows(tracks, rows.values())


async def _sum_tracks(table: Table, user: str) -> Amounts:
    """Add up the tracks of a user's library, and the bytes of their files."""
    totals = Query(
        partition=LIBRARY.pk.fill({"user": user}), range=Range(LIBRARY.sk.text), consistent=True
    )
    rows = [row async for row in query_items(table, totals)]
    files, size = (sum(int(str(row.get(name, 0))) for row in rows) for name in ("count", "size"))
    return Amounts(files=files, bytes=size)


def _add_rows(total: Amounts, rows: Iterable[Attributes]) -> Amounts:
    sums = dict.fromkeys(_NAMES, 0)
    for row in rows:
        for name in _NAMES:
            sums[name] += int(str(row.get(name, 0)))
    return total.plus(Amounts(*sums.values()))


def _top(group: GroupPath) -> GroupPath:
    """The group's highest ancestor below the root; the root itself for the root."""
    return ancestors(group)[:2][-1]


def _digest(user: str) -> str:
    return blake2b(user.encode(), digest_size=_USER_BYTES).hexdigest()
