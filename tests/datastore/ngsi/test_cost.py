"""The write units of a notification beside its samples; docs/ngsi.md has the same table."""

from penstock.datastore.manifest.lists import RunLists
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from tests.datastore.ngsi.sample_sinks import SinkWorld, notification
from tests.datastore.ngsi.test_sink import SLOW, accept, runs
from tests.support.consistency_check import contents
from tests.support.sample_resources import without_moto


async def measure(
    sink: NotificationSink, metered: MeteredTable, *cars: str, **headers: str
) -> list[float]:
    """The write units of accepting one notification, and those of storing it."""
    metered.units.wcu = 0
    await accept(sink, *cars, **headers)
    accepted = metered.units.wcu
    await sink.loader.drain()
    return [accepted, metered.units.wcu - accepted]


@without_moto
async def test_a_notification_that_comes_alone_costs_so_many_units(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(SLOW, table=metered, lease_seconds=60, shards=1) as sink:
        await measure(sink, metered, "car1", "car2", correlator="first")
        rows = len(await contents(world.context.table))
        assert await measure(sink, metered, "car1", correlator="c") == [12, 8]
        assert await measure(sink, metered, "car2") == [10, 8]
        # For each a run in two lists, and for the first a receipt, which expires.
        assert len(await contents(world.context.table)) == rows + 7
        history = await RunLists(sink.committer.run_log.runs).history(
            (await runs(sink))[0], Window(size=10)
        )
        assert history.entries == ()


@without_moto
async def test_what_is_sent_together_shares_its_run_and_its_counts(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    cars = [f"car{number}" for number in range(10)]
    async with world.open_sink(SLOW, table=metered, lease_seconds=60, shards=1) as sink:
        await measure(sink, metered, *cars)
        assert await measure(sink, metered, *cars) == [10, 8]
        assert len(await runs(sink)) == 2


@without_moto
async def test_ten_notifications_that_wait_together_share_all_but_their_receipts(
    world: SinkWorld,
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(SLOW, table=metered, lease_seconds=60, shards=1) as sink:
        await measure(sink, metered, "car1")
        metered.units.wcu = 0
        for n in range(10):
            sink.inbox.enqueue(notification("car1", correlator=f"c{n}"), 100)
        await sink.inbox.wait_until_empty()
        assert len(await runs(sink)) == 2
        assert metered.units.wcu == 10 * 2 + 10
        await sink.loader.drain()
        assert metered.units.wcu == 10 * 2 + 10 + 8
