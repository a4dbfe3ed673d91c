"""The numbers of a group's executions in each state, counted in the rows of their lists."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.executions.lists.group_listing import (
    GroupExecutions,
    GroupScan,
    ListGroupExecutions,
    Source,
)
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.executions.removal import find_deleted_pipelines
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.merged_pages import QueryRange
from penstock.datastore.table.port import Query

MOST_COUNTED: Final = 20_000
"""The executions of one state that are counted at most."""


@dataclass(frozen=True, slots=True)
class StateCount:
    """The executions in one state; there may be more unless it `is_complete`."""

    state: ExecutionState
    count: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class CountExecutions:
    """The counts of a group's executions for the caller."""

    access: Access

    async def by_state(self, listed: GroupExecutions) -> list[StateCount]:
        """Count executions of groups by their state: `pk = EL:<group>:<state>`, each row once.

        The request is that of a list by creation without tags. Counting ends at MOST_COUNTED of a
        state, and at the cost budget of a page. Those of pipelines that are being deleted, which no
        list has, do not count. Raises as the list does.
        """
        table = MeteredTable(self.access.table)
        sources = await ListGroupExecutions(self.access).find_sources(listed, table)
        states = [state for states in listed.stages() for state in states]
        if listed.created.is_empty:
            return [StateCount(state, 0, is_complete=True) for state in states]
        self.access.payments.promise_calls(1 + len(states) * len(sources))
        deleted = await find_deleted_pipelines(table)
        scan = GroupScan(table, listed, descending=False, deleted=deleted)
        return [await self._count(table, scan, state, sources) for state in states]

    async def _count(
        self, table: MeteredTable, scan: GroupScan, state: ExecutionState, sources: Sequence[Source]
    ) -> StateCount:
        found = 0
        for source in sources:
            lane = scan.lane(source, state)
            query: Query | None = replace(lane.query, consistent=False)
            while query is not None:
                if table.units.rcu >= self.access.budget.units:
                    return StateCount(state, found, is_complete=False)
                count, query = await _count_page(table, lane, query)
                # Others may be of pipelines that the caller does not see.
                self.access.payments.note_rows(count)
                found += count
                if found > MOST_COUNTED:
                    return StateCount(state, MOST_COUNTED, is_complete=False)
        return StateCount(state, found, is_complete=True)


async def _count_page(
    table: MeteredTable, lane: QueryRange, query: Query
) -> tuple[int, Query | None]:
    """Count the wanted rows of a page; return the query of the next one, if there is one."""
    page = await table.query(query)
    wanted = len(page.items) if lane.keep is None else sum(map(lane.keep, page.items))
    return wanted, None if page.last is None else replace(query, after=page.last)
