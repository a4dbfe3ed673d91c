"""Tables of datasets in memory: read once, within a bound, and only from sound files."""

from asyncio import gather
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from tests.datastore.datasets.sample_datasets import lookup_dataset, update_dataset
from tests.support.sample_resources import SUPER, USA, create_groups, on_sqlite


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
    with pytest.raises(Unavailable, match="version 1 of 'fuels' is damaged"):
        await DatasetTableCache().rows(store.files, made)
    await store.files.delete(key_of_file(made))
    with pytest.raises(Unavailable, match="is damaged"):
        await DatasetTableCache().rows(store.files, made)
    assert await store.open_session(SUPER).dataset_files.download(made, 60) is None
