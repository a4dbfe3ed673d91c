"""The write units of a notification beside its samples; docs/ngsi.md has the same table."""

from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.instrumentation import MeteredTable
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, notification
from tests.datastore.ngsi.test_sink import accept, runs
from tests.support.consistency_check import contents
from tests.support.sample_resources import without_moto


async def measure(
    world: SinkWorld, sink: NotificationSink, metered: MeteredTable, *cars: str, **headers: str
) -> float:
    """The write units of accepting one notification and of settling it."""
    metered.units.wcu = 0
    await accept(sink, *cars, **headers)
    await world.wait_until_settled()
    return metered.units.wcu


@without_moto
async def test_a_notification_that_comes_alone_costs_so_many_units(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(QUICK, table=metered, lease_seconds=3600, shards=1) as sink:
        await measure(world, sink, metered, "car1", "car2", correlator="first")
        rows = len(await contents(world.context.table))
        # A receipt, and the counts of the service path twice: 2 units each.
        assert await measure(world, sink, metered, "car1", correlator="c") == 6
        assert await measure(world, sink, metered, "car2") == 4
        # The receipt, which expires.
        assert len(await contents(world.context.table)) == rows + 1
        assert len(await runs(sink)) == 1


@without_moto
async def test_ten_notifications_that_wait_together_share_all_but_their_receipts(
    world: SinkWorld,
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(QUICK, table=metered, lease_seconds=3600, shards=1) as sink:
        await measure(world, sink, metered, "car1")
        metered.units.wcu = 0
        for n in range(10):
            sink.inbox.enqueue(notification("car1", correlator=f"c{n}"), 100)
        await sink.inbox.wait_until_empty()
        await world.wait_until_settled()
        assert metered.units.wcu == 10 * 2 + 4
        assert len(await runs(sink)) == 1
