"""Large values, refused entities and sweeps cost as much as docs/ngsi.md says."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.options import RetentionTimes
from penstock.datastore.ngsi.retention.sweep import RetentionSweep
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.objects.instrumentation import InstrumentedFiles
from penstock.datastore.table.instrumentation import EndCallback, MeteredTable, StoreCall
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car
from tests.datastore.ngsi.test_large_values import LARGE
from tests.datastore.ngsi.test_points_of_death import JOINING, is_stored
from tests.datastore.ngsi.test_refused_entities import NAMELESS
from tests.datastore.ngsi.test_repository import speed, texts
from tests.datastore.ngsi.test_sink import accept
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.work_cost import WorkCost, measure

pytestmark = on_sqlite

DAY = timedelta(days=1)
MONTH = RetentionTimes(segments=30 * DAY, runs=30 * DAY, letters=30 * DAY)


class FileCalls(Counter[str]):
    """Counts the calls of files by their method."""

    def __call__(self, call: StoreCall) -> EndCallback:
        self[call.method] += 1
        return lambda: None


def with_counted_files(world: SinkWorld) -> tuple[SinkWorld, FileCalls]:
    calls = FileCalls()
    files = InstrumentedFiles(world.context.files, [calls])
    return SinkWorld(replace(world.context, files=files)), calls


async def test_a_large_value_is_one_file_that_is_written_once_and_read_with_its_sample(
    world: SinkWorld,
) -> None:
    counted, calls = with_counted_files(world)
    async with counted.open_sink(QUICK) as sink:
        await accept(sink, car("car1", speed=1, oil=2))
        await counted.wait_until_settled()
        plain = Counter(calls)
        await accept(sink, car("car1", speed=LARGE, oil=LARGE))
        await counted.wait_until_settled()
    # The segment, and each value.
    assert (plain, Counter(calls) - plain) == ({"upload": 1}, {"upload": 1 + 2})
    of = await speed(counted)
    calls.clear()
    assert len(await texts(counted, of)) == 2
    assert calls == {"read": 1}


async def refuse(sink: NotificationSink) -> None:
    await accept(sink, NAMELESS)


async def test_a_notification_that_is_refused_costs_its_letter_and_a_run(world: SinkWorld) -> None:
    metered, watch = MeteredTable(world.context.table), Watch()
    counted = SinkWorld(replace(world.context, table=metered, shards=1, clock=Clock(watch)))
    async with counted.open_sink(JOINING) as sink:
        await refuse(sink)
        watch.move(timedelta(hours=2))
        alone = await measure(metered, refuse(sink))
        await accept(sink, "car1")
        await until(partial(is_stored, sink))
        beside = []
        for _ in range(2):
            beside.append(await measure(metered, refuse(sink)))
            await until(partial(is_stored, sink))
    # The letter and its counts; alone also a run in two lists, and the number of runs.
    # The counts name it until the next commit, which settles it too.
    assert (alone, beside) == (WorkCost(1, 0, 13), [WorkCost(1, 0, 5)] * 2)


async def test_a_notification_that_comes_again_costs_its_counts(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    counted = SinkWorld(replace(world.context, table=metered, shards=1))
    async with counted.open_sink(JOINING) as sink:
        for _ in range(2):
            await accept(sink, "car1", correlator="c")
            await until(partial(is_stored, sink))
        again = await measure(metered, accept(sink, "car1", correlator="c"))
        await until(partial(is_stored, sink))
        # What a notification that follows in time spares.
        release = sink.committer.segments.settlements.release_all
        alone = await measure(metered, settle_all(sink, release))
    # Receipts are read before, and the counts are written as for any other notification.
    assert (again, alone) == (WorkCost(2, 1, 2), WorkCost(1, 0, 2))


async def settle_all(sink: NotificationSink, release: Callable[[], None]) -> None:
    release()
    await until(lambda: not sink.loader.open_runs)


async def test_a_notification_that_comes_again_after_a_quiet_minute_costs_a_run(
    world: SinkWorld,
) -> None:
    metered, watch = MeteredTable(world.context.table), Watch()
    ground = replace(world.context, table=metered, shards=1, lease_seconds=60, clock=Clock(watch))
    async with SinkWorld(ground).open_sink(JOINING) as sink:
        await accept(sink, "car1", correlator="c")
        await until(partial(is_stored, sink))
        watch.move(timedelta(seconds=61))
        again = await measure(metered, accept(sink, "car1", correlator="c"))
    # The counts, and a run in two lists, which are counted.
    assert again == WorkCost(2, 1, 10)


async def sweep(world: SinkWorld, sink: NotificationSink) -> WorkCost:
    metered = MeteredTable(world.context.table)
    log = sink.committer.run_log
    access = Access(metered, SINK_CALLER, log.access.clock, Budget())
    committer = replace(sink.committer, table=metered, run_log=replace(log, access=access))
    return await measure(metered, RetentionSweep(committer, MONTH).remove_old())


async def test_a_sweep_costs_so_much_for_each_run_and_each_letter(world: SinkWorld) -> None:
    watch, costs = Watch(), []
    async with world.open_sink(QUICK, clock=Clock(watch), lease_seconds=60, shards=1) as sink:
        costs.append(await sweep(world, sink))
        for runs, letters in ((1, 0), (3, 0), (0, 1), (0, 3)):
            for _ in range(runs):
                await accept(sink, "car1")
                await sink.loader.drain()
            for _ in range(letters):
                await accept(sink, "car1", NAMELESS)
                await sink.loader.drain()
            watch.move(40 * DAY)
            costs.append(await sweep(world, sink))
    nothing, *more = costs
    one_run, three_runs, letter, three_letters = (each - nothing for each in more)
    assert nothing == WorkCost(3, 2.5, 0)
    # Each run in two lists, and the count of runs; each letter with its index row, and its run.
    assert (one_run, three_runs - one_run) == (WorkCost(6, 4, 8), WorkCost(2, 6, 2 * 6))
    assert (letter, three_letters - letter) == (WorkCost(7, 4, 11), WorkCost(4, 6, 2 * 9))
