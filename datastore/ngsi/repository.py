"""One caller's access to received notifications: read them, count them, and replay letters."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import (
    ErrorCode,
    LimitExceeded,
    NotFound,
    PenstockError,
    Unavailable,
)
from penstock.datastore.ngsi.counts import IngestCounts, read_counts, sum_counts
from penstock.datastore.ngsi.dead_letters import (
    DeadEvent,
    DeadLetter,
    LetterFiles,
    ReplayResult,
    find_letters,
    list_letters,
)
from penstock.datastore.ngsi.destinations import NO_DESTINATIONS, Destinations
from penstock.datastore.ngsi.directory import Directory, Service, ServicePath
from penstock.datastore.ngsi.events import Poison
from penstock.datastore.ngsi.naming_rules import NamingRules, load_renamer
from penstock.datastore.ngsi.notification import (
    NotificationDefaults,
    read_headers,
    read_notification,
)
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.ngsi.series import SeriesReader
from penstock.datastore.ngsi.table_names import (
    Destination,
    NamingPlace,
    list_destinations,
    table_name,
)
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import Role
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.pages import Slice, Window

MAX_REPLAYED: Final = 100
POLL_SECONDS: Final = 1.0

_PAGE = 100


@dataclass(frozen=True, slots=True)
class SinkAccess:
    """The sink as a store knows it; `replay` is None in a process that runs no sink.

    A subscription to samples looks for new ones every `poll_seconds`.
    """

    destinations: Destinations = NO_DESTINATIONS
    options: SinkOptions = field(default_factory=SinkOptions)
    replay: Callable[[DeadLetter], Awaitable[ReplayResult]] | None = None
    poll_seconds: float = POLL_SECONDS


class ReplayFailure(msgspec.Struct, frozen=True):
    """A dead letter that could not be replayed and is as it was, and the reason."""

    id: str
    code: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class LetterReplays:
    """The letters of one call: those that are replayed, and those that could not be."""

    replayed: list[ReplayResult] = field(default_factory=list)
    failures: list[ReplayFailure] = field(default_factory=list)


class Preview(msgspec.Struct, frozen=True):
    """The table that would store an entity of a notification, or the reason why none would."""

    entity_id: str | None
    entity_type: str | None
    path: str
    table: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class IngestRepository:
    """The received notifications of the service paths that one caller may see."""

    access: Access
    ingest: SinkAccess
    files: Files
    units: Units

    @property
    def directory(self) -> Directory:
        return Directory(self.access)

    @property
    def series(self) -> SeriesReader:
        return SeriesReader(self.ingest.destinations, self.access.budget.rounds, self.units)

    @property
    def rules(self) -> NamingRules:
        return NamingRules(self.access)

    async def counts(self, of: ServicePath) -> IngestCounts:
        """Count the events of a service path by their state."""
        return await read_counts(self.access.table, (of.service, of.path))

    async def service_counts(self, of: Service) -> IngestCounts:
        """Add up the counts of all service paths of a service that the caller may see."""
        found, window = [], Window(size=_PAGE)
        while True:
            page = await self.directory.paths(of, window)
            found += [await self.counts(path) for _, path in page.entries]
            if not page.more:
                return sum_counts(found)
            window = Window(size=_PAGE, after=page.reached)

    async def destinations(self, of: Service, window: Window) -> Slice[Destination]:
        """List the destinations of a service; the caller must be a reader of all of it."""
        self.directory.require_role(Role.READER, of.name, "/")
        return await list_destinations(self.access.table, of.name, window)

    async def letters(self, of: ServicePath, window: Window) -> Slice[DeadLetter]:
        """List the dead letters of a service path, newest first."""
        return await list_letters(self.access.table, (of.service, of.path), window)

    async def letter_events(self, letter: DeadLetter) -> list[DeadEvent]:
        """Read the events of a letter; access was checked when the letter was read."""
        return await LetterFiles.of(self.files).read(letter)

    async def replay(self, ids: Sequence[str]) -> LetterReplays:
        """Replay letters; the caller must be a contributor of each service path.

        If one of the letters does not exist, or the caller may not replay it, none is replayed.
        Otherwise each letter is replayed wholly or not at all. A letter that was replayed within
        the last day has the result that it had then.
        """
        if len(ids) > MAX_REPLAYED:
            raise LimitExceeded("dead letters at a time", MAX_REPLAYED, len(ids), ["ids"])
        replays, waiting = LetterReplays(), list[DeadLetter]()
        for each in await self._replayable(ids):
            if isinstance(each, ReplayResult):
                replays.replayed.append(each)
            else:
                waiting.append(each)
        for letter in waiting:
            if self.ingest.replay is None:
                raise Unavailable("This server takes no notifications.", retry_after=60)
            try:
                replays.replayed.append(await self.ingest.replay(letter))
            except PenstockError as error:
                replays.failures.append(ReplayFailure(letter.id, error.code, error.message))
        return replays

    async def _replayable(self, ids: Sequence[str]) -> list[DeadLetter | ReplayResult]:
        """Find letters, or the results of their replays, that the caller may replay; each once."""
        found, missing = {}, []
        for n, each in enumerate(await find_letters(self.access.table, ids)):
            letter = each.letter if isinstance(each, ReplayResult) else each
            if each is None or letter is None or not self._is_visible(letter):
                missing.append(n)
            else:
                found[letter.id] = letter, each
        if missing:
            raise NotFound.in_list("dead letter", "ids", missing)
        for letter, _ in found.values():
            self.directory.require_role(Role.CONTRIBUTOR, letter.service, letter.path)
        return [each for _, each in found.values()]

    async def preview(self, of: Service, path: str, body: str, form: str | None) -> list[Preview]:
        """Name the table of each entity of a notification, without storing anything.

        The preview ignores name collisions: if two entities would share a name, the sink
        registers the second under a different one.
        """
        headers = {"fiware-service": of.name, "fiware-servicepath": path}
        if form is not None:
            headers["ngsiv2-attrsformat"] = form
        heading = read_headers(headers, NotificationDefaults())
        for each in heading.paths:
            self.directory.require_role(Role.READER, of.name, each)
        renaming = await load_renamer(self.access.table, self.ingest.options)
        found = []
        for each, entry in read_notification(heading, body.encode()).entries:
            if isinstance(entry, Poison):
                found.append(Preview(None, None, each, None, entry.reason))
                continue
            notified = NamingPlace(of.name, each, entry.entity_id, entry.entity_type)
            try:
                table = table_name(renaming.rename_place(notified), self.ingest.options.naming)
                problem = None
            except LimitExceeded as refused:
                table, problem = None, refused.message
            found.append(Preview(entry.entity_id, entry.entity_type, each, table, problem))
        return found

    def _is_visible(self, letter: DeadLetter) -> bool:
        return self.directory.is_visible(letter.service, letter.path)
