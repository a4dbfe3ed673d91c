"""Pages in the order of keys are right however often rows were corrected, and with any filter."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.kept_rows import read_page
from penstock.datastore.kept_rows.conditions import RowCondition, RowFilter
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.read_page import FURTHER, SPARE
from penstock.datastore.kept_rows.snapshot import Snapshot
from penstock.datastore.records import Output, Pipeline, RowKeeping, Transform, ValueType
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import ANN, finished_execution, pipeline_in
from tests.datastore.kept_rows.plants import PLANTS, keep_plants, plant_file, run_file
from tests.support.sample_resources import SUPER, Watch, create_groups, on_sqlite, walk


async def read_pages(
    store: Store, pipeline: Pipeline, size: int, backward: bool, **wanted: Any
) -> list[tuple[str, str]]:
    rows = store.open_session(ANN).kept_rows
    read = partial(rows.page, pipeline, RowFilter(**wanted))
    found = await walk(read, size, backward=backward)
    return [(row.key[0], f"{row.values['kwh']:f}") for row in found]


async def assert_listed(
    store: Store, pipeline: Pipeline, listed: list[tuple[str, str]], **wanted: Any
) -> None:
    for size in (1, 2, 5, 50):
        for backward in (False, True):
            assert await read_pages(store, pipeline, size, backward, **wanted) == listed


@on_sqlite
async def test_pages_find_what_stands_behind_rows_that_were_corrected_often(store: Store) -> None:
    await create_groups(store)
    pipeline = await keep_plants(store)
    stands = {f"p{n:02}": n for n in range(12)}
    await run_file(store, pipeline, **stands)
    often = SPARE * 2 + 1
    for n in range(often):
        again = {"p00": 100 + n, "p01": 200 + n, "p11": 300 + n}
        stands |= again
        await run_file(store, pipeline, **again)
    session = store.open_session(SUPER)
    for gone in ("p01", "p05"):
        await session.row_withdrawals.by_keys(pipeline, [[gone]], "wrong")
        del stands[gone]
    listed = [(plant, str(kwh)) for plant, kwh in sorted(stands.items())]
    await assert_listed(store, pipeline, listed)
    few = (RowCondition(output="kwh", gte=Decimal(100 + often - 1)),)
    high = [("p00", str(100 + often - 1)), ("p11", str(300 + often - 1))]
    await assert_listed(store, pipeline, high, where=few)
    former = (RowCondition(output="kwh", eq=Decimal(100)),)
    await assert_listed(store, pipeline, [], where=former)


def with_key_type(type: ValueType) -> Any:
    first = Transform(index=0, formula=":plant", outputs=(Output(index=0, key="plant", type=type),))
    parameters = (replace(PLANTS.parameters[0], type=type), PLANTS.parameters[1])
    return replace(PLANTS, parameters=parameters, transforms=(first, PLANTS.transforms[1]))


@on_sqlite
@pytest.mark.parametrize("first", [ValueType.NUMBER, ValueType.STRING])
async def test_numbers_are_in_their_own_order_also_where_they_were_texts_before(
    store: Store, first: ValueType
) -> None:
    await create_groups(store)
    pipeline = await pipeline_in(store, name="Plants", transformer=with_key_type(first))
    await finished_execution(store, pipeline, plant_file([("10", 1), ("9", 2), ("-3", 3)]))
    numbers = {"transformer": with_key_type(ValueType.NUMBER), "description": "numbers"}
    pipeline = await store.open_session(SUPER).pipelines.writing.update(pipeline.id, 1, numbers)
    await finished_execution(store, pipeline, plant_file([("9", 4), ("100", 5), ("-3", 6)]))
    forward = await read_pages(store, pipeline, 50, backward=False)
    assert sorted(forward) == [("-3", "6"), ("10", "1"), ("100", "5"), ("9", "4")]
    if first is ValueType.NUMBER:
        assert [key for key, _ in forward] == ["-3", "9", "10", "100"]
    await assert_listed(store, pipeline, forward)


@on_sqlite
async def test_rows_of_two_outputs_are_in_the_order_of_both(store: Store) -> None:
    await create_groups(store)
    keyed = replace(PLANTS, rows=RowKeeping(key=("plant", "kwh")))
    pipeline = await pipeline_in(store, name="Plants", transformer=keyed)
    for rows in ([("b", 10), ("a", 2)], [("a", 10), ("b", 9), ("a", 2)]):
        await finished_execution(store, pipeline, plant_file(rows))
    await assert_listed(store, pipeline, [("a", "2"), ("a", "10"), ("b", "9"), ("b", "10")])


@on_sqlite
async def test_a_page_finds_where_it_begins_in_the_file_of_one_version(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_groups(store)
    pipeline = await keep_plants(store)
    await run_file(store, pipeline, p1=1, p2=2, p3=3)
    await run_file(store, pipeline, p2=4)
    rows = store.open_session(ANN).kept_rows
    read: list[tuple[int, ...]] = []
    of_all = Snapshot.all_versions

    def note(snapshot: Snapshot) -> str:
        read.append(tuple(part.commit for part in snapshot.parts))
        return of_all(snapshot)

    first = await rows.page(pipeline, RowFilter(), Window(size=2))
    monkeypatch.setattr(Snapshot, "all_versions", note)
    after = first.entries[-1][0]
    behind = await rows.page(pipeline, RowFilter(), Window(size=2, after=after))
    assert [row.key for _, row in behind.entries] == [("p3",)]
    assert read == [(2,), (1, 2), (1, 2), (1, 2)]
    _, digest, *_ = re.split("[:x]", after)
    earlier = after.replace(after.split(":")[1], digest)
    again = await rows.page(pipeline, RowFilter(), Window(size=2, after=earlier))
    assert [row.key for _, row in again.entries] == [("p3",)]


@on_sqlite
@pytest.mark.parametrize("further", [1, FURTHER])
@pytest.mark.parametrize("spare", [1, SPARE])
async def test_pages_over_many_files_are_those_of_a_dictionary(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch, spare: int, further: int
) -> None:
    monkeypatch.setattr(read_page, "SPARE", spare)
    monkeypatch.setattr(read_page, "FURTHER", further)
    await create_groups(store)
    pipeline = await keep_plants(store)
    choose = Random(7)
    stands: dict[str, int] = {}
    moments: list[tuple[datetime, dict[str, int]]] = []
    for turn in range(8):
        made = {f"p{choose.randrange(30):02}": choose.randrange(100) for _ in range(12)}
        await run_file(store, pipeline, **made)
        stands |= made
        if turn % 2:
            gone = choose.sample(sorted(stands), 4)
            session = store.open_session(SUPER)
            await session.row_withdrawals.by_keys(pipeline, [[one] for one in gone], "wrong")
            stands = {key: kwh for key, kwh in stands.items() if key not in gone}
        watch.move(timedelta(seconds=1))
        moments.append((watch(), dict(stands)))
        watch.move(timedelta(seconds=1))
    low = (RowCondition(output="kwh", lt=Decimal(50)),)
    for at, then in (moments[3], moments[-1]):
        listed = [(plant, str(kwh)) for plant, kwh in sorted(then.items())]
        few = [(plant, kwh) for plant, kwh in listed if int(kwh) < 50]
        for size, backward in ((3, False), (4, True), (50, False)):
            read = partial(read_pages, store, pipeline, size, backward, as_at=at)
            assert await read() == listed
            assert await read(where=low) == few


@on_sqlite
async def test_a_page_with_a_filter_does_not_read_all_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    await create_groups(store)
    pipeline = await keep_plants(store)
    for turn in range(3):
        await run_file(store, pipeline, **{f"p{n:02}": 100 * turn + n for n in range(40)})
    monkeypatch.setattr(Snapshot, "latest", refuse)
    last = (RowCondition(output="kwh", gte=Decimal(238)),)
    await assert_listed(store, pipeline, [("p38", "238"), ("p39", "239")], where=last)
    former = (RowCondition(output="kwh", eq=Decimal(138)),)
    await assert_listed(store, pipeline, [], where=former)


@on_sqlite
async def test_files_have_rows_in_the_order_of_their_keys(store: Store) -> None:
    await create_groups(store)
    pipeline = await pipeline_in(store, name="Plants", transformer=with_key_type(ValueType.NUMBER))
    for rows in ([("10", 1), ("9", 2), ("-3", 3)], [("100", 4), ("9", 5)]):
        await finished_execution(store, pipeline, plant_file(rows))
    assert await read_files(store, pipeline) == [["-3", "9", "10"], ["9", "100"]]
    access = Access(store.table, ANN, store.clock, store.list_budget, store.files)
    assert await PartMerger(access, store.part_files, least=2).merge(pipeline.id) == 1
    assert await read_files(store, pipeline) == [["-3", "9", "9", "10", "100"]]


async def read_files(store: Store, pipeline: Pipeline) -> list[list[str]]:
    """The plants of each file, in the order in which they lie there."""
    parts = await read_parts(store.table, pipeline.id)
    found = []
    for file, size in {part.file: part.file_size for part in parts}.items():
        with TemporaryDirectory() as folder:
            local = Path(folder) / "one.parquet"
            await copy_to_disk(store.files, file, local, size)
            sql = "SELECT plant FROM read_parquet($file)"
            rows = duckdb.connect().execute(sql, {"file": str(local)}).fetchall()
        found.append([plant for (plant,) in rows])
    return found
