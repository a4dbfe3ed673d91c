"""Rows that this release cannot read are left out of lists, reported, and typed errors by id."""

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from penstock.datastore.errors import NotFound, Unreadable
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import Caller, Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key, Update, Value
from penstock.datastore.table.unreadable_rows import collect_unreadable, unreadable_reads
from tests.datastore.releases.sample_lists import LISTS, SampleList
from tests.support.consistency_check import contents
from tests.support.sample_resources import (
    EU,
    SOUTH,
    SUPER,
    USA,
    create_groups,
    make,
    on_sqlite,
    walk,
)

WRONG: Value = [None]


async def damage(store: Store, key: Key, changes: Mapping[str, Value]) -> None:
    """Set attributes of a row that exists to other values; None removes an attribute."""
    assert key in await contents(store.table)
    gone = tuple(name for name, value in changes.items() if value is None)
    setting = {name: value for name, value in changes.items() if value is not None}
    await store.table.transact([Update(key=key, set=setting, remove=gone)])


async def walk_every_way(listed: SampleList) -> list[list[Any]]:
    """Read a list in pages of one and of all, in both directions."""
    return [
        await walk(listed.page, size, backward=backward)
        for size in (1, 20)
        for backward in (False, True)
    ]


@pytest.mark.parametrize("wrong", [None, WRONG], ids=["missing", "of another type"])
@pytest.mark.parametrize("name", LISTS)
async def test_a_list_goes_on_behind_a_row_that_it_cannot_read(
    any_store: Store, name: str, wrong: Value
) -> None:
    store = any_store
    listed = await LISTS[name](store)
    whole = await walk(listed.page, 20)
    assert len(whole) >= 2
    victim = whole[len(whole) // 2]
    await damage(store, listed.key(victim), {listed.attribute: wrong})
    before = unreadable_reads()
    with collect_unreadable() as found:
        for walked in await walk_every_way(listed):
            assert walked == [each for each in whole if each != victim]
    assert set(found) == {listed.key(victim)}
    assert unreadable_reads() > before


async def test_a_pipeline_of_an_unknown_state_is_an_error_by_id_to_who_sees_it(
    any_store: Store,
) -> None:
    session = await create_groups(any_store)
    pipeline = await make(session, USA, "Trips")
    await damage(any_store, PIPELINE.latest.key(id=pipeline.id), {"state": "archived"})
    kept = await contents(any_store.table)
    with pytest.raises(Unreadable):
        await session.pipelines.reading.one(pipeline.id)
    with pytest.raises(Unreadable):
        await session.pipelines.writing.update(pipeline.id, 1, {"name": "Other"})
    stranger = any_store.open_session(Caller("eve", {EU: Role.ADMIN}))
    with pytest.raises(NotFound) as refused:
        await stranger.pipelines.reading.one(pipeline.id)
    assert type(refused.value) is NotFound
    assert await contents(any_store.table) == kept


async def test_a_pipeline_whose_grants_cannot_be_read_is_shown_to_nobody(any_store: Store) -> None:
    session = await create_groups(any_store)
    pipeline = await make(session, USA, "Trips")
    await damage(any_store, PIPELINE.latest.key(id=pipeline.id), {"groups": WRONG})
    with pytest.raises(NotFound) as refused:
        await session.pipelines.reading.one(pipeline.id)
    assert type(refused.value) is NotFound


async def test_fields_that_can_be_read_are_read(any_store: Store) -> None:
    session = await create_groups(any_store)
    pipeline = await make(session, USA, "Trips")
    await damage(any_store, PIPELINE.latest.key(id=pipeline.id), {"state": "archived"})
    fields = frozenset(("id", "name"))
    (found,) = await session.pipelines.reading.many([pipeline.id], projection=fields)
    assert not isinstance(found, NotFound)
    assert found.name == "Trips"


@on_sqlite
async def test_a_row_is_logged_once_with_its_key(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = await create_groups(store)
    pipeline = await make(session, USA, "Trips")
    await damage(store, PIPELINE.latest.key(id=pipeline.id), {"state": "archived"})
    with caplog.at_level(logging.ERROR, "penstock.table"):
        for _ in range(3):
            await session.pipelines.reading.many([pipeline.id])
    (line,) = caplog.messages
    assert line.startswith(f"the row P:{pipeline.id}, PV:latest cannot be read: ValidationError")


@on_sqlite
async def test_a_row_is_named_to_those_who_administer_its_owner(store: Store) -> None:
    session = await create_groups(store)
    pipeline = await make(session, USA, "Trips")
    await damage(store, PIPELINE.latest.key(id=pipeline.id), {"state": "archived"})
    with collect_unreadable() as found:
        await session.pipelines.reading.many([pipeline.id])
    (row,) = found.values()
    assert row.is_administered_by(SUPER)
    assert row.is_administered_by(Caller("ann", {USA: Role.ADMIN}))
    assert not row.is_administered_by(Caller("bob", {USA: Role.CONTRIBUTOR}))
    assert not row.is_administered_by(Caller("eve", {SOUTH: Role.ADMIN}))


@pytest.mark.parametrize("fields", [("name", "state"), ("state",), ("groups",), ("transformer",)])
async def test_a_projected_field_that_cannot_be_read_leaves_the_row_out(
    any_store: Store, fields: tuple[str, ...]
) -> None:
    session = await create_groups(any_store)
    kept, lost = await make(session, USA, "Kept"), await make(session, USA, "Lost")
    wrong: Value = "archived" if "state" in fields else {"parameters": [1], "transforms": []}
    await damage(any_store, PIPELINE.latest.key(id=lost.id), {fields[-1]: wrong})
    listed = ListRequest(group=USA)
    page = await session.pipelines.listing.page(listed, Window(size=9), frozenset(fields))
    assert [id for id, _ in page.entries] == [kept.id]
