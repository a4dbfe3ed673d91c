"""An execution keeps the commonest reasons of its rejected rows."""

from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.records import MOST_REJECTIONS, keep_commonest
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.outcome import RejectionCount
from tests.datastore.executions.sample_executions import (
    ANN,
    finished_execution,
)
from tests.support.sample_resources import on_sqlite

DATA = b"distance,Fuel type\n1\nfar,gas\n3,wood\nnear,gas\n"
REASONS = (RejectionCount("INVALID_INPUT", "distance", 2), RejectionCount("FIELD_COUNT", "", 1))


async def test_reasons_are_kept_with_the_commonest_first(store: Store, pipeline: Pipeline) -> None:
    assert (await finished_execution(store, pipeline, DATA)).rejections == REASONS
    assert (await finished_execution(store, pipeline, b"distance\n1\n")).rejections == ()


@on_sqlite
async def test_a_copied_result_has_the_reasons_of_the_first(
    store: Store, pipeline: Pipeline
) -> None:
    first, second = [await finished_execution(store, pipeline, DATA) for _ in range(2)]
    assert (second.copied_from, second.rejections) == (first.id, REASONS)


@on_sqlite
async def test_reasons_of_an_earlier_attempt_are_gone(store: Store, pipeline: Pipeline) -> None:
    data = b"distance,Fuel type\nfar,gas\n"
    failed = await finished_execution(store, pipeline, data)
    assert failed.rejections == (RejectionCount("INVALID_INPUT", "distance", 1),)
    changing = store.open_session(ANN).executions.changing
    await changing.retry(failed.id)
    external = store.open_session(ANN).executions.external
    await external.claim(failed.id, "elsewhere")
    assert (await changing.cancel(failed.id)).rejections is None


@on_sqlite
async def test_names_that_rows_of_a_request_invent_are_bounded(
    store: Store, pipeline: Pipeline
) -> None:
    inline = store.open_session(ANN).executions.inline
    rows = [{"distance": 1}, *({f"{number:04}" + "x" * 200: 1} for number in range(30))]
    made = await inline.run(ExecutionRequest(pipeline_id=pipeline.id), rows)
    assert made.rejections is not None
    assert [len(one.column) for one in made.rejections] == [100] * MOST_REJECTIONS


def test_the_rarest_of_many_reasons_are_left_out() -> None:
    found = [RejectionCount(f"CODE_{n}", "", n) for n in range(1, MOST_REJECTIONS + 3)]
    kept = keep_commonest(found)
    assert [one.rows for one in kept] == [*range(MOST_REJECTIONS + 2, 2, -1)]
