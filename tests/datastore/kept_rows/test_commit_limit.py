"""A pipeline keeps so many commits, because whoever reads its rows reads the list of them."""

from datetime import timedelta

import pytest

from penstock.datastore.access.bucket_payments import FILE_PRICES
from penstock.datastore.access.work import StoreKind, load_units
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.kept_rows import merge_parts, open_rows, part_list
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.open_rows import LISTED_PARTS, PAID_SHARE, QUERY_UNITS
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.part_list import RowsList, read_list, read_parts
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.executions.sample_executions import ANN
from tests.datastore.kept_rows.plants import read_kwh, run_file
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.work_account import Account


@pytest.fixture(autouse=True)
def most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_list, "MAX_COMMITS", 3)


async def stored_files(store: Store, pipeline: Pipeline) -> set[str]:
    return {*await store.files.list(rows_folder(pipeline.id))}


async def test_commits_beyond_the_limit_are_refused_and_leave_nothing(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    for n in range(3):
        assert (await run_file(store, pipeline, north=n)).state == "success"
    over = await run_file(store, pipeline, north=9)
    assert (over.state, over.code, over.rows_commit) == ("failed", "LIMIT_EXCEEDED", None)
    before, files = await contents(store.table), await stored_files(store, pipeline)
    with pytest.raises(LimitExceeded):
        await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["north"]], "wrong")
    assert await contents(store.table) == before
    assert await stored_files(store, pipeline) == files
    assert await read_kwh(store, pipeline) == {"north": "2"}
    assert await faults(store.table) == []
    watch.move(timedelta(days=400))
    await store.finish_deletes()
    listed = {one.file for one in await read_parts(store.table, pipeline.id)}
    assert await stored_files(store, pipeline) == listed


@on_sqlite
async def test_readers_pay_for_the_list_of_commits(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(3):
        await run_file(store, pipeline, north=n)
    size = sum(one.size for one in await read_parts(store.table, pipeline.id))
    paid = []
    for share in (LISTED_PARTS, 1):
        monkeypatch.setattr(open_rows, "LISTED_PARTS", share)
        account = Account()
        session = store.open_session(ANN, account)
        await session.kept_rows.page(pipeline, RowFilter(), Window())
        paid.append(account.taken)
    files = QUERY_UNITS + load_units(size // PAID_SHARE)
    look = FILE_PRICES[StoreKind.EMBEDDED].look
    # The second reader finds the copies of the first one.
    assert paid == [files + 3 * look, files + 3]


@on_sqlite
async def test_many_merges_read_the_list_once_and_are_bounded(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_list, "MAX_COMMITS", 100)
    monkeypatch.setattr(merge_parts, "MOST_MERGES", 2)
    for n in range(6):
        await run_file(store, pipeline, north=n)
    read = []

    async def count_reads(table: Table, pipeline: str) -> RowsList:
        read.append(pipeline)
        return await read_list(table, pipeline)

    monkeypatch.setattr(merge_parts, "read_list", count_reads)
    merger = PartMerger(store._system_access(), store.part_files, least=2)
    assert [await merger.merge(pipeline.id) for _ in range(3)] == [2, 2, 0]
    assert read == [pipeline.id] * 3
    files = [one.file for one in await read_parts(store.table, pipeline.id)]
    assert [files.count(file) for file in dict.fromkeys(files)] == [4, 2]
    assert await read_kwh(store, pipeline) == {"north": "5"}
    watch.move(timedelta(hours=2))
    await store.sweep_files()
    assert await faults(store.table) == []
