"""The access patterns of executions, one test for each row."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.clock import Clock, wall_clock
from penstock.datastore.errors import IllegalState
from penstock.datastore.executions.attempts import AttemptOutcome
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import (
    FileKind,
    errors_key,
    ingest_key,
    output_key,
    staged_key,
)
from penstock.datastore.executions.lists.group_listing import (
    ExecutionOrder,
    GroupExecutions,
    TimeSpan,
)
from penstock.datastore.executions.lists.listing import ExecutionFilter, first_id
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import FileStatus
from penstock.datastore.records import Pipeline
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    INPUT,
    OUTPUT,
    begin_execution,
    event_history,
    finished_execution,
    plant_pipeline,
    put_file,
    read_content,
    ready_execution,
)
from tests.datastore.kept_rows.plants import keep_plants, read_rows, read_sum, run_file
from tests.support.sample_resources import USA, Watch, tags

COUNTS = RowCounts(3, 2, 1, 43, 121)


@pytest.fixture
async def world(any_store: Store, tmp_path: Path) -> AsyncIterator[Store]:
    files = await LocalFiles.open(tmp_path / "files", base_url="http://x", key=b"k" * 32)
    yield replace(any_store, files=files)
    await files.close()


@pytest.fixture
async def pipeline(world: Store) -> Pipeline:
    return await plant_pipeline(world)


def anns(world: Store) -> Session:
    return world.open_session(ANN)


async def ids(session: Session, pipeline: Pipeline, **more: object) -> list[str]:
    listed = ExecutionFilter(**more)  # type: ignore[arg-type]
    page = await session.executions.listing.page(pipeline, listed, Window())
    return [id for id, _ in page.entries]


async def ids_of_group(world: Store, **more: object) -> list[str]:
    listed = GroupExecutions(group=USA, **more)  # type: ignore[arg-type]
    page = await anns(world).executions.of_groups.page(listed, Window())
    return [one.id for _, one in page.entries]


async def test_begin_an_execution(world: Store, pipeline: Pipeline) -> None:
    """begin an execution"""
    made = await begin_execution(world, pipeline, tags=tags("a=b"))
    assert (made.state, made.pipeline_version, made.tags) == ("waiting", 1, tags("a=b"))


async def test_list_pipeline_executions(world: Store, pipeline: Pipeline) -> None:
    """list pipeline executions"""
    made = [(await begin_execution(world, pipeline)).id for _ in range(3)]
    assert await ids(anns(world), pipeline) == made[::-1]
    assert await ids(anns(world), pipeline, newest_first=False) == made


async def test_list_executions_by_state_and_time(world: Store, pipeline: Pipeline) -> None:
    """list executions by state and time"""
    waiting, over = (
        await begin_execution(world, pipeline),
        await finished_execution(world, pipeline),
    )
    success = frozenset({ExecutionState.SUCCESS})
    assert await ids(anns(world), pipeline, states=success) == [over.id]
    now = wall_clock()
    assert await ids(anns(world), pipeline, until=now - timedelta(hours=1)) == []
    assert await ids(anns(world), pipeline, since=now - timedelta(hours=1)) == [over.id, waiting.id]
    assert first_id(now) > over.id[:13]


async def test_list_the_executions_of_a_group(world: Store, pipeline: Pipeline) -> None:
    """list the executions of a group"""
    waiting, over = (
        await begin_execution(world, pipeline),
        await finished_execution(world, pipeline),
    )
    success = frozenset({ExecutionState.SUCCESS})
    assert await ids_of_group(world) == [over.id, waiting.id]
    assert await ids_of_group(world, order=ExecutionOrder.OLDEST_FIRST) == [waiting.id, over.id]
    assert await ids_of_group(world, states=success) == [over.id]
    assert await ids_of_group(world, created_by="ann", tags=TagFilter(all=tags("a=b"))) == []


async def test_count_the_executions_of_a_group_by_state(world: Store, pipeline: Pipeline) -> None:
    """count the executions of a group by state"""
    waiting = [await begin_execution(world, pipeline) for _ in range(3)]
    await finished_execution(world, pipeline)
    counting = anns(world).executions.counting

    async def counts(**listed: Any) -> dict[str, int]:
        found = await counting.by_state(GroupExecutions(group=USA, **listed))
        assert all(one.is_complete for one in found)
        return {one.state.value: one.count for one in found if one.count}

    assert await counts() == {"waiting": 3, "success": 1}
    assert await counts(states=frozenset({ExecutionState.WAITING})) == {"waiting": 3}
    assert await counts(pipeline=pipeline.id) == {"waiting": 3, "success": 1}
    since = datetime.fromisoformat(waiting[1].created_at)
    assert (await counts(created=TimeSpan(since)))["success"] == 1
    later = since + timedelta(days=1)
    assert await counts(created=TimeSpan(later)) == {}


async def test_list_the_executions_of_a_group_by_their_end(
    world: Store, pipeline: Pipeline
) -> None:
    """list the executions of a group by their end"""
    watch = Watch()
    clocked = replace(world, clock=Clock(watch))
    late, early = [await begin_execution(clocked, pipeline) for _ in range(2)]
    for one in (early, late):
        watch.move(timedelta(seconds=1))
        await anns(clocked).executions.changing.cancel(one.id)
    assert await ids_of_group(world, order=ExecutionOrder.ENDED_LAST) == [late.id, early.id]


async def test_list_executions_by_tags(world: Store, pipeline: Pipeline) -> None:
    """list executions by tags"""
    both = await begin_execution(world, pipeline, tags=tags("a=b/c", "x=1"))
    one = await begin_execution(world, pipeline, tags=tags("a=b"))
    wanted = TagFilter(all=tags("a=b", "x=1"))
    assert await ids(anns(world), pipeline, tags=wanted) == [both.id]
    assert await ids(anns(world), pipeline, tags=TagFilter(none=tags("x=1"))) == [one.id]


async def test_list_the_tag_keys_of_executions(world: Store, pipeline: Pipeline) -> None:
    """list the tag keys of executions"""
    for text in ("a=b/c", "a=b"):
        await begin_execution(world, pipeline, tags=tags(text))
    found = await anns(world).executions.tags.keys_of([pipeline.id], Window())
    assert [(key.key, key.count) for _, key in found.entries] == [("a", 2)]


async def test_list_the_tag_values_of_executions(world: Store, pipeline: Pipeline) -> None:
    """list the tag values of executions"""
    for text in ("a=b/c", "a=b"):
        await begin_execution(world, pipeline, tags=tags(text))
    listed = anns(world).executions.tags
    top = await listed.values_of([pipeline.id], "a", None, Window())
    assert [(one.value, one.count, one.has_children) for _, one in top.entries] == [("b", 2, True)]
    below = await listed.values_of([pipeline.id], "a", "b", Window())
    assert [(one.value, one.count) for _, one in below.entries] == [("b/c", 1)]


async def test_get_a_specific_pipeline_execution(world: Store, pipeline: Pipeline) -> None:
    """get a specific pipeline execution"""
    made = await begin_execution(world, pipeline)
    session = anns(world)
    assert await session.executions.reading.many([made.id]) == [made]
    assert session.units.calls == 2


async def test_follow_the_history_of_an_execution(world: Store, pipeline: Pipeline) -> None:
    """follow the history of an execution"""
    over = await finished_execution(world, pipeline)
    assert [happening for happening, _, _ in await event_history(anns(world), over)] == [
        "created",
        "uploaded",
        "claimed",
        "succeeded",
    ]


async def test_learn_that_an_input_was_uploaded(world: Store, pipeline: Pipeline) -> None:
    """learn that an input was uploaded"""
    made = await begin_execution(world, pipeline)
    with pytest.raises(IllegalState):
        await anns(world).executions.uploads.confirm(made.id)
    await put_file(world.files, ingest_key(made), INPUT)
    confirmed = await anns(world).executions.uploads.confirm(made.id)
    assert confirmed.ready_at is not None


async def test_run_rows_that_come_with_the_request(world: Store, pipeline: Pipeline) -> None:
    """run rows that come with the request"""
    over = await anns(world).executions.inline.run(
        ExecutionRequest(pipeline_id=pipeline.id), [{"distance": 12.5, "fuel": "gas"}]
    )
    assert over.state is ExecutionState.SUCCESS
    assert await read_content(world.files, output_key(over)) == b"return,co2\r\n25,6.25\r\n"


async def test_run_rows_through_a_pipeline_and_store_nothing(
    world: Store, pipeline: Pipeline
) -> None:
    """run rows through a pipeline and store nothing"""
    ran = await anns(world).executions.dry_runs.run_saved(
        pipeline.id, [{"distance": 12.5, "fuel": "gas"}]
    )
    assert ran.version == 1
    assert ran.output.rows == ({"return": Decimal(25), "co2": Decimal("6.25")},)


async def test_claim_an_execution(world: Store, pipeline: Pipeline) -> None:
    """claim an execution"""
    made = await ready_execution(world, pipeline)
    claimed = await anns(world).executions.external.claim(made.id, "far")
    assert (claimed.execution.fence, claimed.execution.worker) == (1, "ann: far")
    assert claimed.plan["steps"][0]["formula"] == ":distance * 2"
    with pytest.raises(IllegalState):
        await anns(world).executions.external.claim(made.id, "other")


async def test_give_a_sign_of_life(world: Store, pipeline: Pipeline) -> None:
    """give a sign of life"""
    external = anns(world).executions.external
    made = await ready_execution(world, pipeline)
    await external.claim(made.id, "far")
    assert (await external.heartbeat(made.id, 1, COUNTS)).counts == COUNTS
    with pytest.raises(IllegalState, match="Another worker took it over"):
        await external.heartbeat(made.id, 2, COUNTS)


async def test_place_of_an_execution_in_the_queue(world: Store, pipeline: Pipeline) -> None:
    """place of an execution in the queue"""
    made = await ready_execution(world, pipeline)
    session = anns(world)
    assert await session.executions.queue_position(made) == 0
    assert session.units.calls == 8
    waiting = await begin_execution(world, pipeline)
    assert await session.executions.queue_position(waiting) is None


async def test_attempts_at_an_execution(world: Store, pipeline: Pipeline) -> None:
    """attempts at an execution"""
    over = await finished_execution(world, pipeline)
    session = anns(world)
    (attempt,) = await session.executions.attempts(over)
    assert (attempt.worker, attempt.outcome) == ("w", AttemptOutcome.SUCCEEDED)
    assert session.units.calls == 1


async def test_end_an_execution(world: Store, pipeline: Pipeline) -> None:
    """end an execution"""
    external = anns(world).executions.external
    made = await ready_execution(world, pipeline)
    await external.claim(made.id, "far")
    with pytest.raises(IllegalState, match=r"output\.txt was not uploaded yet"):
        await external.complete(made.id, 1, COUNTS)
    await put_file(world.files, staged_key(output_key(made), 1), OUTPUT)
    await put_file(world.files, staged_key(errors_key(made), 1), ERRORS)
    after = await external.complete(made.id, 1, COUNTS)
    assert (after.state, after.counts) == ("success", COUNTS)
    with pytest.raises(IllegalState):
        await external.fail(made.id, 1, "WORKER_FAILED", "too late")


async def test_cancel_an_execution(world: Store, pipeline: Pipeline) -> None:
    """cancel an execution"""
    made = await begin_execution(world, pipeline)
    assert (await anns(world).executions.changing.cancel(made.id)).state == "cancelled"


async def test_try_an_execution_again(world: Store, pipeline: Pipeline) -> None:
    """try an execution again"""
    failed = await finished_execution(world, pipeline, b"nonsense\n")
    assert (await anns(world).executions.changing.retry(failed.id)).state == "waiting"


async def test_get_a_url_of_an_output(world: Store, pipeline: Pipeline) -> None:
    """get a URL of an output"""
    downloads = anns(world).executions.downloads
    waits, over = await begin_execution(world, pipeline), await finished_execution(world, pipeline)
    assert (await downloads.one(waits, FileKind.OUTPUT)).status is FileStatus.NOT_READY
    found = await downloads.one(over, FileKind.OUTPUT)
    assert (found.status, found.size) == (FileStatus.READY, len(OUTPUT))
    assert found.download is not None
    await world.files.delete(output_key(over))
    assert (await downloads.one(over, FileKind.OUTPUT)).status is FileStatus.GONE
    assert (await downloads.one(over, FileKind.ERRORS)).status is FileStatus.READY


async def keeper_of(world: Store) -> Pipeline:
    """A pipeline whose rows are kept, a with 1 and b with 2."""
    kept = await keep_plants(world)
    await run_file(world, kept, a=1, b=2)
    return kept


async def test_list_the_rows_that_a_pipeline_keeps(world: Store, pipeline: Pipeline) -> None:
    """list the rows that a pipeline keeps"""
    kept, session = await keeper_of(world), anns(world)
    page = await session.kept_rows.page(kept, RowFilter(), Window())
    assert [row.key for _, row in page.entries] == [("a",), ("b",)]
    assert session.units.calls == 1


async def test_sum_the_rows_that_a_pipeline_keeps(world: Store, pipeline: Pipeline) -> None:
    """sum the rows that a pipeline keeps"""
    assert await read_sum(world, await keeper_of(world)) == "3"


async def test_list_the_versions_of_kept_rows(world: Store, pipeline: Pipeline) -> None:
    """list the versions of kept rows"""
    kept, session = await keeper_of(world), anns(world)
    await run_file(world, kept, b=7)
    one, other = await read_rows(world, kept)
    found = await session.kept_rows.many_versions([(kept.id, one.digest), (kept.id, other.digest)])
    assert [[row.commit for row in each] for each in found] == [[1], [2, 1]]
    assert session.units.calls == 1


async def test_withdraw_kept_rows(world: Store, pipeline: Pipeline) -> None:
    """withdraw kept rows"""
    kept, session = await keeper_of(world), anns(world)
    assert await session.row_withdrawals.by_keys(kept, [["a"]], "a broken meter") == 1
    assert session.units.calls == 5
    assert await read_sum(world, kept) == "2"


async def test_explain_a_kept_row(world: Store, pipeline: Pipeline) -> None:
    """explain a kept row, or a row of an output in hand"""
    kept = await keep_plants(world)
    await finished_execution(world, kept, b"KWH;plant\n\nnone;x\n\n1;a\r\n2;b\n")
    _, row = await read_rows(world, kept)
    found = await anns(world).executions.explaining.one(row)
    assert (found.input.number, found.input.entries) == (5, {"plant": "b", "kwh": "2"})
    assert [(one.key, one.explained.text) for one in found.outputs] == [
        ("plant", "b"),
        ("kwh", "2"),
    ]
