"""Writes and lists of resources with many tags: their units and round trips."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.store import Session, Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.datastore.tag_search.tags import CARRIED_TAGS, TagFilter
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    create_groups,
    make,
    on_sqlite,
    open_one_shard,
    tags,
)
from tests.support.table_interceptors import TracedTable

pytestmark = on_sqlite


class Cost(NamedTuple):
    """Write units, read units, and the longest chain of requests that waited for one another."""

    written: float
    read: float
    depth: int


async def cost(table: Table, call: Callable[[Session], Awaitable[Any]]) -> Cost:
    traced = TracedTable(table)
    metered = MeteredTable(traced)
    await call(Store(metered, shards=1).open_session(SUPER))
    return Cost(metered.units.wcu, metered.units.rcu, traced.depth)


def plain_tags(count: int) -> list[str]:
    return [f"k{n}=v" for n in range(count)]


@pytest.mark.parametrize(("count", "units"), [(0, 18), (1, 25), (4, 46), (20, 158)])
async def test_a_create_costs_seven_units_for_each_tag(
    table: Table, count: int, units: float
) -> None:
    await open_one_shard(Store(table))
    tagged = plain_tags(count)
    written = await cost(table, lambda each: make(each, NORTHWEST, "Smelt", *tagged))
    assert written == Cost(units, 0, 1)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (4, Cost(43, 1.0, 2)),
        (CARRIED_TAGS - 1, Cost(87, 1.0, 2)),
        # Now the postings no longer fit all tags: they are all rewritten for the last time.
        (CARRIED_TAGS, Cost(91, 1.0, 2)),
        (CARRIED_TAGS + 1, Cost(27, 1.0, 2)),
        # The resource was granted in steps: whether any is left is read as well.
        (39, Cost(32, 2.0, 3)),
    ],
)
async def test_one_more_tag_in_two_groups_rewrites_postings_only_while_they_carry_all_tags(
    table: Table, count: int, expected: Cost
) -> None:
    session = (await open_one_shard(Store(table))).open_session(SUPER)
    made = await make(session, NORTHWEST, "Smelt", *plain_tags(count))
    await session.pipelines.writing.grant(made.id, EU)
    changes = {"tags": tags(*plain_tags(count + 1))}
    change = await cost(table, lambda each: each.pipelines.writing.update(made.id, 1, changes))
    assert change == expected


BY_ONE = TagFilter(all=tags("k0=v"))
BY_TWO = TagFilter(all=tags("k0=v", "odd=x1"))
BY_NONE = TagFilter(none=tags("odd=x1"))


@pytest.mark.parametrize(
    ("count", "wanted", "expected"),
    [
        (15, BY_ONE, Cost(0, 22.0, 2)),
        (15, BY_TWO, Cost(0, 23.5, 3)),
        (15, BY_NONE, Cost(0, 22.5, 3)),
        (39, BY_ONE, Cost(0, 22.0, 2)),
        # The tags of the candidates are read with their grants.
        (39, BY_TWO, Cost(0, 35.5, 5)),
        (39, BY_NONE, Cost(0, 23.5, 3)),
    ],
)
async def test_tags_that_no_posting_carries_are_read_where_a_posting_proves_nothing(
    table: Table, count: int, wanted: TagFilter, expected: Cost
) -> None:
    session = await create_groups(Store(table))
    for n in range(60):
        await make(session, EU, f"p{n}", *plain_tags(count), f"odd=x{n % 2}")
    page = ListRequest(group=EU, tags=wanted)
    assert (
        await cost(table, lambda each: each.pipelines.listing.page(page, Window(size=20)))
        == expected
    )
