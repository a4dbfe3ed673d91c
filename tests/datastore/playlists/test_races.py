"""Concurrent changes of one playlist lose no entry, and all clients see one order."""

from asyncio import gather
from collections.abc import Awaitable, Iterable
from random import Random
from typing import Any

import pytest

from penstock.datastore.errors import LimitExceeded, NotFound, VersionConflict
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Update
from tests.datastore.playlists.sample_playlists import (
    add_tracks,
    drift,
    ids,
    make_mix,
    make_ranked_playlist,
    open_session,
    read_order,
    titles,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import without_moto
from tests.support.table_interceptors import InterruptedTable

pytestmark = without_moto

FIRST = "MMMMMMMM"


async def at_once(calls: Iterable[Awaitable[Any]]) -> tuple[list[Any], list[BaseException]]:
    outcomes = await gather(*calls, return_exceptions=True)
    failures = [each for each in outcomes if isinstance(each, BaseException)]
    return [each for each in outcomes if not isinstance(each, BaseException)], failures


async def test_two_clients_who_build_and_reorder_at_once_lose_no_entry(store: Store) -> None:
    playlist, first = await make_mix(open_session(store), 6)
    audio = await add_tracks(open_session(store), 2)

    async def client(seed: int) -> list[str]:
        chance, session, added = Random(seed), open_session(store), []
        target = ChangeTarget(id=playlist.id)
        for _ in range(8):
            _, new = await session.playlists.adding.add(target, [audio[seed]] * 2)
            added += ids(new)
            moved = chance.sample([*ids(first), *added], 2)
            known = [each for each in (*ids(first), *added) if each not in moved]
            await session.playlists.moving.move(target, moved, chance.choice([None, *known]))
        return added

    mine, theirs = await gather(client(0), client(1))
    found = await read_order(open_session(store), playlist.id)
    assert sorted(ids(found)) == sorted([*ids(first), *mine, *theirs])
    now = await open_session(store).playlists.reading.one(playlist.id)
    assert now.entry_count == 38
    assert await drift(store.table) == []


async def test_adds_at_once_are_all_there_and_counted(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    audio = await add_tracks(session, 20)
    target = ChangeTarget(id=playlist.id)
    _, failures = await at_once(
        open_session(store).playlists.adding.add(target, [track], entries[0].id if n % 2 else None)
        for n, track in enumerate(audio)
    )
    assert failures == []
    found = await read_order(session, playlist.id)
    assert {entry.audio_id for entry in found} >= {*audio}
    assert found[0] == entries[0]
    assert {entry.title for entry in found[1:11]} == {f"t{n}" for n in range(1, 20, 2)}
    now = await session.playlists.reading.one(playlist.id)
    assert (now.version, now.entry_count) == (22, 22)
    assert await drift(store.table) == []


async def test_moves_of_different_entries_all_happen(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 12)
    target = ChangeTarget(id=playlist.id)
    _, failures = await at_once(
        open_session(store).playlists.moving.move(target, [entry.id]) for entry in entries[6:]
    )
    assert failures == []
    found = ids(await read_order(session, playlist.id))
    assert sorted(found[:6]) == sorted(ids(entries[6:]))
    assert found[6:] == ids(entries[:6])
    assert await drift(store.table) == []


async def test_moves_of_one_entry_leave_it_in_one_place(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 8)
    target = ChangeTarget(id=playlist.id)
    _, failures = await at_once(
        open_session(store).playlists.moving.move(target, [entries[0].id], behind.id)
        for behind in entries[1:]
    )
    assert failures == []
    found = ids(await read_order(session, playlist.id))
    assert [id for id in found if id != entries[0].id] == ids(entries[1:])
    assert sorted(found) == sorted(ids(entries))
    assert await drift(store.table) == []


async def test_of_changes_that_expect_one_version_one_wins(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 8)
    target = ChangeTarget(id=playlist.id, version=playlist.version)
    won, failures = await at_once(
        open_session(store).playlists.moving.move(target, [entry.id]) for entry in entries[1:]
    )
    assert len(won) == 1
    assert {type(failure) for failure in failures} == {VersionConflict}
    assert {failure.current_version for failure in failures} == {3}  # type: ignore[attr-defined]
    assert await session.playlists.reading.one(playlist.id) == won[0]


async def test_an_entry_is_removed_once_by_one_of_many(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 4)
    target = ChangeTarget(id=playlist.id)
    gone, failures = await at_once(
        open_session(store).playlists.moving.remove(target, [entries[1].id]) for _ in range(6)
    )
    assert len(gone) == 1
    assert {type(failure) for failure in failures} == {NotFound}
    assert await titles(session, playlist.id) == ["t0", "t2", "t3"]
    assert await drift(store.table) == []


async def test_the_last_places_of_a_full_playlist_are_given_once(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 2)
    (track,) = await add_tracks(session, 1)
    header = Key(f"PL:{playlist.id}", "PL")
    await store.table.transact([Update(key=header, set={"entryCount": 9_997})])
    won, failures = await at_once(
        open_session(store).playlists.adding.add(ChangeTarget(id=playlist.id), [track])
        for _ in range(8)
    )
    assert len(won) == 3
    assert {type(failure) for failure in failures} == {LimitExceeded}
    assert len(await read_order(session, playlist.id)) == 5


async def test_what_is_added_while_the_playlist_is_deleted_is_no_orphan(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 3)
    audio = await add_tracks(session, 6)
    target = ChangeTarget(id=playlist.id)
    _, failures = await at_once(
        [
            *(open_session(store).playlists.adding.add(target, [track]) for track in audio),
            open_session(store).playlists.deleting.delete(playlist.id),
            open_session(store).playlists.writing.rename(playlist.id, "Late"),
        ]
    )
    assert {type(failure) for failure in failures} <= {NotFound}
    assert not [key for key in await contents(store.table) if "PL" in key.pk or "PL:" in key.sk]


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
async def test_who_comes_while_entries_are_ranked_anew_neither_loses_nor_disorders_any(
    store: Store, writes: int
) -> None:
    session = open_session(store)
    # Many additions at one spot leave 120 entries just above the first.
    crowd = [f"{FIRST}{'A' * 60}{a}{b}B" for a in "BCDEFG" for b in "BCDEFGHIJKLMNOPQRSTU"]
    playlist, entries = await make_ranked_playlist(session, [FIRST, *crowd])
    (track,) = await add_tracks(session, 1)
    target = ChangeTarget(id=playlist.id)

    async def another() -> None:
        await open_session(store).playlists.adding.add(target, [track], entries[20].id)

    interrupted = InterruptedTable(store.table, another, writes=writes)
    cut = Store(interrupted).open_session(session.caller)
    _, (new,) = await cut.playlists.adding.add(target, [track], entries[60].id)
    assert interrupted.other is None
    found = await read_order(session, playlist.id)
    assert ids(found)[61:63] == [entries[60].id, new.id]
    assert [id for id in ids(found) if id in ids(entries)] == ids(entries)
    assert len(found) == 123
    assert ids(found).index(entries[20].id) == 20
    assert found[21].audio_id == track
    assert await drift(store.table) == []
