"""Callers pay for calls of the store that the cost of their operation does not cover."""

import pytest

from penstock.datastore.access.access import CallPayments
from penstock.datastore.access.work import INCLUDED_CALLS
from penstock.datastore.errors import RateLimited
from penstock.datastore.executions.lists.group_listing import GroupExecutions
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.datastore.access.many_groups import plant_groups
from tests.support.sample_resources import SUPER, USA, create_groups, make, on_sqlite, tags
from tests.support.work_account import Account

BELOW_USA = GroupExecutions(group=USA, include_child_groups=True)
CALL = 2


async def list_executions(session: Session) -> None:
    await session.executions.of_groups.page(BELOW_USA, Window(size=1))


def price_beyond_cost(session: Session) -> float:
    """The price of the calls so far that no cost covers."""
    calls = session.units.calls - INCLUDED_CALLS - session.work.paid
    return CALL * max(calls, 0) + max(session.units.rcu - INCLUDED_CALLS - session.work.paid, 0)


@on_sqlite
async def test_a_list_of_many_groups_is_paid_as_it_is_read(store: Store) -> None:
    await plant_groups(store, 30)
    account = Account()
    session = store.open_session(SUPER, account)
    await list_executions(session)
    assert session.units.calls > 150
    price = price_beyond_cost(session)
    assert price - 20 < account.taken + account.owed <= price


@on_sqlite
async def test_a_short_list_costs_no_more_than_its_operation(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "one", "m=a")
    account = Account()
    await store.open_session(SUPER, account).pipelines.listing.page(
        ListRequest(group=USA, tags=TagFilter(all=tags("m=a"))), Window(size=20)
    )
    assert (account.taken, account.owed) == (0, 0)


@on_sqlite
async def test_calls_that_the_cost_of_an_operation_covers_are_not_paid_twice(store: Store) -> None:
    await plant_groups(store, 30)
    account = Account()
    account.paid = 5_000
    await list_executions(store.open_session(SUPER, account))
    assert (account.taken, account.owed) == (0, 0)


@on_sqlite
async def test_a_caller_in_debt_reads_no_further(store: Store) -> None:
    await plant_groups(store, 30)
    account = Account(most=60)
    session = store.open_session(SUPER, account)
    with pytest.raises(RateLimited):
        await list_executions(session)
    assert account.taken == 28
    assert session.units.calls == 34


@on_sqlite
async def test_what_follows_a_write_is_owed_and_never_refused(store: Store) -> None:
    await plant_groups(store, 30)
    account = Account(most=0)
    session = store.open_session(SUPER, account)
    await session.groups.create(GroupPath("/usa/last"), None)
    await list_executions(session)
    assert account.taken == 0
    assert account.owed > 0


def test_payments_are_of_all_calls_and_units_and_of_each_once() -> None:
    account = Account()
    account.paid = 80
    used = Units()
    payments = CallPayments(account, 8, used)
    payments.promise_calls(120)
    assert account.taken == 8 * 20
    for _ in range(150):
        payments.begin_call()
        payments.end_call()
    assert (account.taken, account.owed) == (8 * 50, 0)
    used.rcu = 400.0
    payments.end_call()
    payments.end_call()
    assert (account.taken, account.owed) == (8 * 50, 300)
    used.wcu = 1.0
    payments.promise_calls(10)
    assert (account.taken, account.owed) == (8 * 50, 300 + 8 * 10)
