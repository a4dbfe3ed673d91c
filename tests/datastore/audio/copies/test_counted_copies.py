"""A user keeps only so many copies that are made of tracks and covers, and so many bytes."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.audio.artwork import cover_sizes
from penstock.datastore.audio.transcoding import converted_streams
from penstock.datastore.audio.transcoding.ffmpeg import MAX_OUTPUT
from penstock.datastore.audio.upkeep.counted_copies import CopyKind
from penstock.datastore.audio.upkeep.loose_objects import loose_key
from penstock.datastore.audio.upkeep.made_copies import WRITE_TIME, CopyRules, MadeCopies
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table import commit
from penstock.datastore.table.layout import COPY_COUNT
from penstock.datastore.table.port import Key, Put, Table, Update
from tests.datastore.audio.sample_library import ANN, BOB
from tests.datastore.audio.sample_uploads import single_chunk
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, on_sqlite, without_moto
from tests.support.table_interceptors import CutOffTable, ProcessDied

KEPT, RENEWED = timedelta(days=3), timedelta(days=1)
RULES = CopyRules(CopyKind("A", most=3, most_bytes=100), KEPT, RENEWED)
OTHERS = CopyRules(CopyKind("C", most=3, most_bytes=100), KEPT, RENEWED)
COUNT = COPY_COUNT.key(user="ann", kind="A")


def copies_of(store: Store, caller: Caller = ANN, rules: CopyRules = RULES) -> MadeCopies:
    return MadeCopies(store.open_session(caller).audio.converting.access, rules)


async def store_copy(copies: MadeCopies, name: str, size: int = 10) -> str:
    """Make a copy under a name; return its key."""
    await copies.store(f"made/{name}", single_chunk(bytes(size)), size, "audio/mpeg")
    return str(await copies.find(f"made/{name}"))


async def read_count(store: Store) -> tuple[object, object, int]:
    """The count of copies and of bytes, and the rows of the list."""
    rows = await contents(store.table)
    count = rows.get(COUNT, {})
    listed = [key for key in rows if key.pk == COUNT.pk and key.sk.startswith("MCL:A:")]
    return count.get("count", 0), count.get("size", 0), len(listed)


async def test_the_copy_that_was_used_longest_ago_goes_where_one_is_too_many(
    store: Store, files: Files, watch: Watch
) -> None:
    copies = copies_of(store)
    keys = {}
    for name in "abc":
        keys[name] = await store_copy(copies, name)
        watch.move(timedelta(minutes=1))
    watch.move(RENEWED)
    assert await copies.find("made/a") == keys["a"]  # its use is noted
    keys["d"] = await store_copy(copies, "d")
    assert await copies.find_many([f"made/{name}" for name in "abcd"]) == [
        keys["a"],
        None,
        keys["c"],
        keys["d"],
    ]
    assert set(await files.list("made/")) == {keys[name] for name in "acd"}
    assert await read_count(store) == (3, 30, 3)


async def test_copies_go_until_a_large_one_has_room(
    store: Store, files: Files, watch: Watch
) -> None:
    copies = copies_of(store)
    for name, size in (("a", 30), ("b", 40), ("c", 30)):
        await store_copy(copies, name, size)
        watch.move(timedelta(minutes=1))
    large = await store_copy(copies, "d", 70)
    last = await copies.find("made/c")
    assert set(await files.list("made/")) == {large, last}
    assert await read_count(store) == (2, 100, 2)


@on_sqlite
async def test_copies_of_another_kind_or_user_stay(store: Store, watch: Watch) -> None:
    others = copies_of(store, BOB), copies_of(store, ANN, OTHERS)
    kept = [await store_copy(each, f"kept/{number}") for number, each in enumerate(others)]
    for name in "abcde":
        watch.move(timedelta(minutes=1))
        await store_copy(copies_of(store), name)
    found = [await each.find(f"made/kept/{number}") for number, each in enumerate(others)]
    assert found == kept
    assert await read_count(store) == (3, 30, 3)


@without_moto
async def test_servers_that_make_copies_at_once_keep_no_more_together(
    store: Store, table: Table, files: Files
) -> None:
    servers = [Store(table, Clock(), files=files) for _ in range(3)]
    results = await asyncio.gather(
        *(
            store_copy(copies_of(server), f"{number}/{each}")
            for number, server in enumerate(servers)
            for each in range(5)
        ),
        return_exceptions=True,
    )
    # Where all that is there is being written, a call is told to come again.
    failures = [each for each in results if isinstance(each, BaseException)]
    assert [each for each in failures if not isinstance(each, Unavailable)] == []
    standing = await files.list("made/")
    count, size, listed = await read_count(store)
    assert (size, listed) == (10 * listed, count)
    # A call that was told to come again may have left its copy half gone.
    assert 1 <= len(standing) <= listed <= 3


async def test_the_sweep_takes_a_copy_off_the_count(
    store: Store, files: Files, watch: Watch
) -> None:
    copies = copies_of(store)
    await store_copy(copies, "a")
    watch.move(RENEWED + timedelta(hours=1))
    await store_copy(copies, "b")
    watch.move(KEPT - RENEWED)
    assert await store.sweep_files() == 1
    assert await read_count(store) == (1, 10, 1)
    assert len(await files.list("made/b")) == len(await files.list("made/")) == 1


@on_sqlite
@pytest.mark.parametrize("writes", range(9))
async def test_whoever_dies_while_a_copy_replaces_another_leaves_an_exact_count(
    store: Store, table: Table, files: Files, watch: Watch, writes: int
) -> None:
    for name in "abc":
        await store_copy(copies_of(store), name)
        watch.move(timedelta(minutes=1))
    killed = Store(CutOffTable(table, writes), Clock(now=watch), files=files)
    try:
        await store_copy(copies_of(killed), "d")
    except ProcessDied:
        assert writes < 6
    count, _, listed = await read_count(store)
    assert (count, listed) == (listed, count)
    # The next one has room, whatever was left.
    watch.move(WRITE_TIME + timedelta(minutes=1))
    key = await store_copy(copies_of(store), "e")
    assert await read_count(store) == (3, 30, 3)
    assert await files.stat(key) is not None
    assert len(await files.list("made/")) <= 3
    watch.move(KEPT + timedelta(minutes=1))
    await store.sweep_files()
    assert await read_count(store) == (0, 0, 0)
    assert await files.list("made/") == ()


@on_sqlite
async def test_a_copy_that_is_being_written_does_not_go(
    store: Store, files: Files, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "ATTEMPTS", 2)
    begun = asyncio.Event()
    copies, write = copies_of(store), files.write

    async def hang(*given: Any, **options: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return await write(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", hang)
        writing = []
        for name in "abc":
            begun.clear()
            writing.append(asyncio.create_task(store_copy(copies, name)))
            await begun.wait()
    before = await contents(store.table)
    with pytest.raises(Unavailable):
        await store_copy(copies, "d")
    assert await contents(store.table) == before
    for each in writing:
        each.cancel()
    await asyncio.wait(writing)
    # Those of calls that died go some time after.
    watch.move(WRITE_TIME + timedelta(minutes=1))
    key = await store_copy(copies, "d")
    assert await files.list("made/") == (key,)


@on_sqlite
async def test_calls_that_use_an_old_copy_at_once_keep_it(store: Store, watch: Watch) -> None:
    copies = copies_of(store)
    key = await store_copy(copies, "a")
    watch.move(RENEWED + timedelta(minutes=1))
    assert await asyncio.gather(*(copies.find("made/a") for _ in range(5))) == [key] * 5
    assert await read_count(store) == (1, 10, 1)


@on_sqlite
async def test_a_copy_that_an_earlier_release_swept_leaves_the_list_when_room_is_made(
    store: Store, table: Table, files: Files, watch: Watch
) -> None:
    copies = copies_of(store)
    for name in "abc":
        key = await store_copy(copies, name)
        await files.delete(key)
        row = loose_key(key)
        await table.transact([Update(key=row, set={"swept": True, "expiresAt": 1})])
        watch.move(timedelta(minutes=1))
    assert await store_copy(copies, "d") == (await files.list("made/"))[0]
    assert await read_count(store) == (3, 30, 3)


@on_sqlite
async def test_a_copy_that_does_not_count_is_made_anew_when_it_would_be_kept_longer(
    store: Store, table: Table, watch: Watch
) -> None:
    """An earlier release kept copies without a count."""
    copies = copies_of(store)
    key = await store_copy(copies, "a")
    rows = await contents(table)
    held = dict(rows[loose_key(key)])
    plain = {name: held[name] for name in ("pk", "sk", "due")}
    await table.transact([Put(plain)])
    assert await copies.find("made/a") == key
    watch.move(RENEWED + timedelta(minutes=1))
    assert await copies.find("made/a") is None


def test_the_rules_of_both_kinds_leave_room_for_a_copy() -> None:
    for kind in (converted_streams.COPIES, cover_sizes.COPIES):
        assert kind.most >= 1_000
        assert kind.most_bytes >= 2 * MAX_OUTPUT
    assert converted_streams.COPIES.letter != cover_sizes.COPIES.letter


def test_the_row_of_a_count_is_in_the_partition_of_its_user() -> None:
    assert Key("U:ann", "MC:A") == COUNT
