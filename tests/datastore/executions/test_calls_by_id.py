"""An execution runs what its formulas were saved with, or is refused when it is created."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import output_key
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import Calculation, Parameter, Pipeline
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, PIPELINE
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.lookup_pipelines import factor_calculation, lookup_transformer
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    finished_execution,
    pipeline_in,
    read_content,
)
from tests.datastore.executions.test_pinned_calculations import CALLING, NUMBER, calculation
from tests.datastore.resources.test_calculation_refs import CountedReads
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import forget_references
from tests.support.sample_resources import (
    EU,
    USA,
    Watch,
    create_groups,
    on_sqlite,
    with_many_upload_places,
)

Change = Callable[[Session, Calculation], Awaitable[object]]


async def rename(session: Session, one: Calculation, name: str = "a new name") -> None:
    await session.calculations.writing.update(one.id, one.version, {"name": name})


async def remove(session: Session, one: Calculation) -> None:
    await session.calculations.deleting.delete(one.id, force=True)


async def add_parameter(session: Session, one: Calculation) -> None:
    more = (*one.parameters, Parameter(index=1, key="m", type=NUMBER, required=True))
    changes = {"parameters": more, "formula": f"{one.formula} + :m"}
    await session.calculations.writing.update(one.id, one.version, changes)


async def calling_pipeline(store: Store) -> tuple[list[Calculation], Pipeline]:
    """The calculations `double` and `quadruple`, which calls it, and a pipeline that calls that."""
    await create_groups(store)
    double = await calculation(store, "double", ":n * 2")
    quadruple = await calculation(store, "quadruple", "#double(#double(:n))")
    return [double, quadruple], await pipeline_in(store, name="Calling", transformer=CALLING)


async def outputs(store: Store, pipeline: Pipeline) -> bytes | None:
    over = await finished_execution(store, pipeline, b"x\n1\n")
    assert over.state == "success"
    return await read_content(store.files, output_key(over))


@pytest.mark.parametrize(
    ("depth", "change", "code", "said"),
    [
        (1, remove, "UNKNOWN_CALCULATION", "no calculation #quadruple can be seen from here"),
        (1, add_parameter, "WRONG_ARITY", "#quadruple does not take 1 argument"),
        (0, remove, "INVALID_CALCULATION", "no calculation #double can be seen from here"),
        (0, add_parameter, "INVALID_CALCULATION", "#double does not take 1 argument"),
    ],
)
async def test_a_call_that_no_longer_fits_is_refused_when_an_execution_is_created(
    store: Store, depth: int, change: Change, code: str, said: str
) -> None:
    called, pipeline = await calling_pipeline(store)
    session = store.open_session(ANN)
    await change(session, called[depth])
    before = await contents(store.table)
    inline = session.executions.inline.run(ExecutionRequest(pipeline_id=pipeline.id), [{"x": 1}])
    for begin in (begin_execution(store, pipeline), inline):
        with pytest.raises(Invalid) as refused:
            await begin
        (problem,) = refused.value.problems
        assert (problem.path, problem.code) == (["pipelineId"], code)
        assert problem.message.startswith("transform 0, line 1, column 1: ")
        assert said in problem.message
    assert await contents(store.table) == before


@pytest.mark.parametrize("depth", [0, 1])
async def test_a_name_that_another_takes_still_means_what_it_was_saved_for(
    store: Store, depth: int
) -> None:
    called, pipeline = await calling_pipeline(store)
    old = called[depth]
    await rename(store.open_session(ANN), old)
    await calculation(store, old.name, ":n * 1000")
    assert await outputs(store, pipeline) == b"y\r\n4\r\n"
    made = await begin_execution(store, pipeline)
    assert {(pin.id, pin.version) for pin in made.pins} == {
        (one.id, 1 + (one is old)) for one in called
    }


@pytest.mark.parametrize("depth", [0, 1])
async def test_another_that_took_the_name_of_a_deleted_one_is_never_called(
    store: Store, depth: int
) -> None:
    called, pipeline = await calling_pipeline(store)
    old = called[depth]
    await remove(store.open_session(ANN), old)
    await calculation(store, old.name, ":n * 1000")
    before = await contents(store.table)
    with pytest.raises(Invalid, match=f"no calculation #{old.name} can be seen"):
        await begin_execution(store, pipeline)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_dataset_keeps_its_meaning_under_another_name(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    await factor_calculation(store, "LOOKUP('fuels', :f) * 10")
    formula = "LOOKUP('fuels', :fuel) + #factor(:fuel)"
    pipeline = await pipeline_in(store, transformer=lookup_transformer(formula))
    await session.datasets.writing.update(fuels.id, 1, {"name": "former fuels"})
    await lookup_dataset(session, USA, "fuels", gas="1000")
    over = await finished_execution(store, pipeline, b"fuel\ngas\n")
    assert await read_content(store.files, output_key(over)) == b"y\r\n22\r\n"
    await session.datasets.deleting.delete(fuels.id, force=True)
    with pytest.raises(Invalid, match="there is no dataset 'fuels'") as refused:
        await begin_execution(store, pipeline)
    assert [problem.code for problem in refused.value.problems] == ["UNKNOWN_DATASET"] * 2


@on_sqlite
async def test_a_calculation_that_was_revoked_is_not_called_by_its_id(store: Store) -> None:
    session = await create_groups(store)
    far = await calculation(store, "quadruple", ":n * 4", EU)
    await session.calculations.writing.grant(far.id, USA)
    pipeline = await pipeline_in(store, name="Calling", transformer=CALLING)
    assert await outputs(store, pipeline) == b"y\r\n4\r\n"
    await session.calculations.writing.revoke(far.id, USA)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await begin_execution(store, pipeline)
    assert [problem.code for problem in refused.value.problems] == ["UNKNOWN_CALCULATION"]
    assert await contents(store.table) == before


async def test_rows_of_earlier_releases_are_resolved_by_name_until_they_are_saved(
    store: Store,
) -> None:
    (double, quadruple), pipeline = await calling_pipeline(store)
    await forget_references(store.table, PIPELINE, pipeline)
    await forget_references(store.table, CALCULATION, quadruple)
    assert await outputs(store, pipeline) == b"y\r\n4\r\n"
    session = store.open_session(ANN)
    saved = await session.calculations.writing.update(quadruple.id, 1, {"description": "saved"})
    assert [one.id for one in saved.references] == [double.id]
    await rename(session, double)
    await calculation(store, "double", ":n * 1000")
    assert await outputs(store, pipeline) == b"y\r\n4\r\n"
    await rename(session, saved, "renamed again")
    await calculation(store, "quadruple", ":n * 7")
    assert await outputs(store, pipeline) == b"y\r\n7\r\n"
    assert await faults(store.table) == []


@on_sqlite
async def test_each_level_of_calls_takes_one_read(
    store: Store, files: LocalFiles, watch: Watch
) -> None:
    _, pipeline = await calling_pipeline(store)
    plain = await pipeline_in(store, name="Plain")
    counted: Any = CountedReads(store.table)
    over_counted = with_many_upload_places(Store(counted, clock=Clock(watch), files=files))
    await begin_execution(over_counted, plain)
    without_calls = counted.count
    counted.count = 0
    await begin_execution(over_counted, pipeline)
    assert counted.count == without_calls + 2
    await forget_references(store.table, PIPELINE, pipeline)
    watch.move(timedelta(seconds=1))
    counted.count = 0
    await begin_execution(over_counted, pipeline)
    assert counted.count == without_calls + 3
