"""Lists of the executions of groups: their cost, and their answers amid writes and lag."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from penstock.datastore.access.access import Budget
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.listed_rows import list_items
from penstock.datastore.executions.lists.group_listing import ExecutionOrder, GroupExecutions
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rows import execution_item
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Operation, Page, Put, Query, Table
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    begin_execution,
    pipeline_in,
    plant_pipeline,
    put_file,
)
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    Watch,
    on_sqlite,
    walk,
    with_many_upload_places,
)
from tests.support.stores import open_table
from tests.support.table_interceptors import InterceptedTable, LaggingTable, TracedTable

CANCELLED, FAILED, SUCCESS, WAITING = (
    ExecutionState.CANCELLED,
    ExecutionState.FAILED,
    ExecutionState.SUCCESS,
    ExecutionState.WAITING,
)
IN_USA = GroupExecutions(group=USA)


async def plant(
    store: Store, sample: Execution, state: ExecutionState, count: int
) -> list[Execution]:
    """Write executions like the sample, newest last, with their rows in lists and nothing else."""
    moment = store.clock.now()
    made = [
        structs.replace(
            sample,
            id=store.clock.new_id(),
            state=state,
            finished_at=iso_timestamp(moment + timedelta(seconds=n)) if state.is_over else None,
        )
        for n in range(count)
    ]
    rows = [row for one in made for row in (execution_item(one), *list_items(one).values())]
    for start in range(0, len(rows), 25):
        await store.table.write([Put(row) for row in rows[start : start + 25]])
    return made


async def page_costs(store: Store, listed: GroupExecutions) -> list[tuple[float, int]]:
    """The units and calls of the first three pages of 20, which are full."""
    after, costs = None, []
    for _ in range(3):
        session = store.open_session(SUPER)
        page = await session.executions.of_groups.page(listed, Window(size=20, after=after))
        assert (len(page.entries), page.more) == (20, True)
        after = page.reached
        costs.append((session.units.rcu, session.units.calls))
    return costs


@on_sqlite
@pytest.mark.parametrize(
    ("listed", "costs"),
    [
        (IN_USA, (34, 15)),
        (replace(IN_USA, order=ExecutionOrder.OLDEST_FIRST), (34, 15)),
        (replace(IN_USA, order=ExecutionOrder.ENDED_LAST), (30, 11)),
        (replace(IN_USA, states=frozenset({FAILED})), (26, 7)),
        (replace(IN_USA, include_child_groups=True), (47.5, 30)),
    ],
    ids=["newest", "oldest", "ended", "failed", "with groups below"],
)
async def test_a_page_costs_the_same_however_many_lie_around_it(
    store: Store, pipeline: Pipeline, listed: GroupExecutions, costs: tuple[float, int]
) -> None:
    sample = await begin_execution(store, pipeline)
    foreign = await begin_execution(store, await pipeline_in(store, EU, "foreign"), SUPER)
    await plant(store, sample, FAILED, 70)
    before = await page_costs(store, listed)
    await plant(store, foreign, WAITING, 100)
    await plant(store, foreign, FAILED, 100)
    other = SUCCESS if listed.states else FAILED
    await plant(store, sample, other, 1_000)
    assert await page_costs(store, listed) == before == [costs] * 3


@on_sqlite
async def test_ten_thousand_executions_in_a_group_page_in_constant_units(
    store: Store, pipeline: Pipeline
) -> None:
    sample = await begin_execution(store, pipeline)
    made = [*await plant(store, sample, SUCCESS, 9_000), *await plant(store, sample, WAITING, 999)]
    costs, found, after, more = set(), [sample.id], None, True
    listed = replace(IN_USA, order=ExecutionOrder.OLDEST_FIRST)
    while more:
        session = store.open_session(SUPER)
        page = await session.executions.of_groups.page(listed, Window(size=100, after=after))
        found += [one.id for _, one in page.entries]
        # The last page is shorter.
        if page.more:
            costs.add((session.units.rcu, session.units.calls))
        after, more = page.reached, page.more
    assert found[1:] == [sample.id, *(one.id for one in made)]
    # The list of waiting executions is read beside the other one until that ends.
    assert costs == {(119, 15), (116, 15)}


@on_sqlite
async def test_a_page_looks_for_a_rare_creator_until_its_units_are_spent(
    store: Store, pipeline: Pipeline
) -> None:
    rare = await begin_execution(store, pipeline, SUPER)
    await plant(store, await begin_execution(store, pipeline), WAITING, 2_000)
    asked = replace(IN_USA, created_by="super")
    found = {}
    for units in (50, 500):
        bounded = replace(store, list_budget=Budget(units=units))
        session = bounded.open_session(SUPER)
        page = await session.executions.of_groups.page(asked, Window(size=1))
        found[units] = [one.id for _, one in page.entries], page.more
        assert session.units.rcu <= 2 * units
    assert found == {50: ([], True), 500: ([rare.id], False)}


async def test_a_page_takes_few_round_trips(store: Store, pipeline: Pipeline) -> None:
    for _ in range(3):
        await begin_execution(store, pipeline)
    for states, trips in ((frozenset({WAITING}), 5), (frozenset[ExecutionState](), 7)):
        traced = TracedTable(store.table)
        session = Store(traced).open_session(SUPER)
        page = await session.executions.of_groups.page(
            replace(IN_USA, states=states), Window(size=2)
        )
        assert len(page.entries) == 2
        assert traced.depth == trips


class ListWrites(InterceptedTable):
    """Counts the units of writes of rows in lists: each takes 2 in a transaction."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.units = 0

    async def transact(self, operations: Sequence[Operation]) -> float:
        in_lists = [one for one in operations if one.key.pk.startswith(("EL:", "EE:"))]
        self.units += 2 * len(in_lists)
        return await self._table.transact(operations)

    def take(self) -> int:
        taken, self.units = self.units, 0
        return taken


async def test_the_lists_cost_sixteen_units_of_an_executions_life(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    table = ListWrites(store.table)
    counted = with_many_upload_places(replace(store, table=table))
    await begin_execution(counted, pipeline)
    table.take()
    made = await begin_execution(counted, pipeline)
    spent = {"created": table.take()}
    await put_file(store.files, ingest_key(made), INPUT)
    await counted.open_session(ANN).executions.uploads.confirm(made.id)
    spent["ready"] = table.take()
    external = counted.open_session(ANN).executions.external
    claimed = await external.claim(made.id, "w")
    spent["claimed"] = table.take()
    await external.heartbeat(made.id, claimed.execution.fence, RowCounts())
    spent["at work"] = table.take()
    await external.fail(made.id, claimed.execution.fence, "WORKER_FAILED", "It broke.")
    spent["ended"] = table.take()
    watch.move(timedelta(days=31))
    await counted.finish_deletes()
    spent["removed"] = table.take()
    assert spent == {"created": 2, "ready": 0, "claimed": 4, "at work": 0, "ended": 6, "removed": 4}


class MovingTable(InterceptedTable):
    """A table on which an execution is cancelled once the list of waiting ones was read."""

    def __init__(self, table: Table, store: Store, execution: Execution) -> None:
        super().__init__(table)
        self.store, self.execution = store, execution
        self.is_moved = False

    async def query(self, query: Query) -> Page:
        page = await self._table.query(query)
        if query.partition.startswith("EL:/usa:waiting") and not self.is_moved:
            self.is_moved = True
            await self.store.open_session(ANN).executions.changing.cancel(self.execution.id)
        return page


async def test_an_execution_that_moves_during_a_read_is_listed_once(
    store: Store, pipeline: Pipeline
) -> None:
    made = [await begin_execution(store, pipeline) for _ in range(3)]
    for size in (1, 2, 10):
        moved = await begin_execution(store, pipeline)
        made.append(moved)
        table = MovingTable(store.table, store, moved)
        listing = Store(table).open_session(SUPER).executions.of_groups
        found = await walk(partial(listing.page, IN_USA), size)
        assert [one.id for one in found] == [one.id for one in made[::-1]]
        assert table.is_moved


async def test_lists_behind_a_lagging_table_are_exact(store: Store, tmp_path: Path) -> None:
    async with open_table("sqlite", tmp_path) as replica:
        lagging = Store(LaggingTable(store.table, replica), files=store.files, clock=store.clock)
        pipeline = await plant_pipeline(lagging)
        below = await pipeline_in(lagging, NORTHWEST, "below")
        made = [await begin_execution(lagging, each, SUPER) for each in (pipeline, below) * 2]
        await lagging.open_session(SUPER).executions.changing.cancel(made[1].id)
        writing = lagging.open_session(SUPER).pipelines.writing
        await writing.grant(below.id, EU)

        async def ids(listed: GroupExecutions) -> list[str]:
            listing = lagging.open_session(SUPER).executions.of_groups
            return [one.id for one in await walk(lambda window: listing.page(listed, window))]

        assert await ids(IN_USA) == [made[2].id, made[0].id]
        assert await ids(GroupExecutions(group=EU)) == [made[3].id, made[1].id]
        waiting = GroupExecutions(group=EU, states=frozenset({WAITING}))
        assert await ids(waiting) == [made[3].id]
        await writing.revoke(below.id, EU)
        assert await ids(GroupExecutions(group=EU)) == []
