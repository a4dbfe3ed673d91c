"""Deletion of the samples of an entity, all or those of a span of time, as a repeatable job.

What was accepted before the request may be stored while the job runs, or again by a server that
takes over: it is in a segment that is not settled. So the job deletes, waits until the segments
that were open at its start are settled, and deletes again. Samples that arrive after the request
stay. An entity that has no sample left is removed from the directory.
"""

from asyncio import get_running_loop, sleep
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.jobs.few_jobs import begin_job
from penstock.datastore.jobs.jobs import Job, JobKind, SampleSpan, find_jobs, new_job
from penstock.datastore.jobs.leases import JobLease, JobLeaseLost
from penstock.datastore.ngsi.counts import read_open_segments
from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.ngsi.directory import Directory, Entity, require_role, series_partition
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.generations import HourDeletion
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.notification import group_of
from penstock.datastore.ngsi.reading.series import (
    TimeSpan,
    milliseconds_of,
    series_range,
)
from penstock.datastore.ngsi.retention.entity_removal import EntityRemoval
from penstock.datastore.ngsi.rows import arrival_of
from penstock.datastore.ngsi.run_log import list_lone_runs
from penstock.datastore.roles import Role
from penstock.datastore.table import limits
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import Attributes, Query, key_of

MAX_DELETIONS: Final = 10
"""The deletions of one user that may be unfinished at a time."""

MAX_TURN_SECONDS: Final = 30
POLL_SECONDS: Final = 1.0

REMOVAL_ROUNDS: Final = 3
"""The attempts to remove an entity whose rows are written again, though it has no sample."""


@dataclass(frozen=True, slots=True)
class SampleDeletions:
    """Deletion of samples for the caller; `on_job_created` is called for each new job."""

    access: Access
    on_job_created: Callable[[Job], None]

    async def begin(self, of: Entity, span: TimeSpan) -> Job:
        """Begin a job that deletes the samples of a span; the caller must be an admin of the path.

        Raises NotFound, NotPermitted, Invalid for an empty span, and LimitExceeded.
        """
        require_role(self.access.caller, Role.ADMIN, of.service, of.path)
        if span.bounds is None:
            raise Invalid([FieldProblem(["to"], "must be later than `from`")])
        low, high = span.bounds
        chosen = SampleSpan(
            service=of.service,
            path=of.path,
            entity=of.entity_id,
            type=of.entity_type,
            low=low,
            high=high,
        )
        group = group_of(of.service, of.path)
        job = new_job(self.access, JobKind.DELETE_SAMPLES, group=group, samples=chosen)
        await begin_job(self.access, job, "unfinished deletions of samples", MAX_DELETIONS)
        self.on_job_created(job)
        return job


async def delete_samples(access: Access, lease: JobLease, destinations: Destinations) -> None:
    """Run the job of a lease; `access` must be that of a caller who may do everything."""
    span = lease.job.samples
    if span is not None:
        await _SampleDeletion(access, lease, destinations, span).run()


@dataclass(frozen=True, slots=True)
class _SampleDeletion:
    """One deletion; it can be repeated from its start."""

    access: Access
    lease: JobLease
    destinations: Destinations
    span: SampleSpan
    began: float = field(default_factory=lambda: get_running_loop().time())

    async def run(self) -> None:
        """Delete the samples, while nothing is kept of their hours."""
        hours = HourDeletion(
            self.access.table,
            self._entity,
            self.lease.job.id,
            self.span.low // HOUR_MS,
            self.span.high // HOUR_MS,
        )
        await hours.begin()
        try:
            await self._delete_settled()
            await hours.forget(self._attribute_names())
            await self._remove_entity()
        except JobLeaseLost:
            # A job that was cancelled does not go on; another worker forgets them itself, and
            # needs the mark until then.
            if await self._is_over():
                left = replace(hours, table=self.lease.table)
                await left.forget(self._attribute_names())
                await left.end()
            raise
        await hours.end()

    async def _is_over(self) -> bool:
        (job,) = await find_jobs(self.access.table, [self.lease.job.id])
        return job is None or job.is_over

    async def _delete_settled(self) -> None:
        """Delete what is stored, and what segments that are open now may still store."""
        waiting = await self._unsettled_segments()
        await self._delete_all()
        if waiting:
            await self._wait_until_settled(waiting)
            await self._delete_all()

    async def _attribute_names(self) -> AsyncIterator[str]:
        async for attribute in Directory(self.access).walk_attributes(self._entity):
            yield attribute.name

    async def _remove_entity(self) -> None:
        """Remove the entity from the directory, unless it has a sample, or one arrives."""
        for _ in range(REMOVAL_ROUNDS):
            if not await self._is_empty():
                return
            removal = EntityRemoval(self.access, self._entity, self.access.clock.new_id())
            await removal.announce()
            await self._wait_until_settled(await self._unsettled_segments())
            await self._delete_all()
            if await self._is_empty() and await removal.remove():
                return

    async def _is_empty(self) -> bool:
        """Whether no table of the entity holds a sample."""
        async for table, partition in self._series():
            query = Query(partition=partition, limit=1, consistent=True)
            if (await self.destinations.table(table).query(query)).items:
                return False
        return True

    async def _wait_until_settled(self, segments: set[str]) -> None:
        while segments & await self._unsettled_segments():
            await sleep(POLL_SECONDS)
            await self._note_steps(0)

    @property
    def _entity(self) -> Entity:
        span = self.span
        return Entity(span.service, span.path, span.entity, span.type)

    async def _unsettled_segments(self) -> set[str]:
        """The segments that may hold samples of the span, by their names or those of their runs."""
        at = (self.span.service, self.span.path)
        found = await read_open_segments(self.access.table, at, consistent=True)
        return {segment.id for segment in found} | await list_lone_runs(self.access)

    async def _delete_all(self) -> None:
        """Delete the samples that arrived before the request, from each table of each series."""
        async for table, partition in self._series():
            query = Query(
                partition=partition,
                range=series_range(self.span.low, self.span.high),
                consistent=True,
            )
            async for page in query_pages(self.destinations.table(table), query):
                await self._delete_items(table, [item for item in page if self._is_old(item)])

    async def _series(self) -> AsyncIterator[tuple[str, str]]:
        """The tables of the entity and its partitions in them; columns share one."""
        seen = set[tuple[str, str]]()
        async for attribute in Directory(self.access).walk_attributes(self._entity):
            for persistence, table in attribute.places:
                place = (table, series_partition(attribute, persistence))
                if place not in seen:
                    seen.add(place)
                    yield place

    async def _delete_items(self, table: str, items: Sequence[Attributes]) -> None:
        for start in range(0, len(items), limits.WRITE_OPERATIONS):
            batch = items[start : start + limits.WRITE_OPERATIONS]
            # Samples that were sent again since another worker took the job stay.
            await self.lease.advance()
            for item in batch:
                await LargeValues(self.access.files).delete_of(item)
            await self.destinations.delete(table, list(map(key_of, batch)))
            await self._note_steps(len(batch))

    def _is_old(self, item: Attributes) -> bool:
        requested = milliseconds_of(datetime.fromisoformat(self.lease.job.created_at))
        try:
            return arrival_of(item) < requested
        except ValueError:
            return True

    async def _note_steps(self, steps: int) -> None:
        """Count deleted samples; after MAX_TURN_SECONDS, pause for other jobs."""
        await self.lease.advance(steps)
        if get_running_loop().time() - self.began >= MAX_TURN_SECONDS:
            await self.lease.pause()
