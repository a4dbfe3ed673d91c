"""Loaders that batch reads by key, made for one request and one caller."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from penstock.datastore.audio.artwork.cover_sizes import SizedCover
from penstock.datastore.audio.records import Album, Artist, Audio, BucketConnection, LibraryTotals
from penstock.datastore.executions.records import Execution
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.listening.annotations import ThingKey
from penstock.datastore.listening.records import Annotation
from penstock.datastore.listening.ruled_entries import ChosenEntries, RuledRequest
from penstock.datastore.manifest.records import Manifest, ManifestName, Run, RunName
from penstock.datastore.manifest.rules import short_problem
from penstock.datastore.ngsi.directory import Attribute, Entity
from penstock.datastore.ngsi.reading.series import Sample
from penstock.datastore.ngsi.repository import Preview, PreviewRequest
from penstock.datastore.objects.port import Download
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.records import Group, Resource
from penstock.datastore.resources.reading import LazyResource, ListRequest
from penstock.datastore.resources.versions import VersionsRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import ResourceRepository, Session
from penstock.datastore.table.instrumentation import WatchBatch
from penstock.datastore.table.items import Projection
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.batch_loader import BatchLoader

K = TypeVar("K")
T = TypeVar("T")

MAX_BATCH = 100
MAX_SERIES = 1000
"""Series whose latest samples are read together: several of an entity share a row."""


def prime_page(page: Slice[T], projection: Projection, know: Callable[[T], object]) -> Slice[T]:
    """Put the entries of a page into a loader, unless only some of their attributes were read."""
    if projection is None:
        for _, entry in page.entries:
            know(entry)
    return page


def loader(
    name: str,
    watch: WatchBatch,
    read: Callable[[Sequence[K]], Awaitable[Sequence[T | Exception]]],
    cache_key: Callable[[K], Any] | None = None,
    most: int = MAX_BATCH,
) -> "BatchLoader[K, T]":
    """Make a loader over a read that answers in the order of its keys.

    An exception in the answer fails its own key only.
    """

    async def batch(keys: list[K]) -> list[T]:
        ended = watch(name, len(keys))
        try:
            return list(await read(keys))  # type: ignore[arg-type]  # failures reject their key
        finally:
            ended()

    return BatchLoader(batch, most, cache_key)


@dataclass(frozen=True, slots=True)
class AudioLoaders:
    """The loaders of an audio library: by id, except artists and albums, which are read by place.

    A stream is read by its track and by whether it is to be saved, the totals by the caller.
    """

    tracks: "BatchLoader[str, Audio]"
    artists: "BatchLoader[str, Artist]"
    albums: "BatchLoader[str, Album]"
    storages: "BatchLoader[str, BucketConnection]"
    streams: "BatchLoader[tuple[Audio, bool], Download]"
    totals: "BatchLoader[str, LibraryTotals]"
    covers: "BatchLoader[SizedCover, Download]"

    @classmethod
    def over(cls, session: Session) -> "AudioLoaders":
        library, watch = session.audio, session.watch

        async def totals(users: Sequence[str]) -> list[LibraryTotals]:
            return [await library.reading.totals() for _ in users]

        return cls(
            loader("audio", watch, library.reading.many),
            loader("artists", watch, library.reading.artists),
            loader("albums", watch, library.reading.albums),
            loader("storages", watch, library.connections.many),
            loader("audio_streams", watch, library.streaming.sign_streams, _stream_key),
            loader("audio_totals", watch, totals),
            loader("covers", watch, library.cover_sizes.sign_many),
        )


def _stream_key(key: tuple[Audio, bool]) -> tuple[str, int, bool]:
    return key[0].id, key[0].version, key[1]


@dataclass(frozen=True, slots=True)
class ListenerLoaders:
    """The loaders of playlists by id, annotations by object, and pages, read concurrently."""

    playlists: "BatchLoader[str, Playlist]"
    entries: "BatchLoader[tuple[Playlist, Window], Slice[Entry]]"
    holding: "BatchLoader[tuple[Audio, Window], Slice[Playlist]]"
    annotations: "BatchLoader[ThingKey, Annotation]"
    ruled: "BatchLoader[RuledRequest, ChosenEntries]"

    @classmethod
    def over(cls, session: Session) -> "ListenerLoaders":
        reading, watch = session.playlists.reading, session.watch
        return cls(
            playlists=loader("playlists", watch, reading.many),
            entries=loader("playlist_entries", watch, reading.entries_of, _window_key),
            holding=loader("playlists_holding", watch, reading.playlists_holding, _window_key),
            annotations=loader("annotations", watch, session.listening.annotations.many),
            ruled=loader("ruled_playlists", watch, session.listening.ruled.many, _ruled_key),
        )


def _ruled_key(key: RuledRequest) -> tuple[str, int, str | None]:
    return key.playlist.id, key.playlist.version, key.drawn


def _window_key(key: tuple[Playlist | Audio, Window]) -> tuple[str, int, Window]:
    """Return a cache key that identifies an object by its id and version."""
    return key[0].id, key[0].version, key[1]


R = TypeVar("R", bound=Resource)


class KindLoaders(Generic[R]):
    """The repository of one kind of resource, and loaders of latest by id and of versions."""

    def __init__(self, session: Session, kind: KindDefinition[R]) -> None:
        self.repository: Final[ResourceRepository[R]] = session.repository(kind)
        self._watch: Final = session.watch
        self._name: Final = kind.noun

    async def latest(self, id: str, projection: Projection = None) -> R:
        """Read one; at least what is asked for of it is there."""
        return (await self._found.load(id)).record(projection)

    async def as_at(self, id: str, time: str) -> R:
        """Read the version of a resource that was the latest at a time."""
        return await self.repository.versions.as_at(await self.latest(id), time)

    async def page(self, listed: ListRequest, window: Window, projection: Projection) -> Slice[R]:
        """Read a page of resources, and put those that are read whole into the loader."""
        return prime_page(
            await self.repository.listing.page(listed, window, projection), projection, self.prime
        )

    def prime(self, resource: R) -> None:
        """Know a whole resource that was read, unless it is known already."""
        self._found.prime(resource.id, LazyResource.from_record(self.repository.kind, resource))

    def renew(self, resource: R) -> None:
        """Know a whole resource as it was written, or last was."""
        self._found.clear(resource.id)
        self.prime(resource)

    @cached_property
    def _found(self) -> "BatchLoader[str, LazyResource[R]]":
        return loader(f"{self._name}s", self._watch, self.repository.reading.lazy_many)

    @cached_property
    def versions(self) -> "BatchLoader[tuple[R, int], R]":
        read = self.repository.versions.by_number
        return loader(f"{self._name}_versions", self._watch, read, _version_key)

    @cached_property
    def versions_by_id(self) -> "BatchLoader[tuple[str, int], R]":
        read = self.repository.versions.many
        return loader(f"{self._name}_versions_by_id", self._watch, read)

    @cached_property
    def version_pages(self) -> "BatchLoader[tuple[R, VersionsRequest], Slice[R]]":
        read = self.repository.versions.pages
        return loader(f"{self._name}_version_pages", self._watch, read, _version_key)


class Loaders:
    """The loaders of one request, those of resources by their kind; made when first asked for."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._kinds: Final[dict[str, KindLoaders[Any]]] = {}

    def of(self, kind: KindDefinition[R]) -> KindLoaders[R]:
        """The loaders of one kind of resource."""
        found = self._kinds.get(kind.letter)
        if found is None:
            found = self._kinds[kind.letter] = KindLoaders(self._session, kind)
        return found

    @cached_property
    def groups(self) -> "BatchLoader[GroupPath, Group]":
        return loader("groups", self._session.watch, self._session.groups.many)

    @cached_property
    def jobs(self) -> "BatchLoader[str, Job]":
        return loader("jobs", self._session.watch, self._session.jobs.many)

    @cached_property
    def executions(self) -> "BatchLoader[str, Execution]":
        return loader("executions", self._session.watch, self._session.executions.reading.many)

    @cached_property
    def row_versions(self) -> "BatchLoader[tuple[str, str], list[KeptRow]]":
        return loader("row_versions", self._session.watch, self._session.kept_rows.many_versions)

    @cached_property
    def standing_rows(self) -> "BatchLoader[tuple[str, str], KeptRow | None]":
        return loader("standing_rows", self._session.watch, self._session.kept_rows.many_standing)

    @cached_property
    def runs(self) -> "BatchLoader[RunName, Run]":
        return loader("runs", self._session.watch, self._session.runs.many, _run_key)

    @cached_property
    def manifests(self) -> "BatchLoader[ManifestName, Manifest]":
        return loader("manifests", self._session.watch, self._session.manifests.many)

    @cached_property
    def previews(self) -> "BatchLoader[PreviewRequest, list[Preview]]":
        return loader("ngsi_previews", self._session.watch, self._session.notifications.previews)

    @cached_property
    def ngsi_attributes(self) -> "BatchLoader[tuple[Entity, str], Attribute | None]":
        read = self._session.notifications.directory.named_attributes
        return loader("ngsi_attributes", self._session.watch, read)

    @cached_property
    def ngsi_latest(self) -> "BatchLoader[Attribute, Sample | None]":
        read = self._session.notifications.latest.many
        return loader("ngsi_latest", self._session.watch, read, most=MAX_SERIES)

    @cached_property
    def audio(self) -> AudioLoaders:
        return AudioLoaders.over(self._session)

    @cached_property
    def listener(self) -> ListenerLoaders:
        return ListenerLoaders.over(self._session)


def _version_key(key: tuple[Resource, object]) -> tuple[str, int, object]:
    """Return a cache key that identifies a resource by its id and version."""
    return key[0].id, key[0].version, key[1]


def _run_key(name: RunName) -> object:
    """Return one cache key for all spellings of a manifest's name; too long texts have none."""
    return name if short_problem(name.manifest.name) else name.text
