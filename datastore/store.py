"""The store, opened once: it opens the sessions of callers and looks after what lies in it."""

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from penstock.datastore.access.access import Access
from penstock.datastore.access.cursor_key import read_cursor_key
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.api_keys import Credential, find_credential
from penstock.datastore.audio.import_job import import_audio
from penstock.datastore.audio.upkeep.loose_objects import LooseObjects
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.dataset_loads.loads import load_dataset
from penstock.datastore.datasets.files import sweep_uploads
from penstock.datastore.datasets.staged_files import sweep_staged_files
from penstock.datastore.executions.claims.claims import Claims, ExecutionQueue
from penstock.datastore.executions.maintenance import ExecutionMaintenance
from penstock.datastore.executions.row_retention import RowRetention
from penstock.datastore.executions.subjects import ExecutionSubject, read_subject
from penstock.datastore.executions.workers.registry import WorkerRegistry
from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE, RowEngine
from penstock.datastore.executions.workers.worker import ExecutionWorker
from penstock.datastore.jobs.jobs import JobKind, JobQueue, count_unheld_jobs, read_job_queue
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.jobs.runner import JobWorker
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.listening.library_sweep import sweep_libraries
from penstock.datastore.listening.rename_things import rename_things
from penstock.datastore.manifest.lists import TroubledManifests, find_troubled_manifests
from penstock.datastore.ngsi.retention.sample_deletion import delete_samples
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.periodic import finish_all
from penstock.datastore.player_passwords import (
    SealedPassword,
    find_player_passwords,
    open_player_password,
)
from penstock.datastore.playlists.delete import PlaylistDeleter
from penstock.datastore.resources.delete import ResourceDeleter
from penstock.datastore.resources.writing.steps import RemainingSteps
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.session import SessionOpener
from penstock.datastore.table.layout import KINDS
from penstock.datastore.table.schema_marker import SchemaMarker
from penstock.datastore.table.unfinished_imports import (
    find_unfinished_imports,
    require_ended_imports,
)
from penstock.datastore.table.unreadable_rows import UnreadableRow
from penstock.datastore.upgrades.unreadable import find_unreadable
from penstock.datastore.upgrades.upgrade import Page, Step, pending_steps, upgrade_rows

IDLE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Store(SessionOpener):
    """A store that opens the sessions of callers, and does the work that nobody asks for."""

    async def find_credential(self, api_key: str) -> Credential | None:
        """Read the stored hash, roles and expiry of an API key, before its caller is known."""
        return await find_credential(self.table, api_key)

    async def find_player_passwords(self, user: str) -> list[SealedPassword]:
        """Read the sealed passwords of a user's players, before it is known who asks."""
        return await find_player_passwords(self.table, user)

    async def open_player_password(self, found: SealedPassword) -> str | None:
        """Open a password of a player; None for one that another key sealed."""
        return await open_player_password(self.user_buckets.vault, found)

    async def cursor_key(self) -> bytes:
        """Read the key that seals cursors, which is made when it is first read."""
        return await read_cursor_key(self.table)

    async def ping(self) -> None:
        """Check that the table answers, takes writes if the last one failed, and is whole.

        Raises Unavailable, also while an import into it has not ended.
        """
        await self.table.ping()
        await require_ended_imports(self.table)

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

    async def count_unfinished_imports(self) -> int:
        """Count the imports of archives that have not ended."""
        return len(await find_unfinished_imports(self.table))

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
