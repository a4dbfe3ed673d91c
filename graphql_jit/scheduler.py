"""Awaits and completes the values of one level of the answer together, level by level."""

from asyncio import create_task
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple

from penstock.graphql_jit.arguments import FieldInfo, arguments_of
from penstock.graphql_jit.field_source import DirectSource
from penstock.graphql_jit.gather_group import GatherGroup, cancel_all
from penstock.graphql_jit.plan import Field, Place
from penstock.graphql_jit.state import OperationState, PendingValue, RaisedError, WaitingEntry


class WaitingGroup(NamedTuple):
    """The waiting entries of one field at one level.

    Without a field, graphql-core completes the entries. `pending_batch` is the awaitable that the
    function of a batched field has returned.
    """

    field: Field | None
    entries: list[WaitingEntry]
    pending_batch: Awaitable[Any] | None = None

    def places(self) -> list[Place]:
        return [self.place(entry) for entry in self.entries]

    def place(self, entry: WaitingEntry) -> Place:
        """Return the place of the value that an entry waits for."""
        return (
            entry[1] if self.field is None else (entry[1], self.field.key, self.field.parent.name)
        )

    def fields(self) -> list[Field | None]:
        if self.field is None:
            return [later.field for later, _, _ in self.entries]
        return [self.field] * len(self.entries)

    @property
    def answers_many(self) -> bool:
        reading = self.field.source if self.field is not None else None
        return isinstance(reading, DirectSource) and reading.many is not None


def complete_ready_batches(run: OperationState) -> list[WaitingGroup]:
    """Complete levels of one batched field each, as long as its values need no await.

    Returns the groups that have to be awaited after that.
    """
    groups = _take_groups(run)
    while len(groups) == 1 and groups[0].answers_many:
        values = _call_batch(run, groups[0])
        if not isinstance(values, list):
            return [groups[0]._replace(pending_batch=values)]
        _complete_group(run, groups[0], values)
        groups = _take_groups(run)
    return groups


async def complete_waiting(run: OperationState, groups: list[WaitingGroup] | None = None) -> None:
    """Await and complete all waiting values of an execution, level by level, until none is left.

    `groups` is the first level, if the caller has it.
    """
    if groups is None:
        groups = _take_groups(run) if run.groups_awaited else complete_ready_batches(run)
    if not groups:
        return
    if len(groups) == 1 and not run.groups_awaited:
        await _settle_group(run, groups[0])
        return
    # All coroutines are started before the first is awaited.
    begun = [None if group.answers_many else _gather_group(run, group) for group in groups]
    tasks = [
        create_task(_settle_group(run, group, watched))
        for group, watched in zip(groups, begun, strict=True)
    ]
    run.groups_awaited += 1
    try:
        for task in tasks:
            await task
    except BaseException:
        await cancel_all(tasks)
        raise
    finally:
        run.groups_awaited -= 1


def abandon_waiting(run: OperationState) -> None:
    """Await all waiting values in the background, because the answer no longer needs them."""
    waiting, later = run.take_waiting()
    entries = [entry for found in waiting.values() for entry in found]
    _settle_in_background(
        run, [*(entry[2] for entry in entries), *(each.awaitable for each in later)]
    )


def _settle_in_background(run: OperationState, values: list[Any]) -> None:
    awaitables = [value for value in values if run.core.is_awaitable(value)]
    if awaitables:
        run.core.settle_in_background(awaitables)


def _take_groups(run: OperationState) -> list[WaitingGroup]:
    """Take the entries added since the last time, without those of places that are null."""
    waiting, later = run.take_waiting()
    groups = [WaitingGroup(field, entries) for field, entries in waiting.items() if entries]
    if later:
        groups.append(WaitingGroup(None, [(each, each.place, each.awaitable) for each in later]))
    if not run.has_failed:
        return groups
    found = []
    for group in groups:
        dead = [run.is_dead(place) for place in group.places()]
        both = list(zip(group.entries, dead, strict=True))
        _settle_in_background(run, [entry[2] for entry, gone in both if gone])
        if not all(dead):
            found.append(WaitingGroup(group.field, [entry for entry, gone in both if not gone]))
    return found


async def _settle_group(
    run: OperationState, group: WaitingGroup, watched: GatherGroup | None = None
) -> None:
    if group.answers_many:
        values = await _await_batch(run, group)
    elif watched is None and len(group.entries) == 1:
        values = [await _await_outcome(group.entries[0][2])]
    else:
        values = await (watched or _gather_group(run, group)).outcomes()
    _complete_group(run, group, values)
    await complete_waiting(run)


def _complete_group(run: OperationState, group: WaitingGroup, values: list[Any]) -> None:
    if run.has_failed:
        group, values = _drop_dead(run, group, values)
    if group.field is None:
        _put_all(run, group, values)
    elif group.field.complete_level is not None:
        group.field.complete_level(group.entries, values, run)


def _gather_group(run: OperationState, group: WaitingGroup) -> GatherGroup:
    values = [entry[2] for entry in group.entries]
    completed = group.field is None
    return GatherGroup(run, group.fields(), group.places(), values, completed=completed)


async def _await_outcome(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except Exception as error:
        return RaisedError(error)


async def _await_batch(run: OperationState, group: WaitingGroup) -> list[Any]:
    """Await the values of a batched field for a whole level."""
    values = _call_batch(run, group) if group.pending_batch is None else group.pending_batch
    if isinstance(values, list):
        return values
    try:
        return _check_count(group, await values)
    except Exception as error:
        return [RaisedError(error)] * len(group.entries)


def _call_batch(run: OperationState, group: WaitingGroup) -> list[Any] | Awaitable[Any]:
    """Call a batched field's function for a whole level; the result may have to be awaited."""
    field = group.field
    if field is None or not isinstance(field.source, DirectSource) or field.source.many is None:
        raise TypeError("only a batched field returns many values at once")
    first = group.place(group.entries[0])
    info = FieldInfo(run, field, first)
    try:
        arguments = arguments_of(run, field, first) if field.definition.args else {}
        result: Any = field.source.many([entry[2] for entry in group.entries], info, **arguments)
        return result if run.is_awaitable(result) else _check_count(group, result)
    except Exception as error:
        return [RaisedError(error)] * len(group.entries)


def _check_count(group: WaitingGroup, values: Iterable[Any]) -> list[Any]:
    """Return the values for a group's entries; raises ValueError where their number differs."""
    found = list(values)
    if len(found) != len(group.entries):
        raise ValueError(f"{len(found)} values for {len(group.entries)} objects")
    return found


def _drop_dead(
    run: OperationState, group: WaitingGroup, values: list[Any]
) -> tuple[WaitingGroup, list[Any]]:
    """Return the entries and values of a group whose places have not become null meanwhile."""
    places = group.places()
    kept = [index for index, place in enumerate(places) if not run.is_dead(place)]
    entries = [group.entries[index] for index in kept]
    return WaitingGroup(group.field, entries), [values[index] for index in kept]


def _put_all(run: OperationState, group: WaitingGroup, values: list[Any]) -> None:
    """Store the values that graphql-core has completed in the answer."""
    for (later, place, _), value in zip(group.entries, values, strict=True):
        found: PendingValue = later
        if type(value) is RaisedError:
            run.record_late_error(found.field, value.error, place)
        else:
            run.put(place, value)
