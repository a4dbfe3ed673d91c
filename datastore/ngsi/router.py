"""The router: finds a destination for each entity of a notification, or declares it dead."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import structs

from penstock.datastore.access.work import FREE_WORK, WorkAccount, WorkPayer
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import ErrorCode, PenstockError, Unavailable
from penstock.datastore.ngsi.dead_letters import DeadEvent
from penstock.datastore.ngsi.events import EntityUpdate, Poison, identity_digest
from penstock.datastore.ngsi.naming.rules import Renamer
from penstock.datastore.ngsi.naming.table_names import NamingPlace, TableNameRegistry
from penstock.datastore.ngsi.notification import Notification, read_any_entity
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.ngsi.rows import Event


@dataclass(frozen=True, slots=True)
class RoutedEntities:
    """The events of a notification, and its dead entities by their position.

    Those of one that is `repeated` are not stored again.
    """

    events: list[Event] = field(default_factory=list)
    dead: dict[int, DeadEvent] = field(default_factory=dict)
    repeated: bool = False


@dataclass(slots=True)
class EntityRouter:
    """Finds the destination of each update; a sink replaces `renamer` when the rules change."""

    registry: TableNameRegistry
    options: SinkOptions
    clock: Clock
    renamer: Renamer = field(default_factory=Renamer)

    async def route_notification(
        self, notification: Notification, at: int, work: WorkAccount = FREE_WORK
    ) -> RoutedEntities:
        """Route the entities of a notification; `at` is its time of arrival in milliseconds.

        The sender owes the tables that are new.
        """
        found = RoutedEntities()
        for position, (path, entry) in enumerate(notification.entries):
            # The same notification may come again once its receipt expired: it is another event.
            mark = identity_digest(notification.identity, str(at), str(position))
            place = DeadEvent(
                notification.service, path, at, mark, "", time_index=notification.time_index
            )
            made = await self.route_event(_place_entry(place, entry), work)
            if isinstance(made, Event):
                found.events.append(made)
            else:
                found.dead[position] = made
        return found

    async def match_places(self, notification: Notification, payer: WorkPayer) -> None:
        """Match the rules with the entities of a notification that are new, which its sender pays.

        Raises LimitExceeded if that takes too long.
        """
        await self.renamer.match_places(list_places(notification), payer)

    async def route_events(
        self, dead: Sequence[DeadEvent], payer: WorkPayer
    ) -> list[Event | DeadEvent]:
        """Make the events of updates as `route_event` does; the payer owes rules and new tables."""
        await self.renamer.match_places(
            [
                _notified_place(each.service, each.path, each.update)
                for each in dead
                if each.event is None and each.update is not None
            ],
            payer,
        )
        return [await self.route_event(each, payer.work) for each in dead]

    async def route_event(self, dead: DeadEvent, work: WorkAccount) -> Event | DeadEvent:
        """Make the event of an update; return it as dead, with a reason, if that is impossible.

        An event that already had a destination keeps it. Raises Unavailable.
        """
        if (event := dead.event) is not None:
            return event
        if dead.update is None:
            return dead
        try:
            table = await self._destination_table(dead.service, dead.path, dead.update, work)
        except Unavailable:
            raise
        except PenstockError as refused:
            return structs.replace(dead, reason=refused.message, code=refused.code)
        persistence = self.options.layout.attr_persistence
        return Event(
            dead.service,
            dead.path,
            dead.at,
            dead.identity,
            table,
            persistence,
            dead.update,
            dead.time_index,
        )

    async def _destination_table(
        self, service: str, path: str, update: EntityUpdate, work: WorkAccount
    ) -> str:
        place = await self.renamer.find_place(_notified_place(service, path, update))
        now = iso_timestamp(self.clock.now())
        return await self.registry.name_table(service, place, self.options.naming, now, work)


def list_places(notification: Notification) -> list[NamingPlace]:
    """The place of each entity that can be stored, by which its destination is named."""
    return [
        _notified_place(notification.service, path, entry)
        for path, entry in notification.entries
        if isinstance(entry, EntityUpdate)
    ]


def _notified_place(service: str, path: str, update: EntityUpdate) -> NamingPlace:
    return NamingPlace(service, path, update.entity_id, update.entity_type)


def reread_entity(dead: DeadEvent) -> DeadEvent:
    """Try to read an unreadable entity again, in whatever form it seems to be."""
    if dead.update is not None:
        return dead
    entry = read_any_entity(dead.payload)
    return _place_entry(dead, entry)


def _place_entry(dead: DeadEvent, entry: EntityUpdate | Poison) -> DeadEvent:
    """The event with an entry of its notification, or with the reason why none could be read."""
    if isinstance(entry, EntityUpdate):
        return structs.replace(dead, reason="", update=entry, payload=None, code=None)
    return structs.replace(
        dead, reason=entry.reason, payload=entry.payload, code=ErrorCode.BAD_USER_INPUT
    )
