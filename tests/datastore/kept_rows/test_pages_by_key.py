"""Pages in the order of keys are right however often rows were corrected, and with any filter."""

import re
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.kept_rows.conditions import RowCondition, RowFilter
from penstock.datastore.kept_rows.read_page import SPARE
from penstock.datastore.kept_rows.snapshot import Snapshot
from penstock.datastore.records import Output, Pipeline, RowKeeping, Transform, ValueType
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import ANN, finished_execution, pipeline_in
from tests.datastore.kept_rows.plants import PLANTS, keep_plants, plant_file, run_file
from tests.support.sample_resources import SUPER, create_groups, on_sqlite, walk


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
    assert read == [(2,), (1, 2), (1, 2)]
    _, digest, *_ = re.split("[:x]", after)
    earlier = after.replace(after.split(":")[1], digest)
    again = await rows.page(pipeline, RowFilter(), Window(size=2, after=earlier))
    assert [row.key for _, row in again.entries] == [("p3",)]
