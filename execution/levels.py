"""Waiting: what the fields of one level wait for is awaited together, then completed together."""

from asyncio import create_task
from collections.abc import Awaitable
from typing import Any, NamedTuple

from execution.fields import Field, Place
from execution.infos import FieldInfo
from execution.reading import Direct
from execution.run import Entry, Later, Raised, Run
from execution.watched import Watched, cancelled


class Group(NamedTuple):
    """The entries of one field at one level; without a field, what graphql-core completes there."""

    field: Field | None
    entries: list[Entry]

    def places(self) -> list[Place]:
        if self.field is None:
            return [place for _, place, _ in self.entries]
        key, kind = self.field.key, self.field.parent.name
        return [(place, key, kind) for _, place, _ in self.entries]

    def fields(self) -> list[Field | None]:
        if self.field is None:
            return [later.field for later, _, _ in self.entries]
        return [self.field] * len(self.entries)

    @property
    def answers_many(self) -> bool:
        reading = self.field.reading if self.field is not None else None
        return isinstance(reading, Direct) and reading.many is not None


async def settle(run: Run) -> None:
    """Await all that an execution waits for, level by level, until nothing is left."""
    groups = _taken(run)
    if not groups:
        return
    if len(groups) == 1 and not run.crowd:
        await _settle_group(run, groups[0])
        return
    # Whatever waits has begun to, before anything is waited for.
    begun = [None if group.answers_many else _begun(run, group) for group in groups]
    tasks = [
        create_task(_settle_group(run, group, watched))
        for group, watched in zip(groups, begun, strict=True)
    ]
    run.crowd += 1
    try:
        for task in tasks:
            await task
    except BaseException:
        await cancelled(tasks)
        raise
    finally:
        run.crowd -= 1


def abandon(run: Run) -> None:
    """Leave what waits to itself, for the answer no longer wants it."""
    waiting, later = run.taken()
    entries = [entry for found in waiting.values() for entry in found]
    _leave(run, [*(entry[2] for entry in entries), *(each.awaitable for each in later)])


def _leave(run: Run, values: list[Any]) -> None:
    awaitables = [value for value in values if run.core.is_awaitable(value)]
    if awaitables:
        run.core.settle_in_background(awaitables)


def _taken(run: Run) -> list[Group]:
    """Take over what waits since the last time, without what is no longer wanted."""
    waiting, later = run.taken()
    groups = [Group(field, entries) for field, entries in waiting.items() if entries]
    if later:
        groups.append(Group(None, [(each, each.place, each.awaitable) for each in later]))
    if not run.has_failed:
        return groups
    found = []
    for group in groups:
        dead = [run.is_dead(place) for place in group.places()]
        both = list(zip(group.entries, dead, strict=True))
        _leave(run, [entry[2] for entry, gone in both if gone])
        if not all(dead):
            found.append(Group(group.field, [entry for entry, gone in both if not gone]))
    return found


async def _settle_group(run: Run, group: Group, watched: Watched | None = None) -> None:
    if group.answers_many:
        values = await _many(run, group)
    elif watched is None and len(group.entries) == 1:
        values = [await _outcome(group.entries[0][2])]
    else:
        values = await (watched or _begun(run, group)).outcomes()
    if run.has_failed:
        group, values = _wanted(run, group, values)
    if group.field is None:
        _put_all(run, group, values)
    elif group.field.level is not None:
        group.field.level(group.entries, values, run)
    await settle(run)


def _begun(run: Run, group: Group) -> Watched:
    values = [entry[2] for entry in group.entries]
    completed = group.field is None
    return Watched(run, group.fields(), group.places(), values, completed=completed)


async def _outcome(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except Exception as error:
        return Raised(error)


async def _many(run: Run, group: Group) -> list[Any]:
    """Ask a batched field for the values of a whole level."""
    parents = [entry[2] for entry in group.entries]
    try:
        result = _asked(run, group, parents)
        values = list(await result if run.core.is_awaitable(result) else result)
        if len(values) != len(parents):
            raise ValueError(f"{len(values)} values for {len(parents)} objects")
    except Exception as error:
        return [Raised(error)] * len(parents)
    return values


def _asked(run: Run, group: Group, parents: list[Any]) -> Any:
    field = group.field
    if field is None or not isinstance(field.reading, Direct) or field.reading.many is None:
        raise TypeError("only a batched field is asked for many values")
    first = group.places()[0]
    info = FieldInfo(run, field, first)
    arguments = run.arguments(field, first) if field.definition.args else {}
    return field.reading.many(parents, info, **arguments)


def _wanted(run: Run, group: Group, values: list[Any]) -> tuple[Group, list[Any]]:
    """Keep of a group what has not been taken away meanwhile."""
    places = group.places()
    kept = [index for index, place in enumerate(places) if not run.is_dead(place)]
    entries = [group.entries[index] for index in kept]
    return Group(group.field, entries), [values[index] for index in kept]


def _put_all(run: Run, group: Group, values: list[Any]) -> None:
    """Put what graphql-core has completed where it belongs."""
    for (later, place, _), value in zip(group.entries, values, strict=True):
        found: Later = later
        if type(value) is Raised:
            run.late(found.field, value.error, place)
        else:
            run.put(place, value)
