"""Writes and lists of resources with many tags: their units and round trips."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pytest

from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.datastore.tag_search.tags import CARRIED_TAGS, TagFilter
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    create_groups,
    draft,
    make,
    on_sqlite,
    open_one_shard,
    tags,
)
from tests.support.table_interceptors import TracedTable

pytestmark = on_sqlite

LINE = 2.0
"""The read units of the states of a group at the second level and of the one above it."""


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


@pytest.mark.parametrize(("count", "units"), [(0, 24), (1, 31), (4, 52), (20, 164)])
async def test_a_create_costs_seven_units_for_each_tag(
    table: Table, count: int, units: float
) -> None:
    await open_one_shard(Store(table))
    tagged = plain_tags(count)
    written = await cost(table, lambda each: make(each, NORTHWEST, "Smelt", *tagged))
    assert written == Cost(units, LINE, 2)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (4, Cost(44, 1.0 + LINE, 3)),
        (CARRIED_TAGS - 1, Cost(88, 1.0 + LINE, 3)),
        # Now the postings no longer fit all tags: they are all rewritten for the last time.
        (CARRIED_TAGS, Cost(92, 1.0 + LINE, 3)),
        (CARRIED_TAGS + 1, Cost(28, 1.0 + LINE, 3)),
        # The resource was granted in steps: whether any is left is read as well.
        (39, Cost(32, 2.0 + LINE, 4)),
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


@pytest.mark.parametrize(
    ("name", "created", "granted", "renamed", "revoked", "deleted"),
    [
        ("--", 22, 21, 25, 21, 34),
        ("Smelt", 24, 23, 27, 23, 36),
        ("Daily sales report", 28, 27, 31, 27, 40),
        ("a b c d e f g h i j", 38, 37, 41, 37, 50),
    ],
)
async def test_each_of_the_first_eight_words_of_a_name_costs_two_units(
    table: Table,
    name: str,
    created: float,
    granted: float,
    renamed: float,
    revoked: float,
    deleted: float,
) -> None:
    await open_one_shard(Store(table))
    create = await cost(table, lambda each: make(each, NORTHWEST, name))
    (made,) = (
        await Store(table)
        .open_session(SUPER)
        .pipelines.listing.page(ListRequest(group=NORTHWEST), Window())
    ).entries
    id = made[0]
    grant = await cost(table, lambda each: each.pipelines.writing.grant(id, EU))
    revoke = await cost(table, lambda each: each.pipelines.writing.revoke(id, EU))
    changes = {"name": "Other"}
    rename = await cost(table, lambda each: each.pipelines.writing.update(id, 1, changes))
    await Store(table).open_session(SUPER).pipelines.writing.update(id, 2, {"name": name})
    delete = await cost(table, lambda each: each.pipelines.deleting.delete(id))
    costs = [each.written for each in (create, grant, rename, revoke, delete)]
    assert costs == [created, granted, renamed, revoked, deleted]


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


EVERYTHING = ListRequest(group=ROOT, include_child_groups=True)


@pytest.mark.parametrize(
    ("bytes_", "created", "updated", "granted"),
    # The word of the name costs 2 of a create and of a grant. With the whole row in the list of its
    # kind, without that and without logs: 16, 5 and 12; 106, 95 and 66.
    [(500, 24, 8, 23), (18_700, 96, 80, 59)],
)
async def test_what_a_large_pipeline_holds_is_written_to_its_own_rows_and_to_no_list(
    table: Table, bytes_: int, created: float, updated: float, granted: float
) -> None:
    session = (await open_one_shard(Store(table))).open_session(SUPER)
    content = draft("Smelt", description="d", attributes={"text": "x" * bytes_})
    writing = partial(session.pipelines.writing.create, NORTHWEST)
    made = await writing({**content, "name": "first"}, None)
    create = await cost(table, lambda each: each.pipelines.writing.create(NORTHWEST, content, None))
    assert create == Cost(created, LINE, 2)
    read = 1.0 if bytes_ < 4_096 else 5.0
    changes = {"description": "e"}
    update = await cost(table, lambda each: each.pipelines.writing.update(made.id, 1, changes))
    assert update == Cost(updated, read + LINE, 3)
    grant = await cost(table, lambda each: each.pipelines.writing.grant(made.id, EU))
    assert grant == Cost(granted, read, 2)


@pytest.mark.parametrize(
    ("bytes_", "wanted", "expected"),
    [
        # One read of small rows, then the records: 1 unit for each 4 KB.
        (500, TagFilter(), Cost(0, 20.5, 2)),
        (19_000, TagFilter(), Cost(0, 100.5, 2)),
        # The tags of the 24 candidates are read with their latest rows.
        (500, BY_NONE, Cost(0, 32.5, 3)),
    ],
)
async def test_a_page_of_all_pipelines_reads_the_rows_that_it_shows(
    table: Table, bytes_: int, wanted: TagFilter, expected: Cost
) -> None:
    session = await create_groups(Store(table))
    content = draft("p", "odd=x0", attributes={"text": "x" * bytes_})
    for n in range(40):
        group = EU if n % 2 else NORTHWEST
        await session.pipelines.writing.create(group, {**content, "name": f"p{n}"}, None)
    listed = replace(EVERYTHING, tags=wanted)
    page = await cost(table, lambda each: each.pipelines.listing.page(listed, Window(size=20)))
    assert page == expected
