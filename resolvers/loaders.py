"""One loader for each thing that is read by key, made for one request and one caller."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from aiodataloader import DataLoader

from datastore.jobs import Job
from datastore.layout import KINDS, Kind
from datastore.observed import WatchBatch
from datastore.paths import GroupPath
from datastore.records import Group, Resource
from datastore.repository import Repository
from datastore.slices import Slice, Window
from datastore.store import View

K = TypeVar("K")
T = TypeVar("T")
R = TypeVar("R", bound=Resource)

MAX_BATCH = 100


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
            _loader(f"{name}s", view.watch, repository.reading.many),
            _loader(f"{name}_versions", view.watch, versions.numbered, _by_id),
            _loader(f"{name}_versions_by_id", view.watch, versions.many),
            _loader(f"{name}_version_pages", view.watch, versions.pages, _by_id),
        )


@dataclass(frozen=True, slots=True)
class Loaders:
    """Loaders of groups by path and jobs by id, and the desks by the letters of their kinds."""

    groups: "DataLoader[GroupPath, Group]"
    jobs: "DataLoader[str, Job]"
    desks: Mapping[str, Desk[Any]]

    @classmethod
    def over(cls, view: View) -> "Loaders":
        return cls(
            groups=_loader("groups", view.watch, view.groups.many),
            jobs=_loader("jobs", view.watch, view.jobs.many),
            desks={kind.letter: Desk.over(view, kind) for kind in KINDS},
        )


def _by_id(key: tuple[Resource, object]) -> tuple[str, int, object]:
    """A resource in hand is told from others by its id and version."""
    return key[0].id, key[0].version, key[1]


def _loader(
    name: str,
    watch: WatchBatch,
    read: Callable[[Sequence[K]], Awaitable[Sequence[T | Exception]]],
    cache_key: Callable[[K], Any] | None = None,
) -> "DataLoader[K, T]":
    """A loader over a read that answers aligned; a failure in the answer fails that key alone."""

    async def batch(keys: list[K]) -> list[T]:
        ended = watch(name, len(keys))
        try:
            return list(await read(keys))  # type: ignore[arg-type]  # failures reject their key
        finally:
            ended()

    return DataLoader(batch, max_batch_size=MAX_BATCH, get_cache_key=cache_key)
