"""The store, opened once, and the sessions of callers: repositories, access and metering."""

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.api_keys import ApiKeys, Credential, find_credential
from penstock.datastore.audio.import_job import import_audio
from penstock.datastore.audio.library import AudioLibrary, BucketAccess
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.datasets.files import DatasetFiles, sweep_uploads
from penstock.datastore.datasets.staged_files import sweep_staged_files
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.evaluation.evaluations import Evaluations
from penstock.datastore.executions.claims import Claims
from penstock.datastore.executions.maintenance import ExecutionMaintenance
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.executions.repository import Executions
from penstock.datastore.executions.row_engine import LOCAL_ENGINE, RowEngine
from penstock.datastore.executions.worker import ExecutionWorker
from penstock.datastore.groups.repository import Groups
from penstock.datastore.jobs.delete_group import GroupDeletions, notify_nobody
from penstock.datastore.jobs.jobs import JobKind, Jobs, count_unheld_jobs
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.jobs.runner import JobWorker
from penstock.datastore.listening.repository import Listening
from penstock.datastore.manifest.import_runs import RunImporter
from penstock.datastore.manifest.lists import RunLists, StaleManifest, stale_manifests
from penstock.datastore.manifest.manifests import Manifests
from penstock.datastore.manifest.recovery import Recovery
from penstock.datastore.manifest.runs import OutputFolders, Runs
from penstock.datastore.ngsi.repository import IngestRepository, SinkAccess
from penstock.datastore.objects.port import NO_FILES, Files
from penstock.datastore.playlists.delete import PlaylistDeleter as PlaylistDeleting
from penstock.datastore.playlists.repository import Playlists
from penstock.datastore.records import Calculation, Pipeline, ReferenceDataset, Resource
from penstock.datastore.resources.delete import ResourceDeleter
from penstock.datastore.resources.reading import Listing, ResourceReader
from penstock.datastore.resources.tags_in_use import TagLists
from penstock.datastore.resources.versions import Versions
from penstock.datastore.resources.write import ResourceWriter
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.table.instrumentation import MeteredTable, WatchBatch, watch_nothing
from penstock.datastore.table.layout import (
    CALCULATION,
    KINDS,
    PIPELINE,
    REFERENCE_DATASET,
    KindDefinition,
)
from penstock.datastore.table.port import Key, Table

R = TypeVar("R", bound=Resource)

IDLE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Repository(Generic[R]):
    """The reads, lists, writes and deletes of one kind, bound to a caller."""

    kind: KindDefinition[R]
    reading: ResourceReader[R]
    versions: Versions[R]
    listing: Listing[R]
    writing: ResourceWriter[R]
    deleting: ResourceDeleter[R]
    tags: TagLists

    @classmethod
    def of(cls, kind: KindDefinition[R], access: Access) -> "Repository[R]":
        return cls(
            kind,
            ResourceReader(kind, access),
            Versions(kind, access),
            Listing(kind, access),
            ResourceWriter(kind, access),
            ResourceDeleter(kind, access),
            TagLists(kind.letter, access),
        )


class Session:
    """One caller's repositories, opened by `Store.open_session` for one request.

    `units` counts what it costs to look, and `watch` is shown each batch that is read. A request
    uses few of the repositories, so that making all of them would be most of what a small one
    costs.
    """

    def __init__(self, store: "Store", caller: Caller) -> None:
        table = MeteredTable(store.table)
        self.caller: Final = caller
        self.units: Final = table.units
        self.watch: Final = store.watch
        self._store: Final = store
        # Repositories hold this and not the session, which holds them: a circle would outlive
        # its request.
        self._access: Final = Access(table, caller, store.clock, store.budget, store.files)
        self._repositories: Final[dict[str, Repository[Any]]] = {}

    def of(self, kind: KindDefinition[R]) -> Repository[R]:
        """The repository of one kind of resource for the caller."""
        found = self._repositories.get(kind.letter)
        if found is None:
            found = self._repositories[kind.letter] = Repository.of(kind, self._access)
        return found

    @property
    def pipelines(self) -> Repository[Pipeline]:
        return self.of(PIPELINE)

    @property
    def calculations(self) -> Repository[Calculation]:
        return self.of(CALCULATION)

    @property
    def datasets(self) -> Repository[ReferenceDataset]:
        return self.of(REFERENCE_DATASET)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self._access)

    @cached_property
    def cascades(self) -> GroupDeletions:
        return GroupDeletions(self._access, self._store.job_begun)

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self._access)

    @cached_property
    def dataset_files(self) -> DatasetFiles:
        return DatasetFiles(self._access)

    @cached_property
    def evaluations(self) -> Evaluations:
        return Evaluations(self._access, self._store.tables)

    @cached_property
    def api_keys(self) -> ApiKeys:
        return ApiKeys(self._access, self._store.longest_api_key)

    @cached_property
    def audio(self) -> AudioLibrary:
        store = self._store
        return AudioLibrary.of(self._access, store.files, store.buckets, store.job_begun)

    @cached_property
    def executions(self) -> Executions:
        store = self._store
        return Executions.of(
            self._access, store.rules, store.files, store.tables, store.execution_ready
        )

    @cached_property
    def manifests(self) -> Manifests:
        return Manifests(self._access)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self._access, OutputFolders(self._store.files, self._store.bucket))

    @cached_property
    def run_lists(self) -> RunLists:
        return RunLists(self.runs)

    @cached_property
    def recovery(self) -> Recovery:
        return Recovery(self.runs)

    @cached_property
    def importing(self) -> RunImporter:
        return RunImporter(self.runs)

    @cached_property
    def playlists(self) -> Playlists:
        return Playlists.of(self._access)

    @cached_property
    def listening(self) -> Listening:
        return Listening.of(self._access)

    @cached_property
    def notified(self) -> IngestRepository:
        return IngestRepository(self._access, self._store.ingest, self._store.files, self.units)


@dataclass(frozen=True, slots=True)
class Store:
    """A table and the files beside it, and the clock and bounds that its sessions work with.

    `bucket` is the name by which runs know the place of the files, `buckets` what it takes to reach
    those of the users' own, `ingest` what is known of the sink. `job_begun` is called whenever a
    session begins a job, `execution_ready` when one makes an execution ready to be run.
    """

    table: Table
    clock: Clock = field(default_factory=Clock)
    budget: Budget = field(default_factory=Budget)
    watch: WatchBatch = watch_nothing
    files: Files = NO_FILES
    buckets: BucketAccess = field(default_factory=BucketAccess)
    rules: ExecutionRules = field(default_factory=ExecutionRules)
    bucket: str | None = None
    tables: DatasetTableCache = field(default_factory=DatasetTableCache)
    longest_api_key: timedelta = timedelta(days=365)
    job_begun: Callable[[], None] = notify_nobody
    execution_ready: Callable[[], None] = notify_nobody
    ingest: SinkAccess = field(default_factory=SinkAccess)

    def open_session(self, caller: Caller) -> Session:
        """Open the session of one request; the only way to a repository."""
        return Session(self, caller)

    async def credential(self, api_key: str) -> Credential | None:
        """Read what an API key is held against, by its id; the caller is known only afterwards."""
        return await find_credential(self.table, api_key)

    async def ping(self) -> None:
        """Read one key, to learn whether the table answers; raises Unavailable."""
        await self.table.get([Key("ping", "ping")])

    async def finish_deletes(self) -> int:
        """Go on with deletes that were cut short; return how many there were.

        What hangs on the deleted goes first, and what is kept no longer goes as well.
        """
        await self._sweeping().remove_obsolete()
        return sum([await deleting.sweep() for deleting in self._deleting()])

    async def look_for_uploads(self) -> int:
        """Make executions ready whose input was uploaded; how many those were."""
        return await self._sweeping().find_uploads()

    def runner(self, worker: str, engine: RowEngine = LOCAL_ENGINE) -> ExecutionWorker:
        """Whoever runs executions; `worker` tells them from all others."""
        return ExecutionWorker(
            self.table, self.files, self.clock, self.rules, worker, self.tables, engine
        )

    async def ready_executions(self, most: int) -> int:
        """Count the executions that a worker could take now, up to so many."""
        return await Claims(self.table, self.clock, self.rules).count_ready(most)

    async def stuck_executions(self) -> list[str]:
        """The ids of executions that a worker could have taken minutes ago, and none did."""
        return await Claims(self.table, self.clock, self.rules).stuck_ids()

    async def held_executions(self, workers: Set[str]) -> int:
        """Count the executions that one of the workers holds."""
        return await Claims(self.table, self.clock, self.rules).count_held(workers)

    async def release_executions(self, worker: str) -> int:
        """Leave what a dead worker ran to the others; how many executions those were."""
        return await Claims(self.table, self.clock, self.rules).release_worker(worker)

    async def pending_deletes(self) -> int:
        """Count the deletes that were cut short, as far as one page of each kind's goes."""
        return sum([await deleting.pending() for deleting in self._deleting()])

    async def sweep_files(self) -> int:
        """Remove the files that were uploaded or written and never used; how many there were."""
        if self.files is NO_FILES:
            return 0
        return await sweep_staged_files(self._nobody()) + await sweep_uploads(self._nobody())

    async def idle_jobs(self) -> int:
        """Count the jobs nobody has worked on for a minute, as far as one page of them goes."""
        return await count_unheld_jobs(self.table, iso_timestamp(self.clock.now() - IDLE))

    async def stale_manifests(self) -> list[StaleManifest]:
        """Find the manifests in which runs got stuck."""
        looker = Caller("", {ROOT: Role.READER})
        return await stale_manifests(Access(self.table, looker, self.clock, self.budget))

    async def run_jobs(self, worker: str) -> int:
        """Run the jobs that nobody works on; how many came to an end.

        `worker` tells this process from the others, and makes at most one such call at a time.
        """
        more = {JobKind.IMPORT_AUDIO: self._import_audio}
        return await JobWorker(self._nobody(), worker, more).run()

    def _deleting(self) -> list[ResourceDeleter[Any] | PlaylistDeleting]:
        nobody = self._nobody()
        return [*(ResourceDeleter(kind, nobody) for kind in KINDS), PlaylistDeleting(nobody)]

    def _sweeping(self) -> ExecutionMaintenance:
        return ExecutionMaintenance(self._nobody(), self.rules, self.files)

    async def _import_audio(self, access: Access, lease: JobLease) -> None:
        await import_audio(access, lease, self.buckets.sources(access, self.files))

    def _nobody(self) -> Access:
        return Access(self.table, Caller("", {}), self.clock, self.budget, self.files)
