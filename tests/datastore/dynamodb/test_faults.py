"""The DynamoDB table while its endpoint, or the network before it, fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, NamedTuple, get_args
from uuid import uuid4

import pytest

from penstock.datastore.dynamodb import protocol
from penstock.datastore.dynamodb.protocol import ClientKind
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import Unavailable
from penstock.datastore.table.port import (
    Attributes,
    Check,
    Compare,
    ConditionFailed,
    Delete,
    FailedCheck,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Update,
)
from tests.faults.dynamodb_proxy import FITTING, Fault, FaultProxy
from tests.support.loop_clock import LONG, pass_time
from tests.support.patience import HUNG_SECONDS, until
from tests.support.stores import open_dynamodb, quick_endpoint

QUICK = frozenset(Fault) - {Fault.SILENT_AFTER}
PASSED_ON_WHOLE = {Fault.SLOW, Fault.SHORT_PAGE}


class FaultSetting(NamedTuple):
    """A table behind a proxy, and a partition of it that no other test uses."""

    table: DynamoDBTable
    proxy: FaultProxy
    pk: str

    def key(self, number: int) -> Key:
        return Key(self.pk, f"{number:02}")

    def item(self, number: int) -> Item:
        return {"pk": self.pk, "sk": f"{number:02}", "n": number}

    async def everything(self) -> list[Attributes]:
        """All items of the partition, read without the proxy's faults."""
        self.proxy.chance(0, [], seed=0)
        page = await self.table.query(Query(partition=self.pk))
        return list(page.items)

    def faults(self, operation: str) -> list[Fault | None]:
        return [seen.fault for seen in self.proxy.seen if seen.operation == operation]


@pytest.fixture(scope="module")
def read_timeout() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "READ_SECONDS", HUNG_SECONDS)
        yield


@pytest.fixture(scope="module", params=get_args(ClientKind))
async def shared_table(
    request: pytest.FixtureRequest, read_timeout: None
) -> AsyncIterator[tuple[DynamoDBTable, FaultProxy]]:
    async with FaultProxy(quick_endpoint()) as proxy:
        # Less than the time for which a token is remembered.
        proxy.silence = HUNG_SECONDS + 1
        table = await open_dynamodb(proxy.url, kind=request.param, deadline=9 * LONG)
        await table.create()
        yield table, proxy
        await table.close()


@pytest.fixture
def setting(shared_table: tuple[DynamoDBTable, FaultProxy]) -> Iterator[FaultSetting]:
    table, proxy = shared_table
    deadline = table._deadline
    proxy.seen.clear()
    yield FaultSetting(table, proxy, str(uuid4()))
    proxy.chance(0, [], seed=0)
    table._deadline = deadline


async def get_one(at: FaultSetting) -> Any:
    return (await at.table.get([at.key(1)])).items


async def get_many(at: FaultSetting) -> Any:
    return (await at.table.get([at.key(number) for number in range(6)])).items


async def query(at: FaultSetting) -> Any:
    page = await at.table.query(Query(partition=at.pk, limit=2))
    return page.items, page.last


async def transact(at: FaultSetting) -> Any:
    await at.table.transact([Update(key=at.key(1), add={"n": 10}), Put(at.item(7))])
    return await at.everything()


async def write(at: FaultSetting) -> Any:
    await at.table.write([Delete(at.key(0)), *(Put(at.item(number)) for number in (4, 5, 6))])
    return await at.everything()


CALLS: dict[str, tuple[Callable[[FaultSetting], Awaitable[Any]], Callable[[FaultSetting], Any]]] = {
    "GetItem": (get_one, lambda at: {at.key(1): at.item(1)}),
    "BatchGetItem": (get_many, lambda at: {at.key(n): at.item(n) for n in range(4)}),
    "Query": (query, lambda at: ((at.item(0), at.item(1)), at.key(1))),
    "TransactWriteItems": (
        transact,
        lambda at: [at.item(0), at.item(1) | {"n": 11}, at.item(2), at.item(3), at.item(7)],
    ),
    "BatchWriteItem": (write, lambda at: [at.item(n) for n in range(1, 7)]),
}


@pytest.mark.parametrize(
    ("operation", "fault"),
    [(operation, fault) for operation in CALLS for fault in sorted(FITTING[operation])],
)
async def test_one_fault_changes_nothing_in_what_a_call_does(
    setting: FaultSetting, operation: str, fault: Fault
) -> None:
    call, expected = CALLS[operation]
    await setting.table.write([Put(setting.item(number)) for number in range(4)])
    setting.proxy.seen.clear()
    setting.proxy.script(operation, fault)
    assert await call(setting) == expected(setting)
    met = setting.faults(operation)
    # `everything` ends with a query of its own, so only the first requests are of the call.
    assert met[:2] == ([fault] if fault in PASSED_ON_WHOLE else [fault, None])


async def test_all_attempts_of_a_transaction_carry_one_token(setting: FaultSetting) -> None:
    setting.proxy.script(
        "TransactWriteItems", Fault.CONFLICT, Fault.RESET_AFTER, Fault.IN_PROGRESS, Fault.INTERNAL
    )
    await setting.table.transact([Put(setting.item(1))])
    await setting.table.transact([Put(setting.item(2))])
    tokens = [seen.body["ClientRequestToken"] for seen in setting.proxy.seen]
    assert len(tokens) == 6
    assert len(set(tokens[:5])) == 1
    assert tokens[5] != tokens[4]


@pytest.mark.parametrize("seed", range(3))
async def test_every_acknowledged_addition_is_counted_exactly_once(
    setting: FaultSetting, seed: int
) -> None:
    setting.proxy.chance(0.3, QUICK, seed=seed)
    for first in range(1, 21, 2):
        await asyncio.gather(
            *(
                setting.table.transact(
                    [Update(key=setting.key(0), add={"n": 1}), Put(setting.item(number), Missing())]
                )
                for number in (first, first + 1)
            )
        )
    faults = setting.faults("TransactWriteItems")
    assert sum(fault is not None for fault in faults) > 3
    counter = {"pk": setting.pk, "sk": "00", "n": 20}
    assert await setting.everything() == [counter, *map(setting.item, range(1, 21))]


@pytest.mark.parametrize("seed", range(3))
async def test_batches_are_complete_through_any_faults(setting: FaultSetting, seed: int) -> None:
    setting.proxy.chance(0.5, QUICK, seed=seed)
    await setting.table.write([Put(setting.item(number)) for number in range(25)])
    batch = await setting.table.get([setting.key(number) for number in range(30)])
    assert batch.items == {setting.key(number): setting.item(number) for number in range(25)}
    assert batch.units == 15.0


async def test_what_is_left_of_a_batch_is_asked_for_until_nothing_is(setting: FaultSetting) -> None:
    setting.proxy.script("BatchWriteItem", *[Fault.UNPROCESSED] * 3)
    await setting.table.write([Put(setting.item(number)) for number in range(8)])
    setting.proxy.script("BatchGetItem", *[Fault.UNPROCESSED] * 3)
    batch = await setting.table.get([setting.key(number) for number in range(8)])
    assert list(batch.items) == [setting.key(number) for number in range(8)]
    batches = [
        (seen.operation, seen.body["RequestItems"][setting.table._name])
        for seen in setting.proxy.seen
    ]
    written = [len(items) for operation, items in batches if operation == "BatchWriteItem"]
    asked = [len(wanted["Keys"]) for operation, wanted in batches if operation == "BatchGetItem"]
    assert written == asked == [8, 4, 2, 1]


async def test_a_short_page_is_continued_behind_its_last_item(setting: FaultSetting) -> None:
    await setting.table.write([Put(setting.item(number)) for number in range(4)])
    setting.proxy.script("Query", Fault.SHORT_PAGE)
    first = await setting.table.query(Query(partition=setting.pk))
    assert (first.items, first.last) == ((setting.item(0), setting.item(1)), setting.key(1))
    rest = await setting.table.query(Query(partition=setting.pk, after=first.last))
    assert (rest.items, rest.last) == ((setting.item(2), setting.item(3)), None)


async def test_failed_conditions_are_told_after_the_conflict_has_passed(
    setting: FaultSetting,
) -> None:
    await setting.table.transact([Put(setting.item(1))])
    setting.proxy.script("TransactWriteItems", Fault.CONFLICT)
    with pytest.raises(ConditionFailed) as failed:
        await setting.table.transact(
            [
                Put(setting.item(2)),
                Check(setting.key(1), Compare("n", ">", 1)),
                Put(setting.item(3), Compare("n", "=", 3)),
            ]
        )
    assert failed.value.failed == (FailedCheck(1, setting.item(1)), FailedCheck(2, None))
    assert failed.value.units == 6.0
    assert await setting.everything() == [setting.item(1)]


@pytest.mark.parametrize("operation", CALLS)
async def test_past_the_deadline_a_call_is_unavailable(
    setting: FaultSetting, operation: str
) -> None:
    call, _ = CALLS[operation]
    setting.table._deadline = LONG
    setting.proxy.chance(1, [Fault.THROTTLED, Fault.UNAVAILABLE, Fault.RESET_BEFORE], seed=0)
    passed_on = dict(setting.proxy.upstream)
    calling = asyncio.ensure_future(call(setting))
    await until(lambda: len(setting.proxy.seen) > 1)
    await pass_time(LONG)
    with pytest.raises(Unavailable) as unavailable:
        await calling
    assert setting.proxy.upstream == passed_on
    assert unavailable.value.message == "The store did not answer within 1000 seconds."
    assert unavailable.value.retry_after == 1


async def test_a_transaction_without_an_answer_is_done_whole_or_not_at_all(
    setting: FaultSetting,
) -> None:
    setting.table._deadline = HUNG_SECONDS / 2
    setting.proxy.script("TransactWriteItems", Fault.SILENT_AFTER)
    before = setting.proxy.upstream["TransactWriteItems"]
    with pytest.raises(Unavailable):
        await setting.table.transact([Put(setting.item(1)), Put(setting.item(2))])
    setting.table._deadline = 9 * LONG
    assert setting.proxy.upstream["TransactWriteItems"] == before + 1
    assert await setting.everything() == [setting.item(1), setting.item(2)]
