"""Quotas cost two write units for a create, and more only where little is left."""

import asyncio
from dataclasses import replace

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.quotas.amounts import UNLIMITED, Amounts
from penstock.datastore.quotas.quotas import NEAR_LEAST, Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import kept_key, sum_group
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import Table, Update
from tests.support.loop_clock import LONG, pass_time
from tests.support.sample_resources import NORTHWEST, SUPER, USA, make, on_sqlite, open_one_shard
from tests.support.table_interceptors import TracedTable

pytestmark = on_sqlite
FAR = NEAR_LEAST * 100
LINE = 2.0
"""The read units of the states of the groups in which something is made."""


def with_quotas(table: Table, rules: QuotaRules) -> tuple[Store, MeteredTable]:
    metered = MeteredTable(TracedTable(table))
    return Store(metered, shards=1, quotas=Quotas(rules)), metered


async def measure_create(metered: MeteredTable, store: Store, name: str) -> tuple[float, float]:
    """The write and read units of a create."""
    written, read = metered.units.wcu, metered.units.rcu
    await make(store.open_session(SUPER), NORTHWEST, name)
    return metered.units.wcu - written, metered.units.rcu - read


async def test_far_from_the_maximum_a_create_reads_nothing_of_quotas_for_some_seconds(
    table: Table,
) -> None:
    await open_one_shard(Store(table))
    every = Amounts(FAR, FAR, FAR, FAR)
    store, metered = with_quotas(table, QuotaRules(every, every))
    unlimited, plain = with_quotas(table, QuotaRules())
    assert await measure_create(plain, unlimited, "none") == (24, LINE)
    # For the group and the user each: the gate and the rows.
    first = await measure_create(metered, store, "one")
    assert first[0] == 24
    assert 4 <= first[1] <= 12
    assert await measure_create(metered, store, "two") == (24, LINE)
    await pass_time(LONG)
    assert (await measure_create(metered, store, "three"))[1] == first[1]


async def test_near_the_maximum_a_create_takes_its_part_from_a_gate(table: Table) -> None:
    await open_one_shard(Store(table))
    store, metered = with_quotas(table, QuotaRules(Amounts(resources=5)))
    await measure_create(metered, store, "one")
    assert await measure_create(metered, store, "two") == (26, LINE)


async def test_one_query_adds_up_a_group_of_many_groups(table: Table) -> None:
    session = (await open_one_shard(Store(table))).open_session(SUPER)
    rows = [kept_key(USA, f"user {n}", 1) for n in range(300)]
    for key in rows:
        await table.transact([Update(key=key, add={"count": 1}, default={"user": "u"})])
    await make(session, NORTHWEST, "one")
    metered = MeteredTable(table)
    assert (await sum_group(metered, USA)).resources == 301
    assert metered.units.rcu <= 10


async def test_servers_pass_a_maximum_by_no_more_than_the_others_made_meanwhile(
    table: Table,
) -> None:
    """The docs' slack: only where more than what is near is made within the time of a look."""
    await open_one_shard(Store(table))
    rules = QuotaRules(Amounts(resources=FAR))
    one, _ = with_quotas(table, rules)
    two, _ = with_quotas(table, rules)
    for number, store in enumerate((one, two)):
        await make(store.open_session(SUPER), USA, f"first {number}")
    full = {"count": FAR - 3}
    await table.transact([Update(key=kept_key(NORTHWEST, "super", 1), add=full)])
    # Both have looked before that, and still rely on it; a third one knows.
    await make(one.open_session(SUPER), USA, "unknowing")
    await pass_time(LONG)
    outcomes = await asyncio.gather(
        *(make((one, two)[n % 2].open_session(SUPER), USA, f"new {n}") for n in range(6)),
        return_exceptions=True,
    )
    assert all(isinstance(each, QuotaExceeded) for each in outcomes)
    assert (await sum_group(table, USA)).resources == FAR


async def test_without_quotas_nothing_is_looked_up(table: Table) -> None:
    store = await open_one_shard(Store(table))
    metered = MeteredTable(table)
    free = replace(store, table=metered, quotas=Quotas(QuotaRules(UNLIMITED, UNLIMITED)))
    await make(free.open_session(SUPER), NORTHWEST, "one")
    assert metered.units.rcu == LINE
