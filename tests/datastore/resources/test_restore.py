"""A restored version is the newest one, with what it named, and counts as any other version."""

from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    NameTaken,
    NotFound,
    NotPermitted,
    VersionConflict,
)
from penstock.datastore.quotas.usage import amounts_of_resource
from penstock.datastore.records import State
from penstock.datastore.resources.version_diff import diff_versions
from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KindDefinition
from tests.datastore.datasets.sample_datasets import lookup_dataset, update_dataset
from tests.datastore.resources.test_calculation_refs import codes, rewrite, save
from tests.datastore.resources.test_uses import names_used, on_two, pipe, transformer_of, users_of
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    USA,
    caller,
    create_groups,
    draft_of,
    each_kind,
    on_sqlite,
    tags,
)


@each_kind
@on_sqlite
async def test_each_kind_gets_back_its_content_and_keeps_state_and_grants(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    writing = session.repository(kind).writing
    content = draft_of(kind, "one", "a=b", description="first")
    made = await writing.create(USA, content, None)
    changes = {"name": "two", "tags": tags("c=d"), "description": None}
    await writing.update(made.id, 1, changes)
    await writing.grant(made.id, EU)
    found = await writing.restore(made.id, 1, 2)
    assert (found.version, found.groups, found.state) == (3, (USA, EU), State.ENABLED)
    versions = session.repository(kind).versions
    first, third = [await versions.one(made.id, number) for number in (1, 3)]
    assert diff_versions(first, third) == []
    assert (await session.repository(kind).reading.one(made.id)) == found
    assert await faults(store.table) == []


@on_two
async def test_what_is_refused_changes_nothing(store: Store) -> None:
    session = await create_groups(store)
    one = await save(session, USA, "one", "1")
    one = await rewrite(session, one, "2", name="other")
    await save(session, NORTHWEST, "one", "3")
    before = await contents(store.table)
    restore = session.calculations.writing.restore
    for number in (0, 3):
        with pytest.raises(NotFound, match=f"no version {number}"):
            await restore(one.id, number, 2)
    with pytest.raises(VersionConflict):
        await restore(one.id, 1, 1)
    with pytest.raises(NameTaken):
        await restore(one.id, 1, 2)
    reader = store.open_session(caller({USA: Role.READER}))
    with pytest.raises(NotPermitted):
        await reader.calculations.writing.restore(one.id, 1, 2)
    with pytest.raises(NotFound):
        await store.open_session(caller({EU: Role.ADMIN})).calculations.writing.restore(
            one.id, 1, 2
        )
    assert await contents(store.table) == before
    await session.calculations.writing.update(one.id, 2, {"state": State.FROZEN})
    with pytest.raises(IllegalState):
        await restore(one.id, 2, 3)


@on_two
async def test_a_restored_formula_calls_what_it_called_whatever_its_name_is_now(
    store: Store,
) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "base", "1")
    top = await save(session, USA, "top", "#base()")
    await rewrite(session, top, "7")
    base = await rewrite(session, base, "2", name="basis")
    await save(session, USA, "base", "1000")
    assert await users_of(session, base) == []
    top = await session.calculations.writing.restore(top.id, 1, 2)
    assert [one.id for one in top.references] == [base.id]
    assert (await users_of(session, base), await names_used(session, top)) == (["top"], ["basis"])
    prepared = await session.evaluations.prepare_by_id(top.id)
    assert prepared[0] is not None
    await rewrite(session, top, "7")
    await session.calculations.deleting.delete(base.id)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.calculations.writing.restore(top.id, 1, 4)
    assert codes(refused.value) == ["UNKNOWN_CALCULATION"]
    assert await contents(store.table) == before
    assert await faults(store.table) == []


@on_sqlite
async def test_a_restored_version_closes_no_circle(store: Store) -> None:
    session = await create_groups(store)
    a, b = [await save(session, USA, name, "1") for name in "ab"]
    a = await rewrite(session, a, "#b()")
    await rewrite(session, a, "2")
    await rewrite(session, b, "#a()")
    with pytest.raises(Invalid) as refused:
        await session.calculations.writing.restore(a.id, 2, 3)
    assert codes(refused.value) == ["CALCULATION_CYCLE"]


@on_two
async def test_a_restored_dataset_brings_no_second_file_and_a_gone_one_stays_a_use(
    store: Store,
) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    fuels = await update_dataset(session, fuels, gas="3", oil="4")
    counted = amounts_of_resource(fuels)
    restored = await session.datasets.writing.restore(fuels.id, 1, 2)
    assert (restored.content.row_count, restored.version) == (1, 3)
    assert amounts_of_resource(restored) == replace(counted, versions=3)
    user = await save(session, USA, "user", "LOOKUP('fuels', 'gas')")
    pipeline = await pipe(session, USA, "pipeline", "LOOKUP('fuels', 'gas')")
    await rewrite(session, user, "1")
    change = {"transformer": transformer_of("1")}
    await session.pipelines.writing.update(pipeline.id, 1, change)
    await session.datasets.deleting.delete(fuels.id)
    with pytest.raises(Invalid):
        await session.pipelines.writing.restore(pipeline.id, 1, 2)
    # A calculation may be saved without its data, and goes on meaning what is gone.
    again = await session.calculations.writing.restore(user.id, 1, 2)
    assert [one.id for one in again.references] == [fuels.id]
    assert await faults(store.table) == []
    await session.calculations.deleting.delete(user.id)
    assert await faults(store.table) == []
