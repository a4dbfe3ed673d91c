"""The number of requests of each call, and the length of their longest chain."""

from collections.abc import Awaitable

import pytest

from penstock.datastore.audio.records import Audio
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.playlists.sample_playlists import ANN, add_tracks, ids, make_mix, open_session
from tests.support.sample_resources import on_sqlite
from tests.support.table_interceptors import TracedTable

pytestmark = on_sqlite


@pytest.fixture
def traced(table: Table) -> TracedTable:
    return TracedTable(table)


@pytest.fixture
def session(traced: TracedTable) -> Session:
    return Store(traced).open_session(ANN)


async def cost(traced: TracedTable, call: Awaitable[object]) -> tuple[int, int, int]:
    """The reads, the writes, and the longest chain of requests that wait for one another."""
    traced.start()
    await call
    return traced.seen


async def test_reads_cost_the_same_however_much_there_is(
    traced: TracedTable, session: Session
) -> None:
    made = [(await make_mix(session, 30))[0] for _ in range(10)]
    reading = Store(traced).open_session(ANN).playlists.reading
    window = Window(size=20)
    entry = (await reading.entries(made[0], window)).entries[0][1]
    (audio,) = await session.audio.reading.many([str(entry.audio_id)])
    assert isinstance(audio, Audio)
    held = [(audio, window)] * 4
    pages = [(each, window) for each in made]
    assert await cost(traced, reading.many([each.id for each in made])) == (1, 0, 1)
    assert await cost(traced, reading.get_playlist_ids_by_user_id(window)) == (1, 0, 1)
    assert await cost(traced, reading.page(window)) == (2, 0, 2)
    assert await cost(traced, reading.entries(made[0], window)) == (1, 0, 1)
    assert await cost(traced, reading.entries_of(pages)) == (10, 0, 1)
    assert await cost(traced, reading.playlists_holding(held)) == (5, 0, 2)


async def test_changes_read_what_they_need_and_write_once(
    traced: TracedTable, session: Session
) -> None:
    playlist, entries = await make_mix(open_session(Store(traced)), 40)
    more, target = await add_tracks(session, 2), ChangeTarget(id=playlist.id)
    adding, moving = session.playlists.adding, session.playlists.moving
    # The header, then the end and the tracks; the transaction; the header again.
    assert await cost(traced, adding.add(target, more)) == (4, 1, 4)
    hinted = ChangeTarget(id=playlist.id, hints=tuple(each.position for each in entries))
    assert await cost(traced, moving.move(hinted, ids(entries[5:9]))) == (4, 1, 5)
    assert await cost(traced, moving.remove(hinted, ids(entries[20:30]))) == (3, 1, 4)
    renamed = session.playlists.writing.rename(playlist.id, "New")
    assert await cost(traced, renamed) == (2, 1, 3)
    # With an expected version, the new header needs no read.
    expecting = ChangeTarget(id=playlist.id, version=6)
    assert await cost(traced, moving.remove(expecting, ids(entries[:1]))) == (2, 1, 3)
    assert await cost(traced, session.playlists.writing.create("Other")) == (0, 1, 1)
    assert await cost(traced, session.playlists.deleting.delete(playlist.id)) == (3, 4, 6)
