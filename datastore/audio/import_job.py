"""The import job: it adds all audio objects below a prefix, and reports the others.

Its steps can be repeated, because objects that the library already has are not read again. After a
crash the next worker continues at the cursor, the last object that was handled.
"""

from asyncio import Semaphore, gather, get_running_loop, sleep
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.audio.add_tracks import TrackAdder, TrackDraft
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.imports.report import describe_failure, failure_item
from penstock.datastore.audio.object_keys import uploads_prefix
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.sources import AudioSources
from penstock.datastore.audio.uploads import ObjectState, UploadRegistrar
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    ObjectTaken,
    PenstockError,
    Unavailable,
)
from penstock.datastore.jobs.jobs import Job, JobKind, job_item, new_job
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.objects.port import LISTING
from penstock.datastore.table.commit import Write, already_done, commit
from penstock.datastore.table.port import Missing, Put
from penstock.datastore.text import character_problem

MAX_PREFIX: Final = 1024


@dataclass(frozen=True, slots=True)
class AudioImporter:
    """The imports of the caller; `on_job_created` is called for each new job."""

    access: Access
    sources: AudioSources
    on_job_created: Callable[[], None]

    async def begin(self, connection_id: str | None, prefix: str) -> Job:
        """Begin a job that adds every audio object below the prefix, and reports the others.

        Without a connection it imports the caller's own uploads. Raises NotFound for a
        connection that the caller does not have.
        """
        prefix = prefix or (uploads_prefix(self._user) if connection_id is None else "")
        self._check_prefix(prefix, own=connection_id is None)
        if connection_id is not None:
            (found,) = await self.sources.connections.many([connection_id])
            if isinstance(found, NotFound):
                raise NotFound(found.message, ("storageId",))
        job = new_job(self.access, JobKind.IMPORT_AUDIO, connection=connection_id, prefix=prefix)
        await commit(self.access.table, [Write(Put(job_item(job), Missing()), already_done)])
        self.on_job_created()
        return job

    def _check_prefix(self, prefix: str, *, own: bool) -> None:
        if len(prefix.encode()) > MAX_PREFIX or character_problem(prefix):
            raise Invalid([FieldProblem(["prefix"], "is not a valid prefix of an object key")])
        if own and not prefix.startswith(uploads_prefix(self._user)):
            words = f"must begin with {uploads_prefix(self._user)}"
            raise Invalid([FieldProblem(["prefix"], words)])

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


MAX_OBJECTS: Final = 100_000
STEP: Final = 20
CONCURRENT_READS: Final = 4
SECONDS_PER_TRACK: Final = 0.01
"""The time that each track must take at least: an import then uses about 900 of the 1,000 write
units that a partition has per second."""

MAX_TURN_SECONDS: Final = 30
"""The seconds that an import runs before it pauses for other jobs."""


async def import_audio(access: Access, lease: JobLease, sources: AudioSources) -> None:
    """Do the job of a lease, as the user who began it."""
    await _AudioImport(access, lease, sources, Semaphore(CONCURRENT_READS)).run()


@dataclass(frozen=True, slots=True)
class _AudioImport:
    """One import; the semaphore `reading` limits the concurrent reads of files."""

    access: Access
    lease: JobLease
    sources: AudioSources
    reading: Semaphore

    async def run(self) -> None:
        """Import the objects step by step; after MAX_TURN_SECONDS, pause for other jobs."""
        clock = get_running_loop().time
        began = clock()
        if self.lease.total is None:
            await self.lease.set_steps_left(await self._count_objects())
        while keys := await self._list_objects(self.lease.cursor or ""):
            for start in range(0, len(keys), STEP):
                step = keys[start : start + STEP]
                stepped = clock()
                added = await self._import_objects(step)
                await self.lease.advance(len(step), step[-1])
                await sleep(max(0.0, added * SECONDS_PER_TRACK - (clock() - stepped)))
                if clock() - began >= MAX_TURN_SECONDS:
                    await self.lease.pause()

    async def _count_objects(self) -> int:
        count, after = 0, ""
        while keys := await self._list_objects(after):
            count, after = count + len(keys), keys[-1]
            if count > MAX_OBJECTS:
                raise LimitExceeded("objects of an import", MAX_OBJECTS, count)
            await self.lease.advance()
        return count

    async def _list_objects(self, after: str) -> tuple[str, ...]:
        async with self.sources.open_source(self.lease.job.connection) as source:
            return await source.list(self.lease.job.prefix or "", after, LISTING)

    async def _import_objects(self, keys: Sequence[str]) -> int:
        """Read and add the new objects among these; return the number of tracks."""
        async with self.sources.open_source(self.lease.job.connection) as source:
            new = await self._new_objects(source.bucket, keys)
            found = await gather(*(self._read_draft(source, *each) for each in new.items()))
        failures: dict[str, PenstockError] = {}
        drafts: list[TrackDraft] = []
        for key, outcome in zip(new, found, strict=True):
            if isinstance(outcome, TrackDraft):
                drafts.append(outcome)
            elif isinstance(outcome, IllegalState | Unavailable):
                raise outcome  # the error concerns the bucket, not only this object
            else:
                failures[key] = outcome
        return await self._add_tracks(drafts, failures)

    async def _add_tracks(
        self, drafts: Sequence[TrackDraft], failures: dict[str, PenstockError]
    ) -> int:
        """Add the drafts and report the failures; return the number of tracks."""
        outcomes = await TrackAdder(self.access).add_many(drafts)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if isinstance(outcome, PenstockError) and not isinstance(outcome, ObjectTaken):
                failures[draft.file.object_key] = outcome
        await self._report_failures(failures)
        return sum(isinstance(outcome, Audio) for outcome in outcomes)

    async def _report_failures(self, failures: Mapping[str, PenstockError]) -> None:
        job = self.lease.job.id
        found = [describe_failure(key, error) for key, error in failures.items()]
        rows = [failure_item(self.access, job, failure) for failure in found]
        if rows:
            await self.access.table.write([Put(row) for row in rows])

    async def _new_objects(self, bucket: str, keys: Sequence[str]) -> dict[str, ObjectState]:
        """The objects that the library does not have, by key, without folders.

        The key of a folder ends in a slash.
        """
        wanted = [key for key in keys if not key.endswith("/")]
        states = await self._registrar.find_states(bucket, wanted, self.lease.job.connection)
        pairs = zip(wanted, states, strict=True)
        return {key: state for key, state in pairs if state.taken_by is None}

    async def _read_draft(
        self, source: AudioSource, key: str, state: ObjectState
    ) -> TrackDraft | PenstockError:
        """Read the draft of an object, or return the error."""
        async with self.reading:
            try:
                connection = self.lease.job.connection
                return await self._registrar.read_draft(source, key, connection, state)
            except PenstockError as error:
                return error

    @property
    def _registrar(self) -> UploadRegistrar:
        return UploadRegistrar(self.access, self.sources)
