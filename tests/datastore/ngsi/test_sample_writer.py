"""Storing events on each store: completely, in batches, once, and despite failures."""

import asyncio
from collections.abc import Sequence

import pytest

from penstock.datastore.errors import ErrorCode, LimitExceeded, RequestRefused, Unavailable
from penstock.datastore.ngsi.dead_letters import Refusal
from penstock.datastore.ngsi.destinations import (
    Destinations,
    FailureKind,
    SampleTable,
    TableBatch,
    TableItem,
    TableKey,
)
from penstock.datastore.ngsi.events import EntityUpdate, Metadata, NotifiedAttribute
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.loading.sample_writer import SampleWriter, write_items
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.table import limits
from penstock.datastore.table.port import Key, Query, Range
from tests.datastore.ngsi.sample_destinations import (
    AT,
    event,
    open_dynamodb,
    read_series,
    unique_table_name,
)
from tests.faults.dynamodb_proxy import Fault, FaultProxy
from tests.support.stores import quick_endpoint


class Recorder:
    """Destinations that remember the sizes of requests, and may fail."""

    def __init__(self, *failures: Exception) -> None:
        self.sizes: list[int] = []
        self.failures = list(failures)

    has_tables = False

    async def create(self, name: str) -> None:
        raise NotImplementedError

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        await asyncio.sleep(0)
        self.sizes.append(len(items))
        if self.failures:
            raise self.failures.pop()

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        raise NotImplementedError

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        raise NotImplementedError

    def table(self, name: str) -> SampleTable:
        raise NotImplementedError

    def failure_kind(self, error: Exception) -> FailureKind:
        return FailureKind.TRANSIENT

    async def close(self) -> None:
        raise NotImplementedError


def make_items(count: int) -> list[TableItem]:
    return [TableItem("a table", {"pk": "p", "sk": str(n)}) for n in range(count)]


def writer_to(destinations: Destinations) -> SampleWriter:
    return SampleWriter(destinations, ItemLayout(), LargeValues(NO_FILES))


async def test_what_is_stored_is_read_back_in_the_order_of_time(destinations: Destinations) -> None:
    name = unique_table_name()
    events = [event(name, at=AT + n, value=n) for n in range(60)]
    stored = await writer_to(destinations).store_events(events[::-1])
    assert (stored.items, stored.refused) == (60, [])
    found = await read_series(destinations, name)
    assert [item["attrValue"] for item in found] == [str(n) for n in range(60)]
    assert {item["pk"] for item in found} == {"vehicles:/4wheels:car1:car:speed"}


async def test_storing_again_changes_nothing(destinations: Destinations) -> None:
    name = unique_table_name()
    events = [event(name, at=AT + n) for n in range(3)]
    for _ in range(2):
        await writer_to(destinations).store_events([*events, *events])
    assert len(await read_series(destinations, name)) == 3


async def test_a_range_of_times_is_a_range_of_keys(destinations: Destinations) -> None:
    name = unique_table_name()
    events = [event(name, at=AT + n, value=n) for n in range(10)]
    await writer_to(destinations).store_events(events)
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
    one = unique_table_name()
    persisting = writer_to(destinations)
    for name in (one, f"{one}x"):
        await persisting.store_events([event(name)])
        assert len(await read_series(destinations, name)) == 1


async def test_an_event_that_no_table_can_hold_spoils_no_other(destinations: Destinations) -> None:
    name = unique_table_name()
    metadata = (Metadata("unit", "", "x" * limits.ITEM_BYTES),)
    large = event(
        name,
        "large",
        update=EntityUpdate("car1", "car", (NotifiedAttribute("speed", "", 1, metadata),)),
    )
    long = event(
        name,
        "%" * 256,
        update=EntityUpdate("%" * 256, "%" * 256, (NotifiedAttribute(":" * 256, "", 1),)),
    )
    events = [event(name), large, long, event(name, at=AT + 1)]
    stored = await writer_to(destinations).store_events(events)
    assert stored.items == 2
    assert [refused for refused, _ in stored.refused] == [large, long]
    assert all("is more than the maximum of" in refusal.reason for _, refusal in stored.refused)
    assert len(await read_series(destinations, name)) == 2


@pytest.mark.parametrize(
    "failure",
    [
        RequestRefused("PutItem", "AccessDeniedException", "arn:aws:iam::123:user/penstock"),
        ValueError("/srv/penstock"),
    ],
)
def test_a_dead_letter_does_not_repeat_the_words_of_aws(failure: Exception) -> None:
    refusal = Refusal.from_error(failure)
    words = "The destination refuses it; the log of the server says why."
    assert refusal == (ErrorCode.BAD_USER_INPUT, words)


async def test_a_row_of_many_attributes_is_split_into_requests(destinations: Destinations) -> None:
    name = unique_table_name()
    attributes = tuple(NotifiedAttribute(f"a{n}", "", n) for n in range(120))
    wide = event(name, update=EntityUpdate("car1", "car", attributes))
    assert (await writer_to(destinations).store_events([wide])).items == 120
    assert len(await read_series(destinations, name, attribute="a119")) == 1


async def test_an_update_in_columns_is_one_item(destinations: Destinations) -> None:
    name = unique_table_name()
    column = event(name, persistence=Persistence.COLUMN, update=EntityUpdate("car1", "car", ()))
    assert (await writer_to(destinations).store_events([column])).items == 1


@pytest.mark.parametrize("name", ["ab", "a" * 256, "a/b", "", "é--"])
async def test_a_name_that_no_table_can_have_is_refused(
    destinations: Destinations, name: str
) -> None:
    with pytest.raises(ValueError, match="no name of a table"):
        await writer_to(destinations).store_events([event(name)])


async def test_requests_have_at_most_25_items_which_is_less_than_16_megabytes() -> None:
    recorder = Recorder()
    await write_items(recorder, make_items(60))
    assert sorted(recorder.sizes) == [10, 25, 25]
    assert limits.WRITE_OPERATIONS * limits.ITEM_BYTES < 16 * limits.KB * limits.KB


async def test_a_failure_is_raised_once_nothing_is_on_its_way() -> None:
    recorder = Recorder(Unavailable("busy"))
    with pytest.raises(Unavailable, match="busy"):
        await write_items(recorder, make_items(60))
    assert sorted(recorder.sizes) == [10, 25, 25]


async def test_one_request_writes_to_several_destinations(destinations: Destinations) -> None:
    names = [unique_table_name() for _ in range(5)]
    events = [event(name, at=AT + n) for name in names for n in range(4)]
    assert (await writer_to(destinations).store_events(events)).items == 20
    for name in names:
        assert len(await read_series(destinations, name)) == 4


async def test_a_request_of_more_than_25_items_is_refused(destinations: Destinations) -> None:
    with pytest.raises(LimitExceeded):
        await destinations.write(make_items(26))


async def test_what_a_store_leaves_undone_or_refuses_for_now_is_sent_again() -> None:
    name = unique_table_name()
    async with FaultProxy(quick_endpoint()) as proxy:
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
        assert (await writer_to(destinations).store_events(events)).items == 30
        assert len(await read_series(destinations, name)) == 30
        await destinations.close()


@pytest.mark.parametrize("fault", [Fault.UNPROCESSED, Fault.THROTTLED, Fault.RESET_AFTER])
async def test_an_impatient_write_sends_each_request_once(fault: Fault) -> None:
    name = unique_table_name()
    async with FaultProxy(quick_endpoint()) as proxy:
        destinations = await open_dynamodb(proxy.url)
        writer = writer_to(destinations)
        events = [event(name, at=AT + n) for n in range(2)]
        await writer.open_table(name)
        proxy.script("BatchWriteItem", fault)
        with pytest.raises(Unavailable, match="attempt 1 of 1"):
            await writer.store_events(events, patient=False)
        assert [seen.operation for seen in proxy.seen].count("BatchWriteItem") == 1
        assert (await writer.store_events(events)).items == 2
        await destinations.close()


async def test_two_who_make_a_table_at_once_both_write_to_it() -> None:
    name, destinations = unique_table_name(), await open_dynamodb(quick_endpoint())
    writers = [writer_to(destinations) for _ in range(4)]
    events = [event(name, at=AT + n) for n in range(4)]
    await asyncio.gather(
        *(writer.store_events([each]) for writer, each in zip(writers, events, strict=True))
    )
    assert len(await read_series(destinations, name)) == 4
    await destinations.close()


async def test_a_table_that_was_deleted_is_made_again() -> None:
    name, destinations = unique_table_name(), await open_dynamodb(quick_endpoint())
    persisting = writer_to(destinations)
    await persisting.store_events([event(name)])
    await destinations._client.call("DeleteTable", {"TableName": name})
    await persisting.store_events([event(name, at=AT + 1)])
    assert len(await read_series(destinations, name)) == 1
    await destinations.close()


async def test_a_table_of_samples_has_keys_and_nothing_more() -> None:
    name, destinations = unique_table_name(), await open_dynamodb(quick_endpoint())
    for _ in range(2):
        await destinations.create(name)
    described = (await destinations._client.call("DescribeTable", {"TableName": name}))["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [key["AttributeName"] for key in described["KeySchema"]] == ["pk", "sk"]
    assert not described.get("GlobalSecondaryIndexes")
    with pytest.raises(RequestRefused, match="ResourceNotFound") as refused:
        await destinations.table(unique_table_name()).query(Query(partition="p"))
    assert destinations.failure_kind(refused.value) is FailureKind.MISSING
    assert (
        destinations.failure_kind(RequestRefused("Put", "ValidationException", ""))
        is FailureKind.INVALID
    )
    assert (
        destinations.failure_kind(RequestRefused("Put", "AccessDeniedException", ""))
        is FailureKind.CONFIGURATION
    )
    assert destinations.failure_kind(Unavailable("busy")) is FailureKind.TRANSIENT
    await destinations.close()
