"""New shredded types are found before a Loader meets them."""

from datetime import timedelta

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.manifest.transitions import Fail, MarkLoaded, MarkProcessed, Skip
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from tests.datastore.manifest.sample_runs import LOAD, SNOW, TRANSFORM, claim, discover, run_name
from tests.support.sample_resources import SUPER, Watch, caller, on_sqlite


async def process(session: Session, watch: Watch, number: int, *types: str) -> None:
    """Add a run a second after the one before, and process it."""
    watch.move(timedelta(seconds=1))
    name = run_name(f"run={number}/")
    await discover(session, name.run_id)
    run = await claim(session, TRANSFORM, name)
    done = MarkProcessed(fence=run.fence, shred_types=types, saved_to=f"s3://stage/{number}")
    await session.runs.change(name, done)


async def load(session: Session, number: int) -> None:
    name = run_name(f"run={number}/")
    run = await claim(session, LOAD, name)
    await session.runs.change(name, MarkLoaded(fence=run.fence, loaded_by="l"))


async def plan(session: Session) -> tuple[int, list[tuple[str, tuple[str, ...]]]]:
    found = await session.new_shred_types.plan(SNOW)
    return found.waiting, [(run.run_id, types) for run, types in found.steps]


async def test_each_new_type_is_told_with_the_first_run_that_has_it(
    session: Session, watch: Watch
) -> None:
    await process(session, watch, 1, "a", "b")
    await load(session, 1)
    await process(session, watch, 2, "b", "c")
    await process(session, watch, 3, "d", "c", "a")
    await process(session, watch, 4, "a")
    await process(session, watch, 5, "e")
    await process(session, watch, 6, "f")
    await discover(session, "run=7/")
    # One is being loaded, one failed to be; one is skipped.
    await claim(session, LOAD, run_name("run=2/"))
    failed = await claim(session, LOAD, run_name("run=5/"))
    await session.runs.change(failed.name, Fail(fence=failed.fence, error="unknown type"))
    await session.runs.change(run_name("run=6/"), Skip(reason="broken"))
    assert await plan(session) == (4, [("run=2/", ("c",)), ("run=3/", ("d",)), ("run=5/", ("e",))])


async def test_a_run_that_failed_to_be_transformed_has_no_types(
    session: Session, watch: Watch
) -> None:
    await discover(session, "run=1/")
    failed = await claim(session, TRANSFORM, run_name("run=1/"))
    await session.runs.change(failed.name, Fail(fence=failed.fence, error="disk full"))
    assert await plan(session) == (0, [])


@on_sqlite
async def test_loaded_runs_are_read_until_each_type_is_known(
    store: Store, session: Session, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.manifest.new_types._PAGE", 1)
    for number in range(1, 9):
        await process(session, watch, number, "a")
        await load(session, number)
    metered = MeteredTable(store.table)
    counted = Store(metered, store.clock).open_session(SUPER)
    calls: list[int] = []
    for types in (("a",), ("b",)):
        await process(session, watch, 10 + len(calls), *types)
        metered.units.calls = 0
        await plan(counted)
        calls.append(metered.units.calls)
    # A page takes three calls, and an empty list two: the runs that wait, then one loaded run, or
    # all eight.
    assert calls == [3 + 2 + 2 + 3, 6 + 2 + 2 + 8 * 3]


@on_sqlite
async def test_a_plan_is_for_those_who_see_the_manifest(session: Session, store: Store) -> None:
    with pytest.raises(NotFound):
        await plan(session)
    await discover(session)
    with pytest.raises(NotFound):
        await plan(store.open_session(caller({}, "eve")))
