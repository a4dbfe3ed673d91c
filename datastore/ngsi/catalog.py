"""The catalog: writes the rows of the directory of received data.

It writes a row when something is received for the first time, always before its samples count as
stored. Writing a row again changes nothing, unless an entity is being removed: then it stays.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.directory import MARK_PREFIX, group_key_text
from penstock.datastore.ngsi.notification import group_of
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.table import limits
from penstock.datastore.table.layout import ATTRIBUTE, ENTITY, SERVICE, SERVICE_PATH
from penstock.datastore.table.port import Item, Key, Put, Table, Update, Value

LEAVING: Final = "leaving"
"""The attribute that a row of the directory has while it is being removed; a writer takes it off.

Its value is the id of the job that removes the entity.
"""

MAX_KNOWN: Final = 200_000


class EntityName(NamedTuple):
    """The full name of an entity, with its service and path."""

    service: str
    path: str
    entity: str
    type: str


class SeriesPlace(NamedTuple):
    """An attribute of an entity, and the persistence and type of its samples in a table."""

    service: str
    path: str
    entity: str
    type: str
    persistence: str
    attribute: str
    attribute_type: str

    @property
    def entity_name(self) -> EntityName:
        return EntityName(self.service, self.path, self.entity, self.type)


@dataclass(slots=True)
class Catalog:
    """Writes the rows of the directory; rows that this process wrote before are cached."""

    table: Table
    _known: set[Hashable] = field(default_factory=set)
    _forgotten: int = 0

    def forget_rows(self) -> None:
        """Forget which rows were written: some may have been removed since."""
        self._known.clear()
        self._forgotten += 1

    async def record_paths(self, places: Iterable[ServicePathKey]) -> None:
        """Write the rows that list services and service paths."""
        forgotten = self._forgotten
        fresh = [at for at in dict.fromkeys(places) if at not in self._known]
        services = dict.fromkeys(service for service, _ in fresh)
        rows = [
            *(
                SERVICE.item(service=name, group=group_key_text(group_of(name, "/")))
                for name in services
            ),
            *(
                SERVICE_PATH.item(
                    service=service, group=group_key_text(group_of(service, path)), path=path
                )
                for service, path in fresh
            ),
        ]
        await self._write_rows(rows)
        self._remember(fresh, forgotten)

    async def record_entities(self, events: Iterable[Event]) -> None:
        """Write the rows that list entities, their attributes and the tables of their samples."""
        forgotten = self._forgotten
        entities: dict[Hashable, Item] = {}
        marks: dict[Hashable, None] = {}
        changes: dict[Key, dict[str, Value]] = defaultdict(dict)
        for event in events:
            at = entity_name_of(event)
            if at not in self._known:
                entities[at] = ENTITY.item(**at._asdict())
            for attribute in event.update.attributes:
                mark = (at, attribute.name, attribute.type, event.table, event.persistence)
                if mark not in self._known:
                    marks[mark] = None
                    key = ATTRIBUTE.key(**at._asdict(), attribute=attribute.name)
                    place = place_mark(event.table, event.persistence)
                    changes[key] |= {"type": attribute.type, place: event.persistence.value}
        await self._write_rows(list(entities.values()))
        updates = [Update(key=key, set=each, remove=(LEAVING,)) for key, each in changes.items()]
        await self._write_updates(updates)
        self._remember([*entities, *marks], forgotten)

    async def record_moved(self, places: Sequence[SeriesPlace], old: str, new: str) -> None:
        """Write the rows of series whose samples are in the table `new`, and no longer in `old`."""
        entities = dict.fromkeys(place.entity_name for place in places)
        await self._write_rows([ENTITY.item(**entity._asdict()) for entity in entities])
        changes = [
            Update(
                key=ATTRIBUTE.key(**place.entity_name._asdict(), attribute=place.attribute),
                set={place_mark(new, place.persistence): place.persistence},
                default={"type": place.attribute_type},
                remove=(place_mark(old, place.persistence), LEAVING),
            )
            for place in places
        ]
        # An entity may have the same attribute in rows and in columns, on one item.
        for persistence in Persistence:
            suffix = f"{MARK_PREFIX}{persistence.value}:{new}"
            await self._write_updates([each for each in changes if suffix in each.set])

    async def _write_rows(self, rows: list[Item]) -> None:
        most = limits.WRITE_OPERATIONS
        for start in range(0, len(rows), most):
            await self.table.write([Put(row) for row in rows[start : start + most]])

    async def _write_updates(self, updates: list[Update]) -> None:
        most = limits.TRANSACTION_OPERATIONS
        for start in range(0, len(updates), most):
            await self.table.transact(updates[start : start + most])

    def _remember(self, found: Iterable[Hashable], forgotten: int) -> None:
        """Remember rows that were written, unless some may have been removed since."""
        if forgotten != self._forgotten:
            return
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.update(found)


def guard_names(entity: EntityName, attributes: Iterable[str]) -> None:
    """Raise LimitExceeded if a name is too long for a row that lists it."""
    limits.guard_write([Put(ENTITY.item(**entity._asdict()))])
    for attribute in attributes:
        limits.guard_write([Put(ATTRIBUTE.item(**entity._asdict(), attribute=attribute))])


def place_mark(table: str, persistence: str) -> str:
    """The name of the mark that a table holds an attribute, in rows or in columns."""
    return f"{MARK_PREFIX}{persistence}:{table}"


def entity_name_of(event: Event) -> EntityName:
    """The name of the entity that an event updates."""
    update = event.update
    return EntityName(event.service, event.path, update.entity_id, update.entity_type)
