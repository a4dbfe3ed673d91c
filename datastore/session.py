"""The session of a caller: the repositories, the access and the metering of one request."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from penstock.datastore.access.access import Access, CallPayments
from penstock.datastore.access.bucket_payments import meter_files
from penstock.datastore.access.quota_report import QuotaReport
from penstock.datastore.access.work import CALL_UNITS, FREE_WORK, WorkAccount, WorkPayer
from penstock.datastore.api_keys import ApiKeys
from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.dataset_loads.loads import DatasetLoads
from penstock.datastore.datasets.files import DatasetFiles
from penstock.datastore.evaluation.evaluations import Evaluations
from penstock.datastore.executions.lists.follow_list import ExecutionEvents
from penstock.datastore.executions.repository import Executions
from penstock.datastore.executions.workers.registry import ListWorkers
from penstock.datastore.groups.repository import Groups
from penstock.datastore.history.repository import History
from penstock.datastore.jobs.delete_group import GroupDeletions
from penstock.datastore.jobs.repository import Jobs
from penstock.datastore.kept_rows.follow_rows import FollowRows
from penstock.datastore.kept_rows.metric_series import MetricSeriesReader
from penstock.datastore.kept_rows.repository import KeptRows
from penstock.datastore.kept_rows.withdraw import WithdrawRows
from penstock.datastore.listening.repository import Listening
from penstock.datastore.manifest.consumers import Consumers
from penstock.datastore.manifest.folders import RunFolders
from penstock.datastore.manifest.import_runs import RunImporter
from penstock.datastore.manifest.lists import RunLists
from penstock.datastore.manifest.manifests import Manifests
from penstock.datastore.manifest.new_types import NewTypes
from penstock.datastore.manifest.recovery import Recovery
from penstock.datastore.manifest.runs import OutputFolders, Runs
from penstock.datastore.ngsi.repository import IngestRepository
from penstock.datastore.ngsi.retention.sample_deletion import SampleDeletions
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.player_passwords import PlayerPasswords
from penstock.datastore.playlists.repository import Playlists
from penstock.datastore.records import Calculation, Metric, Pipeline, ReferenceDataset, Resource
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.resources.delete import ResourceDeleter
from penstock.datastore.resources.follow_list import ResourceEvents
from penstock.datastore.resources.reading import Listing, ResourceReader
from penstock.datastore.resources.tag_counts import TagCounter
from penstock.datastore.resources.tags_in_use import TagLists
from penstock.datastore.resources.users import Uses
from penstock.datastore.resources.versions import Versions
from penstock.datastore.resources.writing.writer import ResourceWriter
from penstock.datastore.roles import Caller
from penstock.datastore.store_parts import StoreParts
from penstock.datastore.table.instrumentation import MeteredTable, Units
from penstock.datastore.table.layout import (
    CALCULATION,
    METRIC,
    PIPELINE,
    REFERENCE_DATASET,
    KindDefinition,
)
from penstock.datastore.table.session_table import OWN_WRITES, ReadConsistency, SessionTable

R = TypeVar("R", bound=Resource)


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
        store: StoreParts,
        caller: Caller,
        work: WorkAccount,
        reads: ReadConsistency | None,
        address: str | None,
    ) -> None:
        units = Units()
        payments = CallPayments(work, CALL_UNITS[store.kind], units)
        metered = MeteredTable(store.table, units, payments)
        files = store.files
        if files is not NO_FILES:
            files = meter_files(files, store.kind, work, units)
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
            files,
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

    def spend_on_answer(self, units: int) -> None:
        """Pay for a part of an answer; owe it where the session has written.

        Raises RateLimited for a caller in debt where nothing was written.
        """
        (self.work.owe if self.units.written else self.work.spend_more)(units)

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
    def player_passwords(self) -> PlayerPasswords:
        return PlayerPasswords(self._access, self._store.user_buckets.vault)

    @cached_property
    def audio(self) -> AudioLibrary:
        store = self._store
        return AudioLibrary.of(
            self._access,
            self._access.files,
            store.user_buckets,
            store.transcoder,
            store.announce_job,
        )

    @cached_property
    def executions(self) -> Executions:
        store = self._store
        return Executions.of(
            self._access,
            store.execution_rules,
            store.dataset_cache,
            store.part_files,
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

    @cached_property
    def manifests(self) -> Manifests:
        return Manifests(self._access)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self._access, OutputFolders(self._access.files, self._store.bucket_name))

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
            self._access, self._store.ngsi_access, self._access.files, self.units
        )


@dataclass(frozen=True, slots=True)
class SessionOpener(StoreParts):
    """The parts of a store, and the sessions that work with them."""

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
