"""No execution begins, or begins again, with what its formulas may use no more.

What an execution uses is pinned when it is created, so that a later change is none of its business.
A revoke is: its creator could otherwise send rows to what was taken away.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from penstock.datastore.errors import NotPermitted
from penstock.datastore.executions.files import ingest_key, output_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.records import Calculation, Pipeline, ReferenceDataset, Resource
from penstock.datastore.store import Store
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.lookup_pipelines import factor_calculation, lookup_transformer
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    pipeline_in,
    read_content,
    ready_execution,
    uploaded_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import EU, NORTHWEST, SUPER, USA, Watch, create_groups

REVOKED = "It uses what was revoked since it was created."
INPUT = b"fuel\ngas\n"
Begin = Callable[[Store, Execution], Awaitable[Execution]]


async def start(store: Store, made: Execution) -> Execution:
    return await store.open_session(ANN).executions.uploads.confirm(made.id)


async def tell(store: Store, made: Execution) -> Execution:
    """Tell of the upload, as an event does."""
    told = await store.open_session(ANN).executions.uploads.confirm_key(ingest_key(made))
    assert told is not None
    return told


async def retry(store: Store, made: Execution) -> Execution:
    return await store.open_session(ANN).executions.changing.retry(made.id)


async def granted_lookups(
    store: Store,
) -> tuple[Calculation, ReferenceDataset, ReferenceDataset, Pipeline]:
    """A calculation and a dataset of /eu that a pipeline of /usa uses, and a dataset it does not.

    The calculation looks up the second dataset, which no group but /eu sees.
    """
    session = await create_groups(store)
    own = await lookup_dataset(session, EU, "own", gas="7")
    await lookup_dataset(session, EU, "within", gas="3")
    called = await factor_calculation(store, "LOOKUP('within', :f)", EU)
    unused = await lookup_dataset(session, EU, "unused", gas="1")
    for dataset in (own, unused):
        await session.datasets.writing.grant(dataset.id, USA)
    await session.calculations.writing.grant(called.id, USA)
    looked = lookup_transformer("#factor(:fuel) + LOOKUP('own', :fuel)")
    return called, own, unused, await pipeline_in(store, transformer=looked)


async def revoke(store: Store, one: Resource) -> None:
    session = store.open_session(SUPER)
    if isinstance(one, Calculation):
        await session.calculations.writing.revoke(one.id, USA)
    else:
        await session.datasets.writing.revoke(one.id, USA)


@pytest.mark.parametrize("place", [0, 1], ids=["a calculation", "a dataset"])
@pytest.mark.parametrize("begin", [start, tell], ids=["by a caller", "by an event"])
async def test_an_execution_that_uses_what_was_revoked_is_not_started(
    store: Store, place: int, begin: Begin
) -> None:
    *used, pipeline = await granted_lookups(store)
    made = await uploaded_execution(store, pipeline, INPUT)
    await revoke(store, used[place])
    before = await contents(store.table)
    with pytest.raises(NotPermitted) as refused:
        await begin(store, made)
    assert refused.value.message == REVOKED
    assert await contents(store.table) == before


@pytest.mark.parametrize("place", [0, 1], ids=["a calculation", "a dataset"])
async def test_the_search_for_uploads_starts_none_that_uses_what_was_revoked(
    store: Store, watch: Watch, place: int
) -> None:
    *used, pipeline = await granted_lookups(store)
    made = await uploaded_execution(store, pipeline, INPUT)
    await revoke(store, used[place])
    assert await store.confirm_uploads() == 0
    watch.move(timedelta(hours=1, minutes=11))
    assert await store.confirm_uploads() == 0
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "NOT_STARTED")
    assert await faults(store.table) == []


@pytest.mark.parametrize("place", [0, 1], ids=["a calculation", "a dataset"])
@pytest.mark.parametrize("is_uploaded", [True, False])
async def test_an_execution_that_uses_what_was_revoked_is_not_tried_again(
    store: Store, place: int, is_uploaded: bool
) -> None:
    *used, pipeline = await granted_lookups(store)
    prepare = ready_execution if is_uploaded else begin_execution
    made = await prepare(store, pipeline)
    await store.open_session(ANN).executions.changing.cancel(made.id)
    await revoke(store, used[place])
    before = await contents(store.table)
    with pytest.raises(NotPermitted) as refused:
        await retry(store, made)
    assert refused.value.message == REVOKED
    assert await contents(store.table) == before


async def test_a_calculation_that_lost_what_it_looks_up_ends_those_that_call_it(
    store: Store,
) -> None:
    session = await create_groups(store)
    far = await lookup_dataset(session, EU, "far", gas="5")
    await session.datasets.writing.grant(far.id, USA)
    await factor_calculation(store, "LOOKUP('far', :f)", USA)
    looked = lookup_transformer("#factor(:fuel)")
    pipeline = await pipeline_in(store, NORTHWEST, transformer=looked)
    made = await uploaded_execution(store, pipeline, INPUT)
    await session.datasets.writing.revoke(far.id, USA)
    with pytest.raises(NotPermitted, match=REVOKED):
        await start(store, made)
    await session.datasets.writing.grant(far.id, NORTHWEST)
    with pytest.raises(NotPermitted, match=REVOKED):
        await start(store, made)
    await session.datasets.writing.grant(far.id, USA)
    assert (await start(store, made)).ready_at is not None


async def test_other_changes_of_what_is_used_end_no_execution(store: Store) -> None:
    called, own, unused, pipeline = await granted_lookups(store)
    made = await uploaded_execution(store, pipeline, INPUT)
    session = store.open_session(SUPER)
    await revoke(store, unused)
    await session.calculations.writing.update(
        called.id, called.version, {"formula": "1000 * LEN(:f)"}
    )
    await session.datasets.writing.update(own.id, own.version, {"name": "other"})
    await session.calculations.deleting.delete(called.id, force=True)
    await start(store, made)
    assert await store.execution_worker("w").run_all() == 1
    over = await current_execution(store, made)
    assert await read_content(store.files, output_key(over)) == b"y\r\n10\r\n"
    assert await faults(store.table) == []


async def test_an_execution_that_was_started_before_a_revoke_runs_to_its_end(store: Store) -> None:
    called, *_, pipeline = await granted_lookups(store)
    made = await ready_execution(store, pipeline, INPUT)
    await revoke(store, called)
    assert (await start(store, made)).ready_at == made.ready_at
    assert await store.execution_worker("w").run_all() == 1
    assert (await current_execution(store, made)).state == "success"
