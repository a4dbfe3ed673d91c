"""What one caller sees of a store: repositories bound to the caller, made when asked for."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.datastore.access import Caller
from penstock.datastore.api_keys import ApiKeys
from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.cascade import Cascades
from penstock.datastore.dataset_files import DatasetFiles
from penstock.datastore.evaluations import Evaluations
from penstock.datastore.executions.repository import Executions
from penstock.datastore.groups import Groups
from penstock.datastore.jobs import Jobs
from penstock.datastore.layout import CALCULATION, PIPELINE, REFERENCE_DATASET, Kind
from penstock.datastore.listening.listening import Listening
from penstock.datastore.manifest.folders import Folders
from penstock.datastore.manifest.importing import Importing
from penstock.datastore.manifest.lists import RunLists
from penstock.datastore.manifest.manifests import Manifests
from penstock.datastore.manifest.recovery import Recovery
from penstock.datastore.manifest.runs import Runs
from penstock.datastore.metered import Metered
from penstock.datastore.ngsi.reading import Notified
from penstock.datastore.playlists.playlists import Playlists
from penstock.datastore.records import Calculation, Pipeline, ReferenceDataset, Resource
from penstock.datastore.repository import Repository
from penstock.datastore.resources.scope import Scope

if TYPE_CHECKING:
    from penstock.datastore.store import Store

R = TypeVar("R", bound=Resource)


class View:
    """Opened by `Store.seen_by` for one request; `units` counts what it costs to look.

    `watch` is shown each batch that is read. A request uses few of the repositories, so that
    making all of them would be most of what a small one costs.
    """

    def __init__(self, store: "Store", caller: Caller) -> None:
        table = Metered(store.table)
        self.caller: Final = caller
        self.units: Final = table.units
        self.watch: Final = store.watch
        self._store: Final = store
        self._scope: Final = Scope(table, caller, store.clock, store.budget, store.files)
        self._resources: Final[dict[str, Repository[Any]]] = {}

    def of(self, kind: Kind[R]) -> Repository[R]:
        """What the caller can do with one kind of resource."""
        found = self._resources.get(kind.letter)
        if found is None:
            found = self._resources[kind.letter] = Repository.of(kind, self._scope)
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
        return Groups(self._scope)

    @cached_property
    def cascades(self) -> Cascades:
        return Cascades(self._scope, self._store.job_begun)

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self._scope)

    @cached_property
    def dataset_files(self) -> DatasetFiles:
        return DatasetFiles(self._scope)

    @cached_property
    def evaluations(self) -> Evaluations:
        return Evaluations(self._scope, self._store.tables)

    @cached_property
    def api_keys(self) -> ApiKeys:
        return ApiKeys(self._scope, self._store.longest_api_key)

    @cached_property
    def audio(self) -> AudioLibrary:
        store = self._store
        return AudioLibrary.of(self._scope, store.files, store.buckets, store.job_begun)

    @cached_property
    def executions(self) -> Executions:
        store = self._store
        return Executions.of(
            self._scope, store.rules, store.files, store.tables, store.execution_ready
        )

    @cached_property
    def manifests(self) -> Manifests:
        return Manifests(self._scope)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self._scope, Folders(self._store.files, self._store.bucket))

    @cached_property
    def run_lists(self) -> RunLists:
        return RunLists(self.runs)

    @cached_property
    def recovery(self) -> Recovery:
        return Recovery(self.runs)

    @cached_property
    def importing(self) -> Importing:
        return Importing(self.runs)

    @cached_property
    def playlists(self) -> Playlists:
        return Playlists.of(self._scope)

    @cached_property
    def listening(self) -> Listening:
        return Listening.of(self._scope)

    @cached_property
    def notified(self) -> Notified:
        return Notified(self._scope, self._store.ingest, self._store.files, self.units)
