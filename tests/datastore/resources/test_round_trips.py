"""The number of requests of each call, and the number of consecutive ones."""

from collections.abc import Awaitable

import pytest

from penstock.datastore.errors import NameTaken
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.resources.versions import VersionsRequest
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    draft,
    make,
    on_sqlite,
    open_one_shard,
    tags,
)
from tests.support.table_interceptors import TracedTable

pytestmark = on_sqlite

CITY = GroupPath("/usa/northwest/city")

Cost = tuple[int, int, int]
"""Reads, writes, and the longest chain of requests that waited for one another."""


@pytest.fixture
def traced(table: Table) -> TracedTable:
    return TracedTable(table)


@pytest.fixture
async def session(table: Table, traced: TracedTable) -> Session:
    """A session with one shard, which every group has already."""
    await open_one_shard(Store(table))
    return Store(traced, shards=1).open_session(SUPER)


async def cost(traced: TracedTable, call: Awaitable[object]) -> Cost:
    traced.start()
    await call
    return traced.seen


async def test_a_create_reads_the_states_of_its_groups_and_is_one_write(
    traced: TracedTable, session: Session
) -> None:
    writing = session.pipelines.writing
    first = writing.create(NORTHWEST, draft("one", "m=a/b"), None)
    assert await cost(traced, first) == (1, 1, 2)
    again = writing.create(NORTHWEST, draft("two", "m=a/b"), "key")
    assert await cost(traced, again) == (1, 1, 2)


async def test_the_first_create_in_a_shard_of_a_group_opens_the_shard_and_its_count(
    traced: TracedTable, session: Session
) -> None:
    await session.groups.create(CITY, None)
    writing = session.pipelines.writing
    assert await cost(traced, writing.create(CITY, draft("one"), None)) == (1, 4, 5)
    assert await cost(traced, writing.create(CITY, draft("two"), None)) == (1, 1, 2)


async def test_a_replayed_create_reads_what_the_first_made(
    traced: TracedTable, session: Session
) -> None:
    await session.pipelines.writing.create(USA, draft("one"), "key")
    again = session.pipelines.writing.create(USA, draft("one"), "key")
    assert await cost(traced, again) == (2, 1, 3)


async def test_an_update_is_a_read_and_a_write_and_one_more_where_a_counter_reaches_zero(
    traced: TracedTable, session: Session
) -> None:
    made = await make(session, USA, "one", "m=a")
    other = await make(session, USA, "two", "m=a")
    update = session.pipelines.writing.update
    assert await cost(traced, update(made.id, 1, {"name": "three"})) == (2, 1, 3)
    assert await cost(traced, update(made.id, 2, {"tags": tags("m=b")})) == (2, 1, 3)
    assert await cost(traced, update(other.id, 1, {"tags": ()})) == (2, 2, 4)


async def test_reads_by_id_are_one_read(traced: TracedTable, session: Session) -> None:
    made = await make(session, USA, "one")
    pipelines = session.pipelines
    assert await cost(traced, pipelines.reading.one(made.id)) == (1, 0, 1)
    assert await cost(traced, pipelines.versions.one(made.id, 1)) == (1, 0, 1)
    assert await cost(traced, pipelines.versions.page(made, Window())) == (1, 0, 1)
    pages = [(made, VersionsRequest(Window(size=3))), (made, VersionsRequest(Window(size=30)))]
    assert await cost(traced, pipelines.versions.pages(pages)) == (1, 0, 1)
    many = [made.id, *(session.pipelines.reading.access.clock.new_id() for _ in range(150))]
    assert await cost(traced, pipelines.reading.many(many)) == (2, 0, 1)


async def test_a_lookup_by_name_is_two_reads(traced: TracedTable, session: Session) -> None:
    await make(session, USA, "one")
    assert await cost(traced, session.pipelines.reading.by_name("one", NORTHWEST)) == (2, 0, 2)


async def test_a_page_of_a_list_in_a_group_has_a_depth_of_two(
    traced: TracedTable, session: Session
) -> None:
    for n in range(5):
        await make(session, USA, f"n{n}", "m=a/b", "n=x")
    page = Store(traced).open_session(SUPER).pipelines.listing.page
    in_group = page(ListRequest(group=NORTHWEST), Window())
    # The chain's three groups and the group itself; then the pipelines.
    assert await cost(traced, in_group) == (5, 0, 2)
    everything = page(ListRequest(group=ROOT, include_child_groups=True), Window())
    assert await cost(traced, everything) == (2, 0, 2)
    selective = ListRequest(
        group=ROOT, include_child_groups=True, tags=TagFilter(all=tags("m=a/b"))
    )
    # Three levels of groups, then the tag in each of five groups, then the pipelines.
    assert await cost(traced, page(selective, Window())) == (11, 0, 5)
    by_tags = ListRequest(group=USA, tags=TagFilter(all=tags("m=a", "n=x")))
    # Two tags in each of two groups, the group itself, the pipelines.
    assert await cost(traced, page(by_tags, Window())) == (6, 0, 2)


async def test_tags_in_use_are_one_step_a_page(traced: TracedTable, session: Session) -> None:
    await make(session, USA, "one", "m=a/b")
    lists = Store(traced).open_session(SUPER).pipelines.tags
    assert await cost(traced, lists.keys(NORTHWEST, Window())) == (4, 0, 1)
    assert await cost(traced, lists.values("m", "a", NORTHWEST, Window())) == (4, 0, 1)


async def test_grants_and_revokes_are_a_read_and_a_write(
    traced: TracedTable, session: Session
) -> None:
    made = await make(session, USA, "one", "m=a")
    await make(session, EU, "two", "m=a")
    writing = session.pipelines.writing
    assert await cost(traced, writing.grant(made.id, EU)) == (1, 1, 2)
    assert await cost(traced, writing.grant(made.id, EU)) == (2, 0, 2)
    assert await cost(traced, writing.revoke(made.id, EU)) == (1, 1, 2)
    await writing.grant(made.id, EU)
    await session.pipelines.deleting.delete((await session.pipelines.reading.by_name("two", EU)).id)
    assert await cost(traced, writing.revoke(made.id, EU)) == (1, 2, 3)


async def test_a_delete_is_a_read_and_a_write_and_one_more_where_a_counter_reaches_zero(
    traced: TracedTable, session: Session
) -> None:
    first, second, third = [
        await make(session, USA, name, *carried)
        for name, carried in (("one", ["m=a/b"]), ("two", ["m=a/b"]), ("three", []))
    ]
    await session.pipelines.writing.update(first.id, 1, {"name": "four"})
    delete = session.pipelines.deleting.delete
    assert await cost(traced, delete(first.id)) == (1, 1, 2)
    assert await cost(traced, delete(second.id)) == (1, 2, 3)
    assert await cost(traced, delete(third.id)) == (1, 1, 2)


async def test_a_delete_whose_name_others_hold_beside_it_takes_one_more_write(
    traced: TracedTable, session: Session
) -> None:
    first, second = await make(session, USA, "one"), await make(session, EU, "one")
    delete = session.pipelines.deleting.delete
    assert await cost(traced, delete(first.id)) == (1, 2, 3)
    assert await cost(traced, delete(second.id)) == (1, 1, 2)


async def test_a_taken_name_is_located_by_one_read_only_where_it_is_held_below(
    traced: TracedTable, session: Session
) -> None:
    await make(session, NORTHWEST, "one")
    for group, seen in ((NORTHWEST, (1, 1, 2)), (USA, (2, 1, 3))):
        traced.start()
        with pytest.raises(NameTaken):
            await make(session, group, "one")
        assert traced.seen == seen


async def test_groups_cost_as_little(traced: TracedTable, session: Session) -> None:
    groups = session.groups
    usa = await groups.one(USA)
    assert await cost(traced, groups.many([USA, EU, NORTHWEST, ROOT])) == (1, 0, 1)
    assert await cost(traced, groups.children(usa, Window())) == (1, 0, 1)
    assert await cost(traced, groups.subtree(ROOT)) == (5, 0, 3)
    assert await cost(traced, groups.count(EU)) == (3, 0, 2)
    assert await cost(traced, groups.delete(EU)) == (4, 2, 6)
    assert await cost(traced, groups.create(EU, None)) == (0, 1, 1)
