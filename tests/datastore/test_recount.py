"""A recount finds every count that differs from what it counts, and nothing else."""

from dataclasses import replace

import pytest

from penstock.datastore.recount import CountDifference, Recount
from penstock.datastore.roles import ROOT
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS
from penstock.datastore.table.port import Delete, Key, Table, Update
from tests.support.consistency_check import contents
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    USA,
    create_groups,
    make,
    make_of,
    on_sqlite,
)

pytestmark = on_sqlite


async def recount(table: Table) -> list[CountDifference]:
    counted = Recount()
    for item in (await contents(table)).values():
        counted.read(item)
    return counted.differences()


@pytest.mark.parametrize("shards", [1, 8])
async def test_exact_counts_have_no_difference(store: Store, shards: int) -> None:
    session = await create_groups(replace(store, shards=shards))
    for kind in KINDS:
        for n, group in enumerate((ROOT, USA, NORTHWEST, EU, EU)):
            made = await make_of(session, kind, group, f"n{n}", "m=a/b", "k=1")
    await session.repository(kind).writing.grant(made.id, ROOT)
    gone = await make(session, USA, "gone", "m=a/c")
    await session.pipelines.deleting.delete(gone.id)
    assert await recount(store.table) == []


async def test_wrong_missing_and_needless_counts_are_found(store: Store) -> None:
    session = await create_groups(replace(store, shards=1))
    await make(session, EU, "one", "m=a/b")
    wrong, missing = Key("GC:/eu", "GC:01"), Key("TA:/eu:m", "TA:P:02:a#b\x0101")
    needless = Key("TA:/eu:z\x0103", "TA:P")
    await store.table.transact(
        [
            Update(key=wrong, add={"grants": 2}),
            Update(key=needless, add={"count": 1}),
            Delete(missing),
        ]
    )
    assert await recount(store.table) == [
        CountDifference(wrong, {"grants": 1}, {"grants": 3}),
        CountDifference(missing, {"count": 1}, {}),
        CountDifference(needless, {}, {"count": 1}),
    ]
