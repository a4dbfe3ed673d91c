"""Deletes hide a playlist of any length at once, and remove all of its rows after any crash."""

from asyncio import gather

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.store import Store
from tests.datastore.playlists.sample_playlists import (
    ANN,
    add_tracks,
    make_mix,
    make_ranked_playlist,
    open_session,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite, walk, without_moto
from tests.support.table_interceptors import CutOffTable, ProcessDied

LONG = [f"MMMM{a}{b}{c}B" for a in "BCDE" for b in "BCDEFGHI" for c in "BCDEFGHIJK"]


async def remains(store: Store) -> int:
    """The number of rows of playlists."""
    rows = await contents(store.table)
    return sum(key.pk.startswith("PL:") or key.sk.startswith("PL:") for key in rows)


async def test_a_deleted_playlist_leaves_no_row_and_nothing_of_others(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 3)
    kept, _ = await make_mix(session, 2, "Kept")
    assert await session.playlists.deleting.delete(playlist.id) == playlist
    with pytest.raises(NotFound):
        await session.playlists.deleting.delete(playlist.id)
    assert await walk(session.playlists.reading.page) == [kept]
    assert await remains(store) == 4


@without_moto
async def test_a_delete_cut_short_anywhere_is_gone_for_readers_and_finished_later(
    store: Store,
) -> None:
    for writes in (1, 2, 8, 14, 15):
        session = open_session(store)
        playlist, _ = await make_ranked_playlist(session, LONG)
        cut = Store(CutOffTable(store.table, writes)).open_session(ANN)
        try:
            await cut.playlists.deleting.delete(playlist.id)
        except ProcessDied:
            with pytest.raises(NotFound):
                await session.playlists.reading.one(playlist.id)
            (track,) = await add_tracks(session, 1)
            with pytest.raises(NotFound):
                await session.playlists.adding.add(ChangeTarget(id=playlist.id), [track])
            assert await store.count_pending_deletes() == 1
            assert await store.finish_deletes() == 1
        assert await remains(store) == 0
        assert await store.count_pending_deletes() == 0


@on_sqlite
async def test_a_delete_cut_short_before_its_first_write_never_began(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 3)
    with pytest.raises(ProcessDied):
        await (
            Store(CutOffTable(store.table, 0))
            .open_session(ANN)
            .playlists.deleting.delete(playlist.id)
        )
    assert await session.playlists.reading.one(playlist.id) == playlist
    assert await store.finish_deletes() == 0
    assert await remains(store) == 5


@without_moto
async def test_any_number_may_finish_one_delete(store: Store) -> None:
    playlist, _ = await make_ranked_playlist(open_session(store), LONG)
    with pytest.raises(ProcessDied):
        await (
            Store(CutOffTable(store.table, 3))
            .open_session(ANN)
            .playlists.deleting.delete(playlist.id)
        )
    await gather(*(Store(store.table).finish_deletes() for _ in range(3)))
    assert await remains(store) == 0
