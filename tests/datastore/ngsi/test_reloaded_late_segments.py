"""A run that is loaded again does not lose a late segment, at whatever write its server dies."""

import asyncio
from contextlib import suppress

from penstock.datastore.manifest.transitions import Reload
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.run_log import marked_run
from tests.datastore.ngsi.run_totals import RunTotals
from tests.datastore.ngsi.sample_sinks import NewWorld
from tests.datastore.ngsi.stopping_stores import Writes
from tests.datastore.ngsi.test_late_segments import Servers, store_all
from tests.datastore.ngsi.test_sink import runs, runs_in_hand
from tests.support.consistency_check import faults
from tests.support.sample_resources import without_moto


async def load_again_and_die(servers: Servers, process: Writes) -> None:
    """Let a server take over a run that is to be loaded again, until it is done or dies."""
    servers.end_leases()
    async with servers.open(**process.over(servers.world.context)) as sink:
        going = asyncio.create_task(store_all(sink))
        died = asyncio.create_task(process.died.wait())
        await asyncio.wait({going, died}, return_when=asyncio.FIRST_COMPLETED)
        died.cancel()
        going.cancel()
        with suppress(asyncio.CancelledError):
            await going


@without_moto
async def test_a_late_segment_is_counted_by_a_run_wherever_its_reload_ends(
    new_world: NewWorld,
) -> None:
    for number in range(50):
        async with new_world() as world:
            servers = Servers(world)
            late = await servers.make_late()
            before = await servers.log.runs.one(marked_run(late.run))
            await servers.log.runs.change(before.name, Reload(force=True, reason="to be sure"))
            process = Writes(dies_at=number)
            await load_again_and_die(servers, process)
            servers.end_leases()
            async with servers.open() as sink:
                await store_all(sink)
                counts, found = await world.wait_until_settled(), await runs(sink)
                stored = {str(item["entityId"]) for item in await world.read_samples()}
                assert stored == {"car1", "car2", "car3"}
                assert await runs_in_hand(sink) == []
            assert counts == IngestCounts(received=3, persisted=3, items=6), number
            assert RunTotals.of(found).adds_up, number
            assert RunTotals.of(found).ingested == counts, number
            (again,) = [run for run in found if run.name == before.name]
            assert again.counts == before.counts, number
            assert await faults(world.context.table) == []
        if not process.died.is_set():
            break
    assert 5 < number < 49
