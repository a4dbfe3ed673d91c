"""Datasets are pinned when an execution begins, and looked up as pinned."""

from base64 import urlsafe_b64decode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import IllegalState, Invalid, LimitExceeded
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import errors_key, ingest_key, output_key
from penstock.datastore.executions.records import Execution, Pin
from penstock.datastore.records import State
from penstock.datastore.resources.dataset_prefetch import MAX_DATASETS, MAX_FIELDS
from penstock.datastore.store import Store
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.table.port import Update
from penstock.transform.outcome import RowCounts
from tests.datastore.datasets.sample_datasets import lookup_dataset, update_dataset
from tests.datastore.executions.lookup_pipelines import (
    factor_calculation,
    lookup_pipeline,
    lookup_transformer,
)
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    begin_execution,
    copied_message,
    current_execution,
    finished_execution,
    pipeline_in,
    put_file,
    read_content,
    ready_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    Watch,
    create_groups,
    on_sqlite,
)

INPUT = b"fuel\ngas\noil\nair\n"
OUTPUT = b"y\r\n27.5\r\n44\r\n"
ERRORS = (
    b"row,column,code,message,fuel\r\n"
    b'3,y,NULL_OPERAND,"in the formula, line 1, column 1: expected a number, found null",air\r\n'
)
PROBLEM = "line 1, column 1: there is no dataset 'fuels'"


async def run_to_end(store: Store, made: Execution, data: bytes = INPUT) -> Execution:
    await put_file(store.files, ingest_key(made), data)
    await store.confirm_uploads()
    assert await store.execution_worker("w").run_all() == 1
    return await current_execution(store, made)


async def dataset_of(store: Store, made: Execution, place: int = -1) -> Any:
    return await store.open_session(SUPER).datasets.reading.one(made.pins[place].id)


async def test_formulas_look_values_up_as_an_evaluation_does(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    over = await finished_execution(store, pipeline, INPUT)
    assert (over.state, over.code, over.counts.failed) == ("success", None, 1)
    assert await read_content(store.files, output_key(over)) == OUTPUT
    assert await read_content(store.files, errors_key(over)) == ERRORS
    fuels = await dataset_of(store, over)
    assert [pin.kind for pin in over.pins] == ["C", "D"]
    assert over.pins[1] == Pin(kind="D", id=fuels.id, version=1, name="fuels")
    assert await faults(store.table) == []


async def test_rows_of_a_request_are_looked_up_alike(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    session = store.open_session(ANN)
    rows = [{"fuel": "gas"}, {"fuel": "oil"}, {"fuel": "air"}]
    over = await session.executions.inline.run(ExecutionRequest(pipeline_id=pipeline.id), rows)
    assert (over.state, [pin.kind for pin in over.pins]) == ("success", ["C", "D"])
    answers = await session.executions.inline_output.one(over)
    assert answers is not None
    assert [str(row["y"]) for row in answers.rows] == ["27.5", "44"]
    assert [problem.row for problem in answers.problems] == [3]


@on_sqlite
async def test_a_later_version_changes_nothing_for_what_was_begun(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    made = await begin_execution(store, pipeline)
    await update_dataset(
        store.open_session(SUPER), await dataset_of(store, made), gas="100", oil="200"
    )
    over = await run_to_end(store, made)
    assert await read_content(store.files, output_key(over)) == OUTPUT
    after = await finished_execution(store, pipeline, INPUT)
    assert (after.pins[1].version, after.message) == (2, None)
    assert await read_content(store.files, output_key(after)) == b"y\r\n1100\r\n2200\r\n"


@on_sqlite
async def test_the_same_data_is_not_looked_up_twice(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    first = await finished_execution(store, pipeline, INPUT)
    second = await begin_execution(store, pipeline)
    await store.open_session(SUPER).datasets.deleting.delete(second.pins[1].id, force=True)
    over = await run_to_end(store, second)
    assert (over.state, over.message) == ("success", copied_message(first.id))
    assert await read_content(store.files, output_key(over)) == OUTPUT


@on_sqlite
async def test_a_dataset_that_is_deleted_ends_what_was_begun_with_a_code(store: Store) -> None:
    made = await begin_execution(store, await lookup_pipeline(store))
    await store.open_session(SUPER).datasets.deleting.delete(made.pins[1].id, force=True)
    over = await run_to_end(store, made)
    assert (over.state, over.code) == ("failed", "DATASET_GONE")
    assert over.message == "The reference dataset 'fuels' was deleted."
    assert await read_content(store.files, output_key(over)) is None
    assert await faults(store.table) == []


@on_sqlite
async def test_a_dataset_that_only_a_calculation_looks_up_is_not_named(store: Store) -> None:
    session = await create_groups(store)
    await lookup_dataset(session, USA, "fuels", gas="2.5")
    await factor_calculation(store, "IMPACT('fuels', :f, 'v')")
    pipeline = await pipeline_in(store, transformer=lookup_transformer("#factor(:fuel)"))
    first, second = [await begin_execution(store, pipeline) for _ in range(2)]
    await store.files.delete(key_of_file(await dataset_of(store, first)))
    over = await run_to_end(store, first)
    assert (over.state, over.code) == ("failed", "DATASET_GONE")
    assert over.message == (
        "The file of version 1 of the reference dataset of a calculation is missing."
    )
    await session.datasets.deleting.delete(first.pins[1].id, force=True)
    over = await run_to_end(store, second)
    assert (over.state, over.code) == ("failed", "DATASET_GONE")
    assert over.message == "The reference dataset of a calculation was deleted."
    assert await faults(store.table) == []


@on_sqlite
async def test_a_file_that_is_gone_ends_it_likewise(store: Store) -> None:
    made = await begin_execution(store, await lookup_pipeline(store))
    await store.files.delete(key_of_file(await dataset_of(store, made)))
    over = await run_to_end(store, made)
    assert (over.state, over.code) == ("failed", "DATASET_GONE")
    assert over.message == "The file of version 1 of the reference dataset 'fuels' is missing."


@pytest.mark.parametrize("wrong", [b"k,v\ngas,9.9\noil,4\n", b"k,v\ngas,9\n"])
async def test_a_file_that_the_store_gives_wrongly_once_is_read_again(
    store: Store, watch: Watch, wrong: bytes
) -> None:
    made = await begin_execution(store, await lookup_pipeline(store))
    key = key_of_file(await dataset_of(store, made))
    right = await read_content(store.files, key)
    assert right is not None
    await put_file(store.files, key, wrong)
    waiting = await run_to_end(store, made)
    assert (waiting.state, waiting.attempts) == ("in_progress", 1)
    assert waiting.message == (
        "The last attempt failed: The file of version 1 of 'fuels' is damaged."
    )
    await put_file(store.files, key, right)
    watch.move(timedelta(seconds=3))
    assert await store.execution_worker("w").run_one()
    over = await current_execution(store, made)
    assert (over.state, over.attempts) == ("success", 2)
    assert await read_content(store.files, output_key(over)) == OUTPUT


@on_sqlite
async def test_what_the_owner_group_does_not_see_is_no_dataset(store: Store) -> None:
    session = await create_groups(store)
    await lookup_dataset(session, EU, "fuels", gas="1")
    await lookup_dataset(session, NORTHWEST, "fuels", gas="1")
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await pipeline_in(store, transformer=lookup_transformer("1", "LOOKUP('fuels', :fuel)"))
    (problem,) = refused.value.problems
    assert problem.path == ["transformer", "transforms", "1", "formula"]
    assert (problem.code, problem.message) == ("UNKNOWN_DATASET", PROBLEM)
    assert (problem.line, problem.column) == (1, 1)
    assert problem.excerpt == "LOOKUP('fuels', :fuel)\n^"
    assert await contents(store.table) == before


@on_sqlite
async def test_what_a_calculation_names_in_vain_is_told_at_its_call(store: Store) -> None:
    await create_groups(store)
    await factor_calculation(store, "LOOKUP('fuels', :f)")
    with pytest.raises(Invalid) as refused:
        await pipeline_in(store, transformer=lookup_transformer("1 + #factor(:fuel)"))
    (problem,) = refused.value.problems
    assert (problem.code, problem.column) == ("UNKNOWN_DATASET", 5)
    assert problem.message.endswith("#factor cannot be used: there is no dataset 'fuels'")


@on_sqlite
async def test_nothing_begins_with_a_dataset_that_is_gone_by_now(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    session = store.open_session(SUPER)
    fuels = await session.datasets.reading.by_name("fuels", USA)
    await session.datasets.deleting.delete(fuels.id, force=True)
    before = await contents(store.table)
    for begin in (
        begin_execution(store, pipeline),
        session.executions.inline.run(ExecutionRequest(pipeline_id=pipeline.id), [{"fuel": "gas"}]),
    ):
        with pytest.raises(Invalid) as refused:
            await begin
        first, second = refused.value.problems
        assert (first.path, first.code) == (["pipelineId"], "UNKNOWN_DATASET")
        assert first.message == f"transform 0, {PROBLEM}"
        assert second.message.endswith("#factor cannot be used: there is no dataset 'fuels'")
    assert await contents(store.table) == before


@on_sqlite
async def test_nothing_begins_with_a_dataset_that_is_disabled(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    session = store.open_session(SUPER)
    fuels = await session.datasets.reading.by_name("fuels", USA)
    await session.datasets.writing.update(fuels.id, 1, {"state": State.DISABLED})
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="'fuels' is disabled"):
        await begin_execution(store, pipeline)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_disabled_dataset_out_of_sight_is_not_named(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    session = store.open_session(SUPER)
    await session.pipelines.writing.grant(pipeline.id, EU)
    fuels = await session.datasets.reading.by_name("fuels", USA)
    changes = {"state": State.DISABLED, "name": "the merger"}
    await session.datasets.writing.update(fuels.id, 1, changes)
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="The reference dataset 'the merger' is disabled"):
        await begin_execution(store, pipeline)
    with pytest.raises(IllegalState, match="The reference dataset out of sight is disabled"):
        await begin_execution(store, pipeline, EVE)
    assert await contents(store.table) == before


@on_sqlite
async def test_too_many_and_too_large_datasets_are_refused(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    session = store.open_session(SUPER)
    many = [f"LOOKUP('t{n}', :fuel)" for n in range(MAX_DATASETS + 1)]
    with pytest.raises(LimitExceeded) as refused:
        await pipeline_in(store, name="Many", transformer=lookup_transformer(*many))
    assert (refused.value.maximum, refused.value.actual) == (MAX_DATASETS, MAX_DATASETS + 1)
    fuels = await session.datasets.reading.by_name("fuels", USA)
    large = msgspec.to_builtins(msgspec.structs.replace(fuels.content, row_count=MAX_FIELDS))
    key = REFERENCE_DATASET.latest.key(id=fuels.id)
    content = {**large, "columns": [*large["columns"]]}
    await store.table.transact([Update(key=key, set={"content": content})])
    with pytest.raises(LimitExceeded, match="fields of the datasets"):
        await begin_execution(store, pipeline)


@on_sqlite
async def test_versions_are_pinned_as_formulas_name_them(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="1")
    await update_dataset(session, fuels, gas="2")
    named = lookup_transformer("LOOKUP('fuels', :fuel, version=1) * 10 + LOOKUP('fuels', :fuel)")
    over = await finished_execution(
        store, await pipeline_in(store, transformer=named), b"fuel\ngas\n"
    )
    assert [(pin.id, pin.version) for pin in over.pins] == [(fuels.id, 1), (fuels.id, 2)]
    assert await read_content(store.files, output_key(over)) == b"y\r\n12\r\n"


@on_sqlite
async def test_a_name_that_a_row_makes_up_is_one_that_is_written_out(store: Store) -> None:
    session = await create_groups(store)
    for name in ("t1", "t2"):
        await lookup_dataset(session, USA, name, gas="7")
    named = lookup_transformer("LOOKUP(:fuel, 'gas') + 0 * LOOKUP('t1', 'gas')")
    over = await finished_execution(
        store, await pipeline_in(store, transformer=named), b"fuel\nt1\nt2\n"
    )
    assert await read_content(store.files, output_key(over)) == b"y\r\n7\r\n"
    wrong = await read_content(store.files, errors_key(over)) or b""
    assert b"2,y,UNKNOWN_DATASET," in wrong


@on_sqlite
async def test_a_worker_elsewhere_is_told_of_the_datasets(store: Store) -> None:
    made = await ready_execution(store, await lookup_pipeline(store), INPUT)
    fuels = await dataset_of(store, made)
    claimed = await store.open_session(SUPER).executions.external.claim(made.id, "far")
    identity = f"{fuels.id}:1"
    factor = f"{made.pins[0].id}:1"
    named = [(one["within"], one["name"], one["identity"]) for one in claimed.plan["datasets"]]
    assert named == [(None, "fuels", identity), (factor, "fuels", identity)]
    (told,) = claimed.datasets
    assert (told.identity, told.content) == (identity, fuels.content)
    grant = urlsafe_b64decode(told.download.url.rpartition("/")[2].partition(".")[0] + "==")
    assert f'"datasets/{fuels.id}/{fuels.content.file}.csv"'.encode() in grant
    assert told.content.checksum == sha256(b"k,v\ngas,2.5\noil,4\n").hexdigest()


@on_sqlite
async def test_a_worker_elsewhere_is_told_that_a_dataset_is_gone(store: Store) -> None:
    made = await ready_execution(store, await lookup_pipeline(store), INPUT)
    await store.open_session(SUPER).datasets.deleting.delete(made.pins[1].id, force=True)
    with pytest.raises(IllegalState) as refused:
        await store.open_session(SUPER).executions.external.claim(made.id, "far")
    assert refused.value.state == "FAILED"
    over = await current_execution(store, made)
    assert (over.state, over.code, over.counts) == ("failed", "DATASET_GONE", RowCounts())


@on_sqlite
async def test_a_worker_reads_each_dataset_once(store: Store) -> None:
    pipeline = await lookup_pipeline(store)
    store = replace(store, dataset_cache=DatasetTableCache())
    for line in (b"gas", b"oil"):
        await finished_execution(store, pipeline, b"fuel\n" + line + b"\n")
    assert len(store.dataset_cache) == 1


@on_sqlite
async def test_without_a_place_for_files_no_dataset_is_looked_for(store: Store) -> None:
    bare = Store(store.table, clock=store.clock)
    await create_groups(bare)
    made = await pipeline_in(bare, transformer=lookup_transformer("LOOKUP('fuels', :fuel)"))
    assert made.version == 1
