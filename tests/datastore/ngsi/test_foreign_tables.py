"""Tables of other programs: never written, named as such, and taken over by copying them."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.dynamodb.wire import Raw, decode_item, encode_item
from penstock.datastore.errors import BadArgument, ErrorCode, ForeignTable, NotFound, Unavailable
from penstock.datastore.ngsi import large_values
from penstock.datastore.ngsi.adoption.adopt import TableAdopter
from penstock.datastore.ngsi.adoption.foreign_items import UnreadableItem, read_foreign_item
from penstock.datastore.ngsi.adoption.notes import AdoptionResult
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.destinations import FailureKind
from penstock.datastore.ngsi.directory import ServicePath
from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.datastore.ngsi.large_values import FOLDER, LargeValues
from penstock.datastore.ngsi.naming.table_names import adopted_name
from penstock.datastore.ngsi.options import ItemLayout
from penstock.datastore.ngsi.reading.series import ALL_TIMES, Sample, attribute_columns
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.rows import items_of
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table import limits
from penstock.datastore.table.layout import ADOPTION
from penstock.datastore.table.limits import item_size
from penstock.datastore.table.port import Put, Query, Scan, Update
from tests.datastore.ngsi.sample_destinations import event as sample_event
from tests.datastore.ngsi.sample_destinations import open_dynamodb, unique_table_name
from tests.datastore.ngsi.sample_sinks import AT, SinkWorld, car, notification, open_world
from tests.support.sample_resources import SUPER, walk
from tests.support.stores import open_table, quick_endpoint

SHAPES = {
    "Cygnus": [("ID", "N", "HASH")],
    "other names": [("series", "S", "HASH"), ("time", "S", "RANGE")],
    "no sort key": [("pk", "S", "HASH")],
    "number as sort key": [("pk", "S", "HASH"), ("sk", "N", "RANGE")],
    "number as hash key": [("pk", "N", "HASH"), ("sk", "S", "RANGE")],
    "keys in turn": [("sk", "S", "HASH"), ("pk", "S", "RANGE")],
}
ROW = {
    "recvTimeTs": 1429535775,
    "recvTime": "2015-04-20T13:16:15.5Z",
    "fiwareServicePath": "/4wheels",
    "entityId": "car1",
    "entityType": "car",
    "attrName": "speed",
    "attrType": "float",
    "attrValue": "112.9",
    "attrMd": "[]",
}
COLUMN = {
    "recvTime": "2015-04-20T13:16:15.50Z",
    "fiwareServicePath": "/4wheels",
    "entityId": "car1",
    "entityType": "car",
    "speed": '"112.9"',
    "speed_md": "[]",
    "oil_level": '"74.6"',
    "oil_level_md": "[]",
}
ITEM_CALLS = {"BatchGetItem", "BatchWriteItem", "GetItem", "PutItem", "Query", "Scan"}
NOTED = (
    "copied",
    "endedAt",
    "holder",
    "movedTo",
    "reasons",
    "service",
    "startedAt",
    "unreadable",
)
"""What the row of a complete adoption holds."""
LISTED_NOWHERE = {"entityId": "é" * 256, "entityType": "é" * 256}
"""Names that fit into the key of a sample, and into none of the directory."""


async def create_table(client: Any, name: str, keys: list[tuple[str, str, str]]) -> None:
    await client.call(
        "CreateTable",
        {
            "TableName": name,
            "AttributeDefinitions": [
                {"AttributeName": key, "AttributeType": kind} for key, kind, _ in keys
            ],
            "KeySchema": [{"AttributeName": key, "KeyType": role} for key, _, role in keys],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )


async def put_items(client: Any, name: str, *items: dict[str, Any]) -> None:
    for number, item in enumerate(items):
        raw = encode_item({"ID": 1_700_000_000_000 + number, **item})
        await client.call("PutItem", {"TableName": name, "Item": raw})


async def count_items(client: Any, name: str) -> int:
    answer = await client.call("Scan", {"TableName": name})
    count: int = answer["Count"]
    return count


@pytest.fixture
async def destinations() -> AsyncIterator[DynamoDBDestinations]:
    opened = await open_dynamodb(quick_endpoint())
    yield opened
    await opened.close()


@asynccontextmanager
async def open_moto_world(
    destinations: DynamoDBDestinations, tmp_path: Path
) -> AsyncIterator[SinkWorld]:
    """A sink over DynamoDB's tables, with its own table in the embedded store."""
    async with (
        open_table("sqlite", tmp_path) as table,
        open_world(table, destinations, tmp_path) as world,
    ):
        yield world


@pytest.fixture
async def world(destinations: DynamoDBDestinations, tmp_path: Path) -> AsyncIterator[SinkWorld]:
    async with open_moto_world(destinations, tmp_path) as opened:
        yield opened


def cars(world: SinkWorld) -> tuple[str, str]:
    """A service that no other test uses, and the table of its car by the rule of names."""
    service = unique_table_name("s")[:20].replace("-", "")
    return service, f"{service}xffffx002f4wheelsxffffcar1xffffcar"


async def adopt(
    world: SinkWorld,
    destinations: DynamoDBDestinations,
    table: str,
    service: str,
    files: Files | None = None,
    **how: Any,
) -> AdoptionResult:
    values = LargeValues(world.context.files if files is None else files)
    adopter = TableAdopter(world.context.table, destinations, values, Clock())
    done = {"dry_run": False, "progress": lambda: None, **how}
    return await adopter.adopt(table, service, **done)


async def all_items(destinations: DynamoDBDestinations, table: str) -> list[dict[str, Any]]:
    answer = await destinations._client.call("Scan", {"TableName": table})
    return [decode_item(item) for item in answer["Items"]]


def grow_item(item: dict[str, Any], field: str) -> dict[str, Any]:
    """The item with a value so large that it fits into a table without our keys only."""
    room = limits.ITEM_BYTES - item_size({"ID": 1_700_000_000_000, **item, field: ""})
    return {**item, field: "x" * room}


@pytest.fixture
def _small_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound items to less than the emulator of DynamoDB takes, which is less than 400 KB."""
    for module in (limits, large_values):
        monkeypatch.setattr(module, "ITEM_BYTES", 10_000)


async def samples(world: SinkWorld, service: str, name: str = "speed") -> list[Sample]:
    access = SinkAccess(world.context.destinations)
    found = Store(world.context.table, ngsi_access=access).open_session(SUPER).notifications
    entity = await found.directory.entity(ServicePath(service, "/4wheels"), "car1", "car")
    if entity is None:
        return []
    of = await found.directory.attribute(entity, name)
    if of is None:
        return []
    pages = await walk(lambda window: found.series.page(of, ALL_TIMES, window), size=50)
    return list(pages)


@pytest.mark.parametrize("keys", SHAPES.values(), ids=SHAPES)
async def test_a_table_with_other_keys_is_not_written_and_its_updates_become_letters(
    world: SinkWorld, destinations: DynamoDBDestinations, keys: list[tuple[str, str, str]]
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, keys)
    at = (service, "/4wheels")
    async with world.open_sink() as sink:
        await sink.accept_notification(notification("car1", fiware_service=service), 100)
        counts = await world.wait_until_settled(at)
    assert counts == IngestCounts(received=1, dead_lettered=1)
    (letter,) = await world.letters(at)
    assert letter.code is ErrorCode.FOREIGN_TABLE
    assert f"penstock ngsi adopt {table}" in letter.reason
    assert await count_items(destinations._client, table) == 0
    assert await samples(world, service) == []


async def test_a_foreign_table_spoils_no_other_of_the_notification(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    async with world.open_sink() as sink:
        made = notification("car1", "car2", fiware_service=service)
        await sink.accept_notification(made, 100)
        counts = await world.wait_until_settled((service, "/4wheels"))
    assert counts == IngestCounts(received=2, persisted=1, dead_lettered=1, items=2)


async def test_a_series_in_a_foreign_table_is_an_error_with_a_code(
    destinations: DynamoDBDestinations,
) -> None:
    name = unique_table_name()
    await create_table(destinations._client, name, SHAPES["Cygnus"])
    with pytest.raises(ForeignTable, match=name) as foreign:
        await destinations.table(name).query(Query(partition="p"))
    assert foreign.value.code is ErrorCode.FOREIGN_TABLE
    assert destinations.failure_kind(foreign.value) is FailureKind.FOREIGN


@pytest.mark.parametrize(
    "value",
    [{"B": "/w=="}, {"SS": ["a"]}, {"NS": ["1"]}, {"BS": ["/w=="]}, {"M": {"a": {"B": "/w=="}}}],
)
async def test_an_item_that_no_sample_is_makes_its_table_a_foreign_one(
    destinations: DynamoDBDestinations, value: Raw
) -> None:
    name = unique_table_name()
    await destinations.create(name)
    foreign = {"pk": {"S": "p"}, "sk": {"S": "000000000000001:a"}, "attrValue": value}
    await destinations._client.call("PutItem", {"TableName": name, "Item": foreign})
    table = destinations.table(name)
    with pytest.raises(ForeignTable, match=f"{name} has an item that another program wrote"):
        await table.query(Query(partition="p"))
    with pytest.raises(ForeignTable, match=f"{name} has an item that another program wrote"):
        await table.scan(Scan())


async def test_a_series_ends_with_the_last_year_that_there_is(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    at = (service, "/4wheels")
    async with world.open_sink() as sink:
        await sink.accept_notification(notification("car1", fiware_service=service), 100)
        await world.wait_until_settled(at)
    before = await samples(world, service)
    answer = await destinations._client.call("Scan", {"TableName": table})
    for sort_key in ("253402300800000:a", "999999999999999:a"):
        item = answer["Items"][0] | {"sk": {"S": sort_key}}
        await destinations._client.call("PutItem", {"TableName": table, "Item": item})
    assert await samples(world, service) == before != []


async def test_an_adopted_table_is_read_and_new_samples_join_it(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "recvTime": f"2015-04-20T13:16:15.{n}Z", "attrValue": str(n)} for n in (5, 50)]
    await put_items(destinations._client, table, *rows, {**ROW, "attrName": "oil_level"})
    at = (service, "/4wheels")
    async with world.open_sink() as sink:
        await sink.accept_notification(notification("car1", fiware_service=service), 100)
        await world.wait_until_settled(at)
        result = await adopt(world, destinations, table, service)
        assert (result.copied, result.unreadable) == (3, 0)
        assert result.table == adopted_name(table)
        (letter,) = await world.letters(at)
        await sink.replayer.replay(letter)
        await sink.accept_notification(
            notification(car("car1", speed=7), fiware_service=service), 100
        )
        counts = await world.wait_until_settled(at)
    assert counts == IngestCounts(received=2, persisted=2, items=3)
    found = await samples(world, service)
    assert [(each.at % 1000, each.text) for each in found[:2]] == [(5, "5"), (50, "50")]
    assert sorted(str(each.text) for each in found[2:]) == ["112.9", "7"]
    assert len(await samples(world, service, "oil_level")) == 2
    assert await count_items(destinations._client, table) == 3


async def test_a_page_is_adopted_by_as_many_calls_as_the_page_of_the_sink_says(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "recvTime": f"2015-04-20T13:16:{n:02}Z"} for n in range(30)]
    await put_items(destinations._client, table, *rows)
    calls, call = Counter[str](), destinations._client.call

    async def count_call(operation: str, request: Any) -> Any:
        calls[operation] += 1
        return await call(operation, request)

    monkeypatch.setattr(destinations._client, "call", count_call)
    reads = {"Scan": 1, "BatchGetItem": 1}
    assert (await adopt(world, destinations, table, service)).copied == 30
    assert {name: calls[name] for name in calls if name in ITEM_CALLS} == {
        **reads,
        "BatchWriteItem": 2,
    }
    calls.clear()
    assert (await adopt(world, destinations, table, service, again=True)).copied == 30
    assert {name: calls[name] for name in calls if name in ITEM_CALLS} == reads


async def test_adopting_again_copies_what_came_since_and_nothing_twice(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    await put_items(destinations._client, table, ROW)
    first = await adopt(world, destinations, table, service)
    await put_items(destinations._client, table, ROW, {**ROW, "attrValue": "2"})
    await adopt(world, destinations, table, service, again=True)
    assert await count_items(destinations._client, first.table) == 2


async def begin_adoption(
    world: SinkWorld, destinations: DynamoDBDestinations, table: str, service: str
) -> None:
    """Adopt pages of a table, and be cut short in the third."""
    scanned: list[int] = []

    def fail_in_the_third_page() -> None:
        scanned.append(1)
        if len(scanned) == 7:
            raise Unavailable("cut short")

    with pytest.raises(Unavailable, match="cut short"):
        await adopt(world, destinations, table, service, progress=fail_in_the_third_page)


async def test_an_adoption_that_was_cut_short_goes_on(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "recvTime": f"2015-04-20T13:16:15.{n}Z"} for n in range(10)]
    await put_items(destinations._client, table, *rows)
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", 3)
    await begin_adoption(world, destinations, table, service)
    scanned: list[int] = []
    result = await adopt(world, destinations, table, service, progress=lambda: scanned.append(1))
    assert len(scanned) < 10
    assert (result.copied, result.unreadable) == (10, 0)
    assert await count_items(destinations._client, result.table) == 10
    assert len(await samples(world, service)) == 10


async def test_an_adoption_that_goes_on_lists_what_was_left_out_before(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "fiwareServicePath": f"/{n}" + "é" * 100_000} for n in range(10)]
    await put_items(destinations._client, table, *rows)
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", 3)
    whole = await adopt(world, destinations, table, service, dry_run=True)
    assert (whole.copied, whole.unreadable, len(whole.reasons)) == (0, 10, 10)
    await begin_adoption(world, destinations, table, service)
    assert await adopt(world, destinations, table, service) == whole


@pytest.mark.parametrize("is_older", [False, True], ids=["noted", "noted by an older release"])
async def test_an_adoption_for_another_service_than_the_one_that_was_cut_short_copies_everything(
    world: SinkWorld,
    destinations: DynamoDBDestinations,
    monkeypatch: pytest.MonkeyPatch,
    is_older: bool,
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "recvTime": f"2015-04-20T13:16:15.{n}Z"} for n in range(10)]
    await put_items(destinations._client, table, *rows)
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", 3)
    await begin_adoption(world, destinations, table, f"{service}x")
    key, right = ADOPTION.key(table=table), service
    if is_older:
        forgotten = ("service", "copied", "unreadable", "reasons")
        await world.context.table.transact([Update(key=key, remove=forgotten)])
        right = f"{service}x"
    assert (await adopt(world, destinations, table, right)).copied == 10
    assert len(await samples(world, right)) == 10
    item = (await world.context.table.get([key], consistent=True)).items[key]
    assert sorted(set(item) - set(key._fields)) == sorted(NOTED)
    assert item["service"] == right


@pytest.mark.parametrize("rows", [1, 10])
async def test_a_note_of_progress_changes_no_other_attribute(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    many = [{**ROW, "recvTime": f"2015-04-20T13:16:15.{n}Z"} for n in range(rows)]
    await put_items(destinations._client, table, *many)
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", 3)
    key = ADOPTION.key(table=table)
    begun = {"movedTo": adopted_name(table), "startedAt": "2015-04-20T13:16:15.000Z", "by": "x"}
    await world.context.table.write([Put({**ADOPTION.item(table=table), **begun})])
    await adopt(world, destinations, table, service)
    item = (await world.context.table.get([key], consistent=True)).items[key]
    assert {name: value for name, value in item.items() if name not in key._fields} == {
        **begun,
        "service": service,
        "copied": rows,
        "unreadable": 0,
        "reasons": [],
        "holder": item["holder"],
        "endedAt": item["endedAt"],
    }


async def test_a_dry_run_counts_and_changes_nothing(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    await put_items(destinations._client, table, ROW, {"entityId": "x"})
    result = await adopt(world, destinations, table, service, dry_run=True)
    assert (result.copied, result.unreadable, len(result.reasons)) == (1, 1, 1)
    assert not await destinations.exists(result.table)
    assert await samples(world, service) == []
    assert await world.counts(AT) == IngestCounts()


async def test_only_a_table_of_another_program_is_adopted(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    ours = unique_table_name()
    await destinations.create(ours)
    with pytest.raises(BadArgument, match="our own keys"):
        await adopt(world, destinations, ours, "s")
    for name in (unique_table_name(), "a/b", ""):
        with pytest.raises(NotFound):
            await adopt(world, destinations, name, "s")


async def test_what_an_older_server_wrote_into_a_foreign_table_keeps_its_keys(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    own = items_of(sample_event(table, service=service), ItemLayout())
    await put_items(destinations._client, table, *own)
    result = await adopt(world, destinations, table, service)
    items = (await destinations._client.call("Scan", {"TableName": result.table}))["Items"]
    assert [decode_item(item) for item in items] == own
    assert len(await samples(world, service)) == 1


async def test_an_item_that_the_directory_cannot_list_does_not_end_an_adoption(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    await put_items(destinations._client, table, {**ROW, **LISTED_NOWHERE}, ROW)
    result = await adopt(world, destinations, table, service)
    assert (result.copied, result.unreadable) == (1, 1)
    assert len(await samples(world, service)) == 1


def test_a_column_whose_name_is_no_name_of_an_attribute_is_left_with_its_item() -> None:
    odd = {**COLUMN, "x" * 257: "1", "x" * 257 + "_md": "[]"}
    with pytest.raises(UnreadableItem, match="longer than 256"):
        read_foreign_item("vehicles", "t", raw(**odd))


@pytest.mark.parametrize("page", [1, 100])
async def test_items_that_say_the_keys_of_each_other_are_all_adopted(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", page)
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    (own,) = items_of(sample_event(table, service=service), ItemLayout())
    other_id = {**own, "ID": 5, "attrValue": "5"}
    same_key = {**own, "ID": int(str(own["ID"])) ^ 1, "attrValue": "6"}
    await put_items(destinations._client, table, own, other_id, same_key)
    for _ in range(2):
        result = await adopt(world, destinations, table, service)
        assert (result.copied, result.unreadable) == (3, 0)
        assert await count_items(destinations._client, result.table) == 3
        found = sorted(str(sample.text) for sample in await samples(world, service))
        assert found == ["112", "5", "6"]


@pytest.mark.parametrize("page", [3, 100])
async def test_items_whose_digests_begin_alike_are_all_adopted(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", page)
    monkeypatch.setattr("penstock.datastore.ngsi.adoption.foreign_items._ID_DIGITS", 1)
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    values = [f"{n:02}" for n in range(20)]
    rows = [{**ROW, "attrValue": value} for value in values]
    await put_items(destinations._client, table, *rows)
    result = await adopt(world, destinations, table, service)
    assert (result.copied, result.unreadable) == (20, 0)
    assert sorted(str(sample.text) for sample in await samples(world, service)) == values


async def test_a_sample_for_which_no_key_is_free_is_left_out_by_name(
    world: SinkWorld, destinations: DynamoDBDestinations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", 3)
    for digits in ("_ID_DIGITS", "_LONG_ID_DIGITS"):
        monkeypatch.setattr(f"penstock.datastore.ngsi.adoption.foreign_items.{digits}", 1)
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "attrValue": str(n)} for n in range(20)]
    await put_items(destinations._client, table, *rows)
    result = await adopt(world, destinations, table, service)
    copied = {item["ID"] for item in await all_items(destinations, result.table)}
    assert (result.copied, result.unreadable) == (len(copied), 20 - len(copied))
    assert len(copied) <= 16
    named = {int(json.loads(reason.partition("}: ")[0] + "}")["N"]) for reason in result.reasons}
    assert copied | named == {1_700_000_000_000 + n for n in range(20)}
    assert len(named) == result.unreadable


@pytest.mark.usefixtures("_small_items")
@pytest.mark.parametrize(("item", "field"), [(ROW, "attrValue"), (COLUMN, "speed")])
async def test_a_value_that_does_not_fit_beside_our_keys_is_adopted_as_a_file(
    world: SinkWorld, destinations: DynamoDBDestinations, item: dict[str, Any], field: str
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    large = grow_item(item, field)
    await put_items(destinations._client, table, large)
    files = world.context.files
    dry = await adopt(world, destinations, table, service, dry_run=True)
    assert (dry.copied, dry.unreadable, await files.list(f"{FOLDER}/")) == (1, 0, ())
    for again in (False, True):
        result = await adopt(world, destinations, table, service, again=again)
        assert (result.copied, result.unreadable) == (1, 0)
    (found,) = await all_items(destinations, result.table)
    (file,) = await files.list(f"{FOLDER}/")
    assert found[field] is None
    assert found["attrValueFiles"] == {field: {"file": file, "size": len(large[field])}}
    chunks = [chunk async for chunk in files.read(file)]
    assert b"".join(chunks).decode() == large[field]
    others = {name: value for name, value in large.items() if name != field}
    assert {name: found[name] for name in others} == others


@pytest.mark.usefixtures("_small_items")
async def test_a_large_value_is_left_out_by_name_where_no_bucket_takes_it(
    world: SinkWorld, destinations: DynamoDBDestinations
) -> None:
    service, table = cars(world)
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    await put_items(destinations._client, table, grow_item(ROW, "attrValue"), ROW)
    result = await adopt(world, destinations, table, service, files=NO_FILES)
    assert (result.copied, result.unreadable) == (1, 1)
    (reason,) = result.reasons
    assert reason.startswith('{"N": "1700000000000"}: ')
    assert "PENSTOCK_BUCKET names no bucket" in reason


def test_metadata_that_do_not_fit_beside_our_keys_are_left_out_by_name() -> None:
    with pytest.raises(UnreadableItem, match="bytes of an item"):
        read_foreign_item("vehicles", "t", raw(**grow_item(ROW, "attrMd")))


def raw(**fields: Any) -> Raw:
    return encode_item({"ID": 1, **fields})


def test_every_field_of_a_row_stays_as_it_is() -> None:
    found = read_foreign_item("vehicles", "t", raw(**ROW))
    assert {name: found.item[name] for name in ROW} == ROW
    assert found.item["pk"] == "vehicles:/4wheels:car1:car:speed"
    assert str(found.item["sk"]).startswith("001429535775005:")
    assert found.attributes == {"speed": "float"}
    assert read_foreign_item("vehicles", "t", raw(**ROW)) == found
    assert (
        read_foreign_item("vehicles", "t", raw(**{**ROW, "ID": 2})).item["sk"] != (found.item["sk"])
    )


def test_every_value_of_a_column_item_can_be_read() -> None:
    odd = {**COLUMN, "pk": "1", "pk_md": "[1]", "attrs": "2", "bare": "3"}
    found = read_foreign_item("vehicles", "t", raw(**odd))
    assert found.item["pk"] == "vehicles:/4wheels:car1:car"
    assert str(found.item["sk"]).startswith("001429535775050:")
    values = {name: attribute_columns(found.item, name) for name in found.attributes}
    assert values == {
        "speed": ('"112.9"', "[]"),
        "oil_level": ('"74.6"', "[]"),
        "pk": ("1", "[1]"),
        "attrs": ("2", "[]"),
        "bare": ("3", "[]"),
    }


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"recvTime": "2015-04-20T13:16:15.005Z"}, 1_429_535_775_005),
        ({"recvTime": "2015-04-20T13:16:15.0Z"}, 1_429_535_775_000),
        ({"recvTime": "2015-04-20T13:16:15Z"}, 1_429_535_775_000),
        ({"recvTime": "20/04/2015 13:16:15", "recvTimeTs": 1_429_535_775_005}, 1_429_535_775_005),
        ({"recvTime": None, "recvTimeTs": 1_429_535_775}, 1_429_535_775_000),
    ],
)
def test_a_time_is_read_as_each_program_writes_it(changes: dict[str, Any], at: int) -> None:
    found = read_foreign_item("vehicles", "t", raw(**{**ROW, **changes}))
    assert str(found.item["sk"]).startswith(f"{at:015d}:")


@pytest.mark.parametrize(
    "changes",
    [
        {"entityId": ""},
        {"entityId": 1},
        {"fiwareServicePath": "4wheels"},
        {"fiwareServicePath": None},
        {"recvTime": "x", "recvTimeTs": "y"},
        {"recvTime": "2015-13-40T13:16:15Z", "recvTimeTs": None},
        {"recvTime": "1969-12-31T23:59:59.999Z"},
        {"recvTime": "9999-12-31T23:59:59Z"},
        {"recvTime": None, "recvTimeTs": 8_640_000_000_000},
        {"attrName": ""},
        {"attrType": 5},
        {"attrName": "é" * 1100},
        {"attrName": "x" * 257},
        {"attrType": "x" * 257},
        {"entityType": "x" * 257},
        LISTED_NOWHERE,
    ],
)
def test_an_item_that_is_no_sample_is_left_with_a_reason(changes: dict[str, Any]) -> None:
    with pytest.raises(UnreadableItem) as unreadable:
        read_foreign_item("vehicles", "t", raw(**{**ROW, **changes}))
    assert str(unreadable.value)


@pytest.mark.parametrize("sk", ["abc", "001429535775006:abc", "", None])
def test_an_item_with_a_key_like_ours_and_no_time_of_its_own_gets_our_keys(sk: str | None) -> None:
    odd = raw(**{**ROW, "pk": "vehicles:/4wheels:car1:car:speed", "sk": sk})
    found = read_foreign_item("vehicles", "t", odd).item
    assert str(found["sk"]).startswith("001429535775005:")


def test_a_row_of_another_program_names_no_file_of_ours() -> None:
    files = {"attrValue": {"file": "pipelines/theirs/input.txt", "size": 9}}
    found = read_foreign_item("vehicles", "t", raw(**ROW, attrValueFiles=files)).item
    assert "attrValueFiles" not in found
    assert found["attrValue"] == "112.9"


def test_sets_and_bytes_are_no_samples() -> None:
    with pytest.raises(UnreadableItem):
        read_foreign_item("vehicles", "t", {**raw(**ROW), "x": {"SS": ["a"]}})
