"""The store, opened once, and the sessions of callers: repositories, access and metering."""

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from penstock.datastore.access.access import KEEP_HISTORY, Access, Budget, CallPayments
from penstock.datastore.access.cursor_key import read_cursor_key
from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.access.quota_report import QuotaReport
from penstock.datastore.access.work import CALL_UNITS, FREE_WORK, StoreKind, WorkAccount, WorkPayer
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.api_keys import ApiKeys, Credential, find_credential
from penstock.datastore.audio.import_job import import_audio
from penstock.datastore.audio.library import AudioLibrary, BucketAccess
from penstock.datastore.audio.transcoding.ffmpeg import NO_TRANSCODER, Transcoder
from penstock.datastore.audio.upkeep.loose_objects import LooseObjects
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.dataset_loads.loads import DatasetLoads, load_dataset
from penstock.datastore.datasets.csv import LARGEST, CsvLimits
from penstock.datastore.datasets.files import DatasetFiles, sweep_uploads
from penstock.datastore.datasets.staged_files import sweep_staged_files
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.evaluation.evaluations import Evaluations
from penstock.datastore.executions.claims import Claims, ExecutionQueue
from penstock.datastore.executions.follow_list import ExecutionEvents
from penstock.datastore.executions.maintenance import ExecutionMaintenance
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.executions.repository import Executions
from penstock.datastore.executions.retention.row_retention import RowRetention
from penstock.datastore.executions.row_engine import LOCAL_ENGINE, RowEngine
from penstock.datastore.executions.subjects import ExecutionSubject, read_subject
from penstock.datastore.executions.worker import ExecutionWorker
from penstock.datastore.executions.workers import ListWorkers, WorkerRegistry
from penstock.datastore.groups.repository import Groups
from penstock.datastore.history.repository import History
from penstock.datastore.jobs.delete_group import GroupDeletions, notify_nobody
from penstock.datastore.jobs.jobs import (
    Job,
    JobKind,
    JobQueue,
    count_unheld_jobs,
    job_report,
    read_job_queue,
)
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.jobs.repository import Jobs
from penstock.datastore.jobs.runner import JobWorker
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.follow_rows import FollowRows
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.metric_series import MetricSeriesReader
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.repository import KeptRows
from penstock.datastore.kept_rows.withdraw import WithdrawRows
from penstock.datastore.listening.library_sweep import sweep_libraries
from penstock.datastore.listening.rename_things import rename_things
from penstock.datastore.listening.repository import Listening
from penstock.datastore.manifest.consumers import Consumers
from penstock.datastore.manifest.folders import RunFolders
from penstock.datastore.manifest.import_runs import RunImporter
from penstock.datastore.manifest.lists import (
    RunLists,
    TroubledManifests,
    find_troubled_manifests,
)
from penstock.datastore.manifest.manifests import Manifests
from penstock.datastore.manifest.new_types import NewTypes
from penstock.datastore.manifest.recovery import Recovery
from penstock.datastore.manifest.runs import OutputFolders, Runs
from penstock.datastore.ngsi.repository import IngestRepository, SinkAccess
from penstock.datastore.ngsi.retention.sample_deletion import SampleDeletions, delete_samples
from penstock.datastore.objects.port import NO_FILES, Files
from penstock.datastore.periodic import finish_all
from penstock.datastore.playlists.delete import PlaylistDeleter
from penstock.datastore.playlists.repository import Playlists
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.records import (
    Calculation,
    Metric,
    Pipeline,
    ReferenceDataset,
    Resource,
)
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.resources.delete import ResourceDeleter
from penstock.datastore.resources.follow_list import ResourceEvents
from penstock.datastore.resources.reading import Listing, ResourceReader
from penstock.datastore.resources.tag_counts import TagCounter
from penstock.datastore.resources.tags_in_use import TagLists
from penstock.datastore.resources.users import Uses
from penstock.datastore.resources.versions import Versions
from penstock.datastore.resources.writing.steps import RemainingSteps
from penstock.datastore.resources.writing.writer import ResourceWriter
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.table.counters import SHARDS
from penstock.datastore.table.instrumentation import MeteredTable, Units, WatchBatch, watch_nothing
from penstock.datastore.table.layout import (
    CALCULATION,
    KINDS,
    METRIC,
    PIPELINE,
    REFERENCE_DATASET,
    KindDefinition,
)
from penstock.datastore.table.port import Table
from penstock.datastore.table.schema_marker import SchemaMarker
from penstock.datastore.table.session_table import OWN_WRITES, ReadConsistency, SessionTable
from penstock.datastore.table.unreadable_rows import UnreadableRow
from penstock.datastore.upgrades.unreadable import find_unreadable
from penstock.datastore.upgrades.upgrade import Page, Step, pending_steps, upgrade_rows
from penstock.datastore.work_reports import JobChange, WatchJob, WatchRun, ignore_report

R = TypeVar("R", bound=Resource)

IDLE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ResourceRepository(Generic[R]):
    """The reads, lists, writes and deletes of one kind of resource for one caller."""

    kind: KindDefinition[R]
    reading: ResourceReader[R]
    versions: Versions[R]
    listing: Listing[R]
    writing: ResourceWriter[R]
    deleting: ResourceDeleter[R]
    tags: TagLists
    tag_counter: TagCounter[R]

    @classmethod
    def of(cls, kind: KindDefinition[R], access: Access) -> "ResourceRepository[R]":
        listing = Listing(kind, access)
        return cls(
            kind,
            ResourceReader(kind, access),
            Versions(kind, access),
            listing,
            ResourceWriter(kind, access),
            ResourceDeleter(kind, access),
            TagLists(kind.letter, access),
            TagCounter(listing),
        )


class Session:
    """The repositories of one caller, opened by `Store.open_session` for one request.

    `units` counts the read and write units that the session uses; `work` is the account that pays
    for other work. `own_writes` is the table that knows what the session wrote; it is None in a
    session without `reads`, which is for requests that only read. `watch` is called with each batch
    that a loader reads. A session makes a repository when it is first used, because a request uses
    few of them.
    """

    def __init__(
        self,
        store: "Store",
        caller: Caller,
        work: WorkAccount,
        reads: ReadConsistency | None,
        address: str | None,
    ) -> None:
        units = Units()
        payments = CallPayments(work, CALL_UNITS[store.kind], units)
        metered = MeteredTable(store.table, units, payments)
        self.own_writes: Final = None if reads is None else SessionTable(metered, reads)
        self.caller: Final = caller
        self.work: Final = work
        self.units: Final = units
        self.watch: Final = store.watch
        self._store: Final = store
        # Repositories hold the access and not the session: session and repositories would refer to
        # each other, and only the garbage collector would free them after the request.
        self._access: Final = Access(
            self.own_writes or metered,
            caller,
            store.clock,
            store.list_budget,
            store.files,
            work,
            store.upload_limits,
            store.shards,
            store.quotas,
            payments,
            address,
            store.keep_history,
            store.watch_run,
        )
        self._repositories: Final[dict[str, ResourceRepository[Any]]] = {}

    def repository(self, kind: KindDefinition[R]) -> ResourceRepository[R]:
        """The repository of one kind of resource for the caller."""
        found = self._repositories.get(kind.letter)
        if found is None:
            found = self._repositories[kind.letter] = ResourceRepository.of(kind, self._access)
        return found

    @property
    def payer(self) -> WorkPayer:
        """The caller as the one who pays for work in a thread by its time."""
        return self._access.payer

    @property
    def pipelines(self) -> ResourceRepository[Pipeline]:
        return self.repository(PIPELINE)

    @property
    def calculations(self) -> ResourceRepository[Calculation]:
        return self.repository(CALCULATION)

    @property
    def datasets(self) -> ResourceRepository[ReferenceDataset]:
        return self.repository(REFERENCE_DATASET)

    @property
    def metrics(self) -> ResourceRepository[Metric]:
        return self.repository(METRIC)

    @cached_property
    def uses(self) -> Uses:
        return Uses(self._access)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self._access)

    @cached_property
    def quotas(self) -> QuotaReport:
        return QuotaReport(self._access)

    @cached_property
    def group_deletions(self) -> GroupDeletions:
        return GroupDeletions(self._access, self._store.announce_job)

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self._access)

    @cached_property
    def dataset_files(self) -> DatasetFiles:
        return DatasetFiles(self._access, self._store.dataset_limits)

    @cached_property
    def dataset_loads(self) -> DatasetLoads:
        store = self._store
        return DatasetLoads(self._access, store.dataset_limits, store.announce_job)

    @cached_property
    def evaluations(self) -> Evaluations:
        return Evaluations(self._access, self._store.dataset_cache)

    @cached_property
    def api_keys(self) -> ApiKeys:
        return ApiKeys(self._access, self._store.longest_api_key)

    @cached_property
    def audio(self) -> AudioLibrary:
        store = self._store
        return AudioLibrary.of(
            self._access, store.files, store.user_buckets, store.transcoder, store.announce_job
        )

    @cached_property
    def executions(self) -> Executions:
        store = self._store
        return Executions.of(
            self._access,
            store.execution_rules,
            store.files,
            store.dataset_cache,
            store.on_execution_ready,
        )

    @cached_property
    def kept_rows(self) -> KeptRows:
        return KeptRows(self._access, self._store.part_files)

    @cached_property
    def metric_series(self) -> MetricSeriesReader:
        return MetricSeriesReader(self._access, self.kept_rows)

    @cached_property
    def row_withdrawals(self) -> WithdrawRows:
        return WithdrawRows(self._access, self._store.part_files)

    @cached_property
    def workers(self) -> ListWorkers:
        return ListWorkers(self._access)

    @cached_property
    def history(self) -> History:
        return History(self._access)

    @cached_property
    def pipeline_events(self) -> ResourceEvents:
        return ResourceEvents(self._access, PIPELINE)

    @cached_property
    def metric_events(self) -> ResourceEvents:
        return ResourceEvents(self._access, METRIC)

    def follow_rows(self, changes: RowChanges) -> FollowRows:
        return FollowRows(self._access, changes)

    @cached_property
    def execution_events(self) -> ExecutionEvents:
        return ExecutionEvents(self._access)

    def open_system(self) -> "Store | None":
        """Return the store for reports on the system if the caller is an administrator of `/`."""
        return self._store if self.caller.has_role(Role.ADMIN, ROOT) else None

    @cached_property
    def manifests(self) -> Manifests:
        return Manifests(self._access)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self._access, OutputFolders(self._store.files, self._store.bucket_name))

    @cached_property
    def run_lists(self) -> RunLists:
        return RunLists(self.runs)

    @cached_property
    def run_recovery(self) -> Recovery:
        return Recovery(self.runs)

    @cached_property
    def run_consumers(self) -> Consumers:
        return Consumers(self.runs)

    @cached_property
    def new_shred_types(self) -> NewTypes:
        return NewTypes(self.run_lists)

    @cached_property
    def run_folders(self) -> RunFolders:
        return RunFolders(self.runs)

    @cached_property
    def run_importer(self) -> RunImporter:
        return RunImporter(self.runs)

    @cached_property
    def playlists(self) -> Playlists:
        return Playlists.of(self._access)

    @cached_property
    def listening(self) -> Listening:
        return Listening.of(self._access, self._store.announce_job)

    @cached_property
    def sample_deletions(self) -> SampleDeletions:
        return SampleDeletions(self._access, self._store.announce_job)

    @cached_property
    def notifications(self) -> IngestRepository:
        return IngestRepository(
            self._access, self._store.ngsi_access, self._store.files, self.units
        )


class ShownSetting(NamedTuple):
    """A setting of the server as administrators see it; a secret one is hidden."""

    name: str
    value: str | None
    is_default: bool


@dataclass(frozen=True, slots=True)
class Store:
    """The table, the files, the clock and the limits that sessions work with.

    `bucket_name` is the name of the bucket in the paths of manifest runs. `user_buckets` opens the
    buckets of users, `transcoder` converts audio, and `ngsi_access` is the state of the NGSI sink.
    `on_job_created` is called when a session creates a job, `on_execution_ready` when a session
    makes an execution ready for a worker. `watch_job` learns of each change of a job in this
    process, and `watch_run` of each change of a run. `kind` tells how the table is held, and
    `settings` how the server is set.
    """

    table: Table
    clock: Clock = field(default_factory=Clock)
    list_budget: Budget = field(default_factory=Budget)
    upload_limits: UploadLimits = field(default_factory=UploadLimits)
    shards: int = SHARDS
    quotas: Quotas = field(default_factory=Quotas)
    watch: WatchBatch = watch_nothing
    files: Files = NO_FILES
    user_buckets: BucketAccess = field(default_factory=BucketAccess)
    transcoder: Transcoder = NO_TRANSCODER
    execution_rules: ExecutionRules = field(default_factory=ExecutionRules)
    bucket_name: str | None = None
    dataset_cache: DatasetTableCache = field(default_factory=DatasetTableCache)
    dataset_limits: CsvLimits = LARGEST
    part_files: PartFiles = field(default_factory=lambda: PartFiles(RowsEngine()))
    longest_api_key: timedelta = timedelta(days=365)
    on_job_created: Callable[[], None] = notify_nobody
    on_execution_ready: Callable[[], None] = notify_nobody
    watch_job: WatchJob = ignore_report
    watch_run: WatchRun = ignore_report
    ngsi_access: SinkAccess = field(default_factory=SinkAccess)
    kind: StoreKind = StoreKind.EMBEDDED
    keep_history: timedelta = KEEP_HISTORY
    settings: tuple[ShownSetting, ...] = ()

    def open_session(
        self,
        caller: Caller,
        work: WorkAccount = FREE_WORK,
        reads: ReadConsistency | None = OWN_WRITES,
        address: str | None = None,
    ) -> Session:
        """Open the session of a caller for one request; repositories come only from sessions.

        By default its reads are consistent from its first write on; without `reads` never. The
        audit trail says from which `address` the caller came.
        """
        return Session(self, caller, work, reads, address)

    async def find_credential(self, api_key: str) -> Credential | None:
        """Read the stored hash, roles and expiry of an API key, before its caller is known."""
        return await find_credential(self.table, api_key)

    async def cursor_key(self) -> bytes:
        """Read the key that seals cursors, which is made when it is first read."""
        return await read_cursor_key(self.table)

    async def ping(self) -> None:
        """Check that the table answers, and takes writes if the last one failed.

        Raises Unavailable.
        """
        await self.table.ping()

    async def pending_upgrades(self) -> list[str]:
        """The titles of the steps of an upgrade that the table still needs."""
        return [step.title for step in await pending_steps(self.table)]

    async def find_unreadable(self) -> list[UnreadableRow]:
        """Find rows that this release cannot read, among the first of each kind."""
        return await find_unreadable(self.table)

    async def upgrade_rows(self, report: Callable[[Step, Page], None]) -> SchemaMarker:
        """Bring all rows to the form of this release, from where an earlier call stopped."""
        return await upgrade_rows(self._system_access(admin=True), report=report)

    async def finish_deletes(self) -> int:
        """Continue deletes, and writes in steps, that were interrupted; return the number of them.

        Executions of deleted pipelines, and executions that expired, are removed first.
        """

        async def remove_executions() -> int:
            await self._execution_maintenance().remove_obsolete()
            return 0

        return await finish_all([remove_executions, *(each.sweep for each in self._finishers())])

    async def merge_rows(self) -> int:
        """Merge small files of kept rows; return the number of merged files."""
        return await PartMerger(self._system_access(), self.part_files).merge_all()

    async def drop_old_rows(self) -> int:
        """Let kept rows leave that are older than their pipelines keep them; count the commits."""
        return await RowRetention(self._system_access()).drop_all()

    async def confirm_uploads(self) -> int:
        """Make executions ready whose input is uploaded; return the number of them."""
        return await self._execution_maintenance().find_uploads()

    def execution_worker(self, worker: str, engine: RowEngine = LOCAL_ENGINE) -> ExecutionWorker:
        """Create a worker that runs executions; `worker` is its unique name."""
        return ExecutionWorker(
            self.table,
            self.files,
            self.clock,
            self.execution_rules,
            worker,
            self.dataset_cache,
            engine,
            part_files=self.part_files,
            quotas=self.quotas,
            shards=self.shards,
            dataset_limits=self.dataset_limits,
        )

    @property
    def workers(self) -> WorkerRegistry:
        """The processes that run executions."""
        return WorkerRegistry(self.table, self.clock)

    @property
    def work_debts(self) -> WorkDebts:
        """The debts of users for the processor time of workers."""
        return WorkDebts(self.table, self.clock)

    def announce_job(self, job: Job) -> None:
        """Report a new job, and wake the workers of jobs."""
        self.watch_job(job_report(job, JobChange.CREATED, job.created_at))
        self.on_job_created()

    async def read_queues(self) -> tuple[ExecutionQueue, JobQueue]:
        """Read how much waits for workers, and for how long.

        That takes 9 queries and one batch, 4.5 read units where nothing waits, and 61 where much
        does; 225 with the longest names and prefixes, if no execution has more than 4 KB.
        """
        claims = Claims(self.table, self.clock, self.execution_rules)
        return await claims.read_queue(), await read_job_queue(self.table, self.clock.now())

    async def count_ready_executions(self, most: int) -> int:
        """Count the executions that a worker can claim now, up to `most`."""
        return await Claims(self.table, self.clock, self.execution_rules).count_ready(most)

    async def read_execution_subject(self, id: str, at: float) -> ExecutionSubject | None:
        """Read what an execution is about, as of an epoch time; None if it is gone."""
        return await read_subject(self._system_access(admin=True), id, at)

    async def find_stuck_executions(self) -> list[str]:
        """Find the ids of executions that have been ready for minutes without a worker."""
        return await Claims(self.table, self.clock, self.execution_rules).stuck_ids()

    async def count_held_executions(self, workers: Set[str]) -> int:
        """Count the executions that the workers of these names have claimed."""
        return await Claims(self.table, self.clock, self.execution_rules).count_held(workers)

    async def release_executions(self, worker: str) -> int:
        """Release the executions of a dead worker; return the number of them."""
        return await Claims(self.table, self.clock, self.execution_rules).release_worker(worker)

    async def count_pending_deletes(self) -> int:
        """Count interrupted deletes and writes in steps, at most one page for each kind."""
        return sum([await each.pending() for each in self._finishers()])

    async def sweep_files(self) -> int:
        """Remove files without a use and annotations of deleted things; return the number."""
        access = self._system_access()
        if self.files is NO_FILES:
            return await sweep_libraries(access)
        everywhere = (sweep_libraries, sweep_staged_files, sweep_uploads)
        sweeps = [partial(sweep, access) for sweep in everywhere]
        return await finish_all([LooseObjects(access).sweep, *sweeps])

    async def count_unheld_jobs(self) -> int:
        """Count the jobs without a worker for a minute, at most one page of them."""
        return await count_unheld_jobs(self.table, iso_timestamp(self.clock.now() - IDLE))

    async def find_troubled_manifests(self) -> TroubledManifests:
        """Find the manifests that have stuck runs, or runs that were given up."""
        reader = Caller("", {ROOT: Role.READER})
        return await find_troubled_manifests(
            Access(self.table, reader, self.clock, self.list_budget)
        )

    async def run_jobs(self, worker: str, kinds: Collection[JobKind] = tuple(JobKind)) -> int:
        """Run the jobs of some kinds that have no worker; return the number of jobs that ended.

        `worker` is the unique name of this process, which makes one such call at a time for each
        kind.
        """
        more = {
            JobKind.IMPORT_AUDIO: self._import_audio,
            JobKind.DELETE_SAMPLES: self._delete_samples,
            JobKind.RENAME_AUDIO: rename_things,
            JobKind.LOAD_DATASET: self._load_dataset,
        }
        access, watch = self._system_access(), self.watch_job
        return await JobWorker(access, worker, more, kinds, watch).run()

    async def finish_writes(self) -> int:
        """Finish writes in steps that were interrupted; return the number of their resources."""
        return sum([await steps.sweep() for steps in self._remaining_steps()])

    def _remaining_steps(self) -> list[RemainingSteps]:
        return [RemainingSteps(kind, self._system_access()) for kind in KINDS]

    def _finishers(self) -> list[RemainingSteps | ResourceDeleter[Any] | PlaylistDeleter]:
        nobody = self._system_access()
        return [
            *self._remaining_steps(),
            *(ResourceDeleter(kind, nobody) for kind in KINDS),
            PlaylistDeleter(nobody),
        ]

    def _execution_maintenance(self) -> ExecutionMaintenance:
        return ExecutionMaintenance(self._system_access(), self.execution_rules, self.files)

    async def _import_audio(self, access: Access, lease: JobLease) -> None:
        await import_audio(access, lease, self.user_buckets.sources(access, self.files))

    async def _load_dataset(self, access: Access, lease: JobLease) -> None:
        await load_dataset(access, lease, self.dataset_limits, self.work_debts)

    async def _delete_samples(self, access: Access, lease: JobLease) -> None:
        await delete_samples(access, lease, self.ngsi_access.destinations)

    def _system_access(self, *, admin: bool = False) -> Access:
        caller = Caller("", {ROOT: Role.ADMIN} if admin else {})
        return Access(
            self.table,
            caller,
            self.clock,
            self.list_budget,
            self.files,
            upload_limits=self.upload_limits,
            shards=self.shards,
            quotas=self.quotas,
        )
