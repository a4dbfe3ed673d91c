"""Calculations are pinned with the execution whose formulas call them."""

from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.errors import IllegalState, Invalid, NotPermitted
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import ingest_key, output_key
from penstock.datastore.executions.reading import find_plan
from penstock.datastore.executions.records import Pin
from penstock.datastore.records import (
    Calculation,
    Output,
    Parameter,
    RowKeeping,
    State,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.lookup_pipelines import factor_calculation, lookup_transformer
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    begin_execution,
    current_execution,
    finished_execution,
    pipeline_in,
    put_file,
    read_content,
    ready_execution,
)
from tests.datastore.kept_rows.plants import read_rows
from tests.support.consistency_check import contents
from tests.support.sample_resources import EU, SUPER, USA, create_groups, on_sqlite

NUMBER = ValueType.NUMBER
CALLING = Transformer(
    parameters=(Parameter(index=0, key="x", type=NUMBER, required=True),),
    transforms=(
        Transform(
            index=0, formula="#quadruple(:x)", outputs=(Output(index=0, key="y", type=NUMBER),)
        ),
    ),
)


NUMBERS = (
    Parameter(index=0, key="n", type=NUMBER, required=True),
    Parameter(index=1, key="secret", type=NUMBER, required=True),
)
TEXT = Parameter(index=0, key="n", type=ValueType.STRING, required=True)


async def calculation(store: Store, name: str, formula: str, group: GroupPath = USA) -> Calculation:
    fields = {
        "name": name,
        "tags": (),
        "formula": formula,
        "parameters": (Parameter(index=0, key="n", type=NUMBER, required=True),),
        "outputs": (Output(index=0, type=NUMBER),),
    }
    return await store.open_session(SUPER).calculations.writing.create(group, fields, None)


@on_sqlite
async def test_calculations_are_pinned_however_deep_they_are_called(store: Store) -> None:
    await create_groups(store)
    double = await calculation(store, "double", ":n * 2")
    quadruple = await calculation(store, "quadruple", "#double(#double(:n))")
    pipeline = await pipeline_in(store, name="Calling", transformer=CALLING)
    made = await begin_execution(store, pipeline)
    assert made.pins == (
        Pin(kind="C", id=double.id, version=1, name="double"),
        Pin(kind="C", id=quadruple.id, version=1, name="quadruple"),
    )
    session = store.open_session(SUPER)
    await session.calculations.writing.update(double.id, 1, {"formula": ":n * 3"})
    await put_file(store.files, ingest_key(made), b"x\n1\n")
    await store.confirm_uploads()
    await store.execution_worker("w").run_all()
    assert await read_content(store.files, output_key(made)) == b"y\r\n4\r\n"
    after = await finished_execution(store, pipeline, b"x\n1\n")
    assert after.pins[0].version == 2
    assert after.message is None
    assert await read_content(store.files, output_key(after)) == b"y\r\n9\r\n"


@on_sqlite
async def test_a_calculation_that_is_deleted_is_still_pinned(store: Store) -> None:
    await create_groups(store)
    await calculation(store, "double", ":n * 2")
    quadruple = await calculation(store, "quadruple", "#double(#double(:n))")
    made = await begin_execution(
        store, await pipeline_in(store, name="Calling", transformer=CALLING)
    )
    await store.open_session(SUPER).calculations.deleting.delete(quadruple.id, force=True)
    await put_file(store.files, ingest_key(made), b"x\n2\n")
    await store.confirm_uploads()
    await store.execution_worker("w").run_all()
    assert (await current_execution(store, made)).state == "success"
    assert await read_content(store.files, output_key(made)) == b"y\r\n8\r\n"


@pytest.mark.parametrize("name", ["double", "quadruple"])
async def test_nothing_begins_with_a_calculation_that_is_disabled(store: Store, name: str) -> None:
    session = await create_groups(store)
    called = {"double": await calculation(store, "double", ":n * 2")}
    called["quadruple"] = await calculation(store, "quadruple", "#double(#double(:n))")
    pipeline = await pipeline_in(store, name="Calling", transformer=CALLING)
    await session.calculations.writing.update(called[name].id, 1, {"state": State.DISABLED})
    before = await contents(store.table)
    inline = session.executions.inline.run(ExecutionRequest(pipeline_id=pipeline.id), [{"x": 1}])
    for begin in (begin_execution(store, pipeline), inline):
        with pytest.raises(IllegalState, match=f"The calculation '{name}' is disabled") as refused:
            await begin
        assert refused.value.state == "DISABLED"
    assert await contents(store.table) == before
    await session.calculations.writing.update(called[name].id, 2, {"state": State.ENABLED})
    over = await finished_execution(store, pipeline, b"x\n1\n")
    assert await read_content(store.files, output_key(over)) == b"y\r\n4\r\n"


@on_sqlite
async def test_a_disabled_calculation_out_of_sight_is_not_named(store: Store) -> None:
    session = await create_groups(store)
    hidden = await calculation(store, "double", ":n * 2")
    quadruple = await calculation(store, "quadruple", "#double(#double(:n))")
    pipeline = await pipeline_in(store, name="Calling", transformer=CALLING)
    await session.pipelines.writing.grant(pipeline.id, EU)
    await session.calculations.writing.grant(quadruple.id, EU)
    assert (await begin_execution(store, pipeline, EVE)).state == "waiting"
    await session.calculations.writing.update(hidden.id, 1, {"state": State.DISABLED})
    with pytest.raises(IllegalState, match="The calculation out of sight is disabled"):
        await begin_execution(store, pipeline, EVE)


@on_sqlite
@pytest.mark.parametrize(
    ("formula", "changes"),
    [
        ("#double(:x)", {"parameters": (NUMBERS[0], NUMBERS[1]), "formula": ":n * :secret"}),
        ("#double(:x)", {"parameters": (TEXT,), "formula": "IF(:n == 'a', 1, 2)"}),
    ],
)
async def test_a_problem_of_a_calculation_out_of_sight_tells_nothing_of_its_parameters(
    store: Store, formula: str, changes: dict[str, Any]
) -> None:
    session = await create_groups(store)
    hidden = await calculation(store, "double", ":n * 2")
    transform = replace(CALLING.transforms[0], formula=formula)
    pipeline = await pipeline_in(
        store, name="Calling", transformer=replace(CALLING, transforms=(transform,))
    )
    await session.pipelines.writing.grant(pipeline.id, EU)
    await session.calculations.writing.update(hidden.id, 1, changes)
    with pytest.raises(Invalid) as seen:
        await begin_execution(store, pipeline)
    assert "secret" in seen.value.problems[0].message or "text" in seen.value.problems[0].message
    with pytest.raises(Invalid) as unseen:
        await begin_execution(store, pipeline, EVE)
    (problem,) = unseen.value.problems
    assert problem.message in {
        "transform 0, line 1, column 1: #double cannot be used with 1 argument",
        "transform 0, line 1, column 9: #double cannot be used with this argument",
    }


@on_sqlite
async def test_what_is_out_of_sight_is_run_and_handed_to_no_worker_elsewhere(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, EU, "fuels", gas="2.5")
    hidden = await factor_calculation(store, "LOOKUP('fuels', :f)", EU)
    within = await factor_calculation(store, "#factor(:f) * 2", EU, "seen")
    await session.calculations.writing.grant(within.id, USA)
    pipeline = await pipeline_in(store, transformer=lookup_transformer("#seen(:fuel)"))
    made = await ready_execution(store, pipeline, b"fuel\ngas\n")
    before = await contents(store.table)
    for one, grant in (
        (hidden, session.calculations.writing.grant),
        (fuels, session.datasets.writing.grant),
    ):
        with pytest.raises(NotPermitted, match="reach what you do not see"):
            await store.open_session(ANN).executions.external.claim(made.id, "far")
        assert await contents(store.table) == before
        await grant(one.id, USA)
        before = await contents(store.table)
    claimed = await store.open_session(ANN).executions.external.claim(made.id, "far")
    assert len(claimed.datasets) == 1
    over = await finished_execution(store, pipeline, b"fuel\ngas\n")
    assert await read_content(store.files, output_key(over)) == b"y\r\n5\r\n"


@on_sqlite
async def test_what_was_out_of_sight_stays_so_when_it_is_deleted(store: Store) -> None:
    session = await create_groups(store)
    hidden = await calculation(store, "hidden", ":n * 4711", EU)
    within = await calculation(store, "quadruple", "#hidden(:n)", EU)
    await session.calculations.writing.grant(within.id, USA)
    keeping = replace(CALLING, rows=RowKeeping(key=("y",)))
    pipeline = await pipeline_in(store, name="Calling", transformer=keeping)
    await finished_execution(store, pipeline, b"x\n2\n")
    claimable = await ready_execution(store, pipeline, b"x\n1\n")
    reader, everybody = store.open_session(ANN), store.open_session(SUPER)
    (row, *_) = await read_rows(store, pipeline)
    for deleted in (None, hidden, within):
        if deleted is not None:
            await session.calculations.deleting.delete(deleted.id, force=True)
        with pytest.raises(NotPermitted, match="reach what you do not see"):
            await reader.executions.explaining.one(row)
        with pytest.raises(NotPermitted, match="reach what you do not see"):
            await reader.executions.external.claim(claimable.id, "far")
        explained = await everybody.executions.explaining.one(row)
        assert explained.outputs[0].formula == "#quadruple(:x)"


@on_sqlite
async def test_a_frozen_calculation_is_still_called(store: Store) -> None:
    session = await create_groups(store)
    double = await calculation(store, "double", ":n * 2")
    await calculation(store, "quadruple", "#double(#double(:n))")
    pipeline = await pipeline_in(store, name="Calling", transformer=CALLING)
    await session.calculations.writing.update(double.id, 1, {"state": State.FROZEN})
    over = await finished_execution(store, pipeline, b"x\n1\n")
    assert await read_content(store.files, output_key(over)) == b"y\r\n4\r\n"


@on_sqlite
async def test_what_is_disabled_later_changes_nothing(store: Store) -> None:
    session = await create_groups(store)
    double = await calculation(store, "double", ":n * 2")
    await calculation(store, "quadruple", "#double(#double(:n))")
    made = await ready_execution(
        store, await pipeline_in(store, name="Calling", transformer=CALLING), b"x\n1\n"
    )
    await session.calculations.writing.update(double.id, 1, {"state": State.DISABLED})
    await store.execution_worker("w").run_all()
    assert (await current_execution(store, made)).state == "success"


@on_sqlite
async def test_a_plan_without_calls_pins_nothing(store: Store) -> None:
    await create_groups(store)
    made = await begin_execution(store, await pipeline_in(store))
    assert made.pins == ()
    plan = await find_plan(store.table, made.id)
    assert plan is not None
    assert plan.calls == ()
