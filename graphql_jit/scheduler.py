"""Awaits and completes the values of one level of the answer together, level by level."""

from asyncio import create_task
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple

from penstock.graphql_jit.arguments import FieldInfo, arguments_of
from penstock.graphql_jit.field_source import Direct
from penstock.graphql_jit.gather_group import Watched, cancelled
from penstock.graphql_jit.plan import Field, Place
from penstock.graphql_jit.state import Entry, Later, Raised, Run


class Group(NamedTuple):
    """The waiting entries of one field at one level.

    Without a field, graphql-core completes the entries. `asked` is the awaitable that the function
    of a batched field has returned.
    """

    field: Field | None
    entries: list[Entry]
    asked: Awaitable[Any] | None = None

    def places(self) -> list[Place]:
        return [self.place(entry) for entry in self.entries]

    def place(self, entry: Entry) -> Place:
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
        reading = self.field.reading if self.field is not None else None
        return isinstance(reading, Direct) and reading.many is not None


def at_once(run: Run) -> list[Group]:
    """Complete levels of one batched field each, as long as its values need no await.

    Returns the groups that have to be awaited after that.
    """
    groups = _taken(run)
    while len(groups) == 1 and groups[0].answers_many:
        asked = _asked(run, groups[0])
        if not isinstance(asked, list):
            return [groups[0]._replace(asked=asked)]
        _complete(run, groups[0], asked)
        groups = _taken(run)
    return groups


async def settle(run: Run, groups: list[Group] | None = None) -> None:
    """Await and complete all waiting values of an execution, level by level, until none is left.

    `groups` is the first level, if the caller has it.
    """
    if groups is None:
        groups = _taken(run) if run.crowd else at_once(run)
    if not groups:
        return
    if len(groups) == 1 and not run.crowd:
        await _settle_group(run, groups[0])
        return
    # All coroutines are started before the first is awaited.
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
    """Settle in the background what still waits, because the answer no longer needs it."""
    waiting, later = run.taken()
    entries = [entry for found in waiting.values() for entry in found]
    _leave(run, [*(entry[2] for entry in entries), *(each.awaitable for each in later)])


def _leave(run: Run, values: list[Any]) -> None:
    awaitables = [value for value in values if run.core.is_awaitable(value)]
    if awaitables:
        run.core.settle_in_background(awaitables)


def _taken(run: Run) -> list[Group]:
    """Take the entries added since the last time, without those of places that are null."""
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
    _complete(run, group, values)
    await settle(run)


def _complete(run: Run, group: Group, values: list[Any]) -> None:
    if run.has_failed:
        group, values = _wanted(run, group, values)
    if group.field is None:
        _put_all(run, group, values)
    elif group.field.level is not None:
        group.field.level(group.entries, values, run)


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
    """Await the values of a batched field for a whole level."""
    asked = _asked(run, group) if group.asked is None else group.asked
    if isinstance(asked, list):
        return asked
    try:
        return _counted(group, await asked)
    except Exception as error:
        return [Raised(error)] * len(group.entries)


def _asked(run: Run, group: Group) -> list[Any] | Awaitable[Any]:
    """Call a batched field's function for a whole level; the result may have to be awaited."""
    field = group.field
    if field is None or not isinstance(field.reading, Direct) or field.reading.many is None:
        raise TypeError("only a batched field is asked for many values")
    first = group.place(group.entries[0])
    info = FieldInfo(run, field, first)
    try:
        arguments = arguments_of(run, field, first) if field.definition.args else {}
        result: Any = field.reading.many([entry[2] for entry in group.entries], info, **arguments)
        return result if run.is_awaitable(result) else _counted(group, result)
    except Exception as error:
        return [Raised(error)] * len(group.entries)


def _counted(group: Group, values: Iterable[Any]) -> list[Any]:
    """Return the values for a group's entries; raises ValueError where their number differs."""
    found = list(values)
    if len(found) != len(group.entries):
        raise ValueError(f"{len(found)} values for {len(group.entries)} objects")
    return found


def _wanted(run: Run, group: Group, values: list[Any]) -> tuple[Group, list[Any]]:
    """Return the entries and values of a group whose places have not become null meanwhile."""
    places = group.places()
    kept = [index for index, place in enumerate(places) if not run.is_dead(place)]
    entries = [group.entries[index] for index in kept]
    return Group(group.field, entries), [values[index] for index in kept]


def _put_all(run: Run, group: Group, values: list[Any]) -> None:
    """Store the values that graphql-core has completed in the answer."""
    for (later, place, _), value in zip(group.entries, values, strict=True):
        found: Later = later
        if type(value) is Raised:
            run.late(found.field, value.error, place)
        else:
            run.put(place, value)
