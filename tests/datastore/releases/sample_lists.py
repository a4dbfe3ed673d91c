"""A list of each kind with three records, and the key of the row behind each of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

from penstock.datastore.audio.records import ConnectionKind
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.listening.records import Play
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import ManifestName, RunState
from penstock.datastore.manifest.rows import key_of_run
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.ngsi.directory import Entity, ServicePath
from penstock.datastore.records import GroupRole
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import (
    API_KEY,
    ATTRIBUTE,
    AUDIO,
    CONNECTION,
    DEAD_LETTER,
    EXECUTION,
    EXECUTION_EVENT,
    GROUP,
    KINDS,
    MANIFEST,
    PIPELINE,
    PLAY,
    PLAYLIST,
    PLAYLIST_ENTRY,
    RUN_EVENT,
    TAG,
    TAG_KEY_COUNT,
    TAG_VALUE_COUNT,
    KindDefinition,
)
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import Key
from penstock.datastore.tag_search.tags import TagFilter
from tests.datastore.executions.sample_executions import begin_execution, pipeline_in
from tests.datastore.manifest.sample_runs import SNOW, bring_to, discover
from tests.datastore.ngsi.stored_samples import store_dead_letter, store_samples
from tests.datastore.playlists.sample_playlists import add_tracks, make_mix
from tests.support.sample_resources import SUPER, USA, create_groups, make_of, tags


class SampleList(NamedTuple):
    """Reads a page of a list, and names the row of a record; `attribute` is one it needs.

    It may lack an `optional` attribute, but not have one of another type.
    """

    page: Callable[[Window], Awaitable[Slice[Any]]]
    key: Callable[[Any], Key]
    attribute: str
    optional: bool = False


MakeList: TypeAlias = Callable[[Store], Awaitable[SampleList]]

NAMES = ("first", "second", "third")


def _list_resources(kind: KindDefinition[Any]) -> MakeList:
    async def make(store: Store) -> SampleList:
        session = await create_groups(store, USA)
        for name in NAMES:
            await make_of(session, kind, USA, name, "colour=red")
        listing = session.repository(kind).listing
        return SampleList(
            lambda window: listing.page(ListRequest(group=USA), window),
            lambda found: kind.latest.key(id=found.id),
            "state",
        )

    return make


async def _list_tagged_pipelines(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    for name in NAMES:
        await make_of(session, PIPELINE, USA, name, "colour=red")
    wanted = ListRequest(group=USA, tags=TagFilter(all=tags("colour=red")))
    return SampleList(
        lambda window: session.pipelines.listing.page(wanted, window),
        lambda found: TAG.key(group=USA, key="colour", value=("red",), kind="P", id=found.id),
        "tags",
        optional=True,
    )


async def _list_versions(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    of = await make_of(session, PIPELINE, USA, "first")
    for name in NAMES[1:]:
        of = await session.pipelines.writing.update(of.id, of.version, {"name": name})
    return SampleList(
        lambda window: session.pipelines.versions.page(of, window),
        lambda found: PIPELINE.version.key(id=of.id, version=found.version),
        "transformer",
    )


async def _list_groups(store: Store) -> SampleList:
    session = await create_groups(store, *(GroupPath(f"/{name}") for name in NAMES))
    root = await session.groups.one(ROOT)
    return SampleList(
        lambda window: session.groups.children(root, window),
        lambda found: GROUP.key(parent="/", group=found.path),
        "name",
    )


async def _list_tag_keys(store: Store) -> SampleList:
    session = await create_groups(replace(store, shards=1), USA)
    await make_of(session, PIPELINE, USA, "one", *(f"{name}=x" for name in NAMES))
    return SampleList(
        lambda window: session.pipelines.tags.keys(USA, window),
        lambda found: TAG_KEY_COUNT.key(group=USA, key=found.key, kind="P", shard=1),
        "count",
    )


async def _list_tag_values(store: Store) -> SampleList:
    session = await create_groups(replace(store, shards=1), USA)
    await make_of(session, PIPELINE, USA, "one", *(f"{name}=x" for name in NAMES))
    for name in NAMES:
        await make_of(session, PIPELINE, USA, name, f"colour={name}")
    return SampleList(
        lambda window: session.pipelines.tags.values("colour", None, USA, window),
        lambda found: TAG_VALUE_COUNT.key(
            group=USA, key="colour", kind="P", depth=1, value=(found.value,), shard=1
        ),
        "count",
    )


async def _list_api_keys(store: Store) -> SampleList:
    session = store.open_session(SUPER)
    expires = iso_timestamp(store.clock.now() + timedelta(days=1))
    for name in NAMES:
        await session.api_keys.create(name, [GroupRole(group=USA, role=Role.READER)], expires)
    return SampleList(session.api_keys.page, lambda found: API_KEY.key(id=found.id), "roles")


async def _list_manifests(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    for name in NAMES:
        found = Discovery(run_id="run=1/", added_by="me")
        await session.runs.discover(ManifestName(USA, name), found)
    return SampleList(
        lambda window: session.manifests.page(USA, window),
        lambda found: MANIFEST.key(group=USA, name=found.name),
        "createdAt",
    )


async def _list_runs(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    for name in NAMES:
        await discover(session, f"archive/{name}/")
    return SampleList(
        lambda window: session.run_lists.page(SNOW, RunListFilter(), window),
        lambda found: key_of_run(found.name),
        "State",
    )


async def _list_run_events(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    run = await bring_to(session, RunState.PROCESSED)
    return SampleList(
        lambda window: session.run_lists.history(run, window),
        lambda found: RUN_EVENT.key(
            manifest=run.name.manifest.key_parts, run=run.run_id, seq=found.seq
        ),
        "action",
    )


async def _list_executions(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    pipeline = await pipeline_in(store)
    for _ in NAMES:
        await begin_execution(store, pipeline)
    listing = session.executions.listing
    return SampleList(
        lambda window: listing.page(pipeline, ExecutionFilter(), window),
        lambda found: EXECUTION.key(id=found.id),
        "state",
    )


async def _list_execution_events(store: Store) -> SampleList:
    session = await create_groups(store, USA)
    begun = await begin_execution(store, await pipeline_in(store))
    await session.executions.changing.cancel(begun.id)
    await session.executions.changing.retry(begun.id)
    reading = session.executions.reading
    return SampleList(
        lambda window: reading.events(begun, window),
        lambda found: EXECUTION_EVENT.key(id=begun.id, seq=found.seq),
        "happening",
    )


async def _list_tracks(store: Store) -> SampleList:
    session = store.open_session(SUPER)
    await add_tracks(session, 3)
    return SampleList(
        session.audio.lists.audios,
        lambda found: AUDIO.key(user=SUPER.user_id, audio=found.id),
        "durationMs",
    )


async def _list_playlists(store: Store) -> SampleList:
    session = store.open_session(SUPER)
    for name in NAMES:
        await session.playlists.writing.create(name)
    return SampleList(
        session.playlists.reading.page, lambda found: PLAYLIST.key(playlist=found.id), "name"
    )


async def _list_entries(store: Store) -> SampleList:
    session = store.open_session(SUPER)
    playlist, _ = await make_mix(session, 3)
    return SampleList(
        lambda window: session.playlists.reading.entries(playlist, window),
        lambda found: PLAYLIST_ENTRY.key(playlist=playlist.id, rank=found.rank, entry=found.id),
        "addedAt",
    )


async def _list_plays(store: Store) -> SampleList:
    session = store.open_session(SUPER)
    (track,) = await add_tracks(session, 1)
    for minutes in (1, 2, 3):
        began = iso_timestamp(store.clock.now() - timedelta(minutes=minutes))
        await session.listening.plays.record(
            Play(audio_id=track, started_at=began, listened_ms=10_000)
        )
    return SampleList(
        session.listening.plays.page,
        lambda found: PLAY.key(user=SUPER.user_id, at=found.started_at, audio=found.audio_id),
        "listenedMs",
    )


async def _list_connections(store: Store) -> SampleList:
    session = store.open_session(SUPER)
    connections = session.audio.connections
    for name in NAMES:
        made = connections._new_connection(ConnectionKind.ROLE, name, "sounds", "us-east-1")
        await connections._put_connection(made, {})
    return SampleList(
        connections.page,
        lambda found: CONNECTION.key(user=SUPER.user_id, connection=found.id),
        "bucket",
    )


async def _list_dead_letters(store: Store) -> SampleList:
    for _ in NAMES:
        await store_dead_letter(store)
    letters = store.open_session(SUPER).notifications.letters
    path = ServicePath("vehicles", "/4wheels")
    return SampleList(
        lambda window: letters(path, window), lambda found: DEAD_LETTER.key(id=found.id), "reason"
    )


async def _list_attributes(store: Store) -> SampleList:
    await store_samples(store)
    directory = store.open_session(SUPER).notifications.directory
    of = Entity("vehicles", "/4wheels", "car1", "car")
    return SampleList(
        lambda window: directory.attributes(of, window),
        lambda found: ATTRIBUTE.key(
            service=of.service,
            path=of.path,
            entity=of.entity_id,
            type=of.entity_type,
            attribute=found.name,
        ),
        "type",
    )


LISTS: Mapping[str, MakeList] = {
    **{f"{kind.noun}s": _list_resources(kind) for kind in KINDS},
    "tagged pipelines": _list_tagged_pipelines,
    "versions": _list_versions,
    "groups": _list_groups,
    "tag keys": _list_tag_keys,
    "tag values": _list_tag_values,
    "API keys": _list_api_keys,
    "manifests": _list_manifests,
    "runs": _list_runs,
    "run events": _list_run_events,
    "executions": _list_executions,
    "execution events": _list_execution_events,
    "tracks": _list_tracks,
    "playlists": _list_playlists,
    "entries": _list_entries,
    "plays": _list_plays,
    "connections": _list_connections,
    "dead letters": _list_dead_letters,
    "attributes": _list_attributes,
}
