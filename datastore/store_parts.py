"""The parts of an opened store: what its sessions and its upkeep work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from penstock.datastore.access.access import KEEP_HISTORY, Budget
from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.access.work import StoreKind
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.audio.transcoding.ffmpeg import NO_TRANSCODER, Transcoder
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.limits import LARGEST, CsvLimits
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.jobs.delete_group import notify_nobody
from penstock.datastore.jobs.jobs import Job, job_report
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.table.counters import SHARDS
from penstock.datastore.table.instrumentation import WatchBatch, watch_nothing
from penstock.datastore.table.port import Table
from penstock.datastore.work_reports import JobChange, WatchJob, WatchRun, ignore_report


class ShownSetting(NamedTuple):
    """A setting of the server as administrators see it; a secret one is hidden."""

    name: str
    value: str | None
    is_default: bool


@dataclass(frozen=True, slots=True)
class StoreParts:
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

    def announce_job(self, job: Job) -> None:
        """Report a new job, and wake the workers of jobs."""
        self.watch_job(job_report(job, JobChange.CREATED, job.created_at))
        self.on_job_created()
