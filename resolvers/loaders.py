"""One loader for each thing that is read by key, made for one request and one caller."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from aiodataloader import DataLoader

from datastore.jobs import Job
from datastore.observed import WatchBatch
from datastore.paths import GroupPath
from datastore.records import Group, Pipeline
from datastore.slices import Slice, Window
from datastore.store import View

K = TypeVar("K")
T = TypeVar("T")

MAX_BATCH = 100


@dataclass(frozen=True, slots=True)
class Loaders:
    """Loaders of resources and jobs by id, groups by path, versions by number and by page."""

    pipelines: "DataLoader[str, Pipeline]"
    groups: "DataLoader[GroupPath, Group]"
    jobs: "DataLoader[str, Job]"
    pipeline_versions: "DataLoader[tuple[Pipeline, int], Pipeline]"
    pipeline_versions_by_id: "DataLoader[tuple[str, int], Pipeline]"
    pipeline_version_pages: "DataLoader[tuple[Pipeline, Window], Slice[Pipeline]]"

    @classmethod
    def over(cls, view: View) -> "Loaders":
        versions = view.pipelines.versions
        return cls(
            pipelines=_loader("pipelines", view.watch, view.pipelines.reading.many),
            groups=_loader("groups", view.watch, view.groups.many),
            jobs=_loader("jobs", view.watch, view.jobs.many),
            pipeline_versions=_loader("pipeline_versions", view.watch, versions.numbered, _by_id),
            pipeline_versions_by_id=_loader("pipeline_versions_by_id", view.watch, versions.many),
            pipeline_version_pages=_loader(
                "pipeline_version_pages", view.watch, versions.pages, _by_id
            ),
        )


def _by_id(key: tuple[Pipeline, object]) -> tuple[str, int, object]:
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
