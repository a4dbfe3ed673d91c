"""A rewrite of a record of each kind: what makes the record, and what writes it again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from penstock.datastore.listening.records import Kind
from penstock.datastore.manifest.records import Stage
from penstock.datastore.manifest.rows import key_of_run
from penstock.datastore.manifest.transitions import Claim
from penstock.datastore.ngsi.dead_letters import ReplayResult, list_letters, replay_write
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.records import State
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.layout import (
    ANNOTATION,
    AUDIO,
    DEAD_LETTER,
    EXECUTION,
    GROUP,
    KINDS,
    LIBRARY,
    MANIFEST_COUNT,
    NAMING_RULES,
    PLAY_QUEUE,
    PLAYLIST,
    PLAYLIST_ENTRY,
    PLAYLIST_MEMBER,
    KindDefinition,
)
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key
from tests.datastore.executions.sample_executions import pipeline_in, ready_execution
from tests.datastore.manifest.sample_runs import NAME, SNOW, discover
from tests.datastore.ngsi.stored_samples import store_dead_letter
from tests.datastore.playlists.sample_playlists import add_tracks, make_mix
from tests.support.sample_resources import EU, SUPER, USA, create_groups, make, make_of

USER = SUPER.user_id


class Rewrite(NamedTuple):
    """The row of a record, and a call that writes it; `find_moved` finds its key afterwards."""

    key: Key
    write: Callable[[], Awaitable[object]]
    find_moved: Callable[[], Awaitable[Key]] | None = None


MakeRewrite: TypeAlias = Callable[[Store], Awaitable[Rewrite]]


def _rename(kind: KindDefinition[Any]) -> MakeRewrite:
    async def prepare(store: Store) -> Rewrite:
        session = await create_groups(store)
        made = await make_of(session, kind, USA, "first", "colour=red")
        repository = session.repository(kind)

        async def write() -> None:
            await repository.writing.update(made.id, 1, {"name": "second", "description": "d"})
            await repository.writing.update(made.id, 2, {"description": None})

        return Rewrite(kind.latest.key(id=made.id), write)

    return prepare


def _grant(kind: KindDefinition[Any]) -> MakeRewrite:
    async def prepare(store: Store) -> Rewrite:
        session = await create_groups(store)
        made = await make_of(session, kind, USA, "first", "colour=red")
        writing = session.repository(kind).writing

        async def write() -> None:
            await writing.grant(made.id, EU)
            await writing.revoke(made.id, EU)
            await writing.update(made.id, 1, {"state": State.FROZEN})

        return Rewrite(kind.latest.key(id=made.id), write)

    return prepare


async def _count_in_group(store: Store) -> Rewrite:
    session = await create_groups(store, USA)
    return Rewrite(GROUP.key(parent="/", group=USA), lambda: make(session, USA, "one"))


async def _count_in_manifest(store: Store) -> Rewrite:
    session = await create_groups(replace(store, shards=1), USA)
    await discover(session)
    key = MANIFEST_COUNT.key(manifest=SNOW.key_parts, shard=1)
    return Rewrite(key, lambda: discover(session, "archive/other/"))


async def _claim_run(store: Store) -> Rewrite:
    session = await create_groups(store, USA)
    await discover(session)
    claim = Claim(stage=Stage.TRANSFORM, owner="worker-1")
    return Rewrite(key_of_run(NAME), lambda: session.runs.change(NAME, claim))


async def _run_execution(store: Store) -> Rewrite:
    await create_groups(store)
    ready = await ready_execution(store, await pipeline_in(store))
    return Rewrite(EXECUTION.key(id=ready.id), store.execution_worker("w").run_all)


async def _edit_track(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    (track,) = await add_tracks(session, 1)
    write = session.audio.editing.edit
    return Rewrite(
        AUDIO.key(user=USER, audio=track), lambda: write(track, {"title": "t", "album": None})
    )


async def _count_in_library(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    await add_tracks(session, 1)
    return Rewrite(LIBRARY.key(user=USER), lambda: add_tracks(session, 1, 1))


async def _rename_playlist(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    made = await session.playlists.writing.create("first")
    return Rewrite(
        PLAYLIST.key(playlist=made.id), lambda: session.playlists.writing.rename(made.id, "second")
    )


async def _rename_member(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    made = await session.playlists.writing.create("first")
    return Rewrite(
        PLAYLIST_MEMBER.key(user=USER, playlist=made.id),
        lambda: session.playlists.writing.rename(made.id, "second"),
    )


async def _move_entry(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    playlist, (first, _, last) = await make_mix(session, 3)

    async def find_moved() -> Key:
        page = await session.playlists.reading.entries(playlist, Window(size=9))
        (found,) = (entry for _, entry in page.entries if entry.id == last.id)
        assert found.rank != last.rank
        return PLAYLIST_ENTRY.key(playlist=playlist.id, rank=found.rank, entry=found.id)

    target = ChangeTarget(id=playlist.id)
    return Rewrite(
        PLAYLIST_ENTRY.key(playlist=playlist.id, rank=last.rank, entry=last.id),
        lambda: session.playlists.moving.move(target, [last.id], first.id),
        find_moved,
    )


async def _rate(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    (track,) = await add_tracks(session, 1)
    annotations = session.listening.annotations
    await annotations.rate((Kind.AUDIO, track), 3)
    return Rewrite(
        ANNOTATION.key(user=USER, kind=Kind.AUDIO, id=track),
        lambda: annotations.rate((Kind.AUDIO, track), 4),
    )


async def _save_queue(store: Store) -> Rewrite:
    session = store.open_session(SUPER)
    ids = await add_tracks(session, 2)
    queue = session.listening.queue
    await queue.save(ids, 0, 0)
    return Rewrite(PLAY_QUEUE.key(user=USER), lambda: queue.save(ids[:1], 0, 10))


async def _put_naming_rules(store: Store) -> Rewrite:
    rules = store.open_session(SUPER).notifications.rules
    first, second = b'{"serviceMappings": []}', b'{"serviceMappings": [ ]}'
    await rules.put_mappings(first)
    return Rewrite(NAMING_RULES.key(kind="mappings"), lambda: rules.put_mappings(second))


async def _replay_letter(store: Store) -> Rewrite:
    id = await store_dead_letter(store)
    place = ("vehicles", "/4wheels")
    page = await list_letters(store.table, place, Window(size=1))
    result = ReplayResult(page.entries[0][1], 1, 0)
    return Rewrite(
        DEAD_LETTER.key(id=id), lambda: commit(store.table, [replay_write(result, store.clock)])
    )


REWRITES: Mapping[str, MakeRewrite] = {
    **{f"rename a {kind.noun}": _rename(kind) for kind in KINDS},
    **{f"grant a {kind.noun}": _grant(kind) for kind in KINDS},
    "count in a group": _count_in_group,
    "count in a manifest": _count_in_manifest,
    "claim a run": _claim_run,
    "run an execution": _run_execution,
    "edit a track": _edit_track,
    "count in a library": _count_in_library,
    "rename a playlist": _rename_playlist,
    "rename a playlist in its user's list": _rename_member,
    "move an entry": _move_entry,
    "rate a track": _rate,
    "save a queue": _save_queue,
    "put naming rules": _put_naming_rules,
    "replay a dead letter": _replay_letter,
}
