"""Creation of executions: pins, refusals, and repeated calls."""

import asyncio
from dataclasses import replace
from functools import partial

import msgspec
import pytest

from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    NotPermitted,
    Unavailable,
)
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import errors_key, ingest_key, input_key, output_key
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.executions.reading import find_plan
from penstock.datastore.executions.records import ExecutionMode, ExecutionState
from penstock.datastore.records import Pipeline, State
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.datastore.tag_search.tags import TagFilter
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    NORA,
    REED,
    TRIPS,
    begin_execution,
    event_history,
    pipeline_in,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    caller,
    create_groups,
    on_sqlite,
    tags,
    without_moto,
)
from tests.support.table_interceptors import InterruptedTable

WANTED_TAGS = tags("source=SAP", "material=metal/steel")


async def test_an_execution_waits_for_its_input_with_all_that_it_does_pinned(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline, tags=WANTED_TAGS, max_failed_rows=3)
    found = (await store.open_session(REED).executions.reading.one(made.id)).execution
    assert found == made
    assert (made.state, made.pipeline_version, made.created_by) == ("waiting", 1, "ann")
    assert (made.tags, made.max_failed_rows, made.ready_at) == (WANTED_TAGS, 3, None)
    assert (made.created_at, made.upload_until) == (
        "2022-08-10T23:55:20.322Z",
        "2022-08-11T00:55:20.322Z",
    )
    plan = await find_plan(store.table, made.id)
    assert plan is not None
    assert [step.formula for step in plan.steps] == [one.formula for one in TRIPS.transforms]
    assert await event_history(store.open_session(ANN), made) == [("created", "waiting", "ann")]
    assert await faults(store.table) == []


@pytest.mark.parametrize(("count", "value"), [(30, "a"), (18, "a/b")])
async def test_as_many_tags_as_promised_fit_the_transaction_with_its_receipt(
    store: Store, pipeline: Pipeline, count: int, value: str
) -> None:
    wanted = tags(*(f"k{n}={value}" for n in range(count)))
    request = ExecutionRequest(pipeline_id=pipeline.id, tags=wanted)
    made = await store.open_session(ANN).executions.creating.create(request, "key")
    assert made.tags == wanted
    found = ExecutionFilter(tags=TagFilter(all=tags("k0=a", "k17=a")))
    page = await store.open_session(ANN).executions.listing.page(pipeline, found, Window())
    assert [one.id for _, one in page.entries] == [made.id]
    assert await faults(store.table) == []


@on_sqlite
async def test_later_versions_of_the_pipeline_change_nothing(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline)
    one = TRIPS.transforms[0]
    changed = msgspec.structs.replace(
        TRIPS, transforms=(msgspec.structs.replace(one, formula="1"),)
    )
    await store.open_session(ANN).pipelines.writing.update(pipeline.id, 1, {"transformer": changed})
    plan = await find_plan(store.table, made.id)
    assert plan is not None
    assert plan.steps[0].formula == ":distance * 2"
    assert (await begin_execution(store, pipeline)).pipeline_version == 2


@on_sqlite
async def test_files_lie_where_the_data_model_says(store: Store, pipeline: Pipeline) -> None:
    made = await begin_execution(store, pipeline)
    p, e = pipeline.id, made.id
    assert ingest_key(made) == f"pipelines/{p}/1/ingest/{p}-1-2022-08-10T23:55:20.322Z-{e}.txt"
    assert input_key(made) == f"pipelines/{p}/1/executions/{e}/input.txt"
    assert output_key(made) == f"pipelines/{p}/1/executions/{e}/output.txt"
    assert errors_key(made) == f"pipelines/{p}/1/executions/{e}/errors.csv"


@without_moto
async def test_executions_of_one_moment_have_uploads_of_their_own(
    store: Store, pipeline: Pipeline
) -> None:
    made = await asyncio.gather(*(begin_execution(store, pipeline) for _ in range(10)))
    assert {one.ingest for one in made} == {f"2022-08-10T23:55:20.322Z-{one.id}" for one in made}
    assert await faults(store.table) == []


@on_sqlite
async def test_the_same_key_with_the_same_input_makes_one_execution(
    store: Store, pipeline: Pipeline
) -> None:
    creating = store.open_session(ANN).executions.creating
    wanted = ExecutionRequest(pipeline_id=pipeline.id, tags=WANTED_TAGS)
    made = await creating.create(wanted, "k")
    assert await creating.create(wanted, "k") == made
    with pytest.raises(Invalid, match="was used with another input"):
        await creating.create(ExecutionRequest(pipeline_id=pipeline.id), "k")
    await store.open_session(ANN).pipelines.writing.update(
        pipeline.id, 1, {"state": State.DISABLED}
    )
    assert await creating.create(wanted, "k") == made
    assert await faults(store.table) == []


@on_sqlite
async def test_everything_wrong_with_the_input_is_told_at_once(
    store: Store, pipeline: Pipeline
) -> None:
    before = await contents(store.table)
    with pytest.raises(Invalid) as invalid:
        await store.open_session(ANN).executions.creating.create(
            ExecutionRequest(pipeline_id=pipeline.id, tags=tags("a=1", "A=2"), max_failed_rows=-1),
            "",
        )
    assert [problem.path[0] for problem in invalid.value.problems] == [
        "tags",
        "maxFailedRows",
        "idempotencyKey",
    ]
    with pytest.raises(LimitExceeded):
        await begin_execution(store, pipeline, tags=tags(*(f"k{n}=a/b/c" for n in range(40))))
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize("state", [State.FROZEN, State.DISABLED])
async def test_no_run_of_a_frozen_or_disabled_pipeline_begins(
    store: Store, pipeline: Pipeline, state: State
) -> None:
    await store.open_session(ANN).pipelines.writing.update(pipeline.id, 1, {"state": state})
    before = await contents(store.table)
    with pytest.raises(IllegalState) as refused:
        await begin_execution(store, pipeline)
    assert refused.value.state == state.name
    assert await contents(store.table) == before


@on_sqlite
async def test_who_may_run_is_who_contributes_to_the_owner_or_to_where_a_grant_reaches(
    store: Store,
) -> None:
    await create_groups(store)
    mine = await pipeline_in(store, NORTHWEST)
    await store.open_session(SUPER).pipelines.writing.grant(mine.id, EU)
    below = caller({GroupPath("/eu/berlin"): Role.CONTRIBUTOR}, "bo")
    above = caller({USA: Role.CONTRIBUTOR}, "al")
    narrowed = caller({USA: Role.CONTRIBUTOR, NORTHWEST: Role.READER}, "nan")
    for who in (NORA, EVE, below, above, SUPER):
        assert (await begin_execution(store, mine, who)).created_by == who.user_id
    before = await contents(store.table)
    for who in (REED, narrowed):
        with pytest.raises(NotPermitted):
            await begin_execution(store, mine, who)
    with pytest.raises(NotFound):
        await begin_execution(store, mine, caller({GroupPath("/asia"): Role.ADMIN}))
    assert await contents(store.table) == before


@on_sqlite
async def test_a_stranger_learns_nothing_of_an_execution(store: Store, pipeline: Pipeline) -> None:
    made = await begin_execution(store, pipeline)
    eve = store.open_session(EVE).executions
    absent = made.id[:-1] + ("0" if made.id[-1] != "0" else "1")
    foreign, missing, odd = await eve.reading.many([made.id, absent, "x"])
    assert isinstance(foreign, NotFound)
    assert str(foreign) == str(missing) == str(odd)
    before = await contents(store.table)
    for call in (
        eve.uploads.form,
        eve.uploads.confirm,
        eve.changing.cancel,
        eve.changing.retry,
        eve.reading.one,
    ):
        with pytest.raises(NotFound):
            await call(made.id)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_store_without_files_runs_nothing(table: Table, store: Store) -> None:
    session = Store(table).open_session(SUPER)
    with pytest.raises(Unavailable, match="no place for files"):
        await session.executions.creating.create(ExecutionRequest(pipeline_id="x"))


@on_sqlite
async def test_what_is_inline_waits_for_no_upload(store: Store, pipeline: Pipeline) -> None:
    made = await begin_execution(store, pipeline, mode=ExecutionMode.INLINE)
    assert made.upload_until is None
    assert await store.open_session(ANN).executions.uploads.form(made.id) is None
    assert made.state is ExecutionState.WAITING


async def _count_units_of_creation(store: Store, pipeline: Pipeline) -> float:
    session = store.open_session(ANN)
    # An upload would take a place by chance, and pay for each that is taken.
    wanted = ExecutionRequest(pipeline_id=pipeline.id, mode=ExecutionMode.INLINE)
    await session.executions.creating.create(wanted)
    return session.units.wcu


async def test_an_execution_costs_the_same_however_large_its_pipeline_is(store: Store) -> None:
    store = replace(store, shards=1)
    await create_groups(store)
    small, large = await pipeline_in(store, USA), await pipeline_in(store, USA, name="large")
    await store.open_session(ANN).pipelines.writing.update(
        large.id, 1, {"description": "d" * 8_000}
    )
    for pipeline in (small, large):
        await _count_units_of_creation(store, pipeline)
    costs = [await _count_units_of_creation(store, pipeline) for pipeline in (small, large)]
    assert costs[0] == costs[1]


@on_sqlite
@pytest.mark.parametrize("runs", [0, 1])
async def test_a_pipeline_that_is_closed_or_deleted_after_its_read_begins_no_execution(
    store: Store, pipeline: Pipeline, runs: int
) -> None:
    session = store.open_session(ANN)
    for _ in range(runs):
        await begin_execution(store, pipeline)
    for version, state in ((1, State.FROZEN), (3, State.DISABLED)):
        change = partial(session.pipelines.writing.update, pipeline.id)
        closing = InterruptedTable(store.table, partial(change, version, {"state": state}))
        with pytest.raises(IllegalState) as refused:
            await begin_execution(replace(store, table=closing), pipeline)
        assert refused.value.state == state.name
        await change(version + 1, {"state": State.ENABLED})
    closing = InterruptedTable(store.table, partial(session.pipelines.deleting.delete, pipeline.id))
    with pytest.raises(NotFound):
        await begin_execution(replace(store, table=closing), pipeline)
    while await store.finish_deletes():
        pass
    assert await faults(store.table) == []
