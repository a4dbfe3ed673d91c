"""Storing events on each store: completely, in batches, once, and despite failures."""

import asyncio
from collections.abc import Sequence

import pytest

from penstock.datastore.errors import LimitExceeded, Refused, Unavailable
from penstock.datastore.ngsi.batch_writer import Persisting, write
from penstock.datastore.ngsi.destinations import Destinations, Placed, Samples, Trouble
from penstock.datastore.ngsi.events import Attribute, Update
from penstock.datastore.ngsi.options import Layout, Persistence
from penstock.datastore.table import limits
from penstock.datastore.table.port import Query, Range
from tests.datastore.ngsi.sample_destinations import AT, event, open_dynamodb, series, unique
from tests.faults.dynamodb_proxy import Fault, FaultProxy
from tests.support.stores import moto_endpoint


class Recorder:
    """Destinations that remember the sizes of requests, and may fail."""

    def __init__(self, *failures: Exception) -> None:
        self.sizes: list[int] = []
        self.failures = list(failures)

    async def create(self, name: str) -> None:
        raise NotImplementedError

    async def write(self, items: Sequence[Placed]) -> None:
        await asyncio.sleep(0)
        self.sizes.append(len(items))
        if self.failures:
            raise self.failures.pop()

    def table(self, name: str) -> Samples:
        raise NotImplementedError

    def trouble(self, error: Exception) -> Trouble:
        return Trouble.PASSING

    async def close(self) -> None:
        raise NotImplementedError


def numbered(count: int) -> list[Placed]:
    return [Placed("a table", {"pk": "p", "sk": str(n)}) for n in range(count)]


async def test_what_is_stored_is_read_back_in_the_order_of_time(destinations: Destinations) -> None:
    name = unique()
    events = [event(name, at=AT + n, value=n) for n in range(60)]
    stored = await Persisting(destinations, Layout()).store(events[::-1])
    assert (stored.items, stored.refused) == (60, [])
    found = await series(destinations, name)
    assert [item["attrValue"] for item in found] == [str(n) for n in range(60)]
    assert {item["pk"] for item in found} == {"vehicles:/4wheels:car1:car:speed"}


async def test_storing_again_changes_nothing(destinations: Destinations) -> None:
    name = unique()
    events = [event(name, at=AT + n) for n in range(3)]
    for _ in range(2):
        await Persisting(destinations, Layout()).store([*events, *events])
    assert len(await series(destinations, name)) == 3


async def test_a_range_of_times_is_a_range_of_keys(destinations: Destinations) -> None:
    name = unique()
    events = [event(name, at=AT + n, value=n) for n in range(10)]
    await Persisting(destinations, Layout()).store(events)
    query = Query(
        partition="vehicles:/4wheels:car1:car:speed",
        range=Range(low=f"{AT + 3:015d}:", high=f"{AT + 6:015d}:"),
        descending=True,
        limit=2,
    )
    page = await destinations.table(name).query(query)
    assert [item["attrValue"] for item in page.items] == ["5", "4"]
    assert page.last is not None
    rest = await destinations.table(name).query(
        Query(
            partition=query.partition, range=query.range, descending=True, after=page.last, limit=2
        )
    )
    assert [item["attrValue"] for item in rest.items] == ["3"]


async def test_destinations_do_not_see_each_other(destinations: Destinations) -> None:
    one = unique()
    persisting = Persisting(destinations, Layout())
    for name in (one, f"{one}x"):
        await persisting.store([event(name)])
        assert len(await series(destinations, name)) == 1


async def test_an_event_that_no_table_can_hold_spoils_no_other(destinations: Destinations) -> None:
    name = unique()
    large = event(name, "large", value="x" * limits.ITEM_BYTES)
    long = event(
        name, "%" * 256, update=Update("%" * 256, "%" * 256, (Attribute(":" * 256, "", 1),))
    )
    events = [event(name), large, long, event(name, at=AT + 1)]
    stored = await Persisting(destinations, Layout()).store(events)
    assert stored.items == 2
    assert [refused for refused, _ in stored.refused] == [large, long]
    assert all("is more than the maximum of" in reason for _, reason in stored.refused)
    assert len(await series(destinations, name)) == 2


async def test_a_row_of_many_attributes_is_split_into_requests(destinations: Destinations) -> None:
    name = unique()
    attributes = tuple(Attribute(f"a{n}", "", n) for n in range(120))
    wide = event(name, update=Update("car1", "car", attributes))
    assert (await Persisting(destinations, Layout()).store([wide])).items == 120
    assert len(await series(destinations, name, attribute="a119")) == 1


async def test_an_update_in_columns_is_one_item(destinations: Destinations) -> None:
    name = unique()
    column = event(name, persistence=Persistence.COLUMN, update=Update("car1", "car", ()))
    assert (await Persisting(destinations, Layout()).store([column])).items == 1


@pytest.mark.parametrize("name", ["ab", "a" * 256, "a/b", "", "é--"])
async def test_a_name_that_no_table_can_have_is_refused(
    destinations: Destinations, name: str
) -> None:
    with pytest.raises(ValueError, match="no name of a table"):
        await Persisting(destinations, Layout()).store([event(name)])


async def test_requests_have_at_most_25_items_which_is_less_than_16_megabytes() -> None:
    recorder = Recorder()
    await write(recorder, numbered(60))
    assert sorted(recorder.sizes) == [10, 25, 25]
    assert limits.WRITE_OPERATIONS * limits.ITEM_BYTES < 16 * limits.KB * limits.KB


async def test_a_failure_is_raised_once_nothing_is_on_its_way() -> None:
    recorder = Recorder(Unavailable("busy"))
    with pytest.raises(Unavailable, match="busy"):
        await write(recorder, numbered(60))
    assert sorted(recorder.sizes) == [10, 25, 25]


async def test_one_request_writes_to_several_destinations(destinations: Destinations) -> None:
    names = [unique() for _ in range(5)]
    events = [event(name, at=AT + n) for name in names for n in range(4)]
    assert (await Persisting(destinations, Layout()).store(events)).items == 20
    for name in names:
        assert len(await series(destinations, name)) == 4


async def test_a_request_of_more_than_25_items_is_refused(destinations: Destinations) -> None:
    with pytest.raises(LimitExceeded):
        await destinations.write(numbered(26))


async def test_what_a_store_leaves_undone_or_refuses_for_now_is_sent_again() -> None:
    name = unique()
    async with FaultProxy(moto_endpoint()) as proxy:
        proxy.script(
            "BatchWriteItem",
            Fault.UNPROCESSED,
            Fault.THROTTLED,
            Fault.RESET_AFTER,
            Fault.INTERNAL,
            Fault.UNPROCESSED,
        )
        destinations = await open_dynamodb(proxy.url)
        events = [event(name, at=AT + n) for n in range(30)]
        assert (await Persisting(destinations, Layout()).store(events)).items == 30
        assert len(await series(destinations, name)) == 30
        await destinations.close()


async def test_two_who_make_a_table_at_once_both_write_to_it() -> None:
    name, destinations = unique(), await open_dynamodb(moto_endpoint())
    writers = [Persisting(destinations, Layout()) for _ in range(4)]
    events = [event(name, at=AT + n) for n in range(4)]
    await asyncio.gather(
        *(writer.store([each]) for writer, each in zip(writers, events, strict=True))
    )
    assert len(await series(destinations, name)) == 4
    await destinations.close()


async def test_a_table_that_was_deleted_is_made_again() -> None:
    name, destinations = unique(), await open_dynamodb(moto_endpoint())
    persisting = Persisting(destinations, Layout())
    await persisting.store([event(name)])
    await destinations._client.call("DeleteTable", {"TableName": name})
    await persisting.store([event(name, at=AT + 1)])
    assert len(await series(destinations, name)) == 1
    await destinations.close()


async def test_a_table_of_samples_has_keys_and_nothing_more() -> None:
    name, destinations = unique(), await open_dynamodb(moto_endpoint())
    for _ in range(2):
        await destinations.create(name)
    described = (await destinations._client.call("DescribeTable", {"TableName": name}))["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [key["AttributeName"] for key in described["KeySchema"]] == ["pk", "sk"]
    assert not described.get("GlobalSecondaryIndexes")
    with pytest.raises(Refused, match="ResourceNotFound") as refused:
        await destinations.table(unique()).query(Query(partition="p"))
    assert destinations.trouble(refused.value) is Trouble.MISSING
    assert destinations.trouble(Refused("Put", "ValidationException", "")) is Trouble.INVALID
    assert destinations.trouble(Refused("Put", "AccessDeniedException", "")) is Trouble.SET_UP
    assert destinations.trouble(Unavailable("busy")) is Trouble.PASSING
    await destinations.close()
