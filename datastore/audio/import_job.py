"""The import job: it brings the library up to date with the objects below a prefix.

It first marks the tracks whose objects are gone. Then it adds new objects, moves a marked track to
an object with its content, and reads replaced objects again; it reports all others. Its steps can
be repeated. After a crash the next worker continues at the cursor, the last object handled.
"""

from asyncio import Semaphore, gather, get_running_loop, sleep, timeout
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import asdict, replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio.add_tracks import TrackAdder, TrackDraft
from penstock.datastore.audio.artwork.folder_covers import FolderCovers, is_folder_cover
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.edit_tracks import TrackEditor
from penstock.datastore.audio.endpoint_rules import unusable_endpoint
from penstock.datastore.audio.imports.moved_tracks import (
    ImportScope,
    MissingObjects,
    MissingTracks,
    has_content,
)
from penstock.datastore.audio.imports.open_imports import MAX_JOBS, begin_library_job
from penstock.datastore.audio.imports.report import describe_failure, failure_item
from penstock.datastore.audio.names import content_hash, object_hash
from penstock.datastore.audio.object_keys import uploads_prefix
from penstock.datastore.audio.records import Audio, ImportFailure
from penstock.datastore.audio.sources import AudioSources
from penstock.datastore.audio.track_rules import file_problems, tag_problems
from penstock.datastore.audio.tracks import TrackReader
from penstock.datastore.audio.upkeep.library_rows import note_upkeep
from penstock.datastore.audio.uploads import ObjectState, UploadRegistrar
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    ObjectRefused,
    ObjectTaken,
    PenstockError,
    QuotaExceeded,
    Unavailable,
)
from penstock.datastore.jobs.jobs import Job, JobKind, new_job
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.objects.port import LISTING, FileEntry
from penstock.datastore.table.limits import WRITE_OPERATIONS
from penstock.datastore.table.port import Put
from penstock.datastore.text import character_problem

MAX_PREFIX: Final = 1024


@dataclass(frozen=True, slots=True)
class AudioImporter:
    """The imports of the caller; `on_job_created` is called for each new job."""

    access: Access
    sources: AudioSources
    on_job_created: Callable[[Job], None]

    async def begin(self, connection_id: str | None, prefix: str) -> Job:
        """Begin a job that adds every audio object below the prefix, and reports the others.

        Without a connection it imports the caller's own uploads. An equal import of the caller that
        has not ended is returned instead. Raises NotFound for a connection that the caller does
        not have, and Invalid for one more than MAX_JOBS that have not ended.
        """
        prefix = prefix or (uploads_prefix(self._user) if connection_id is None else "")
        self._check_prefix(prefix, own=connection_id is None)
        if connection_id is not None:
            (found,) = await self.sources.connections.many([connection_id])
            if isinstance(found, NotFound):
                raise NotFound(found.message, ("storageId",))
        about = {"connection": connection_id, "prefix": prefix}
        job = new_job(self.access, JobKind.IMPORT_AUDIO, **about)
        words = f"waits: {MAX_JOBS} imports and other jobs of yours have not ended"
        too_many = FieldProblem(["prefix"], words, "TOO_MANY_IMPORTS")

        def is_equal(other: Job) -> bool:
            return (other.connection, other.prefix) == (connection_id, prefix)

        begun = await begin_library_job(self.access, job, is_equal, too_many)
        if begun is job:
            self.on_job_created(job)
        return begun

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
"""The seconds that an import runs before it pauses for other jobs; it ends its step before."""

QUICK_SECONDS: Final = 2
"""The seconds of a step after which the next one is larger. Slow buckets have small steps."""

MAX_OBJECT_SECONDS: Final = 15
MAX_LISTING_SECONDS: Final = 60
"""The seconds after which a user's bucket counts as one that does not answer."""

MAX_REFUSED: Final = 20
"""The refused objects in a row after which the bucket counts as one that refuses them all."""

REPLACED: Final = ObjectState(None, is_upload=False)


async def import_audio(access: Access, lease: JobLease, sources: AudioSources) -> None:
    """Do the job of a lease, as the user who began it."""
    reading, covers = Semaphore(CONCURRENT_READS), FolderCovers(access)
    await _AudioImport(access, lease, sources, reading, covers).run()


@dataclass(slots=True)
class _RefusalCount:
    """The refused objects in a row."""

    count: int = 0

    def add(self, outcomes: Sequence[TrackDraft | PenstockError]) -> None:
        """Count on; raises the refusal at MAX_REFUSED of them."""
        for outcome in outcomes:
            if not isinstance(outcome, ObjectRefused):
                self.count = 0
                continue
            self.count += 1
            if self.count >= MAX_REFUSED:
                raise outcome


@dataclass(frozen=True, slots=True)
class _AudioImport:
    """One import; the semaphore `reading` limits the concurrent reads of files."""

    access: Access
    lease: JobLease
    sources: AudioSources
    reading: Semaphore
    folder_covers: FolderCovers
    refusals: _RefusalCount = field(default_factory=_RefusalCount)

    async def run(self) -> None:
        """Import the objects step by step; after MAX_TURN_SECONDS, pause for other jobs."""
        clock = get_running_loop().time
        began = clock()
        search = await self._search()
        if self.lease.total is None:
            await self.lease.set_steps_left(await self._check_tracks(search, began))
        missing = MissingTracks(self.access, await search.read_missing())
        while entries := await self._list_objects(self.lease.cursor or ""):
            size = least = min(STEP, CONCURRENT_READS)
            while entries:
                step, entries = entries[:size], entries[size:]
                # A bucket may list more than was counted, and ever more behind what was read.
                _require_few(self.lease.done + len(step))
                stepped = clock()
                written = await self._import_objects(step, missing)
                await self.lease.advance(len(step), step[-1].key)
                is_quick = clock() - stepped < QUICK_SECONDS
                size = min(2 * size, STEP) if is_quick else least
                await sleep(max(0.0, written * SECONDS_PER_TRACK - (clock() - stepped)))
                await self._give_way(began)
        await self._report(await search.failures())

    async def _search(self) -> MissingObjects:
        async with self._open_source() as source:
            job = self.lease.job
            scope = ImportScope(source.bucket, job.connection, job.prefix or "")
            return MissingObjects(self.access, scope)

    async def _check_tracks(self, search: MissingObjects, began: float) -> int:
        """Count the objects, and mark the tracks that miss theirs.

        It can be repeated, and then does not look at marked tracks again. It keeps digests of the
        keys, which may be long.
        """
        keys, contents, after = set[str](), set[str](), ""
        clock = get_running_loop().time
        is_foreign = self.lease.job.connection is not None
        while entries := await self._list_objects(after):
            keys |= {object_hash(entry.key) for entry in entries}
            contents |= {content_hash(entry.etag, entry.size) for entry in entries}
            after = entries[-1].key
            _require_few(len(keys))
            if is_foreign and clock() - began > MAX_LISTING_SECONDS:
                raise unusable_endpoint()
            await self.lease.advance()
        async with self._open_source() as source:
            async for track in search.candidates(keys, contents):
                await search.mark(source, track)
                await self.lease.advance()
                await self._give_way(began)
        return len(keys)

    async def _give_way(self, began: float) -> None:
        if get_running_loop().time() - began >= MAX_TURN_SECONDS:
            await self.lease.pause()

    async def _list_objects(self, after: str) -> tuple[FileEntry, ...]:
        async with self._open_source() as source:
            return await source.list_entries(self.lease.job.prefix or "", after, LISTING)

    async def _import_objects(self, entries: Sequence[FileEntry], missing: MissingTracks) -> int:
        """Bring the library up to date with these objects; return the number of tracks written."""
        job = self.lease.job
        # The key of a folder ends in a slash.
        entries = [entry for entry in entries if not entry.key.endswith("/")]
        if job.connection is not None:
            entries = [entry for entry in entries if not is_folder_cover(entry.key)]
        async with self._open_source() as source:
            keys = [entry.key for entry in entries]
            states = await self._registrar.find_states(source.bucket, keys, job.connection)
            pairs = list(zip(entries, states, strict=True))
            replaced = await self._find_replaced(pairs, source)
            new = [
                (entry, state)
                for entry, state in pairs
                if state.taken_by is None
                and (state.is_upload or await missing.move_to(entry) is None)
            ]
            read = [(track.object_key, REPLACED) for track in replaced]
            read += [(entry.key, state) for entry, state in new]
            found = await gather(*(self._read_draft(source, *each) for each in read))
        self.refusals.add(found)
        drafts, failures = _split(read, found)
        written = await self._rewrite_replaced(replaced, drafts, failures)
        return written + await self._add_tracks(list(drafts.values()), failures)

    async def _find_replaced(
        self, pairs: Sequence[tuple[FileEntry, ObjectState]], source: AudioSource
    ) -> list[Audio]:
        """The tracks of these objects whose content is another now; unmarks those that are back."""
        held = {state.taken_by: entry for entry, state in pairs if state.taken_by is not None}
        tracks = await TrackReader(self.access).many(list(held))
        replaced = []
        for track, entry in zip(tracks, held.values(), strict=True):
            wanted = (source.bucket, self.lease.job.connection, entry.key)
            if not isinstance(track, Audio) or object_place(track) != wanted:
                continue
            if track.missing_since is not None:
                await TrackEditor(self.access).rewrite(
                    track.id, lambda now: replace(now, missing_since=None)
                )
            if not has_content(track, entry) and await _is_changed(source, track):
                replaced.append(track)
        return replaced

    async def _rewrite_replaced(
        self,
        replaced: Sequence[Audio],
        drafts: dict[str, TrackDraft],
        failures: dict[str, PenstockError],
    ) -> int:
        """Give the tracks the tags and files that their objects have now; return their number."""
        written = 0
        for track in replaced:
            draft = drafts.pop(track.object_key, None)
            if draft is None:
                continue
            try:
                await self._take_over(track, draft)
            except (Invalid, QuotaExceeded) as error:
                failures[track.object_key] = error
            else:
                written += 1
        return written

    async def _take_over(self, track: Audio, draft: TrackDraft) -> None:
        """Give a track the tags and the file of its object; raises Invalid and QuotaExceeded."""
        if problems := [*tag_problems(draft.tags), *file_problems(draft.file)]:
            raise Invalid(problems)
        fields = {**asdict(draft.tags), **asdict(draft.file)}
        place = object_place(track)

        def take_fields(now: Audio) -> Audio:
            return replace(now, **fields) if object_place(now) == place else now

        await note_upkeep(self.access)
        with suppress(NotFound):
            await TrackEditor(self.access).rewrite(track.id, take_fields)

    async def _add_tracks(
        self, drafts: Sequence[TrackDraft], failures: dict[str, PenstockError]
    ) -> int:
        """Add the drafts and report the failures; return the number of tracks."""
        outcomes = await TrackAdder(self.access).add_many(drafts)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if isinstance(outcome, PenstockError) and not isinstance(outcome, ObjectTaken):
                failures[draft.upload or draft.file.object_key] = outcome
        await self._report([describe_failure(key, error) for key, error in failures.items()])
        return sum(isinstance(outcome, Audio) for outcome in outcomes)

    async def _report(self, failures: Sequence[ImportFailure]) -> None:
        rows = [failure_item(self.access, self.lease.job.id, failure) for failure in failures]
        for start in range(0, len(rows), WRITE_OPERATIONS):
            part = rows[start : start + WRITE_OPERATIONS]
            await self.access.table.write([Put(row) for row in part])
            await self.lease.advance()

    async def _read_draft(
        self, source: AudioSource, key: str, state: ObjectState
    ) -> TrackDraft | PenstockError:
        """Read the draft of an object, or return the error."""
        connection = self.lease.job.connection
        async with self.reading:
            try:
                # Our own files are copied first, which takes as long as they are large.
                async with timeout(None if connection is None else MAX_OBJECT_SECONDS):
                    return await self._registrar.read_draft(source, key, connection, state)
            except TimeoutError:
                return unusable_endpoint()
            except NotFound as gone:
                return await self._find_taken(source, key) or gone
            except PenstockError as error:
                return error

    async def _find_taken(self, source: AudioSource, key: str) -> ObjectTaken | None:
        """Tell of an upload that is gone because a call has added it since it was listed."""
        connection = self.lease.job.connection
        (state,) = await self._registrar.find_states(source.bucket, [key], connection)
        return None if state.taken_by is None else ObjectTaken(state.taken_by)

    def _open_source(self) -> AbstractAsyncContextManager[AudioSource]:
        return self.sources.open_source(self.lease.job.connection)

    @property
    def _registrar(self) -> UploadRegistrar:
        return UploadRegistrar(self.access, self.sources, self.folder_covers)


def _require_few(objects: int) -> None:
    if objects > MAX_OBJECTS:
        raise LimitExceeded("objects of an import", MAX_OBJECTS, objects)


def object_place(track: Audio) -> tuple[str, str | None, str]:
    """The bucket, connection and key of a track's object."""
    return track.bucket, track.connection_id, track.object_key


async def _is_changed(source: AudioSource, track: Audio) -> bool:
    """Whether the object itself has another content, as entity tags of lists may differ."""
    try:
        stat = await source.stat(track.object_key)
    except ObjectRefused:
        return True  # reading it reports that
    if stat is None:
        return False
    return not has_content(track, FileEntry(track.object_key, stat.size, stat.etag))


def _split(
    read: Sequence[tuple[str, ObjectState]], found: Sequence[TrackDraft | PenstockError]
) -> tuple[dict[str, TrackDraft], dict[str, PenstockError]]:
    """Split what was read into drafts and failures by key."""
    drafts: dict[str, TrackDraft] = {}
    failures: dict[str, PenstockError] = {}
    for (key, _), outcome in zip(read, found, strict=True):
        if isinstance(outcome, TrackDraft):
            drafts[key] = outcome
        elif isinstance(outcome, ObjectRefused):
            failures[key] = outcome
        elif isinstance(outcome, IllegalState | Unavailable):
            raise outcome  # the error concerns the bucket, not only this object
        elif not isinstance(outcome, ObjectTaken):  # a call has just added the upload
            failures[key] = outcome
    return drafts, failures
