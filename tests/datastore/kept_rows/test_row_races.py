"""A row that comes while an execution ends is not replaced if its group is out of reach."""

from dataclasses import replace as copy
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.replaced_rows import ReplacedRows
from penstock.datastore.records import Pipeline, RowKeeping
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    current_execution,
    pipeline_in,
    put_file,
    read_content,
    ready_execution,
)
from tests.datastore.kept_rows.plants import PLANTS, plant_file, read_rows
from tests.support.sample_resources import SUPER, Watch, create_groups

EAST, WEST = GroupPath("/usa/east"), GroupPath("/usa/west")
EASTERN = Caller("eva", {EAST: Role.CONTRIBUTOR})
WESTERN = Caller("wes", {WEST: Role.CONTRIBUTOR})


@pytest.fixture
async def by_group(store: Store, pipeline: Pipeline) -> Pipeline:
    """A pipeline whose rows belong to the group that their second output names."""
    await create_groups(store, EAST, WEST)
    group = replace(PLANTS.parameters[1], key="kwh", type=PLANTS.parameters[0].type)
    step = PLANTS.transforms[1]
    output = replace(step.outputs[0], type=PLANTS.parameters[0].type)
    transformer = replace(
        PLANTS,
        parameters=(PLANTS.parameters[0], group),
        transforms=(PLANTS.transforms[0], replace(step, outputs=(output,))),
        rows=RowKeeping(key=("plant",), group="kwh"),
    )
    return await pipeline_in(store, name="By group", transformer=transformer)


async def test_the_check_is_made_again_when_another_commit_comes_first(
    store: Store, by_group: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = await ready_execution(store, by_group, plant_file([("a", EAST)]), who=EASTERN)
    other = await ready_execution(store, by_group, plant_file([("a", WEST)]), who=WESTERN)
    check, checked = ReplacedRows.require_reach, []

    async def check_and_let_another_come_first(*arguments: Any) -> int | None:
        found = await check(*arguments)
        checked.append(found)
        if len(checked) == 1:
            await store.execution_worker("second").run_one()
        return found

    monkeypatch.setattr(ReplacedRows, "require_reach", check_and_let_another_come_first)
    await store.execution_worker("first").run_one()
    ended = [await current_execution(store, one) for one in (ready, other)]
    assert sorted(one.state for one in ended) == [ExecutionState.FAILED, ExecutionState.SUCCESS]
    (lost,) = [one for one in ended if one.state is ExecutionState.FAILED]
    (won,) = [one for one in ended if one.state is ExecutionState.SUCCESS]
    assert lost.code == "ROW_OUT_OF_REACH"
    (row,) = await read_rows(store, by_group, SUPER)
    assert row.execution_id == won.id


async def test_a_file_of_rows_that_comes_wrong_once_is_read_again(
    store: Store, by_group: Pipeline, watch: Watch
) -> None:
    made = await ready_execution(store, by_group, plant_file([("a", EAST)]), who=EASTERN)
    assert await store.execution_worker("w").run_one()
    (part,) = await read_parts(store.table, by_group.id)
    right = await read_content(store.files, part.file)
    assert right is not None
    again = await ready_execution(store, by_group, plant_file([("b", EAST)]), who=EASTERN)
    fresh = copy(store, part_files=PartFiles(RowsEngine()))
    for wrong in (right[::-1], right + b"1"):
        await put_file(store.files, part.file, wrong)
        assert await fresh.execution_worker("w").run_one()
        waiting = await current_execution(store, again)
        assert waiting.state is ExecutionState.IN_PROGRESS
        assert waiting.message == "The last attempt failed: These rows cannot be read so."
        watch.move(timedelta(seconds=5))
    await put_file(store.files, part.file, right)
    assert await fresh.execution_worker("w").run_one()
    for one in (made, again):
        assert (await current_execution(store, one)).state is ExecutionState.SUCCESS
    assert (await current_execution(store, again)).attempts == 3


async def test_rows_of_merged_files_are_not_replaced_from_out_of_reach(
    store: Store, by_group: Pipeline
) -> None:
    for plant in ("a", "b"):
        await ready_execution(store, by_group, plant_file([(plant, EAST)]), who=EASTERN)
    await store.execution_worker("first").run_all()
    merger = PartMerger(store._system_access(), store.part_files, least=2)
    assert await merger.merge(by_group.id) == 1
    refused = await ready_execution(store, by_group, plant_file([("a", WEST)]), who=WESTERN)
    taken = await ready_execution(store, by_group, plant_file([("c", WEST)]), who=WESTERN)
    await store.execution_worker("second").run_all()
    ended = [(await current_execution(store, one)).state for one in (refused, taken)]
    assert ended == [ExecutionState.FAILED, ExecutionState.SUCCESS]
