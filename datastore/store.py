"""The door to everything stored: repositories bound to a caller, and nothing without one."""

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from penstock.datastore.access import Caller, Role
from penstock.datastore.api_keys import Credential, find_credential
from penstock.datastore.audio.import_work import import_audio
from penstock.datastore.audio.library import Buckets
from penstock.datastore.cascade import begun_unheard
from penstock.datastore.clock import Clock, canonical
from penstock.datastore.dataset_files import sweep_uploads
from penstock.datastore.dataset_tables import DatasetTables
from penstock.datastore.executions.claims import Claims
from penstock.datastore.executions.engine import HERE, Engine
from penstock.datastore.executions.rules import ExecutionRules
from penstock.datastore.executions.running import Runner
from penstock.datastore.executions.sweeping import Sweeping
from penstock.datastore.files import Files
from penstock.datastore.job_runs import JobRuns
from penstock.datastore.jobs import JobKind, left_alone
from penstock.datastore.layout import KINDS
from penstock.datastore.leases import Lease
from penstock.datastore.manifest.stale import Stale, stale_manifests
from penstock.datastore.ngsi.reading import Ingest
from penstock.datastore.no_files import NO_FILES
from penstock.datastore.observed import WatchBatch, unwatched
from penstock.datastore.paths import ROOT
from penstock.datastore.playlists.deleting import Deleting as PlaylistDeleting
from penstock.datastore.resources.attachments import sweep_staged
from penstock.datastore.resources.deleting import Deleting
from penstock.datastore.resources.scope import Budget, Scope
from penstock.datastore.table import Key, Table
from penstock.datastore.view import View

__all__ = ["Store", "View"]

IDLE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Store:
    """A table and the files beside it, and the clock and bounds that its views work with.

    `bucket` is the name by which runs know the place of the files, `buckets` what it takes to reach
    those of the users' own, `ingest` what is known of the sink. `job_begun` is called whenever a
    view begins a job, `execution_ready` when one makes an execution ready to be run.
    """

    table: Table
    clock: Clock = field(default_factory=Clock)
    budget: Budget = field(default_factory=Budget)
    watch: WatchBatch = unwatched
    files: Files = NO_FILES
    buckets: Buckets = field(default_factory=Buckets)
    rules: ExecutionRules = field(default_factory=ExecutionRules)
    bucket: str | None = None
    tables: DatasetTables = field(default_factory=DatasetTables)
    longest_api_key: timedelta = timedelta(days=365)
    job_begun: Callable[[], None] = begun_unheard
    execution_ready: Callable[[], None] = begun_unheard
    ingest: Ingest = field(default_factory=Ingest)

    def seen_by(self, caller: Caller) -> View:
        """Open a view for one request; the only way to a repository."""
        return View(self, caller)

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
        await self._sweeping().clear()
        return sum([await deleting.sweep() for deleting in self._deleting()])

    async def look_for_uploads(self) -> int:
        """Make executions ready whose input was uploaded; how many those were."""
        return await self._sweeping().look_for_uploads()

    def runner(self, worker: str, engine: Engine = HERE) -> Runner:
        """Whoever runs executions; `worker` tells them from all others."""
        return Runner(self.table, self.files, self.clock, self.rules, worker, self.tables, engine)

    async def ready_executions(self, most: int) -> int:
        """Count the executions that a worker could take now, up to so many."""
        return await Claims(self.table, self.clock, self.rules).ready(most)

    async def stuck_executions(self) -> list[str]:
        """The ids of executions that a worker could have taken minutes ago, and none did."""
        return await Claims(self.table, self.clock, self.rules).stuck()

    async def held_executions(self, workers: Set[str]) -> int:
        """Count the executions that one of the workers holds."""
        return await Claims(self.table, self.clock, self.rules).held(workers)

    async def release_executions(self, worker: str) -> int:
        """Leave what a dead worker ran to the others; how many executions those were."""
        return await Claims(self.table, self.clock, self.rules).release(worker)

    async def pending_deletes(self) -> int:
        """Count the deletes that were cut short, as far as one page of each kind's goes."""
        return sum([await deleting.pending() for deleting in self._deleting()])

    async def sweep_files(self) -> int:
        """Remove the files that were uploaded or written and never used; how many there were."""
        if self.files is NO_FILES:
            return 0
        return await sweep_staged(self._nobody()) + await sweep_uploads(self._nobody())

    async def idle_jobs(self) -> int:
        """Count the jobs nobody has worked on for a minute, as far as one page of them goes."""
        return await left_alone(self.table, canonical(self.clock.now() - IDLE))

    async def stale_manifests(self) -> list[Stale]:
        """Find the manifests in which runs got stuck."""
        looker = Caller("", {ROOT: Role.READER})
        return await stale_manifests(Scope(self.table, looker, self.clock, self.budget))

    async def run_jobs(self, worker: str) -> int:
        """Run the jobs that nobody works on; how many came to an end.

        `worker` tells this process from the others, and makes at most one such call at a time.
        """
        more = {JobKind.IMPORT_AUDIO: self._import_audio}
        return await JobRuns(self._nobody(), worker, more).run()

    def _deleting(self) -> list[Deleting[Any] | PlaylistDeleting]:
        nobody = self._nobody()
        return [*(Deleting(kind, nobody) for kind in KINDS), PlaylistDeleting(nobody)]

    def _sweeping(self) -> Sweeping:
        return Sweeping(self._nobody(), self.rules, self.files)

    async def _import_audio(self, scope: Scope, lease: Lease) -> None:
        await import_audio(scope, lease, self.buckets.sources(scope, self.files))

    def _nobody(self) -> Scope:
        return Scope(self.table, Caller("", {}), self.clock, self.budget, self.files)
