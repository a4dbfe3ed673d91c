"""A page of a search by a part of the name costs the same, whatever else lies in the group."""

from dataclasses import replace

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.sample_resources import EU, SUPER, USA, create_groups, make, on_sqlite, tags
from tests.support.table_interceptors import TracedTable
from tests.support.work_account import Account

pytestmark = on_sqlite

TAGGED = TagFilter(all=tags("m=a"))


async def cost(store: Store, text: str, **listed: object) -> tuple[int, float, int]:
    """The entries of a page of 20, its read units, and its round trips."""
    traced = TracedTable(store.table)
    metered = MeteredTable(traced)
    session = replace(store, table=metered).open_session(SUPER)
    asked = ListRequest(**{"group": USA, "name": NameFilter(contains=text), **listed})  # type: ignore[arg-type]
    page = await session.pipelines.listing.page(asked, Window(size=20))
    return len(page.entries), metered.units.rcu, traced.depth


async def fill(store: Store, count: int) -> None:
    session = await create_groups(store)
    for n in range(count):
        await make(session, USA, f"common {'even' if n % 2 else 'odd'} {n:03}", f"m={'ab'[n % 2]}")
        await make(session, EU, f"common rare{n:03}")


@pytest.mark.parametrize("count", [60, 120])
async def test_a_page_costs_the_same_however_many_others_there_are(
    store: Store, count: int
) -> None:
    await fill(store, count)
    assert await cost(store, "007") == (1, 3.0, 2)
    assert await cost(store, "rare007") == (0, 2.0, 2)
    assert await cost(store, "00") == (10, 12.0, 2)
    few = replace(store, list_budget=Budget(candidates=10))
    assert await cost(few, "common") == (20, 22.5, 3)
    assert await cost(few, "common", tags=TAGGED) == (20, 34.5, 4)


async def test_words_that_seldom_meet_are_read_to_the_end(store: Store) -> None:
    await fill(store, 60)
    few = replace(store, list_budget=Budget(candidates=10))
    assert await cost(few, "even odd") == (0, 3.0, 4)


async def test_rows_that_are_compared_with_a_name_are_owed(store: Store) -> None:
    await fill(store, 60)
    few = replace(store, list_budget=Budget(candidates=10))
    account = Account()
    session = few.open_session(SUPER, account)
    wanted = ListRequest(group=USA, name=NameFilter(contains="even odd"))
    await session.pipelines.listing.page(wanted, Window(size=20))
    # Ten rows of each word, then the rest of one of them, in the group and in the root.
    assert account.owed == 10 // 2 + 10 // 2 + 20 // 2
