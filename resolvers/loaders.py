"""One loader for each thing that is read by key, made for one request and one caller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aiodataloader import DataLoader

from datastore.executions.records import Execution
from datastore.jobs import Job
from datastore.layout import KINDS, Kind
from datastore.manifest.records import Manifest, ManifestName, Run, RunName
from datastore.manifest.rules import short_problem
from datastore.paths import GroupPath
from datastore.records import Group, Resource
from datastore.repository import Repository
from datastore.slices import Slice, Window
from datastore.store import View
from resolvers.audio_loaders import AudioLoaders
from resolvers.listener_loaders import ListenerLoaders
from resolvers.loading import loader

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Desk(Generic[R]):
    """One kind of resource: its repository, and loaders of latest by id and of versions."""

    repository: Repository[R]
    latest: "DataLoader[str, R]"
    versions: "DataLoader[tuple[R, int], R]"
    versions_by_id: "DataLoader[tuple[str, int], R]"
    version_pages: "DataLoader[tuple[R, Window], Slice[R]]"

    @classmethod
    def over(cls, view: View, kind: Kind[R]) -> "Desk[R]":
        repository, name = view.of(kind), kind.noun
        versions = repository.versions
        return cls(
            repository,
            loader(f"{name}s", view.watch, repository.reading.many),
            loader(f"{name}_versions", view.watch, versions.numbered, _by_id),
            loader(f"{name}_versions_by_id", view.watch, versions.many),
            loader(f"{name}_version_pages", view.watch, versions.pages, _by_id),
        )


@dataclass(frozen=True, slots=True)
class Loaders:
    """Loaders of what is no resource, and the desks by the letters of their kinds."""

    groups: "DataLoader[GroupPath, Group]"
    jobs: "DataLoader[str, Job]"
    executions: "DataLoader[str, Execution]"
    runs: "DataLoader[RunName, Run]"
    manifests: "DataLoader[ManifestName, Manifest]"
    desks: Mapping[str, Desk[Any]]
    audio: AudioLoaders
    listener: ListenerLoaders

    @classmethod
    def over(cls, view: View) -> "Loaders":
        return cls(
            groups=loader("groups", view.watch, view.groups.many),
            jobs=loader("jobs", view.watch, view.jobs.many),
            executions=loader("executions", view.watch, view.executions.reading.many),
            runs=loader("runs", view.watch, view.runs.many, _by_run),
            manifests=loader("manifests", view.watch, view.manifests.many),
            desks={kind.letter: Desk.over(view, kind) for kind in KINDS},
            audio=AudioLoaders.over(view),
            listener=ListenerLoaders.over(view),
        )


def _by_id(key: tuple[Resource, object]) -> tuple[str, int, object]:
    """A resource in hand is told from others by its id and version."""
    return key[0].id, key[0].version, key[1]


def _by_run(name: RunName) -> object:
    """One run is known by all spellings of its manifest; texts too long to be a name by none."""
    return name if short_problem(name.manifest.name) else name.text
