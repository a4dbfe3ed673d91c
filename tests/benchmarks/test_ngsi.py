"""The benchmark of the sink stores the same items on both sides, and counts them correctly."""

import sqlite3
from pathlib import Path

import pytest

from benchmarks.ngsi import (
    ATTRIBUTES,
    SinkPlan,
    SinkResult,
    bodies,
    calls_of_cygnus,
    factor,
    measure_plan,
    open_plan,
    plans,
)
from penstock.datastore.ngsi.options import Ack, Persistence

COUNT = 8


async def stored_items(folder: Path, plan: SinkPlan) -> list[str]:
    """Return the items that a plan stores, without times and values derived from them."""
    async with open_plan(folder, plan) as (send, settled):
        for number, body in enumerate(bodies(COUNT)):
            await send(body, f"c{number}")
        await settled()
    with sqlite3.connect(folder / "samples.db") as file:
        found = [pk.decode() for (pk,) in file.execute("SELECT pk FROM items ORDER BY pk")]
    file.close()
    return found


@pytest.mark.parametrize("persistence", Persistence)
async def test_both_sinks_store_the_same_series(tmp_path: Path, persistence: Persistence) -> None:
    for name in ("naive", *Ack):
        (tmp_path / name).mkdir()
    naive = await stored_items(
        tmp_path / "naive", SinkPlan("one put an item", persistence, 1, None)
    )
    items = COUNT * (len(ATTRIBUTES) if persistence is Persistence.ROW else 1)
    assert len(naive) == items
    for ack in Ack:
        assert await stored_items(tmp_path / ack, SinkPlan(ack, persistence, 1, ack)) == naive


async def test_a_measurement_says_what_was_measured() -> None:
    found = await measure_plan(SinkPlan("durable", Persistence.ROW, 4, Ack.DURABLE), COUNT)
    assert (found.notifications, found.items) == (COUNT, COUNT * len(ATTRIBUTES))
    assert found.calls > 0
    assert found.processor > 0
    assert found.rate == COUNT / found.seconds


def test_the_factor_is_that_of_rows_at_the_largest_size() -> None:
    found = [
        SinkResult(name, persistence, batch, 100, 100, seconds, 1.0)
        for name, seconds in (("durable", 1.0), ("one put an item", 6.0))
        for persistence in Persistence
        for batch in (1, 100)
    ]
    found[3] = found[3]._replace(seconds=9.0)
    assert factor(found) == 6.0
    assert {plan.batch for plan in plans()} == {1, 25, 100}


@pytest.mark.parametrize(
    ("persistence", "batch", "calls"),
    [
        (Persistence.ROW, 1, 1.0),
        (Persistence.ROW, 25, 1.0),
        (Persistence.ROW, 100, 0.5),
        (Persistence.COLUMN, 100, 0.5),
    ],
)
def test_cygnus_has_a_call_for_each_entity_of_a_batch(
    persistence: Persistence, batch: int, calls: float
) -> None:
    assert calls_of_cygnus(persistence, batch) == calls
