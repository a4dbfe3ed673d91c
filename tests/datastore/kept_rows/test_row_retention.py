"""Rows leave some days after the commit that made them; who reads a past with them learns so."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import duckdb
import msgspec
import pytest

from penstock.datastore.errors import SnapshotGone
from penstock.datastore.executions import row_retention
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.external_table import ExternalEngine, write_statements
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.merged_files import read_merged_files
from penstock.datastore.kept_rows.part_files import copy_parts
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.part_list import pipelines_to_merge, read_head, read_parts
from penstock.datastore.kept_rows.write_part import PartWriter, WrittenFile
from penstock.datastore.records import Output, Parameter, Pipeline, RowKeeping, Transform, ValueType
from penstock.datastore.store import Store
from penstock.datastore.table.layout import ROWS_HEAD, ROWS_LIMIT
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import ANN, finished_execution, pipeline_in
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.datastore.kept_rows.plants import PLANTS, SUM, read_kwh, read_rows, read_sum, run_file
from tests.support.consistency_check import faults
from tests.support.sample_resources import SUPER, Watch, create_groups, on_sqlite
from tests.support.table_interceptors import ProcessDied

DAY = timedelta(days=1)
HOURS = timedelta(hours=2)
READ_HEAD = f"{row_retention.__name__}.read_head"
KEPT_DAYS = 30
LIMITED = msgspec.structs.replace(PLANTS, rows=RowKeeping(key=("plant",), keep_days=KEPT_DAYS))
TIMED = msgspec.structs.replace(
    PLANTS,
    parameters=(*PLANTS.parameters, Parameter(index=2, key="at", type=ValueType.STRING)),
    transforms=(
        *PLANTS.transforms,
        Transform(
            index=2,
            formula="AS_TIMESTAMP(:at, 'yyyy-MM-dd')",
            outputs=(Output(index=0, key="at", type=ValueType.TIMESTAMP),),
        ),
    ),
    rows=RowKeeping(key=("plant",), time="at", keep_days=KEPT_DAYS),
)


@pytest.fixture
async def pipeline(store: Store) -> Pipeline:
    await create_groups(store)
    return await pipeline_in(store, name="Plants", transformer=LIMITED)


async def withdraw(store: Store, pipeline: Pipeline, key: str) -> None:
    await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [[key]], "wrong")


async def keep_each_day(
    store: Store, pipeline: Pipeline, watch: Watch, days: int
) -> list[datetime]:
    """Keep a row of its own and one that is corrected each day; return the time of each commit."""
    times = []
    for n in range(days):
        await run_file(store, pipeline, same=n, **{f"p{n}": 1})
        times.append(watch())
        watch.move(DAY)
    return times


async def commits(store: Store, pipeline: Pipeline) -> list[int]:
    return [part.commit for part in await read_parts(store.table, pipeline.id)]


async def test_rows_leave_with_their_files_and_executions_when_their_days_are_over(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    first = await run_file(store, pipeline, a=1, b=2)
    watch.move(DAY)
    await run_file(store, pipeline, b=3)
    await withdraw(store, pipeline, "b")
    watch.move(10 * DAY)
    last = await run_file(store, pipeline, c=5)
    watch.move(19 * DAY)
    assert await store.drop_old_rows() == 1
    assert await store.drop_old_rows() == 0
    assert await read_kwh(store, pipeline) == {"c": "5"}
    assert await commits(store, pipeline) == [2, 3, 4]
    # Whoever read the list before can finish.
    assert len(await store.files.list(rows_folder(pipeline.id))) == 4
    assert await find_execution(store.table, first.id) is not None
    watch.move(HOURS)
    await store.sweep_files()
    await store.finish_deletes()
    assert await find_execution(store.table, first.id) is None
    assert len(await store.files.list(rows_folder(pipeline.id))) == 3
    watch.move(DAY)
    assert await store.drop_old_rows() == 2
    watch.move(HOURS)
    await store.sweep_files()
    await store.finish_deletes()
    (part,) = await read_parts(store.table, pipeline.id)
    assert (part.commit, part.execution) == (4, last.id)
    assert await store.files.list(rows_folder(pipeline.id)) == (part.file,)
    assert await read_sum(store, pipeline) == "5"
    assert await faults(store.table) == []


async def test_rows_go_on_after_all_that_were_there_have_left(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await run_file(store, pipeline, a=1)
    watch.move(31 * DAY)
    assert await store.drop_old_rows() == 1
    assert await read_kwh(store, pipeline) == {}
    await run_file(store, pipeline, a=7, b=1)
    await withdraw(store, pipeline, "b")
    assert await read_kwh(store, pipeline) == {"a": "7"}
    assert await commits(store, pipeline) == [2, 3]
    (row,) = await read_rows(store, pipeline)
    (versions,) = await store.open_session(ANN).kept_rows.many_versions([(pipeline.id, row.digest)])
    assert [one.commit for one in versions] == [2]
    head = await read_head(store.table, pipeline.id)
    assert (head.commits, head.gone, head.gone_until) == (3, 1, None)
    watch.move(HOURS)
    await store.sweep_files()
    assert await faults(store.table) == []


async def test_a_history_is_without_the_withdrawal_of_a_version_that_left(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    first = await run_file(store, pipeline, a=1)
    watch.move(DAY)
    await withdraw(store, pipeline, "a")
    second = await run_file(store, pipeline, a=2)

    async def history() -> list[tuple[str, bool]]:
        (row,) = await read_rows(store, pipeline)
        rows = store.open_session(ANN).kept_rows
        (versions,) = await rows.many_versions([(pipeline.id, row.digest)])
        return [(one.execution_id, one.withdrawn) for one in versions]

    assert await history() == [(second.id, False), (first.id, True), (first.id, False)]
    watch.move(29 * DAY)
    assert await store.drop_old_rows() == 1
    assert await commits(store, pipeline) == [2, 3]
    assert await history() == [(second.id, False)]
    assert await read_kwh(store, pipeline) == {"a": "2"}


async def test_a_past_with_rows_that_left_is_refused_and_the_one_since_is_exact(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    times = await keep_each_day(store, pipeline, watch, 3)
    watch.move(28 * DAY)
    before = await read_kwh(store, pipeline, as_at=times[2])
    assert await store.drop_old_rows() == 2
    left = watch()
    rows = store.open_session(ANN).kept_rows
    for at in (times[0] - DAY, *times, left - timedelta(milliseconds=1)):
        with pytest.raises(SnapshotGone):
            await rows.page(pipeline, RowFilter(as_at=at), Window())
        with pytest.raises(SnapshotGone):
            await rows.totals(pipeline, RowFilter(as_at=at), SUM, Window())
    assert before == {"same": "2", "p0": "1", "p1": "1", "p2": "1"}
    assert await read_kwh(store, pipeline) == {"same": "2", "p2": "1"}
    watch.move(HOURS)
    await run_file(store, pipeline, same=9)
    assert await read_kwh(store, pipeline, as_at=left) == {"same": "2", "p2": "1"}
    assert await read_sum(store, pipeline, as_at=left) == "3"
    assert await read_sum(store, pipeline) == "10"


async def test_a_past_is_shown_as_far_as_its_rows_are_later_than_all_that_left(
    store: Store, watch: Watch
) -> None:
    await create_groups(store)
    pipeline = await pipeline_in(store, name="Plants", transformer=TIMED)
    moments = [datetime(2022, month, 1, tzinfo=UTC) for month in (1, 2, 3)]

    async def run(*rows: tuple[str, int, datetime]) -> datetime:
        lines = [f"{plant},{kwh},{at:%Y-%m-%d}" for plant, kwh, at in rows]
        data = "\n".join(["plant,kwh,at", *lines, ""]).encode()
        assert (await finished_execution(store, pipeline, data)).state == "success"
        watch.move(12 * DAY)
        return watch() - DAY

    await run(("a", 1, moments[0]), ("b", 2, moments[1]))
    at = await run(("b", 3, moments[2]), ("c", 5, moments[2]))
    await run(("c", 6, moments[2]))
    since: dict[str, Any] = {"as_at": at, "start": moments[1] + timedelta(milliseconds=1)}
    before = await read_kwh(store, pipeline, **since)
    assert before == {"b": "3", "c": "5"}
    assert await store.drop_old_rows() == 1
    assert await read_kwh(store, pipeline, **since) == before
    assert await read_sum(store, pipeline, **since) == "8"
    assert await read_sum(store, pipeline) == "9"
    for start in (None, moments[0], moments[1]):
        with pytest.raises(SnapshotGone):
            await read_sum(store, pipeline, as_at=at, start=start)


async def test_the_next_page_is_refused_when_rows_have_left_since_the_first(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await run_file(store, pipeline, a=1)
    watch.move(DAY)
    await run_file(store, pipeline, b=2, c=3)
    by_plant, one = replace(SUM, by=("plant",)), partial(Window, size=1)

    async def next_pages(row_cursor: str | None, total_cursor: str | None) -> list[str]:
        rows = store.open_session(ANN).kept_rows
        page = await rows.page(pipeline, RowFilter(), one(after=row_cursor))
        totals = await rows.totals(pipeline, RowFilter(), by_plant, one(after=total_cursor))
        return [page.reached or "", totals.reached or ""]

    cursors = await next_pages(None, None)
    assert [one.split(":")[::2] for one in cursors] == [["2", "1"], ["2", "1"]]
    earlier = [one.rpartition(":")[0] for one in cursors]  # as the last release wrote them
    assert await next_pages(*earlier) == await next_pages(*cursors)
    watch.move(29 * DAY)
    assert await store.drop_old_rows() == 1
    for row_cursor, total_cursor in (cursors, earlier):
        with pytest.raises(SnapshotGone):
            await next_pages(row_cursor, None)
        with pytest.raises(SnapshotGone):
            await next_pages(None, total_cursor)
    assert [row.key[0] for row in await read_rows(store, pipeline, size=1)] == ["b", "c"]


@on_sqlite
async def test_wherever_the_sweep_dies_rows_leave_once_and_nothing_is_left(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_retention, "AT_ONCE", 2)
    made = [await run_file(store, pipeline, same=n, **{f"p{n}": n}) for n in range(5)]
    await withdraw(store, pipeline, "p4")
    watch.move(20 * DAY)
    await run_file(store, pipeline, new=1)
    watch.move(11 * DAY)
    deaths = 0
    for calls in range(60):
        mortal = mortal_store(store, calls)
        try:
            await mortal.drop_old_rows()
            await mortal.finish_deletes()
            await mortal.sweep_files()
            watch.move(HOURS)
            await mortal.finish_deletes()
            await mortal.sweep_files()
            break
        except ProcessDied:
            deaths += 1
        numbers = await commits(store, pipeline)
        assert numbers == list(range(numbers[0], 8))
        assert (await read_head(store.table, pipeline.id)).gone == numbers[0] - 1
        assert (await read_kwh(store, pipeline))["new"] == "1"
    assert deaths >= 4
    watch.move(HOURS)
    await store.finish_deletes()
    await store.sweep_files()
    assert await read_kwh(store, pipeline) == {"new": "1"}
    assert [await find_execution(store.table, one.id) for one in made] == [None] * 5
    (part,) = await read_parts(store.table, pipeline.id)
    assert await store.files.list(rows_folder(pipeline.id)) == (part.file,)
    assert await faults(store.table) == []


async def test_some_commits_of_a_merged_file_leave_and_its_bytes_with_the_last(
    store: Store, pipeline: Pipeline, watch: Watch, tmp_path: Any
) -> None:
    await keep_each_day(store, pipeline, watch, 4)
    merger = PartMerger(store._system_access(), store.part_files, least=2)
    assert await merger.merge(pipeline.id) == 3
    watch.move(28 * DAY)
    await run_file(store, pipeline, late=1)
    assert await store.drop_old_rows() == 3
    held = {"same": "3", "p3": "1", "late": "1"}
    assert await read_kwh(store, pipeline) == held
    watch.move(HOURS)
    await store.sweep_files()
    await store.finish_deletes()
    assert await read_kwh(store, pipeline) == held
    parts = await read_parts(store.table, pipeline.id)
    await copy_parts(store.files, parts, tmp_path)
    sql = write_statements(ExternalEngine.DUCKDB, "plants", str(tmp_path), pipeline.id, parts)
    with duckdb.connect(":memory:") as connection:
        connection.execute(sql)
        assert dict(connection.sql("SELECT plant, kwh FROM plants_latest").fetchall()) == held
    assert await merger.merge(pipeline.id) == 1
    assert await read_kwh(store, pipeline) == held
    watch.move(31 * DAY)
    assert await store.drop_old_rows() == 2
    watch.move(HOURS)
    await store.sweep_files()
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await faults(store.table) == []


async def test_nothing_leaves_once_the_pipeline_keeps_rows_for_longer(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1)
    watch.move(31 * DAY)
    writing = store.open_session(SUPER).pipelines.writing
    longer = msgspec.structs.replace(LIMITED, rows=RowKeeping(key=("plant",), keep_days=60))

    async def read_while_it_is_changed(*given: Any) -> Any:
        await writing.update(pipeline.id, 1, {"transformer": longer})
        monkeypatch.setattr(READ_HEAD, read_head)
        return await read_head(*given)

    monkeypatch.setattr(READ_HEAD, read_while_it_is_changed)
    assert await store.drop_old_rows() == 0
    assert await read_kwh(store, pipeline) == {"a": "1"}
    watch.move(28 * DAY)
    assert await store.drop_old_rows() == 0
    await writing.update(pipeline.id, 2, {"transformer": PLANTS})
    watch.move(400 * DAY)
    assert await store.drop_old_rows() == 0
    assert await read_kwh(store, pipeline) == {"a": "1"}
    assert await faults(store.table) == []


async def test_rows_leave_while_others_come_are_merged_and_withdrawn(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep_each_day(store, pipeline, watch, 4)
    watch.move(28 * DAY)
    merger = PartMerger(store._system_access(), store.part_files, least=2)
    turns: Sequence[Any] = [
        lambda: run_file(store, pipeline, late=1),
        lambda: merger.merge(pipeline.id),
        lambda: withdraw(store, pipeline, "p3"),
        store.drop_old_rows,
    ]
    left = iter(turns)

    async def read_while_others_write(*given: Any) -> Any:
        head = await read_head(*given)
        turn = next(left, None)
        if turn is not None:
            await turn()
        return head

    monkeypatch.setattr(READ_HEAD, read_while_others_write)
    dropped = [await store.drop_old_rows() for _ in turns]
    assert sum(dropped) in (0, 3)
    assert await commits(store, pipeline) == [4, 5, *([6] if not dropped[0] else [])]
    assert "p0" not in await read_kwh(store, pipeline)
    watch.move(HOURS)
    await store.sweep_files()
    await store.finish_deletes()
    assert await faults(store.table) == []


async def test_a_pipeline_whose_rows_have_left_is_deleted_without_a_trace(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await keep_each_day(store, pipeline, watch, 2)
    watch.move(30 * DAY)
    assert await store.drop_old_rows() == 2
    assert await pipelines_to_merge(store.table) == []
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    for _ in range(3):
        await store.finish_deletes()
    watch.move(HOURS)
    await store.sweep_files()
    keys = [ROWS_HEAD.key(id=pipeline.id), ROWS_LIMIT.key(id=pipeline.id)]
    assert (await store.table.get(keys, consistent=True)).items == {}
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await store.drop_old_rows() == 0
    assert await faults(store.table) == []


async def test_a_merge_of_commits_that_left_meanwhile_leaves_no_file(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep_each_day(store, pipeline, watch, 4)
    watch.move(31 * DAY)
    write = PartWriter.write_merged

    async def write_while_rows_leave(*given: Any) -> WrittenFile:
        assert await store.drop_old_rows() == 4
        return await write(*given)

    monkeypatch.setattr(PartWriter, "write_merged", write_while_rows_leave)
    merger = PartMerger(store._system_access(), store.part_files, least=2)
    assert await merger.merge(pipeline.id) == 0
    assert await read_merged_files(store.table, pipeline.id) == []
    watch.move(HOURS)
    await store.sweep_files()
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await faults(store.table) == []


async def test_rows_do_not_leave_by_a_list_from_before_a_merge(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep_each_day(store, pipeline, watch, 4)
    watch.move(31 * DAY)
    merger = PartMerger(store._system_access(), store.part_files, least=2)

    async def read_before_a_merge(*given: Any) -> Any:
        found = await read_merged_files(*given)
        monkeypatch.setattr(row_retention, "read_merged_files", read_merged_files)
        assert await merger.merge(pipeline.id) == 3
        return found

    monkeypatch.setattr(row_retention, "read_merged_files", read_before_a_merge)
    assert await store.drop_old_rows() == 0
    assert await commits(store, pipeline) == [1, 2, 3, 4]
    assert await store.drop_old_rows() == 4
    assert await read_merged_files(store.table, pipeline.id) == []
    watch.move(HOURS)
    await store.sweep_files()
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await faults(store.table) == []
