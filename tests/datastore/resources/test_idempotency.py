"""A create that is sent twice happens once."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, NameTaken
from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    draft,
    on_sqlite,
    without_moto,
)

DAY = timedelta(days=1)


async def test_the_same_key_and_input_give_the_first_resource_again(store: Store) -> None:
    session = await create_groups(store)
    writing = session.pipelines.writing
    first = await writing.create(USA, draft("Smelt", "k=v", attributes={"a": 1, "b": 2}), "key")
    before = await contents(store.table)
    again = await writing.create(USA, draft("Smelt", "k=v", attributes={"b": 2, "a": 1}), "key")
    assert again == first
    assert await contents(store.table) == before
    assert await faults(store.table) == []


@on_sqlite
async def test_the_same_key_with_another_input_is_refused(store: Store) -> None:
    session = await create_groups(store)
    await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    before = await contents(store.table)
    for group, content in ((USA, draft("Other")), (EU, draft("Smelt")), (USA, draft("smelt"))):
        with pytest.raises(Invalid) as refused:
            await session.pipelines.writing.create(group, content, "key")
        assert [problem.path for problem in refused.value.problems] == [["idempotencyKey"]]
    assert await contents(store.table) == before


@on_sqlite
async def test_keys_belong_to_the_caller(store: Store) -> None:
    await create_groups(store)
    made = [
        await store.open_session(caller({USA: Role.ADMIN}, user)).pipelines.writing.create(
            USA, draft(user), "key"
        )
        for user in ("ann", "bob", "ann:key")
    ]
    assert [pipeline.name for pipeline in made] == ["ann", "bob", "ann:key"]
    assert len({pipeline.id for pipeline in made}) == 3


@on_sqlite
async def test_a_refused_create_leaves_no_receipt(store: Store) -> None:
    session = await create_groups(store)
    await session.pipelines.writing.create(USA, draft("Smelt"), None)
    before = await contents(store.table)
    with pytest.raises(NameTaken):
        await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    assert await contents(store.table) == before
    assert (await session.pipelines.writing.create(USA, draft("Cast"), "key")).name == "Cast"


@on_sqlite
async def test_a_replay_gives_the_resource_as_it_is_now(store: Store) -> None:
    session = await create_groups(store)
    made = await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    changed = await session.pipelines.writing.update(made.id, 1, {"name": "Forge"})
    assert await session.pipelines.writing.create(USA, draft("Smelt"), "key") == changed


@on_sqlite
async def test_a_replay_of_what_was_deleted_since_finds_nothing_and_makes_nothing(
    store: Store,
) -> None:
    session = await create_groups(store)
    made = await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    await session.pipelines.deleting.delete(made.id)
    before = await contents(store.table)
    with pytest.raises(Invalid, match="idempotencyKey: made a pipeline that is gone"):
        await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    assert await contents(store.table) == before


@pytest.mark.parametrize(("later", "replayed"), [(DAY, True), (DAY + timedelta(seconds=1), False)])
async def test_a_receipt_holds_for_a_day_whether_or_not_the_store_took_it_away(
    table: Table, later: timedelta, replayed: bool
) -> None:
    watch = Watch()
    # Later than today, so that no store takes the receipt away by its own clock.
    watch.time = datetime(2100, 1, 1, tzinfo=UTC)
    store = Store(table, Clock(now=watch))
    session = await create_groups(store)
    made = await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    await session.pipelines.writing.update(made.id, 1, {"name": "Forge"})
    watch.move(later)
    again = await session.pipelines.writing.create(USA, draft("Smelt"), "key")
    assert (again.id == made.id) == replayed
    assert await faults(store.table) == []


@pytest.mark.parametrize("key", ["", " ", "x" * 129, "a\x00"])
@on_sqlite
async def test_an_odd_key_is_refused(store: Store, key: str) -> None:
    session = await create_groups(store)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.pipelines.writing.create(USA, draft("Smelt"), key)
    assert [problem.path for problem in refused.value.problems] == [["idempotencyKey"]]
    assert await contents(store.table) == before


@without_moto
async def test_calls_at_the_same_time_make_one_resource(store: Store) -> None:
    await create_groups(store, USA)
    calls = [
        store.open_session(SUPER).pipelines.writing.create(USA, draft("Smelt"), "key")
        for _ in range(5)
    ]
    made = await asyncio.gather(*calls)
    assert len({pipeline.id for pipeline in made}) == 1
    assert await faults(store.table) == []
