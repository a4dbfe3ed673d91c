"""The router: finds a destination for each entity of a notification, or declares it dead."""

from dataclasses import dataclass, field

from penstock.datastore.clock import Clock, canonical
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.ngsi.dead_letters import Dead
from penstock.datastore.ngsi.events import Poison, Update, identity
from penstock.datastore.ngsi.naming_rules import Renaming
from penstock.datastore.ngsi.notification import Notification, entity_seen
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.table_names import Place, Registry


@dataclass(frozen=True, slots=True)
class Sorted:
    """The events of a notification, and its dead entities by their position."""

    events: list[Event] = field(default_factory=list)
    dead: dict[int, Dead] = field(default_factory=dict)


@dataclass(slots=True)
class Sorter:
    """Finds the destination of each update; a sink replaces `renaming` when the rules change."""

    registry: Registry
    options: SinkOptions
    clock: Clock
    renaming: Renaming = field(default_factory=Renaming)

    async def sort(self, notification: Notification, at: int) -> Sorted:
        """Route the entities of a notification; `at` is its time of arrival in milliseconds."""
        found = Sorted()
        for position, (path, entry) in enumerate(notification.entries):
            mark = identity(notification.identity, str(position))
            made = await self.event_of(_entry(notification.service, path, at, mark, entry))
            if isinstance(made, Event):
                found.events.append(made)
            else:
                found.dead[position] = made
        return found

    async def event_of(self, dead: Dead) -> Event | Dead:
        """Make the event of an update; return it as dead, with a reason, if that is impossible.

        An event that already had a destination keeps it. Raises Unavailable.
        """
        if (event := dead.event) is not None:
            return event
        if dead.update is None:
            return dead
        try:
            table = await self._destination(dead.service, dead.path, dead.update)
        except Unavailable:
            raise
        except PenstockError as refused:
            return Dead(
                dead.service, dead.path, dead.at, dead.identity, refused.message, dead.update
            )
        persistence = self.options.layout.attr_persistence
        return Event(
            dead.service, dead.path, dead.at, dead.identity, table, persistence, dead.update
        )

    async def _destination(self, service: str, path: str, update: Update) -> str:
        place = self.renaming.place(Place(service, path, update.entity_id, update.entity_type))
        now = canonical(self.clock.now())
        return await self.registry.name(service, place, self.options.naming, now)


def read_again(dead: Dead) -> Dead:
    """Try to read an unreadable entity again, in whatever form it seems to be."""
    if dead.update is not None:
        return dead
    entry = entity_seen(dead.payload)
    return _entry(dead.service, dead.path, dead.at, dead.identity, entry)


def _entry(service: str, path: str, at: int, mark: str, entry: Update | Poison) -> Dead:
    if isinstance(entry, Update):
        return Dead(service, path, at, mark, "", entry)
    return Dead(service, path, at, mark, entry.reason, None, entry.payload)
