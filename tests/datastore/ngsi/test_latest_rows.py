"""Rows that name latest samples: their cost, when they are raised, and reads by them.

`test_latest_histories` has any order of samples, deletions and servers.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import LimitExceeded, PenstockError, RequestRefused, Unavailable
from penstock.datastore.ngsi import latest_rows
from penstock.datastore.ngsi.catalog import LEAVING, EntityName
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.destinations import Destinations, FailureKind, TableItem, TableKey
from penstock.datastore.ngsi.directory import Attribute, Directory, Entity
from penstock.datastore.ngsi.entities import MAX_IDENTIFIER
from penstock.datastore.ngsi.latest_rows import MAX_NAME_BYTES, LatestRows, row_key
from penstock.datastore.ngsi.options import BatchingOptions, ItemLayout, Persistence
from penstock.datastore.ngsi.reading.series import ALL_TIMES, Sample
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Attributes, Delete, Key, Operation, Update
from tests.datastore.ngsi.latest_checks import check_latest, list_series
from tests.datastore.ngsi.sample_destinations import AT, event, unique_table_name
from tests.datastore.ngsi.sample_sinks import (
    QUICK,
    SinkWorld,
    car,
    notification,
    wait_until_released,
)
from tests.datastore.ngsi.stored_samples import store_events
from tests.datastore.ngsi.test_points_of_death import JOINING, is_stored
from tests.datastore.ngsi.test_repository import notify, reader
from tests.datastore.ngsi.test_sink import accept
from tests.support.patience import until
from tests.support.sample_resources import SUPER, Watch, on_sqlite, without_moto
from tests.support.table_interceptors import InterceptedTable

CAR = EntityName("vehicles", "/4wheels", "car1", "car")
ONE_SHARD: Any = {"shards": 1}
DENIED = RequestRefused("BatchGetItem", "AccessDeniedException", "not allowed")


class RowWrites(InterceptedTable):
    """A table that remembers its transactions with rows that name samples: all rows, and these."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.seen: list[tuple[int, int]] = []
        self.failures = 0

    async def transact(self, operations: Sequence[Operation]) -> float:
        written = [each.key for each in operations if isinstance(each, Update)]
        rows = sum(key.pk.startswith("NL:") for key in written)
        if rows and self.failures:
            self.failures -= 1
            raise Unavailable("busy")
        if rows:
            self.seen.append((len(operations), rows))
        return await super().transact(operations)


class RefusingDestinations:
    """Destinations that refuse some calls, and whose queries of some tables fail."""

    def __init__(self, inner: Destinations, *refused: str, busy: str = "none") -> None:
        self.inner = inner
        self.refused = refused
        self.busy = busy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def failure_kind(self, error: Exception) -> FailureKind:
        return FailureKind.CONFIGURATION

    async def get(self, keys: Sequence[TableKey]) -> Any:
        if "get" in self.refused:
            raise DENIED
        if any(self.busy in key.table for key in keys):
            raise Unavailable("busy")
        return await self.inner.get(keys)

    def table(self, name: str) -> Any:
        inner, outer = self.inner.table(name), self

        class RefusingTable:
            async def query(self, query: Any) -> Any:
                if "query" in outer.refused:
                    raise DENIED
                if outer.busy in name:
                    raise Unavailable("busy")
                return await inner.query(query)

        return RefusingTable()


async def row_of(world: SinkWorld, name: EntityName = CAR) -> Attributes:
    key = row_key(name)
    return (await world.context.table.get([key], consistent=True)).items.get(key, {})


async def entries(world: SinkWorld, name: EntityName = CAR) -> dict[str, str]:
    row = await row_of(world, name)
    return {each: str(key) for each, key in row.items() if each not in ("pk", "sk")}


async def check(world: SinkWorld) -> int:
    return await check_latest(world.context.table, reader(world))


async def test_items_of_several_tables_are_got_in_one_request(destinations: Destinations) -> None:
    one, two = unique_table_name("one"), unique_table_name("two")
    for name in (one, two):
        await destinations.create(name)
        await destinations.write([TableItem(name, {"pk": "p:q", "sk": str(n)}) for n in range(3)])
    keys = [TableKey(name, Key("p:q", sk)) for name in (one, two) for sk in ("0", "2", "none")]
    batch = await destinations.get(keys)
    assert {key: dict(item) for key, item in batch.items.items()} == {
        key: {"pk": "p:q", "sk": key.key.sk} for key in keys if key.key.sk != "none"
    }
    # Half a unit for each key, also for one that is not there.
    assert batch.units == 3


@without_moto
async def test_the_latest_samples_of_a_hundred_series_take_two_calls(world: SinkWorld) -> None:
    tables = [unique_table_name() for _ in range(3)]
    await store_events(
        Store(world.context.table, ngsi_access=reader(world).ingest),
        [
            event(tables[n % 3], f"car{n:03}", at=AT + later, value=n + later)
            for n in range(100)
            for later in (0, 1)
        ],
    )
    notified, series = reader(world), await list_series(reader(world))
    found = await notified.latest.many(series)
    assert [each.text for each in found if isinstance(each, Sample)] == [
        str(n + 1) for n in range(100)
    ]
    # The rows of the entities, and the samples of all tables: half a unit each.
    assert (notified.units.calls, notified.units.rcu) == (2, 100)
    assert await check(world) == 100


@without_moto
async def test_one_or_two_series_are_queried_at_once(world: SinkWorld) -> None:
    table = unique_table_name()
    store = Store(world.context.table, ngsi_access=reader(world).ingest)
    await store_events(store, [event(table, at=AT + n, value=n) for n in range(100)])
    notified, (of,) = reader(world), await list_series(reader(world))
    (found,) = await notified.latest.many([of])
    assert isinstance(found, Sample)
    # The other samples are not read.
    assert (found.text, notified.units.calls, notified.units.rcu) == ("99", 1, 0.5)


@without_moto
async def test_a_flow_raises_rows_in_its_commits_and_by_no_other_call(world: SinkWorld) -> None:
    seen = RowWrites(world.context.table)
    metered = MeteredTable(seen)
    async with world.open_sink(JOINING, table=metered, **ONE_SHARD) as sink:
        for name in ("car1", "car2"):
            await accept_and_store(sink, name)
        # The first row of each entity has a transaction of its own.
        assert seen.seen == [(1, 1), (1, 1)]
        seen.seen.clear()
        for name in ("car1", "car2"):
            metered.units.calls = 0
            await accept_and_store(sink, name)
            # The transaction of the counts.
            assert metered.units.calls == 1
        sink.inbox.enqueue(notification("car1", "car2", "car1"), 100)
        await sink.inbox.wait_until_empty()
        await until(partial(is_stored, sink))
        await sink.loader.drain()
    assert seen.seen == [(2, 1), (2, 1), (3, 2)]
    assert await check(world) == 4


@on_sqlite
async def test_events_that_wait_for_a_batch_are_named_by_one_transaction_before_they_are_stored(
    world: SinkWorld,
) -> None:
    seen = RowWrites(world.context.table)
    options = replace(QUICK, batching=BatchingOptions(size=6, timeout=1000))
    async with world.open_sink(options, table=seen, **ONE_SHARD) as sink:
        for value in range(6):
            await accept(sink, car(f"car{value % 3}", speed=value))
            # Nothing is named before it is about to be stored.
            assert seen.seen == [] or value == 5
        await world.wait_until_settled()
    assert seen.seen == [(3, 3)]
    assert await check(world) == 3


@without_moto
async def test_a_server_that_does_not_know_a_row_pays_for_it_once(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    access = Access(metered, SUPER, Clock(), Budget())

    async def raise_with(rows: LatestRows, **keys: str) -> tuple[int, float, float]:
        metered.units.calls, metered.units.rcu, metered.units.wcu = 0, 0, 0
        await rows.raise_rows(await rows.plan({CAR: keys}))
        return metered.units.calls, metered.units.rcu, metered.units.wcu

    one, other = (LatestRows(Directory(access), world.context.destinations) for _ in range(2))
    # The row, two attributes of the directory, and the transaction.
    assert await raise_with(one, speed="1", oil="1") == (3, 1 + 2, 2)
    assert await raise_with(one, speed="2", oil="2") == (1, 0, 2)
    assert await raise_with(one, speed="2", oil="1") == (0, 0, 0)
    assert await raise_with(other, speed="1") == (1, 1, 0)
    assert await raise_with(other, speed="3", gear="3") == (2, 1, 2)
    # The refused transaction, and the row.
    assert (await raise_with(one, speed="3"))[:2] == (2, 1)
    assert await raise_with(one, speed="4", oil="3", gear="4") == (1, 0, 2)
    assert await entries(world) == {"key:speed": "4", "key:oil": "3", "key:gear": "4"}


@on_sqlite
async def test_a_row_that_was_forgotten_during_its_commit_is_remembered_whole(
    world: SinkWorld,
) -> None:
    """Else a later sample of another attribute is taken for the first one."""
    metered = MeteredTable(world.context.table)
    access = Access(metered, SUPER, Clock(), Budget())
    rows = LatestRows(Directory(access), world.context.destinations)
    await rows.raise_rows(await rows.plan({CAR: {"speed": "0", "oil": "1"}}))
    joined, refused = (rows.join_commit([event("t", at=AT + n)], room=9) for n in range(2))
    await commit(metered, joined.writes)
    refused.refused.add(CAR)
    rows.note_commit(refused)
    rows.note_commit(joined)
    metered.units.calls = 0
    await rows.raise_rows(await rows.plan({CAR: {"oil": "1"}}))
    assert metered.units.calls == 0


@without_moto
async def test_a_late_sample_writes_no_row(world: SinkWorld) -> None:
    watch, seen = Watch(), RowWrites(world.context.table)
    async with world.open_sink(clock=Clock(watch), table=seen, **ONE_SHARD) as sink:
        await store_at(world, sink, watch, 0, 1)
        before = await entries(world)
        seen.seen.clear()
        await store_at(world, sink, watch, -60, 2)
        assert seen.seen == []
        sink.committer.latest.forget_rows()
        await store_at(world, sink, watch, -30, 3)
        assert seen.seen == []
        assert await entries(world) == before
    assert await check(world) == 1


@without_moto
async def test_an_entry_that_another_server_raised_is_not_lowered(world: SinkWorld) -> None:
    watch, seen = Watch(), RowWrites(world.context.table)
    shared: dict[str, Any] = {"clock": Clock(watch)}
    async with world.open_sink(table=seen, **shared) as sink, world.open_sink(**shared) as other:
        for _ in range(2):
            await store_at(world, sink, watch, 0, 1)
        await store_at(world, other, watch, 60, 2)
        raised = (await entries(world))["key:speed"]
        seen.seen.clear()
        await store_at(world, sink, watch, 30, 3)
        # The commit is refused, and done without the row, which the loader reads.
        assert [rows for _, rows in seen.seen] == [1]
        assert (await entries(world))["key:speed"] == raised
        await store_at(world, sink, watch, 90, 4)
        assert [rows for _, rows in seen.seen] == [1, 1]
        assert (await entries(world))["key:speed"] > raised
    assert await world.recount() == IngestCounts(received=5, persisted=5, items=5)
    assert await check(world) == 1


@on_sqlite
async def test_a_table_that_fails_costs_samples_no_attempt(world: SinkWorld) -> None:
    seen = RowWrites(world.context.table)
    seen.failures = 3
    options = replace(QUICK, batching=BatchingOptions(ttl=0, retry_intervals=(0.001,)))
    async with world.open_sink(options, table=seen) as sink:
        await accept(sink, "car1")
        assert await world.recount() == IngestCounts(received=1, persisted=1, items=2)
    assert seen.failures == 0
    assert await check(world) == 2


@on_sqlite
async def test_a_row_has_so_many_entries_and_others_are_queried(world: SinkWorld) -> None:
    watch = Watch()
    many = {f"a{n:03}": n for n in range(latest_rows.MAX_ENTRIES + 6)}
    async with world.open_sink(clock=Clock(watch)) as sink:
        for number in range(3):
            watch.move(timedelta(seconds=1))
            await accept(sink, car("car1", **{name: n + number for name, n in many.items()}))
            await world.wait_until_settled()
    assert len(await entries(world)) == latest_rows.MAX_ENTRIES
    notified, series = reader(world), await list_series(reader(world))
    found = await notified.latest.many(series)
    assert [each.text for each in found if isinstance(each, Sample)] == [
        str(n + 2) for n in many.values()
    ]
    # A call for the rows, one for the samples that they name, and six queries.
    assert notified.units.calls == 2 + 6


@on_sqlite
async def test_attributes_with_long_names_have_no_entry_and_are_queried(world: SinkWorld) -> None:
    """A row that such names fill might not fit into the transaction of a commit."""
    names = ["n" * MAX_NAME_BYTES, "é" * (MAX_NAME_BYTES // 2 + 1)]
    async with world.open_sink() as sink:
        await accept(sink, car("car1", **dict.fromkeys(names, 1)))
        await world.wait_until_settled()
    assert [*await entries(world)] == [f"key:{names[0]}"]
    assert await check(world) == 1


@on_sqlite
async def test_a_process_remembers_so_many_entries(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest_rows, "MAX_KNOWN", 4)
    watch = Watch()
    async with world.open_sink(clock=Clock(watch)) as sink:
        for _ in range(2):
            watch.move(timedelta(seconds=1))
            await accept(sink, *(f"car{n}" for n in range(5)))
            await world.wait_until_settled()
        known = sink.committer.latest._known
        assert sum(map(len, known.values())) == sink.committer.latest._size == 4
    assert await check(world) == 10


@pytest.mark.parametrize("refused", ["get", "query"])
@on_sqlite
async def test_what_may_not_be_read_in_batches_is_queried(world: SinkWorld, refused: str) -> None:
    await notify(world, 1, 2)
    series = await list_series(reader(world)) * 3
    destinations = RefusingDestinations(world.context.destinations, refused)
    refusing: Any = replace_destinations(world, destinations)
    notified = reader(refusing)
    found = await notified.latest.many(series)
    assert [each.text for each in found if isinstance(each, Sample)] == ["2"] * 3
    assert notified.units.calls == (2 + 3 if refused == "get" else 2)


@on_sqlite
async def test_a_series_whose_keys_are_too_long_fails_alone(world: SinkWorld) -> None:
    """The directory lists it, and its row names a sample, which became a dead letter."""
    await notify(world, 1, 2)
    path, name = "/" + "/".join(["p" * 50] * 10), ":" * MAX_NAME_BYTES
    entity = Entity("vehicles", path, "i" * 900, "car")
    long = Attribute(entity, name, "Number", ((Persistence.ROW, "t"),))
    rows = LatestRows(reader(world).directory, world.context.destinations)
    await rows.raise_rows(await rows.plan({EntityName(**entity.key_values): {name: "9"}}))
    found = await reader(world).latest.many([*await list_series(reader(world)) * 3, long])
    assert [each.text for each in found if isinstance(each, Sample)] == ["2"] * 3
    assert isinstance(found[3], LimitExceeded)


@on_sqlite
async def test_a_series_that_cannot_be_queried_fails_alone(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(clock=Clock(watch)) as sink:
        await accept(sink, *(car(f"car{n}", speed=n) for n in range(4)))
        await world.wait_until_settled()
        # The entries of a sample that is not stored.
        rows = LatestRows(reader(world).directory, world.context.destinations)
        wanted = {CAR: {"speed": "9"}, CAR._replace(entity="car2"): {"speed": "9"}}
        await rows.raise_rows(await rows.plan(wanted))
    busy = replace_destinations(
        world, RefusingDestinations(world.context.destinations, busy="car1")
    )
    found = await reader(busy).latest.many(await list_series(reader(world)))
    assert [isinstance(each, PenstockError) or (each and each.text) for each in found] == [
        "0",
        True,
        "2",
        "3",
    ]


@on_sqlite
async def test_a_series_of_before_that_cannot_be_read_gets_no_entry(world: SinkWorld) -> None:
    """Its samples are stored all the same, and it gets one once it can be read."""
    await notify(world, 1)
    await world.context.table.write([Delete(row_key(CAR))])
    refusing = RefusingDestinations(world.context.destinations, "query")
    async with world.open_sink(destinations=refusing) as sink:
        await accept(sink, car("car1", speed=2, oil=3))
        await world.wait_until_settled()
        assert [*await entries(world)] == ["key:oil"]
        refusing.refused = ()
        await accept(sink, car("car1", speed=4))
        await world.wait_until_settled()
        assert [*await entries(world)] == ["key:oil", "key:speed"]
    assert await check(world) == 2


@on_sqlite
async def test_a_new_entry_that_cannot_be_read_writes_no_row(world: SinkWorld) -> None:
    await notify(world, 1)
    rows = LatestRows(reader(world).directory, world.context.destinations)
    await world.context.table.write([Delete(row_key(CAR))])
    await rows.raise_rows(await rows.plan({CAR: {"oil": "1"}}))
    rows.destinations = RefusingDestinations(world.context.destinations, "query")
    metered = MeteredTable(world.context.table)
    rows.directory = Directory(Access(metered, SUPER, Clock(), Budget()))
    for _ in range(2):
        await rows.raise_rows(await rows.plan({CAR: {"speed": "9"}}))
        rows.forget_rows()
    assert metered.units.wcu == 0
    assert await entries(world) == {"key:oil": "1"}


@on_sqlite
async def test_a_row_that_leaves_stays_also_if_its_new_entry_cannot_be_read(
    world: SinkWorld,
) -> None:
    await notify(world, 1)
    await world.context.table.write([Delete(row_key(CAR))])
    await world.context.table.transact(
        [Update(key=row_key(CAR), set={"key:oil": "1", LEAVING: "j"})]
    )
    refusing = RefusingDestinations(world.context.destinations, "query")
    rows = LatestRows(reader(world).directory, refusing)
    await rows.raise_rows(await rows.plan({CAR: {"speed": "9"}}))
    assert await entries(world) == {"key:oil": "1"}


@without_moto
async def test_an_attribute_whose_series_no_table_can_have_costs_no_other_sample(
    world: SinkWorld,
) -> None:
    """In columns it has another key, so that what was a dead letter in rows can be stored."""
    path, name = "/" + "/".join(["p" * 50] * 9), ":" * MAX_NAME_BYTES
    id, type = ":" * MAX_IDENTIFIER, "t" * 200
    long, at = {"fiware_servicepath": path}, ("vehicles", path)
    entity = {**car(id, **{name: 1}), "type": type}
    of = EntityName(*at, id, type)
    async with world.open_sink() as sink:
        await sink.accept_notification(notification(entity, **long), 100)
        assert (await world.wait_until_settled(at)).dead_lettered == 1
    await world.context.table.write([Delete(row_key(of))])
    columns = replace(QUICK, layout=ItemLayout(attr_persistence=Persistence.COLUMN))
    async with world.open_sink(columns) as sink:
        await sink.accept_notification(notification(entity, **long), 100)
        counts = await world.wait_until_settled(at)
    assert (counts.persisted, counts.dead_lettered) == (1, 1)
    assert [*await entries(world, of)] == [f"key:{name}"]
    assert await check(world) == 1
    read = reader(world)
    (listed,) = await read.directory.named_attributes([(Entity(*of), name)])
    assert isinstance(listed, Attribute)
    latest = await read.series.latest(listed)
    assert latest is not None
    assert latest.text == "1"
    page = await read.series.page(listed, ALL_TIMES, Window(size=2))
    assert [sample.text for _, sample in page.entries] == ["1"]


async def store_at(
    world: SinkWorld, sink: NotificationSink, watch: Watch, seconds: int, value: int
) -> None:
    """Store a sample of an event so many seconds after the present."""
    watch.move(timedelta(seconds=1))
    at = (watch.time + timedelta(seconds=seconds)).isoformat()
    metadata = {"TimeInstant": {"type": "DateTime", "value": at}}
    speed = {"type": "Number", "value": value, "metadata": metadata}
    await accept(sink, {"id": "car1", "type": "car", "speed": speed})
    await world.wait_until_settled()
    await wait_until_released(sink)


async def accept_and_store(sink: NotificationSink, name: str) -> None:
    await accept(sink, name)
    await until(partial(is_stored, sink))


def replace_destinations(world: SinkWorld, destinations: Any) -> SinkWorld:
    return SinkWorld(replace(world.context, destinations=destinations))
