"""Copies of indexes: made once, within a bound, of sound files, and removed after their use."""

import gc
from asyncio import gather
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from penstock.datastore.access.work import copied_units
from penstock.datastore.datasets import index_files
from penstock.datastore.datasets.files import key_of_index
from penstock.datastore.datasets.index_files import IndexFiles
from penstock.datastore.datasets.table_cache import DamagedFile, DatasetTableCache, MissingFile
from penstock.datastore.executions.files import output_key
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.resources import dataset_prefetch
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.datastore.scratch_folders import ScratchFolder, make_scratch_folder
from penstock.datastore.store import Store
from penstock.formula.core.errors import FormulaCode
from penstock.formula.core.numbers import number_text
from penstock.server.runtime.core_engine import CoreEngine
from tests.datastore.dataset_loads.sample_loads import index_always, loaded_dataset
from tests.datastore.datasets.test_table_cache import CountingFiles
from tests.datastore.executions.lookup_pipelines import factor_calculation, lookup_transformer
from tests.datastore.executions.sample_executions import (
    current_execution,
    pipeline_in,
    read_content,
    ready_execution,
)
from tests.support.sample_resources import USA, create_groups, on_sqlite
from tests.support.work_account import Account

__all__ = ["index_always"]

pytestmark = [pytest.mark.usefixtures("index_always"), on_sqlite]

Copies = Callable[[], list[Path]]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Copies:
    """The files in the folders of copies."""
    made = list[ScratchFolder]()

    def make(purpose: str) -> ScratchFolder:
        made.append(make_scratch_folder(purpose))
        return made[-1]

    monkeypatch.setattr(index_files, "make_scratch_folder", make)
    return lambda: [path for one in made for path in one.path.glob("*.rows")]


async def test_an_index_is_copied_once_for_all_who_ask_at_once(
    store: Store, copies: Copies
) -> None:
    session = await create_groups(store)
    made = await loaded_dataset(session, store)
    files, tables, account = CountingFiles(store.files), DatasetTableCache(), Account()
    found = await gather(*(tables.rows(files, made, account) for _ in range(9)))
    assert (files.reads, len({id(rows) for rows in found}), len(copies())) == (1, 1, 1)
    assert account.owed >= copied_units(made.content.index_bytes)
    assert tables.weight == 0


async def test_copies_beyond_the_bound_go_when_nobody_uses_them(
    store: Store, copies: Copies
) -> None:
    session = await create_groups(store)
    one = await loaded_dataset(session, store, "one")
    other = await loaded_dataset(session, store, "other")
    files, indexes = CountingFiles(store.files), IndexFiles(one.content.index_bytes)
    rows = await indexes.rows(files, one)
    await indexes.rows(files, other)
    assert len(copies()) == 2  # one is still in use
    assert await indexes.rows(files, one) is rows
    assert files.reads == 2
    await indexes.rows(files, other)
    del rows
    gc.collect()
    assert len(copies()) == 1
    assert (await indexes.rows(files, one)).find("key 3", None) == Decimal("3.5")
    assert files.reads == 4


async def test_an_index_that_was_tampered_with_or_lost_is_not_used(
    store: Store, copies: Copies
) -> None:
    session = await create_groups(store)
    made = await loaded_dataset(session, store)
    key = key_of_index(made)
    kept = b"".join([chunk async for chunk in store.files.read(key)])
    forged = single_chunk(kept.replace(b"key 7", b"key 8"))
    await store.files.write(key, forged, content_type="application/octet-stream")
    with pytest.raises(DamagedFile, match="version 2 of 'fuels' is damaged"):
        await DatasetTableCache().rows(store.files, made)
    await store.files.delete(key)
    with pytest.raises(MissingFile, match="version 2 of 'fuels' is missing"):
        await DatasetTableCache().rows(store.files, made)
    assert copies() == []


async def test_evaluations_look_up_among_far_more_rows_than_the_memory_takes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_prefetch, "MAX_FIELDS", 10)
    session = await create_groups(store)
    await loaded_dataset(session, store)
    factor = await factor_calculation(store, "LOOKUP('fuels', :f) + IMPACT('fuels', :f, 'v')")
    _, prepared = await session.evaluations.prepare_by_id(factor.id, VersionName(None))
    found = await prepared.evaluate([{"f": "key 7"}, {"f": "key 300"}, {"f": "key 0"}])
    assert found.values == (15, None, 1)
    assert [(error.row, error.code) for error in found.errors] == [(1, FormulaCode.NULL_OPERAND)]


@pytest.mark.parametrize("engine", [None, CoreEngine(2, least_bytes=0, part_bytes=1_000)])
async def test_executions_look_up_in_an_index_in_every_process(
    engine: CoreEngine | None, store: Store
) -> None:
    session = await create_groups(store)
    made = await loaded_dataset(session, store)
    looked = lookup_transformer(
        "LOOKUP(:fuel, 'fuels', 'k', 'v') * 2 + IMPACT('fuels', :fuel, 'v')"
    )
    pipeline = await pipeline_in(store, USA, "asking", transformer=looked)
    keys = [*range(0, 300, 3)] * 3
    data = b"fuel\n" + b"".join(b"key %d\n" % n for n in keys)
    execution = await ready_execution(store, pipeline, data)
    assert execution.pins[0].id == made.id
    worker = store.execution_worker("w") if engine is None else store.execution_worker("w", engine)
    assert await worker.run_all() == 1
    over = await current_execution(store, execution)
    assert (over.state, over.counts.failed) == ("success", 0)
    lines = ["y", *(number_text(3 * (n + Decimal("0.5"))) for n in keys), ""]
    assert await read_content(store.files, output_key(over)) == "\r\n".join(lines).encode()


async def test_a_lost_index_ends_an_execution_as_a_lost_file_does(store: Store) -> None:
    session = await create_groups(store)
    made = await loaded_dataset(session, store)
    pipeline = await pipeline_in(
        store, USA, "asking", transformer=lookup_transformer("LOOKUP('fuels', :fuel)")
    )
    execution = await ready_execution(store, pipeline, b"fuel\nkey 1\n")
    await store.files.delete(key_of_index(made))
    assert await store.execution_worker("w").run_all() == 1
    over = await current_execution(store, execution)
    assert (over.state, over.code) == ("failed", "DATASET_GONE")
