"""One loader for each thing that is read by key, made for one request and one caller."""

from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from aiodataloader import DataLoader

from penstock.datastore.executions.records import Execution
from penstock.datastore.jobs import Job
from penstock.datastore.layout import Kind
from penstock.datastore.manifest.records import Manifest, ManifestName, Run, RunName
from penstock.datastore.manifest.rules import short_problem
from penstock.datastore.parts import Asked
from penstock.datastore.paths import GroupPath
from penstock.datastore.records import Group, Resource
from penstock.datastore.repository import Repository
from penstock.datastore.resources.found import Found
from penstock.datastore.resources.versions import Wanted
from penstock.datastore.slices import Slice
from penstock.datastore.store import View
from penstock.resolvers.audio_loaders import AudioLoaders
from penstock.resolvers.listener_loaders import ListenerLoaders
from penstock.resolvers.loading import loader

R = TypeVar("R", bound=Resource)


class Desk(Generic[R]):
    """One kind of resource: its repository, and loaders of latest by id and of versions."""

    def __init__(self, view: View, kind: Kind[R]) -> None:
        self.repository: Final[Repository[R]] = view.of(kind)
        self._watch: Final = view.watch
        self._name: Final = kind.noun

    async def latest(self, id: str, asked: Asked = None) -> R:
        """Read one; at least what is asked for of it is there."""
        return (await self._found.load(id)).record(asked)

    def prime(self, resource: R) -> None:
        """Know a whole resource that was read, unless it is known already."""
        self._found.prime(resource.id, Found.whole(self.repository.kind, resource))

    def renew(self, resource: R) -> None:
        """Know a whole resource as it was written, or last was."""
        self._found.clear(resource.id)
        self.prime(resource)

    @cached_property
    def _found(self) -> "DataLoader[str, Found[R]]":
        return loader(f"{self._name}s", self._watch, self.repository.reading.found)

    @cached_property
    def versions(self) -> "DataLoader[tuple[R, int], R]":
        read = self.repository.versions.numbered
        return loader(f"{self._name}_versions", self._watch, read, _by_id)

    @cached_property
    def versions_by_id(self) -> "DataLoader[tuple[str, int], R]":
        read = self.repository.versions.many
        return loader(f"{self._name}_versions_by_id", self._watch, read)

    @cached_property
    def version_pages(self) -> "DataLoader[tuple[R, Wanted], Slice[R]]":
        read = self.repository.versions.pages
        return loader(f"{self._name}_version_pages", self._watch, read, _by_id)


class Loaders:
    """Loaders of what is no resource, and a desk for each kind; made when first asked for."""

    def __init__(self, view: View) -> None:
        self._view: Final = view
        self._desks: Final[dict[str, Desk[Any]]] = {}

    def desk(self, kind: Kind[R]) -> Desk[R]:
        """Where one kind of resource is asked for."""
        found = self._desks.get(kind.letter)
        if found is None:
            found = self._desks[kind.letter] = Desk(self._view, kind)
        return found

    @cached_property
    def groups(self) -> "DataLoader[GroupPath, Group]":
        return loader("groups", self._view.watch, self._view.groups.many)

    @cached_property
    def jobs(self) -> "DataLoader[str, Job]":
        return loader("jobs", self._view.watch, self._view.jobs.many)

    @cached_property
    def executions(self) -> "DataLoader[str, Execution]":
        return loader("executions", self._view.watch, self._view.executions.reading.many)

    @cached_property
    def runs(self) -> "DataLoader[RunName, Run]":
        return loader("runs", self._view.watch, self._view.runs.many, _by_run)

    @cached_property
    def manifests(self) -> "DataLoader[ManifestName, Manifest]":
        return loader("manifests", self._view.watch, self._view.manifests.many)

    @cached_property
    def audio(self) -> AudioLoaders:
        return AudioLoaders.over(self._view)

    @cached_property
    def listener(self) -> ListenerLoaders:
        return ListenerLoaders.over(self._view)


def _by_id(key: tuple[Resource, object]) -> tuple[str, int, object]:
    """A resource in hand is told from others by its id and version."""
    return key[0].id, key[0].version, key[1]


def _by_run(name: RunName) -> object:
    """One run is known by all spellings of its manifest; texts too long to be a name by none."""
    return name if short_problem(name.manifest.name) else name.text
