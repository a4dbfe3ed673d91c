"""The proxy refuses what AWS refuses, counts it, and lets eventually consistent reads lag."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from botocore.exceptions import ClientError

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import Unavailable
from penstock.datastore.table.port import (
    INDEX_HASH,
    Check,
    Delete,
    Exists,
    Item,
    Key,
    Put,
    Query,
    Range,
    Update,
)
from tests.scale.contention_proxy import ContentionProxy, ProxyLimits, describe_counts
from tests.scale.partitions import Partition
from tests.support.loop_clock import LONG, clock_of, pass_time
from tests.support.patience import until
from tests.support.stores import open_dynamodb, quick_endpoint

HOT = Key("H", "1")


def item(pk: str, sk: str, **more: str) -> Item:
    return {"pk": pk, "sk": sk, **more}


@asynccontextmanager
async def open_proxied_tables(
    limits: ProxyLimits, tables: int = 2, deadline: float = LONG
) -> AsyncIterator[tuple[ContentionProxy, list[DynamoDBTable]]]:
    """Serve one table behind the proxy to several servers."""
    async with AsyncExitStack() as held:
        clock_of(asyncio.get_running_loop())
        proxy = await held.enter_async_context(ContentionProxy(quick_endpoint(), limits))
        made = await open_dynamodb(quick_endpoint())
        held.push_async_callback(made.close)
        await made.create()
        opened = []
        for _ in range(tables):
            table = await open_dynamodb(proxy.url, name=made._name, deadline=deadline)
            held.push_async_callback(table.close)
            opened.append(table)
        yield proxy, opened


async def test_transactions_of_two_servers_that_meet_conflict_and_both_succeed() -> None:
    async with open_proxied_tables(ProxyLimits(window=20)) as (proxy, (one, other)):
        add = Update(key=HOT, add={"n": 1})
        await asyncio.gather(one.transact([add]), other.transact([add]))
        assert (await one.get([HOT], consistent=True)).items[HOT]["n"] == 2
        assert proxy.counts.succeeded == 2
        assert proxy.counts.conflicts[HOT] == proxy.counts.cancelled["TransactionConflict"] > 0
        assert list(proxy.counts.conflicts) == [HOT]


async def test_transactions_on_other_items_do_not_conflict() -> None:
    async with open_proxied_tables(ProxyLimits(window=20)) as (proxy, (one, other)):
        await asyncio.gather(
            one.transact([Put(item("H", "1"))]), other.transact([Put(item("H", "2"))])
        )
        assert proxy.counts.conflicts == {}


async def test_a_batch_leaves_undone_what_a_transaction_holds() -> None:
    async with open_proxied_tables(ProxyLimits(window=500)) as (proxy, (one, other)):
        held = asyncio.create_task(one.transact([Update(key=HOT, add={"n": 1})]))
        await until(lambda: proxy._held.find_conflicts([(one._name, HOT)]))
        await other.write([Put(item("H", "1", by="batch")), Put(item("H", "2"))])
        assert await held > 0
        assert proxy.counts.requests["BatchWriteItem"] > 1
        found = (await one.get([HOT], consistent=True)).items
        assert found[HOT] == item("H", "1", by="batch")


async def test_a_partition_gives_its_units_and_no_more() -> None:
    async with open_proxied_tables(ProxyLimits(wcu=4), deadline=0.5) as (proxy, (table, _)):
        await table.transact([Put(item("H", "1")), Put(item("H", "2"))])
        with pytest.raises(Unavailable, match=r"(for|within) 0\.5 seconds"):
            await table.transact([Put(item("H", str(number))) for number in range(3, 6)])
        throttled = Partition(table._name, "table", "H")
        assert proxy.counts.throttles[throttled] == proxy.counts.cancelled["ThrottlingError"] > 0
        assert proxy.counts.units == {throttled: 4.0}
        await table.transact([Put(item("I", "1"))])
        assert describe_counts(proxy.take_counts())["itemUnits"] == {
            "H | 1": 2,
            "H | 2": 2,
            "I | 1": 2,
        }
        assert proxy.counts.succeeded == 0


async def test_units_come_back_with_time() -> None:
    async with open_proxied_tables(ProxyLimits(wcu=4)) as (proxy, (table, _)):
        await table.transact([Put(item("H", "1")), Put(item("H", "2"))])
        await pass_time(1.0)
        await table.transact([Put(item("H", "1")), Put(item("H", "2"))])
        assert proxy.counts.throttles == {}


async def test_the_index_takes_units_of_its_own_partition() -> None:
    async with open_proxied_tables(ProxyLimits()) as (proxy, (table, _)):
        await table.transact([Put(item("H", "1", siKey1="I"))])
        await table.transact([Update(key=HOT, set={INDEX_HASH: "J"}, add={"n": 1})])
        await table.transact([Check(HOT, Exists())])
        await table.transact([Delete(HOT)])
        name = table._name
        assert proxy.counts.units == {
            Partition(name, "table", "H"): 8.0,
            Partition(name, "index", "I"): 2.0,
            Partition(name, "index", "J"): 2.0,
        }


async def test_reads_that_need_not_be_consistent_see_what_stood_there_before() -> None:
    async with open_proxied_tables(ProxyLimits(lag=LONG * 1000)) as (_, (table, _)):
        await table.transact([Put(item("H", "1", by="old")), Put(item("H", "2", by="old"))])
        await pass_time(LONG)
        await table.transact([Update(key=HOT, set={"by": "new"}), Delete(Key("H", "2"))])
        await table.write([Put(item("H", "3", by="new"))])
        old = [item("H", "1", by="old"), item("H", "2", by="old")]
        new = [item("H", "1", by="new"), item("H", "3", by="new")]
        keys = [Key("H", "1"), Key("H", "2"), Key("H", "3")]
        for consistent, wanted in ((False, old), (True, new)):
            page = await table.query(Query(partition="H", consistent=consistent))
            assert list(page.items) == wanted
            batch = await table.get(keys, consistent=consistent)
            assert list(batch.items.values()) == wanted
            one = await table.get([HOT], consistent=consistent)
            assert one.items[HOT] == wanted[0]
            gone = await table.get([Key("H", "2")], consistent=consistent)
            assert list(gone.items.values()) == ([] if consistent else old[1:])
        await pass_time(LONG)
        assert list((await table.query(Query(partition="H"))).items) == new


@pytest.mark.parametrize("descending", [False, True])
async def test_pages_that_lag_have_each_item_once(descending: bool) -> None:
    async with open_proxied_tables(ProxyLimits(lag=LONG * 1000)) as (_, (table, _)):
        old = [item("H", f"{number}") for number in range(0, 8, 2)]
        await table.write([*map(Put, old)])
        await pass_time(LONG)
        changed = [Put(item("H", f"{number}")) for number in range(1, 8, 2)]
        await table.transact([*changed, Delete(Key("H", "2")), Delete(Key("H", "4"))])
        found, after = [], None
        while True:
            wanted = Query(partition="H", limit=1, after=after, descending=descending)
            page = await table.query(wanted)
            found += list(page.items)
            if page.last is None:
                break
            after = page.last
        assert found == (old[::-1] if descending else old)


async def test_the_index_lags_whatever_a_read_demands() -> None:
    async with open_proxied_tables(ProxyLimits(lag=LONG * 1000)) as (_, (table, _)):
        await table.transact([Put(item("A", "1", siKey1="I")), Put(item("B", "1", siKey1="I"))])
        await pass_time(LONG)
        await table.transact([Put(item("A", "1", siKey1="J")), Put(item("C", "1", siKey1="I"))])
        whole = Query(partition="I", index=True, range=Range("A"))
        assert [each["pk"] for each in (await table.query(whole)).items] == ["A"]
        wanted = Query(partition="I", index=True, consistent=True)
        assert [each["pk"] for each in (await table.query(wanted)).items] == ["A", "B"]
        assert (await table.query(Query(partition="J", index=True))).items == ()


async def test_the_command_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.scale import contention_proxy  # noqa: PLC0415 - the module as a command

    with pytest.raises(SystemExit):
        contention_proxy.main(["--help"])
    assert "--window" in capsys.readouterr().out


async def test_errors_of_the_emulator_come_through() -> None:
    async with open_proxied_tables(ProxyLimits(lag=10, window=1)) as (proxy, (table, _)):
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            await table._client.call(
                "GetItem", {"TableName": "none", "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}
            )
        assert proxy.counts.requests["GetItem"] == 1
