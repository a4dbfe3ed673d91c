"""The list of all resources goes by small rows, and by the whole rows of earlier releases."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, LISTED, PIPELINE, KindDefinition
from penstock.datastore.table.port import INDEX_HASH, Key, Query, Table
from penstock.datastore.table.schema_marker import SchemaMarker, place_marker
from penstock.datastore.tag_search.tags import TagFilter
from penstock.datastore.upgrades.upgrade import Page, Step
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import list_whole_row
from tests.support.sample_resources import (
    EU,
    SUPER,
    USA,
    create_groups,
    each_kind,
    make_of,
    on_sqlite,
    tags,
    walk,
)

ALL = ListRequest(group=ROOT, include_child_groups=True)
NOT_BLUE = replace(ALL, tags=TagFilter(none=tags("colour=blue")))


async def in_index(table: Table, kind: KindDefinition[Any]) -> list[Key]:
    partition = LISTED.index_partition(kind=kind.letter)
    page = await table.query(Query(partition=partition, index=True))
    return [Key(str(item["pk"]), str(item["sk"])) for item in page.items]


async def walk_all(
    session: Session, kind: KindDefinition[Any], wanted: ListRequest = ALL, size: int = 1
) -> list[str]:
    """Walk the whole list in both orders and directions; return the names, oldest first."""
    walks = []
    for newest_first in (False, True):
        asked = replace(wanted, newest_first=newest_first)
        page = partial(session.repository(kind).listing.page, asked)
        for backward in (False, True):
            names = [each.name for each in await walk(page, size, backward=backward)]
            walks.append(names[::-1] if newest_first else names)
    assert walks == walks[:1] * 4
    return walks[0]


async def make_mixed(store: Store, kind: KindDefinition[Any]) -> list[Resource]:
    """Make resources listed by a small row, by a whole row, by both, and by a small row again."""
    session = await create_groups(store)
    made = [
        await make_of(session, kind, group, name, tag)
        for group, name, tag in (
            (USA, "small", "colour=red"),
            (EU, "whole", "colour=red"),
            (USA, "both", "colour=blue"),
            (EU, "later", "colour=red"),
        )
    ]
    await list_whole_row(store.table, kind, made[1].id)
    await list_whole_row(store.table, kind, made[2].id, keep_small=True)
    return made


@each_kind
async def test_whole_rows_and_small_ones_are_listed_once_in_one_order(
    store: Store, kind: KindDefinition[Any]
) -> None:
    await make_mixed(store, kind)
    session = store.open_session(SUPER)
    for size in (1, 2, 3, 10):
        assert await walk_all(session, kind, size=size) == ["small", "whole", "both", "later"]
        assert await walk_all(session, kind, NOT_BLUE, size) == ["small", "whole", "later"]


async def test_a_write_replaces_a_whole_row_of_the_list(store: Store) -> None:
    made = await make_mixed(store, PIPELINE)
    session = store.open_session(SUPER)
    for one in made[1:3]:
        changed = await session.pipelines.writing.update(one.id, 1, {"description": "new"})
        assert changed.version == 2
    assert await in_index(store.table, PIPELINE) == [
        LISTED.key(kind="P", id=one.id) for one in made
    ]
    assert await faults(store.table) == []
    assert await walk_all(session, PIPELINE) == ["small", "whole", "both", "later"]


async def test_a_grant_replaces_a_whole_row_of_the_list(store: Store) -> None:
    _, whole, *_ = await make_mixed(store, PIPELINE)
    await store.open_session(SUPER).pipelines.writing.grant(whole.id, USA)
    assert LISTED.key(kind="P", id=whole.id) in await in_index(store.table, PIPELINE)
    assert PIPELINE.latest.key(id=whole.id) not in await in_index(store.table, PIPELINE)


@each_kind
async def test_a_deleted_resource_leaves_the_list_whatever_row_listed_it(
    store: Store, kind: KindDefinition[Any]
) -> None:
    made = await make_mixed(store, kind)
    session = store.open_session(SUPER)
    for one in made[:3]:
        await session.repository(kind).deleting.delete(one.id)
    assert await in_index(store.table, kind) == [LISTED.key(kind=kind.letter, id=made[3].id)]
    assert await walk_all(session, kind) == ["later"]
    assert await faults(store.table) == []


async def test_the_upgrade_replaces_every_whole_row_and_changes_nothing_else(store: Store) -> None:
    pipelines = await make_mixed(store, PIPELINE)
    calculation = await make_of(store.open_session(SUPER), CALCULATION, USA, "rate")
    await list_whole_row(store.table, CALCULATION, calculation.id)
    await place_marker(store.table)
    before = await contents(store.table)
    found: list[Page] = []

    def note(_step: Step, page: Page) -> None:
        found.append(page)

    marker = await store.upgrade_rows(note)
    assert marker == SchemaMarker(schema=12, minimum_reader=12, minimum_writer=12)
    # Five rows list the four pipelines.
    assert [(page.examined, page.changed) for page in found[2:4]] == [(5, 2), (1, 1)]
    assert await faults(store.table) == []
    after = await contents(store.table)
    replaced = [pipelines[1], pipelines[2]]
    for one in replaced:
        key = PIPELINE.latest.key(id=one.id)
        kept = {name: value for name, value in before[key].items() if name != INDEX_HASH}
        assert dict(after[key]) == {**kept, "revision": 2}
    untouched = PIPELINE.latest.key(id=pipelines[0].id)
    assert after[untouched] == before[untouched]
    session = store.open_session(SUPER)
    assert await walk_all(session, PIPELINE) == ["small", "whole", "both", "later"]
    assert await walk_all(session, CALCULATION) == ["rate"]
    await store.upgrade_rows(note)
    assert await contents(store.table) == after


async def test_the_upgrade_leaves_what_is_being_deleted(store: Store) -> None:
    _, whole, *_ = await make_mixed(store, PIPELINE)
    await place_marker(store.table)
    await store.open_session(SUPER).pipelines.deleting.delete(whole.id)
    await store.upgrade_rows(lambda _step, _page: None)
    with pytest.raises(NotFound):
        await store.open_session(SUPER).pipelines.reading.one(whole.id)
    assert PIPELINE.latest.key(id=whole.id) not in await contents(store.table)
    assert await faults(store.table) == []


@on_sqlite
async def test_an_upgrade_goes_on_behind_the_page_that_it_reached(store: Store) -> None:
    session = await create_groups(store)
    made = [await make_of(session, PIPELINE, USA, f"p{n:03}") for n in range(120)]
    for one in made:
        await list_whole_row(store.table, PIPELINE, one.id)
    await place_marker(store.table)

    def stop(step: Step, page: Page) -> None:
        if step.schema == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await store.upgrade_rows(stop)
    whole = [key for key in await in_index(store.table, PIPELINE) if key.sk == "PV:latest"]
    assert whole == [PIPELINE.latest.key(id=one.id) for one in made[100:]]
    found: list[Page] = []
    await store.upgrade_rows(lambda step, page: found.append(page) if step.schema == 6 else None)
    assert [(page.examined, page.changed) for page in found] == [(20, 20)]
    assert await faults(store.table) == []
