"""One caller's access to received notifications: read and count them, replay and delete letters."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import WorkPayer, notification_units
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.errors import ErrorCode, LimitExceeded, NotFound, PenstockError, Unavailable
from penstock.datastore.ngsi.counts import IngestCounts, read_counts, sum_counts
from penstock.datastore.ngsi.dead_letters import (
    DeadEvent,
    DeadLetter,
    LetterFiles,
    ReplayResult,
    dead_letter_delete,
    find_letters,
    list_letters,
)
from penstock.datastore.ngsi.destinations import NO_DESTINATIONS, Destinations
from penstock.datastore.ngsi.directory import Directory, Service, ServicePath
from penstock.datastore.ngsi.events import EntityUpdate, Poison
from penstock.datastore.ngsi.hours.chart_points import ChartPointReader
from penstock.datastore.ngsi.hours.reader import HourReader
from penstock.datastore.ngsi.intake.in_flight import SinkBacklog
from penstock.datastore.ngsi.intake.threads import run_in_notification_thread
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.naming.rules import NamingRules, Renamer, load_renamer
from penstock.datastore.ngsi.naming.table_names import (
    Destination,
    NamingPlace,
    list_destinations,
    table_name,
)
from penstock.datastore.ngsi.notification import (
    NotificationHeaders,
    read_format,
    read_notification,
    split_paths,
)
from penstock.datastore.ngsi.options import NamingOptions, SinkOptions
from penstock.datastore.ngsi.reading.charts import ChartReader
from penstock.datastore.ngsi.reading.latest import LatestReader
from penstock.datastore.ngsi.reading.positions import PositionReader
from penstock.datastore.ngsi.reading.series import SeriesReader
from penstock.datastore.ngsi.router import list_places
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import Role
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import Put

MAX_REPLAYED: Final = 100
MAX_DELETED: Final = 50
"""A transaction has two rows for each letter that it deletes."""

POLL_SECONDS: Final = 1.0

_PAGE = 100


@dataclass(frozen=True, slots=True)
class SinkAccess:
    """The sink as a store knows it; `replay` is None in a process that runs no sink.

    A subscription to samples looks for new ones every `poll_seconds`. `backlog` is what the sink of
    this process has not stored yet.
    """

    destinations: Destinations = NO_DESTINATIONS
    options: SinkOptions = field(default_factory=SinkOptions)
    replay: Callable[[DeadLetter, WorkPayer], Awaitable[ReplayResult]] | None = None
    poll_seconds: float = POLL_SECONDS
    backlog: Callable[[], SinkBacklog] | None = None


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


class PreviewRequest(NamedTuple):
    """A notification to preview: its service, the values of two headers, and its body."""

    service: Service
    path: str
    format: str | None
    body: str


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
        return SeriesReader(
            self.ingest.destinations,
            self.access.budget.rounds,
            self.units,
            self.access.clock,
            LargeValues(self.files),
            self.access.work,
            self.access.payments,
        )

    @property
    def charts(self) -> ChartReader:
        return ChartReader(self.series, self.access.work)

    @property
    def hours(self) -> HourReader:
        return HourReader(self.access, self.series)

    @property
    def chart_points(self) -> ChartPointReader:
        return ChartPointReader(self.hours)

    @property
    def latest(self) -> LatestReader:
        return LatestReader(self.access, self.series)

    @property
    def positions(self) -> PositionReader:
        return PositionReader(self.directory, self.latest)

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
        """Read the events of a letter, paid by their size; access was checked before."""
        return await LetterFiles.of(self.files).read(letter, self.access.payer)

    async def replay(self, ids: Sequence[str]) -> LetterReplays:
        """Replay letters; the caller must be a contributor of each service path.

        If one of the letters does not exist, or the caller may not replay it, none is replayed.
        Otherwise each letter is replayed wholly or not at all. A letter that was replayed within
        the last day has the result that it had then.
        """
        if len(ids) > MAX_REPLAYED:
            raise LimitExceeded("dead letters at a time", MAX_REPLAYED, len(ids), ["ids"])
        replays, waiting = LetterReplays(), list[DeadLetter]()
        for each in await self._find_letters(ids, Role.CONTRIBUTOR):
            if isinstance(each, ReplayResult):
                replays.replayed.append(each)
            else:
                waiting.append(each)
        for letter in waiting:
            if self.ingest.replay is None:
                raise Unavailable("This server takes no notifications.", retry_after=60)
            try:
                replays.replayed.append(await self.ingest.replay(letter, self.access.payer))
            except PenstockError as error:
                replays.failures.append(ReplayFailure(letter.id, error.code, error.message))
        return replays

    async def delete_letters(self, ids: Sequence[str]) -> list[DeadLetter]:
        """Delete letters and their files; the caller must be an admin of each service path.

        If one of the letters does not exist, or was replayed, or the caller may not delete it, none
        is deleted. One transaction of two rows for each letter; their events stay counted.
        """
        if len(ids) > MAX_DELETED:
            raise LimitExceeded("dead letters at a time", MAX_DELETED, len(ids), ["ids"])
        if not ids:
            return []
        async for _ in Attempts():
            found = await self._find_letters(ids, Role.ADMIN)
            replayed = {each.letter.id for each in found if isinstance(each, ReplayResult)}
            if replayed:
                gone = [n for n, id in enumerate(ids) if id in replayed]
                raise NotFound.in_list("dead letter", "ids", gone)
            letters = [each for each in found if isinstance(each, DeadLetter)]
            try:
                await self._remove_letters(letters)
            except StaleRead:
                continue
            return letters
        raise Unavailable("Other calls are changing these dead letters; try again.")

    async def _remove_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Remove letters that are as they were read, then their files; raises StaleRead."""
        files = [
            StagedFile(self.access, letter.id, letter.file)
            for letter in letters
            if letter.owns_file
        ]
        staged = [Write(Put(file.row())) for file in files]
        await commit(self.access.table, [*map(dead_letter_delete, letters), *staged])
        await gather(*(file.try_drop() for file in files))

    async def _find_letters(
        self, ids: Sequence[str], role: Role
    ) -> list[DeadLetter | ReplayResult]:
        """Find letters, or the results of their replays, for which a caller has a role; each once.

        Raises NotFound with the positions of those that the caller does not see.
        """
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
            self.directory.require_role(role, letter.service, letter.path)
        return [each for _, each in found.values()]

    async def previews(
        self, requests: Sequence[PreviewRequest]
    ) -> list[list[Preview] | PenstockError]:
        """Name the table of each entity of some notifications, without storing anything.

        A preview ignores name collisions: if two entities would share a name, the sink
        registers the second under a different one. One notification is read after the other, and
        each is paid before it is read.
        """
        options, payer = self.ingest.options, self.access.payer
        renamer = await load_renamer(self.access.table, options, payer)
        found: list[list[Preview] | PenstockError] = []
        for each in requests:
            try:
                found.append(await self._preview(each, renamer))
            except PenstockError as error:
                found.append(error)
        return found

    async def _preview(self, of: PreviewRequest, renamer: Renamer) -> list[Preview]:
        heading = NotificationHeaders(of.service.name, split_paths(of.path), read_format(of.format))
        for path in heading.paths:
            self.directory.require_role(Role.READER, of.service.name, path)
        body = of.body.encode()
        self.access.work.spend_more(notification_units(len(body)))
        naming = self.ingest.options.naming
        notification = await run_in_notification_thread(lambda: read_notification(heading, body))
        notified = list_places(notification)
        await renamer.match_places(notified, self.access.payer)
        places = {each: await renamer.find_place(each) for each in notified}
        return await run_in_notification_thread(
            lambda: [
                _preview_entry(heading.service, path, entry, places, naming)
                for path, entry in notification.entries
            ]
        )

    def _is_visible(self, letter: DeadLetter) -> bool:
        return self.directory.is_visible(letter.service, letter.path)


def _preview_entry(
    service: str,
    path: str,
    entry: EntityUpdate | Poison,
    places: Mapping[NamingPlace, NamingPlace],
    naming: NamingOptions,
) -> Preview:
    if isinstance(entry, Poison):
        return Preview(None, None, path, None, entry.reason)
    notified = NamingPlace(service, path, entry.entity_id, entry.entity_type)
    try:
        table, problem = table_name(places[notified], naming), None
    except LimitExceeded as refused:
        table, problem = None, refused.message
    return Preview(entry.entity_id, entry.entity_type, path, table, problem)
