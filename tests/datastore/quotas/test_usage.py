"""Counts of what is kept are found again, mended, and made for resources that had none."""

from typing import Any

import msgspec
import pytest

from penstock.datastore.mending.differences import find_differences
from penstock.datastore.mending.repair import Repair
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.usage import sum_group, sum_user
from penstock.datastore.records import Resource
from penstock.datastore.recount import CountDifference
from penstock.datastore.roles import ROOT
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, PIPELINE, REFERENCE_DATASET, KindDefinition
from penstock.datastore.table.port import Delete, Key, Table, Update
from penstock.datastore.table.schema_marker import place_marker
from penstock.datastore.upgrades.upgrade import STEPS
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    OWN,
    SUPER,
    USA,
    create_groups,
    make,
    make_of,
    on_sqlite,
)

COUNTED = ("countedVersions", "countedFiles", "countedBytes")


def ignore(*_: object) -> None:
    """A report that nobody reads."""


async def keys_of(table: Table, leader: str) -> list[Key]:
    return [key for key in await contents(table) if key.pk.startswith(leader)]


async def put_new_file(session: Session, id: str, version: int, size: int) -> Resource:
    """Give a dataset a version with another file."""
    content: Any = OWN[REFERENCE_DATASET.letter]["content"]
    changed = msgspec.structs.replace(content, file=f"f{version}", size_bytes=size)
    return await session.datasets.writing.update(id, version, {"content": changed})


async def forget_counts(table: Table, kind: KindDefinition[Any], id: str) -> None:
    """Leave a resource as a release without quotas wrote it, and nothing counted."""
    for key in [*await keys_of(table, "QG:"), *await keys_of(table, "QU:")]:
        await table.write([Delete(key)])
    await table.transact([Update(key=kind.latest.key(id=id), remove=COUNTED)])


async def test_every_file_of_a_dataset_counts_with_its_bytes(store: Store) -> None:
    session = await create_groups(store)
    made = await make_of(session, REFERENCE_DATASET, USA, "rates")
    await put_new_file(session, made.id, 1, 70)
    await session.datasets.writing.update(made.id, 2, {"name": "with the same file"})
    await put_new_file(session, made.id, 3, 5)
    assert await sum_group(store.table, USA) == Amounts(1, 4, 3, 75)
    assert await sum_user(store.table, "super") == Amounts(1, 4, 3, 75)
    await session.datasets.deleting.delete(made.id)
    assert await sum_group(store.table, USA) == Amounts()
    assert await faults(store.table) == []


@pytest.mark.parametrize("lost", ["QG:", "QU:"])
async def test_a_recount_mends_wrong_and_lost_counts(store: Store, lost: str) -> None:
    session = await create_groups(store)
    await make(session, USA, "one")
    for kind in KINDS:
        await make_of(session, kind, ROOT, "x")
    before = await contents(store.table)
    wrong, *others = await keys_of(store.table, "QG:")
    await store.table.transact([Update(key=wrong, add={"count": 4, "bytes": 7})])
    for key in others:
        await store.table.write([Delete(key)])
    found = await find_differences(store.table, 1, ignore)
    assert {one.key for one in found.counts} == {wrong, *others}
    assert CountDifference(wrong, _counts(before[wrong]), _counts(before[wrong], 4, 7)) in (
        found.counts
    )
    for key in await keys_of(store.table, lost):
        if key != wrong:
            await store.table.write([Delete(key)])
    assert await Repair(store.table).run(found) == (1 + len(others), 0)
    assert await contents(store.table) == before


def _counts(row: Any, more: int = 0, size: int = 0) -> dict[str, int]:
    added = {"count": more, "bytes": size}
    names = ("count", "versions", "files", "bytes")
    counts = {name: row.get(name, 0) + added.get(name, 0) for name in names}
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
async def test_what_an_earlier_release_made_counts_from_its_next_write_on(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    repository = session.repository(kind)
    made = [await make_of(session, kind, NORTHWEST, name) for name in ("one", "two")]
    await repository.writing.update(made[0].id, 1, {"name": "renamed"})
    for each in made:
        await forget_counts(store.table, kind, each.id)
    assert await sum_group(store.table, USA) == Amounts()
    await repository.deleting.delete(made[1].id)
    assert await sum_group(store.table, USA) == Amounts()
    await repository.writing.grant(made[0].id, EU)
    files = int(kind is REFERENCE_DATASET)
    assert await sum_group(store.table, USA) == Amounts(1, 2, files)
    await repository.writing.update(made[0].id, 2, {"name": "again"})
    assert await sum_group(store.table, USA) == Amounts(1, 3, files)
    await repository.deleting.delete(made[0].id)
    assert await sum_group(store.table, USA) == Amounts()
    assert await faults(store.table) == []


async def test_a_version_of_an_earlier_release_is_not_taken_from_the_count(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "one")
    key = PIPELINE.latest.key(id=made.id)
    await store.table.transact([Update(key=key, add={"version": 1, "revision": 1})])
    await session.pipelines.writing.update(made.id, 2, {"name": "three"})
    assert await sum_group(store.table, USA) == Amounts(1, 2)
    await session.pipelines.deleting.delete(made.id)
    assert await sum_group(store.table, USA) == Amounts()


async def test_the_upgrade_counts_all_resources_with_all_their_files(store: Store) -> None:
    session = await create_groups(store)
    made = await make_of(session, REFERENCE_DATASET, USA, "rates")
    await put_new_file(session, made.id, 1, 70)
    plain = await make(session, NORTHWEST, "plain")
    counted = await contents(store.table)
    await forget_counts(store.table, REFERENCE_DATASET, made.id)
    await forget_counts(store.table, PIPELINE, plain.id)
    # It was written since, and is counted by the file that it had then.
    await session.datasets.writing.update(made.id, 2, {"name": "renamed"})
    assert await sum_group(store.table, ROOT) == Amounts(1, 3, 1, 70)
    await place_marker(store.table)
    assert (await store.upgrade_rows(ignore)).schema == STEPS[-1].schema
    assert await sum_group(store.table, ROOT) == Amounts(2, 4, 2, 70)
    assert await sum_group(store.table, NORTHWEST) == Amounts(1, 1)
    assert await faults(store.table) == []
    again = await contents(store.table)
    assert {key for key in again if key.pk.startswith("Q")} == {
        key for key in counted if key.pk.startswith("Q")
    }
    await store.upgrade_rows(ignore)
    assert await contents(store.table) == again


@on_sqlite
async def test_a_user_with_the_longest_id_is_counted(store: Store) -> None:
    await create_groups(store)
    user = "\N{GRINNING FACE}" * 255
    await make(store.open_session(type(SUPER)(user, SUPER.roles)), USA, "one")
    assert await sum_user(store.table, user) == Amounts(1, 1)
    assert await faults(store.table) == []
