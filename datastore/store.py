"""The door to everything stored: repositories bound to a caller, and nothing without one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from datastore.access import Caller
from datastore.api_keys import ApiKeys, Credential, find_credential
from datastore.audio.library import AudioLibrary
from datastore.cascade import Cascades, begun_unheard
from datastore.clock import Clock, canonical
from datastore.files import Files
from datastore.groups import Groups
from datastore.job_runs import JobRuns
from datastore.jobs import Jobs, left_alone
from datastore.layout import PIPELINE
from datastore.listening.listening import Listening
from datastore.metered import Metered, Units
from datastore.no_files import NO_FILES
from datastore.observed import WatchBatch, unwatched
from datastore.playlists.deleting import Deleting as PlaylistDeleting
from datastore.playlists.playlists import Playlists
from datastore.records import Pipeline
from datastore.repository import Repository
from datastore.resources.deleting import Deleting
from datastore.resources.scope import Budget, Scope
from datastore.table import Key, Table

IDLE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class View:
    """What one caller sees; `units` counts what it costs to look, `watch` is shown each batch."""

    caller: Caller
    units: Units
    groups: Groups
    cascades: Cascades
    jobs: Jobs
    pipelines: Repository[Pipeline]
    api_keys: ApiKeys
    audio: AudioLibrary
    playlists: Playlists
    listening: Listening
    watch: WatchBatch = unwatched


@dataclass(frozen=True, slots=True)
class Store:
    """A table and the files beside it, and the clock and bounds that its views work with.

    `job_begun` is called whenever a view begins a job.
    """

    table: Table
    clock: Clock = field(default_factory=Clock)
    budget: Budget = field(default_factory=Budget)
    watch: WatchBatch = unwatched
    files: Files = NO_FILES
    longest_api_key: timedelta = timedelta(days=365)
    job_begun: Callable[[], None] = begun_unheard

    def seen_by(self, caller: Caller) -> View:
        """Open a view for one request; the only way to a repository."""
        table = Metered(self.table)
        scope = Scope(table, caller, self.clock, self.budget)
        pipelines = Repository.of(PIPELINE, scope)
        api_keys = ApiKeys(scope, self.longest_api_key)
        return View(
            caller,
            table.units,
            Groups(scope),
            Cascades(scope, self.job_begun),
            Jobs(scope),
            pipelines,
            api_keys,
            AudioLibrary.of(scope),
            Playlists.of(scope),
            Listening.of(scope),
            self.watch,
        )

    async def credential(self, api_key: str) -> Credential | None:
        """Read what an API key is held against, by its id; the caller is known only afterwards."""
        return await find_credential(self.table, api_key)

    async def ping(self) -> None:
        """Read one key, to learn whether the table answers; raises Unavailable."""
        await self.table.get([Key("ping", "ping")])

    async def finish_deletes(self) -> int:
        """Go on with deletes that were cut short; return how many there were."""
        return await self._deleting().sweep() + await self._playlists().sweep()

    async def pending_deletes(self) -> int:
        """Count the deletes that were cut short, as far as one page of them goes."""
        return await self._deleting().pending() + await self._playlists().pending()

    async def idle_jobs(self) -> int:
        """Count the jobs nobody has worked on for a minute, as far as one page of them goes."""
        return await left_alone(self.table, canonical(self.clock.now() - IDLE))

    async def run_jobs(self, worker: str) -> int:
        """Run the jobs that nobody works on; how many came to an end.

        `worker` tells this process from the others, and makes at most one such call at a time.
        """
        return await JobRuns(self._nobody(), worker).run()

    def _deleting(self) -> Deleting[Pipeline]:
        return Deleting(PIPELINE, self._nobody())

    def _playlists(self) -> PlaylistDeleting:
        return PlaylistDeleting(self._nobody())

    def _nobody(self) -> Scope:
        return Scope(self.table, Caller("", {}), self.clock, self.budget)
