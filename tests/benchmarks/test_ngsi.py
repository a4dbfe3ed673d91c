"""The benchmark of the sink stores the same items on both sides, and counts them correctly."""

import sqlite3
from pathlib import Path

import pytest

from benchmarks import ngsi
from benchmarks.ngsi import (
    ATTRIBUTES,
    BOUNDS,
    DURABLE,
    NAIVE,
    QUEUED,
    SinkPlan,
    SinkResult,
    bodies,
    broken_promises,
    calls_of_cygnus,
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


def results(**changes: float) -> list[SinkResult]:
    """A naive sink and a durable one at its bounds, but for the changes."""
    naive = SinkResult(NAIVE, Persistence.ROW, 25, 100, 400, 1.0, 1.0, calls=400, units=400.0)
    bound = BOUNDS[Persistence.ROW]
    return [
        naive,
        naive._replace(
            name=DURABLE,
            calls=int(changes.get("calls", bound.calls * naive.calls)),
            processor=changes.get("processor", bound.processor * naive.processor),
            units=changes.get("units", bound.units * naive.units),
        ),
    ]


def test_a_sink_may_take_what_its_bounds_say() -> None:
    assert broken_promises(results()) == []
    assert {plan.batch for plan in plans()} == {1, 25, 100}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"calls": 80}, "0.20 times the calls of one put an item, not 0.17"),
        ({"processor": 2.6}, "2.60 times the processor of one put an item, not 2.50"),
        ({"units": 1004.0}, "2.51 times the units of one put an item, not 2.50"),
    ],
)
def test_each_bound_is_held(changes: dict[str, float], sentence: str) -> None:
    assert broken_promises(results(**changes)) == [f"durable, row, 25 at once: {sentence}"]


def test_a_single_sender_pays_alone() -> None:
    alone = [each._replace(batch=1) for each in results(calls=400, processor=9.0)]
    assert broken_promises(alone) == []


@pytest.mark.parametrize(("processor", "code"), [(1.9, 0), (2.6, 1)])
def test_the_check_ends_with_1_beyond_a_bound(
    processor: float, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def compare(_count: int) -> list[SinkResult]:
        return results(processor=processor)

    monkeypatch.setattr(ngsi, "compare_plans", compare)
    assert ngsi.main(["--check"]) == code


@pytest.mark.parametrize(("persistence", "items"), [(Persistence.ROW, 4), (Persistence.COLUMN, 1)])
async def test_many_senders_cost_fewer_calls_and_more_units(
    persistence: Persistence, items: int
) -> None:
    naive = await measure_plan(SinkPlan(NAIVE, persistence, 25, None), COUNT)
    assert (naive.calls, naive.units) == (items * COUNT, items * COUNT)
    sink = await measure_plan(SinkPlan(QUEUED, persistence, 25, Ack.QUEUED), 5 * COUNT)
    assert sink.units > 5 * naive.units
    assert sink.calls < 4 * 5 * COUNT


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
