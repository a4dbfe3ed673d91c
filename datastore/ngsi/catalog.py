"""What there is: services, their paths, the entities in them, their attributes and where they lie.

Rows are written when something is met for the first time, always before its samples count as
stored; writing one again changes nothing.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.datastore import limits
from penstock.datastore.layout import ATTRIBUTE, ENTITY, SERVICE, SERVICE_PATH
from penstock.datastore.ngsi.counts import At
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.tenancy import group_of, listed
from penstock.datastore.table import Item, Key, Put, Table, Update, Value

PLACE: Final = "at:"
"""Begins the names of an attribute's marks: one for each table and persistence it is kept in."""

MAX_KNOWN: Final = 200_000


class EntityName(NamedTuple):
    """An entity of a service path."""

    service: str
    path: str
    entity: str
    type: str


@dataclass(slots=True)
class Catalog:
    """The writing side; what this process has written it remembers."""

    table: Table
    _known: set[Hashable] = field(default_factory=set)

    async def note_paths(self, places: Iterable[At]) -> None:
        """Let services and service paths be listed."""
        fresh = [at for at in dict.fromkeys(places) if at not in self._known]
        services = dict.fromkeys(service for service, _ in fresh)
        rows = [
            *(SERVICE.item(service=name, group=listed(group_of(name, "/"))) for name in services),
            *(
                SERVICE_PATH.item(service=service, group=listed(group_of(service, path)), path=path)
                for service, path in fresh
            ),
        ]
        await self._write(rows)
        self._remember(fresh)

    async def note_events(self, events: Iterable[Event]) -> None:
        """Let entities be listed with their attributes, and those be read."""
        entities: dict[Hashable, Item] = {}
        marks: dict[Hashable, None] = {}
        changes: dict[Key, dict[str, Value]] = defaultdict(dict)
        for event in events:
            at = _of(event)
            if at not in self._known:
                entities[at] = ENTITY.item(**at._asdict())
            for attribute in event.update.attributes:
                mark = (at, attribute.name, attribute.type, event.table, event.persistence)
                if mark not in self._known:
                    marks[mark] = None
                    key = ATTRIBUTE.key(**at._asdict(), attribute=attribute.name)
                    place = place_mark(event.table, event.persistence)
                    changes[key] |= {"type": attribute.type, place: event.persistence.value}
        await self._write(list(entities.values()))
        await self._update([Update(key=key, set=each) for key, each in changes.items()])
        self._remember([*entities, *marks])

    async def _write(self, rows: list[Item]) -> None:
        most = limits.WRITE_OPERATIONS
        for start in range(0, len(rows), most):
            await self.table.write([Put(row) for row in rows[start : start + most]])

    async def _update(self, updates: list[Update]) -> None:
        most = limits.TRANSACTION_OPERATIONS
        for start in range(0, len(updates), most):
            await self.table.transact(updates[start : start + most])

    def _remember(self, found: Iterable[Hashable]) -> None:
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.update(found)


def place_mark(table: str, persistence: str) -> str:
    """The name of the mark that an attribute is kept in a table, in rows or in columns."""
    return f"{PLACE}{persistence}:{table}"


def _of(event: Event) -> EntityName:
    update = event.update
    return EntityName(event.service, event.path, update.entity_id, update.entity_type)
