"""One caller's access to received notifications: read them, count them, and replay letters."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded, NotFound, Unavailable
from penstock.datastore.ngsi.counts import Counts, counted, total
from penstock.datastore.ngsi.dead_letters import Contents, Dead, DeadLetter, find_letters, letters
from penstock.datastore.ngsi.destinations import NO_DESTINATIONS, Destinations
from penstock.datastore.ngsi.directory import Directory, Service, ServicePath
from penstock.datastore.ngsi.events import Poison
from penstock.datastore.ngsi.naming_rules import NamingRules, renaming_of
from penstock.datastore.ngsi.notification import Defaults, read_heading, read_notification
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.ngsi.replay import Replayed
from penstock.datastore.ngsi.series import SeriesReading
from penstock.datastore.ngsi.table_names import Destination, Place, registered, table_name
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import Role
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.pages import Slice, Window

MAX_REPLAYED: Final = 100
POLL_SECONDS: Final = 1.0

_PAGE = 100


@dataclass(frozen=True, slots=True)
class Ingest:
    """The sink as a store knows it; `replay` is None in a process that runs no sink.

    A subscription to samples looks for new ones every `poll_seconds`.
    """

    destinations: Destinations = NO_DESTINATIONS
    options: SinkOptions = field(default_factory=SinkOptions)
    replay: Callable[[DeadLetter], Awaitable[Replayed]] | None = None
    poll_seconds: float = POLL_SECONDS


class Preview(msgspec.Struct, frozen=True):
    """The table that would store an entity of a notification, or the reason why none would."""

    entity_id: str | None
    entity_type: str | None
    path: str
    table: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Notified:
    """The received notifications of the service paths that one caller may see."""

    access: Access
    ingest: Ingest
    files: Files
    units: Units

    @property
    def directory(self) -> Directory:
        return Directory(self.access)

    @property
    def series(self) -> SeriesReading:
        return SeriesReading(self.ingest.destinations, self.access.budget.rounds, self.units)

    @property
    def rules(self) -> NamingRules:
        return NamingRules(self.access)

    async def counts(self, of: ServicePath) -> Counts:
        """Count the events of a service path by their state."""
        return await counted(self.access.table, (of.service, of.path))

    async def service_counts(self, of: Service) -> Counts:
        """Add up the counts of all service paths of a service that the caller may see."""
        found, window = [], Window(size=_PAGE)
        while True:
            page = await self.directory.paths(of, window)
            found += [await self.counts(path) for _, path in page.entries]
            if not page.more:
                return total(found)
            window = Window(size=_PAGE, after=page.reached)

    async def destinations(self, of: Service, window: Window) -> Slice[Destination]:
        """List the destinations of a service; the caller must be a reader of all of it."""
        self.directory.require(Role.READER, of.name, "/")
        return await registered(self.access.table, of.name, window)

    async def letters(self, of: ServicePath, window: Window) -> Slice[DeadLetter]:
        """List the dead letters of a service path, newest first."""
        return await letters(self.access.table, (of.service, of.path), window)

    async def entities_of(self, letter: DeadLetter) -> list[Dead]:
        """Read the events of a letter; access was checked when the letter was read."""
        return await Contents.of(self.files).read(letter)

    async def replay(self, ids: Sequence[str]) -> list[Replayed]:
        """Replay letters; the caller must be a contributor of each service path.

        If the caller may not replay one of the letters, none is replayed.
        """
        if len(ids) > MAX_REPLAYED:
            raise LimitExceeded("dead letters at a time", MAX_REPLAYED, len(ids), ["ids"])
        found = []
        for id, letter in zip(ids, await find_letters(self.access.table, ids), strict=True):
            if letter is None or not self._sees(letter):
                raise NotFound(f"There is no dead letter {id}.", ("ids",))
            self.directory.require(Role.CONTRIBUTOR, letter.service, letter.path)
            found.append(letter)
        if self.ingest.replay is None:
            raise Unavailable("This server takes no notifications.", retry_after=60)
        return [await self.ingest.replay(letter) for letter in found]

    async def preview(self, of: Service, path: str, body: str, form: str | None) -> list[Preview]:
        """Name the table of each entity of a notification, without storing anything.

        The preview ignores name collisions: if two entities would share a name, the sink
        registers the second under a different one.
        """
        headers = {"fiware-service": of.name, "fiware-servicepath": path}
        if form is not None:
            headers["ngsiv2-attrsformat"] = form
        heading = read_heading(headers, Defaults())
        for each in heading.paths:
            self.directory.require(Role.READER, of.name, each)
        renaming = await renaming_of(self.access.table, self.ingest.options)
        found = []
        for each, entry in read_notification(heading, body.encode()).entries:
            if isinstance(entry, Poison):
                found.append(Preview(None, None, each, None, entry.reason))
                continue
            notified = Place(of.name, each, entry.entity_id, entry.entity_type)
            try:
                table = table_name(renaming.place(notified), self.ingest.options.naming)
                problem = None
            except LimitExceeded as refused:
                table, problem = None, refused.message
            found.append(Preview(entry.entity_id, entry.entity_type, each, table, problem))
        return found

    def _sees(self, letter: DeadLetter) -> bool:
        return self.directory.sees(letter.service, letter.path)
