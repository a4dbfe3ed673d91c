"""What the formulas call is pinned with them."""

from datastore.executions.keys import ingest_key, output_key
from datastore.executions.reading import find_plan
from datastore.executions.records import Pin
from datastore.records import (
    Calculation,
    Output,
    Parameter,
    Transform,
    Transformer,
    ValueType,
)
from datastore.store import Store
from tests.datastore.world import SUPER, USA, grow, on_sqlite
from tests.executions.world import begun, content, done, now, pipeline_in, put

NUMBER = ValueType.NUMBER
CALLING = Transformer(
    parameters=(Parameter(index=0, key="x", type=NUMBER, required=True),),
    transforms=(
        Transform(
            index=0, formula="#quadruple(:x)", outputs=(Output(index=0, key="y", type=NUMBER),)
        ),
    ),
)


async def calculation(store: Store, name: str, formula: str) -> Calculation:
    fields = {
        "name": name,
        "tags": (),
        "formula": formula,
        "parameters": (Parameter(index=0, key="n", type=NUMBER, required=True),),
        "outputs": (Output(index=0, type=NUMBER),),
    }
    return await store.seen_by(SUPER).calculations.writing.create(USA, fields, None)


@on_sqlite
async def test_calculations_are_pinned_however_deep_they_are_called(store: Store) -> None:
    await grow(store)
    double = await calculation(store, "double", ":n * 2")
    quadruple = await calculation(store, "quadruple", "#double(#double(:n))")
    pipeline = await pipeline_in(store, name="Calling", transformer=CALLING)
    made = await begun(store, pipeline)
    assert made.pins == (
        Pin(kind="C", id=double.id, version=1, name="double"),
        Pin(kind="C", id=quadruple.id, version=1, name="quadruple"),
    )
    view = store.seen_by(SUPER)
    await view.calculations.writing.update(double.id, 1, {"formula": ":n * 3"})
    await put(store.files, ingest_key(made), b"x\n1\n")
    await store.look_for_uploads()
    await store.runner("w").run_all()
    assert await content(store.files, output_key(made)) == b"y\r\n4\r\n"
    after = await done(store, pipeline, b"x\n1\n")
    assert after.pins[0].version == 2
    assert after.message is None
    assert await content(store.files, output_key(after)) == b"y\r\n9\r\n"


@on_sqlite
async def test_a_calculation_that_is_deleted_is_still_pinned(store: Store) -> None:
    await grow(store)
    await calculation(store, "double", ":n * 2")
    quadruple = await calculation(store, "quadruple", "#double(#double(:n))")
    made = await begun(store, await pipeline_in(store, name="Calling", transformer=CALLING))
    await store.seen_by(SUPER).calculations.deleting.delete(quadruple.id)
    await put(store.files, ingest_key(made), b"x\n2\n")
    await store.look_for_uploads()
    await store.runner("w").run_all()
    assert (await now(store, made)).state == "success"
    assert await content(store.files, output_key(made)) == b"y\r\n8\r\n"


@on_sqlite
async def test_a_plan_without_calls_pins_nothing(store: Store) -> None:
    await grow(store)
    made = await begun(store, await pipeline_in(store))
    assert made.pins == ()
    plan = await find_plan(store.table, made.id)
    assert plan is not None
    assert plan.calls == ()
