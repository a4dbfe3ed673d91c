"""Entries are added, moved and removed by their ids, and every reader sees one order."""

from asyncio import gather

import pytest

from penstock.datastore.errors import Invalid, LimitExceeded, NotFound, VersionConflict
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.order import EntryOrder
from penstock.datastore.store import Store
from penstock.datastore.table.port import Delete, Key, Put, Update
from tests.datastore.playlists.sample_playlists import (
    ABSENT,
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
from tests.support.sample_resources import on_sqlite, walk, without_moto
from tests.support.table_interceptors import TracedTable


async def test_entries_are_added_at_the_end_and_behind_an_entry(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    target = ChangeTarget(id=playlist.id)
    more = await add_tracks(session, 3, start=2)
    await session.playlists.adding.add(target, more[:1])
    after, added = await session.playlists.adding.add(target, more[1:], entries[0].id)
    assert await titles(session, playlist.id) == ["t0", "t3", "t4", "t1", "t2"]
    assert (after.version, after.entry_count, after.duration_ms) == (4, 5, 5_010)
    assert [entry.title for entry in added] == ["t3", "t4"]
    assert await drift(store.table) == []


async def test_a_track_may_be_in_a_playlist_any_number_of_times(store: Store) -> None:
    session = open_session(store)
    (track,) = await add_tracks(session, 1)
    made = await session.playlists.writing.create("Loop")
    target = ChangeTarget(id=made.id)
    _, entries = await session.playlists.adding.add(target, [track] * 3)
    assert len(set(ids(entries))) == 3
    await session.playlists.moving.remove(target, [entries[1].id])
    assert ids(await read_order(session, made.id)) == [entries[0].id, entries[2].id]
    assert await drift(store.table) == []


async def test_duplicates_are_left_out_on_demand(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    adding, target = session.playlists.adding, ChangeTarget(id=playlist.id)
    held = [str(entry.audio_id) for entry in entries]
    new = await add_tracks(session, 2, start=2)
    wanted = [new[1], held[0], new[0], new[1], held[1]]
    after, added = await adding.add(target, wanted, entries[0].id, "key", skip_duplicates=True)
    assert [entry.title for entry in added] == ["t3", "t2"]
    assert await titles(session, playlist.id) == ["t0", "t3", "t2", "t1"]
    assert (after.version, after.entry_count) == (3, 4)
    before = await contents(store.table)
    replayed = await adding.add(target, wanted, entries[0].id, "key", skip_duplicates=True)
    assert replayed == (after, added)
    assert await adding.add(target, wanted, skip_duplicates=True) == (after, ())
    with pytest.raises(NotFound):
        await adding.add(target, [held[0], ABSENT], skip_duplicates=True)
    old = ChangeTarget(id=playlist.id, version=1)
    with pytest.raises(VersionConflict):
        await adding.add(old, new, skip_duplicates=True)
    assert await contents(store.table) == before
    assert await drift(store.table) == []


@on_sqlite
async def test_what_is_read_to_leave_duplicates_out_is_read_once(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 3)
    target, new = ChangeTarget(id=playlist.id), await add_tracks(session, 3, start=3)
    traced = TracedTable(store.table)
    adding = open_session(Store(traced)).playlists.adding
    for track, after in zip(new, (None, entries[0].id, entries[2].id), strict=True):
        traced.start()
        await adding.add(target, [track], after, skip_duplicates=True)
        # The playlist, then its entries beside the track.
        assert traced.seen == (3, 1, 3)
    assert await titles(session, playlist.id) == ["t0", "t4", "t1", "t2", "t5", "t3"]
    with pytest.raises(NotFound) as caught:
        await adding.add(
            target, await add_tracks(session, 1, start=6), ABSENT, skip_duplicates=True
        )
    assert caught.value.path == ["after"]
    assert await drift(store.table) == []


@without_moto
async def test_additions_that_meet_add_a_track_once(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 1)
    new, target = await add_tracks(session, 3, start=1), ChangeTarget(id=playlist.id)
    await gather(
        *(
            open_session(store).playlists.adding.add(target, new, skip_duplicates=True)
            for _ in range(5)
        )
    )
    assert await titles(session, playlist.id) == ["t0", "t1", "t2", "t3"]
    assert await drift(store.table) == []


async def test_entries_are_listed_in_order_both_ways_at_any_page_size(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 7)
    reading = session.playlists.reading
    for size in (1, 3, 7):
        for backward in (False, True):
            found = await walk(
                lambda window: reading.entries(playlist, window), size, backward=backward
            )
            assert found == entries


MOVES: list[tuple[list[int], int | None, list[int]]] = [
    ([2], None, [2, 0, 1, 3, 4]),
    ([0], 4, [1, 2, 3, 4, 0]),
    ([0], 1, [1, 0, 2, 3, 4]),
    ([1], 0, [0, 1, 2, 3, 4]),
    ([0], None, [0, 1, 2, 3, 4]),
    ([3, 1], None, [1, 3, 0, 2, 4]),
    ([4, 0, 2], 3, [1, 3, 0, 2, 4]),
    ([0, 1, 2, 3], 4, [4, 0, 1, 2, 3]),
    ([1, 2, 3], 0, [0, 1, 2, 3, 4]),
    ([0, 1, 2, 3, 4], None, [0, 1, 2, 3, 4]),
    ([1, 3], 2, [0, 2, 1, 3, 4]),
]


@without_moto
@pytest.mark.parametrize("hinted", [False, True])
async def test_a_block_moves_behind_another_or_before_all(store: Store, hinted: bool) -> None:
    session = open_session(store)
    for moved, after, wanted in MOVES:
        playlist, entries = await make_mix(session, 5)
        hints = tuple(entry.position for entry in entries) if hinted else ()
        target = ChangeTarget(id=playlist.id, hints=hints)
        behind = None if after is None else entries[after].id
        told = await session.playlists.moving.move(target, [entries[n].id for n in moved], behind)
        assert ids(await read_order(session, playlist.id)) == [entries[n].id for n in wanted]
        assert told.version == playlist.version + (wanted != sorted(wanted))
        counts = (playlist.entry_count, playlist.duration_ms)
        assert (told.entry_count, told.duration_ms) == counts
    assert await drift(store.table) == []


async def test_what_moves_is_the_same_entry_as_before(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 3)
    await session.playlists.moving.move(
        ChangeTarget(id=playlist.id), [entries[0].id], entries[2].id
    )
    last = (await read_order(session, playlist.id))[-1]
    assert last.rank > entries[2].rank
    fields = {name: getattr(last, name) for name in last.__struct_fields__ if name != "rank"}
    assert fields == {name: getattr(entries[0], name) for name in fields}


async def test_a_stale_or_foreign_hint_costs_a_reading_and_misleads_nobody(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 4)
    other, theirs = await make_mix(session, 2, "Other")
    stale = tuple(entry.position for entry in (entries[0], *theirs))
    target = ChangeTarget(id=playlist.id, hints=(*stale, "", "x", "::", "é:"))
    await session.playlists.moving.move(target, [entries[0].id])
    await session.playlists.moving.move(target, [entries[0].id], entries[3].id)
    await session.playlists.moving.move(target, [entries[0].id], entries[1].id)
    assert await titles(session, playlist.id) == ["t1", "t0", "t2", "t3"]
    with pytest.raises(NotFound):
        await session.playlists.moving.remove(target, [theirs[0].id])
    assert len(await read_order(session, other.id)) == 2


@on_sqlite
async def test_what_cannot_mean_anything_is_refused_and_changes_nothing(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 3)
    (track,) = await add_tracks(session, 1, start=3)
    target, first = ChangeTarget(id=playlist.id), entries[0].id
    add, move, remove = (
        session.playlists.adding.add,
        session.playlists.moving.move,
        session.playlists.moving.remove,
    )
    before = await contents(store.table)
    for call, failure, path in (
        (add(target, []), Invalid, ["audioIds"]),
        (add(target, [track] * 99), LimitExceeded, ["audioIds"]),
        (add(target, [track], ABSENT), NotFound, ["after"]),
        (add(target, [track], "no id"), NotFound, ["after"]),
        (add(target, [track], None, " "), Invalid, ["idempotencyKey"]),
        (move(target, []), Invalid, ["entryIds"]),
        (move(target, [first] * 2), Invalid, ["entryIds"]),
        (move(target, [first], first), Invalid, ["after"]),
        (move(target, [f"{n}" for n in range(50)]), LimitExceeded, ["entryIds"]),
        (move(target, [first, ABSENT]), NotFound, ["entryIds"]),
        (move(target, [first], ABSENT), NotFound, ["after"]),
        (move(target, [ABSENT], ABSENT[:-1] + "e"), NotFound, ["entryIds"]),
        (remove(target, []), Invalid, ["entryIds"]),
        (remove(target, [first] * 2), Invalid, ["entryIds"]),
        (remove(target, [first, ABSENT]), NotFound, ["entryIds"]),
        (remove(target, [f"{n}" for n in range(99)]), LimitExceeded, ["entryIds"]),
    ):
        with pytest.raises(failure) as caught:
            await call
        assert caught.value.path == path
    assert await contents(store.table) == before


async def test_who_expects_a_version_is_told_the_current_one_and_changes_nothing(
    store: Store,
) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 3)
    (track,) = await add_tracks(session, 1, start=3)
    await session.playlists.writing.rename(playlist.id, "New")
    before = await contents(store.table)
    stale = ChangeTarget(id=playlist.id, version=playlist.version)
    for call in (
        session.playlists.adding.add(stale, [track]),
        session.playlists.moving.move(stale, [entries[2].id]),
        session.playlists.moving.remove(stale, [entries[0].id]),
        session.playlists.deleting.delete(playlist.id, playlist.version),
    ):
        with pytest.raises(VersionConflict) as caught:
            await call
        assert caught.value.current_version == 3
    assert await contents(store.table) == before
    fresh = ChangeTarget(id=playlist.id, version=3)
    told = await session.playlists.moving.remove(fresh, [entries[0].id])
    assert told == await session.playlists.reading.one(playlist.id)
    assert (told.version, told.entry_count, told.duration_ms) == (4, 2, 2_003)


async def test_an_add_sent_twice_happens_once(store: Store) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    more, target = await add_tracks(session, 2, start=2), ChangeTarget(id=playlist.id)
    added = await session.playlists.adding.add(target, more, entries[0].id, "key")
    await session.playlists.moving.remove(target, [added[1][0].id])
    again = await session.playlists.adding.add(target, more, entries[0].id, "key")
    assert again[1] == added[1][1:]
    assert await titles(session, playlist.id) == ["t0", "t3", "t1"]
    with pytest.raises(Invalid, match="another input"):
        await session.playlists.adding.add(target, more, None, "key")
    assert await drift(store.table) == []


async def test_a_playlist_holds_ten_thousand_entries_and_no_more(store: Store) -> None:
    session = open_session(store)
    playlist, _ = await make_mix(session, 2)
    (track,) = await add_tracks(session, 1, start=2)
    header = Key(f"PL:{playlist.id}", "PL")
    await store.table.transact([Update(key=header, set={"entryCount": 9_998})])
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as caught:
        await session.playlists.adding.add(ChangeTarget(id=playlist.id), [track] * 3)
    assert (caught.value.maximum, caught.value.actual) == (10_000, 10_001)
    assert await contents(store.table) == before
    told, _ = await session.playlists.adding.add(ChangeTarget(id=playlist.id), [track] * 2)
    assert told.entry_count == 10_000


async def test_a_repeated_add_finds_its_entries_whatever_the_first_one_changed(
    store: Store,
) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 2)
    (track,) = await add_tracks(session, 1, start=2)
    header = await session.playlists.reading.one(playlist.id)
    adding = session.playlists.adding
    target = ChangeTarget(id=playlist.id, version=header.version)
    added = await adding.add(target, [track], entries[0].id, "key")
    assert (await adding.add(target, [track], entries[0].id, "key"))[1] == added[1]
    full = Update(key=Key(f"PL:{playlist.id}", "PL"), set={"entryCount": 10_000})
    await store.table.transact([full])
    await session.playlists.moving.remove(ChangeTarget(id=playlist.id), [entries[0].id])
    await store.table.transact([full])
    before = await contents(store.table)
    for _ in range(2):
        assert (await adding.add(target, [track], entries[0].id, "key"))[1] == added[1]
    with pytest.raises(VersionConflict):
        await adding.add(target, [track], None, "other")
    assert await contents(store.table) == before


@without_moto
async def test_as_many_as_one_transaction_holds_are_added_with_a_receipt(store: Store) -> None:
    session = open_session(store)
    (track,) = await add_tracks(session, 1)
    made = await session.playlists.writing.create("Long")
    told, entries = await session.playlists.adding.add(
        ChangeTarget(id=made.id), [track] * 98, None, "key"
    )
    assert told.entry_count == 98
    assert await read_order(session, made.id) == [*entries]
    moved = await session.playlists.moving.move(ChangeTarget(id=made.id), ids(entries[49:]))
    assert moved.version == 3
    assert await read_order(session, made.id, 10) != [*entries]
    assert ids(await read_order(session, made.id)) == ids([*entries[49:], *entries[:49]])
    gone = await session.playlists.moving.remove(ChangeTarget(id=made.id), ids(entries))
    assert (gone.entry_count, gone.duration_ms) == (0, 0)
    assert await drift(store.table) == []


@on_sqlite
async def test_entries_of_one_rank_are_told_apart_when_something_comes_between(
    store: Store,
) -> None:
    session = open_session(store)
    playlist, entries = await make_mix(session, 4)
    # Two concurrent writers leave this if they draw the same rank.
    order_ = EntryOrder(session.playlists.reading.access, playlist)
    rank = entries[1].rank
    key = Key(f"PL:{playlist.id}", f"PLI:{entries[2].rank}:{entries[2].id}")
    item = (await contents(store.table))[key]
    await store.table.write([Delete(key), Put({**item, "sk": f"PLI:{rank}:{entries[2].id}"})])
    assert ids(await order_.read_entries()) == ids(entries)
    (track,) = await add_tracks(session, 1, start=4)
    told, _ = await session.playlists.adding.add(
        ChangeTarget(id=playlist.id), [track], entries[1].id
    )
    assert await titles(session, playlist.id) == ["t0", "t1", "t4", "t2", "t3"]
    assert told.version == playlist.version + 1
    assert await drift(store.table) == []


@on_sqlite
async def test_always_adding_at_one_spot_never_makes_a_rank_long(store: Store) -> None:
    session = open_session(store)
    low = "MMMMMMMM"
    playlist, entries = await make_ranked_playlist(session, [low, f"{low}{'A' * 45}B", "NMMMMMMM"])
    track, target = str(entries[0].audio_id), ChangeTarget(id=playlist.id)
    added = []
    for _ in range(120):
        _, (one,) = await session.playlists.adding.add(target, [track], entries[0].id)
        added.append(one.id)
    found = await read_order(session, playlist.id)
    assert ids(found) == [entries[0].id, *added[::-1], *ids(entries[1:])]
    assert max(len(entry.rank) for entry in found) <= 64
    assert (await session.playlists.reading.one(playlist.id)).ranked > 0
    assert await drift(store.table) == []
