"""Tables of datasets in memory: read once, within a bound, and only from sound files."""

from asyncio import CancelledError, Event, create_task, gather, sleep
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from penstock.datastore.access.work import load_units
from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.datasets.table_cache import (
    MAX_LOADS,
    DamagedFile,
    DatasetTableCache,
    MissingFile,
    PaidTables,
)
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from tests.datastore.datasets.sample_datasets import lookup_dataset, update_dataset
from tests.support.patience import until
from tests.support.sample_resources import SUPER, USA, create_groups, on_sqlite
from tests.support.work_account import Account


class CountingFiles:
    """A file store that counts reads."""

    def __init__(self, real: Files) -> None:
        self._real = real
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def read(self, key: str, **more: Any) -> Any:
        self.reads += 1
        return self._real.read(key, **more)


@on_sqlite
async def test_a_table_is_read_once_and_kept_within_the_bound(store: Store) -> None:
    session = await create_groups(store)
    first = await lookup_dataset(session, USA, "fuels", gas="2.30")
    renamed = await session.datasets.writing.update(first.id, 1, {"name": "renamed"})
    other = await update_dataset(session, renamed, gas="1")
    files = CountingFiles(store.files)
    tables = DatasetTableCache()
    for dataset in (first, renamed, first):
        assert (await tables.rows(files, dataset)).find("gas", None) == Decimal("2.30")
    assert (files.reads, len(tables)) == (1, 1)
    assert 0 < tables.weight < 5_000
    tables = DatasetTableCache(tables.weight)
    await tables.rows(files, first)
    assert (await tables.rows(files, other)).find("gas", None) == 1
    assert (files.reads, len(tables)) == (3, 1)
    tables = DatasetTableCache(0)
    await tables.rows(files, first)
    assert (files.reads, len(tables), tables.weight) == (4, 0, 0)


@on_sqlite
async def test_many_who_ask_at_once_wait_for_one_reading(store: Store) -> None:
    made = await lookup_dataset(await create_groups(store), USA, "fuels", gas="2.30")
    files, tables = CountingFiles(store.files), DatasetTableCache()
    found = await gather(*(tables.rows(files, made) for _ in range(20)))
    assert files.reads == 1
    assert len({id(rows) for rows in found}) == 1


@on_sqlite
async def test_a_file_that_was_tampered_with_or_lost_is_not_used(store: Store) -> None:
    made = await lookup_dataset(await create_groups(store), USA, "fuels", gas="2.30")

    async def chunks() -> AsyncIterator[bytes]:
        yield b"k,v\ngas,9.99\n"

    await store.files.write(key_of_file(made), chunks(), content_type="text/csv")
    with pytest.raises(DamagedFile, match="version 1 of 'fuels' is damaged"):
        await DatasetTableCache().rows(store.files, made)
    await store.files.delete(key_of_file(made))
    with pytest.raises(MissingFile, match="version 1 of 'fuels' is missing"):
        await DatasetTableCache().rows(store.files, made)
    assert await store.open_session(SUPER).dataset_files.download(made, 60) is None


@on_sqlite
async def test_the_account_that_begins_a_read_pays_for_it(store: Store) -> None:
    made = await lookup_dataset(await create_groups(store), USA, "fuels", gas="2." + "3" * 990)
    tables, first, second = DatasetTableCache(), Account(), Account()
    price = load_units(made.content.size_bytes)
    assert price == 2
    await gather(tables.rows(store.files, made, first), tables.rows(store.files, made, second))
    assert (first.owed, second.owed) == (price, 0)
    await tables.rows(store.files, made, second)
    assert second.owed == 0
    paid = PaidTables(DatasetTableCache(), second)
    await paid.rows(store.files, made)
    assert second.owed == price


class HeldFiles(CountingFiles):
    """A file store whose reads wait."""

    def __init__(self, real: Files) -> None:
        super().__init__(real)
        self.held = Event()

    def read(self, key: str, **more: Any) -> Any:
        return self._read_later(super().read(key, **more))

    async def _read_later(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        await self.held.wait()
        async for chunk in chunks:
            yield chunk


@on_sqlite
async def test_only_some_files_are_read_at_the_same_time(store: Store) -> None:
    session = await create_groups(store)
    made = [await lookup_dataset(session, USA, f"fuels {n}", gas="1") for n in range(MAX_LOADS + 3)]
    files, tables = HeldFiles(store.files), DatasetTableCache()
    reading = [create_task(tables.rows(files, one)) for one in made]
    await until(lambda: files.reads == MAX_LOADS)
    for _ in range(20):
        await sleep(0)
    assert files.reads == MAX_LOADS
    files.held.set()
    assert len(await gather(*reading)) == len(made)
    assert files.reads == len(made)


@on_sqlite
async def test_a_read_is_given_up_when_nobody_waits_for_it_any_more(store: Store) -> None:
    made = await lookup_dataset(await create_groups(store), USA, "fuels", gas="2.30")
    files, tables = HeldFiles(store.files), DatasetTableCache()
    waiting = [create_task(tables.rows(files, made)) for _ in range(2)]
    await until(lambda: files.reads == 1)
    waiting[0].cancel()
    later = create_task(tables.rows(files, made))
    waiting[1].cancel()
    files.held.set()
    assert (await later).find("gas", None) == Decimal("2.30")
    assert files.reads == 1
    other = HeldFiles(store.files)
    alone = create_task(DatasetTableCache().rows(other, made))
    await until(lambda: other.reads == 1)
    alone.cancel()
    assert (await gather(alone, return_exceptions=True))[0].__class__ is CancelledError
    fresh = DatasetTableCache()
    given_up = create_task(fresh.rows(other, made))
    await until(lambda: other.reads == 2)
    given_up.cancel()
    await gather(given_up, return_exceptions=True)
    other.held.set()
    assert (await fresh.rows(other, made)).find("gas", None) == Decimal("2.30")
    assert other.reads == 3
