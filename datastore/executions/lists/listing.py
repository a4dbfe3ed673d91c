"""Lists of a pipeline's executions by tags, states and time, in full pages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from penstock.datastore.access.access import Access
from penstock.datastore.executions.create import KIND
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rows import execution_of, key_of_execution
from penstock.datastore.records import Pipeline
from penstock.datastore.resources.reading import term_filter
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.items import Projection, merge_projections, read_all, read_rows
from penstock.datastore.table.keys import split_levels
from penstock.datastore.table.layout import EXECUTION
from penstock.datastore.table.pages import Slice, Window, read_records
from penstock.datastore.table.port import Query, Range
from penstock.datastore.tag_search.posting_streams import PostingStream
from penstock.datastore.tag_search.postings import IndexPostings, ScanParams, TagPostings
from penstock.datastore.tag_search.search import SearchBudget, search
from penstock.datastore.tag_search.tags import TagFilter

INDEX_BATCH = 100

_REQUIRED_FIELDS: Projection = frozenset(("id", "state", "deleted_at"))
"""The fields that the scan itself needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """The filter and order of a list of executions.

    `since` is inclusive and `until` exclusive; no states means any state.
    """

    tags: TagFilter = field(default_factory=TagFilter)
    states: frozenset[ExecutionState] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    newest_first: bool = True


class _ExecutionBatch(NamedTuple):
    """A batch of executions, the id up to which all are decided, and whether more follow.

    They are in the direction of the scan.
    """

    executions: Sequence[Execution]
    examined: str | None
    more: bool


@dataclass(frozen=True, slots=True)
class _PipelinePostings:
    """The postings of one pipeline, which takes the place of the group."""

    travel: ScanParams
    pipeline: str

    def tag(self, key: str, value: str) -> PostingStream:
        return TagPostings(
            self.travel, GroupPath(self.pipeline), key, split_levels(value), constant=True
        )

    def members(self) -> PostingStream:
        listed = EXECUTION.index_partition(pipeline=self.pipeline)
        return IndexPostings(self.travel, listed, EXECUTION.sk.fill({}))


@dataclass(frozen=True, slots=True)
class ListExecutions:
    """The lists of executions for the caller."""

    access: Access

    async def page(
        self,
        pipeline: Pipeline,
        listed: ExecutionFilter,
        window: Window,
        projection: Projection = None,
    ) -> Slice[Execution]:
        """List executions of a pipeline in hand: `siKey1 = P:<pipelineId>`, `pk` from `PE:` on.

        With tags, the rarest tag's `pk = T:<pipelineId>:<key>`, then BatchGet. A page that reaches
        its cost budget ends early. `projection` are the fields that each execution must have.
        """
        listed.tags.check()
        bounds = self.access.budget
        table = MeteredTable(self.access.table)
        descending = listed.newest_first is not window.backward
        walk = _ExecutionScan(
            self.access,
            table,
            pipeline.id,
            listed,
            descending,
            merge_projections(projection, _REQUIRED_FIELDS),
        )
        found: list[Execution] = []
        reached, more = walk.start_id(window.after), True
        for _ in range(bounds.rounds):
            batch = await walk.next_batch(reached, window.size + 1 - len(found))
            found += batch.executions
            reached, more = batch.examined, batch.more
            if len(found) > window.size or not more or table.units.rcu >= bounds.units:
                break
        kept = found[: window.size]
        if len(found) > window.size:
            reached, more = kept[-1].id, True
        entries = [(one.id, one) for one in kept]
        if window.backward:
            entries.reverse()
        return Slice(tuple(entries), more, reached)


@dataclass(frozen=True, slots=True)
class _ExecutionScan:
    """One filtered scan through the executions of a pipeline, in one direction."""

    access: Access
    table: MeteredTable
    pipeline: str
    listed: ExecutionFilter
    descending: bool
    projection: Projection

    def start_id(self, after: str | None) -> str | None:
        """The id after which the scan begins: the cursor, or the near end of the time range."""
        near = self.listed.until if self.descending else self.listed.since
        if near is None:
            return after
        # Behind this id lie exactly those made before `until`, or from `since` on.
        bound = first_id(near) if self.descending else last_id(near - timedelta(milliseconds=1))
        if after is None:
            return bound
        return min(after, bound) if self.descending else max(after, bound)

    async def next_batch(self, after: str | None, need: int) -> _ExecutionBatch:
        tagged = self.listed.tags.restricts
        batch = await (self._by_tags(after, need) if tagged else self._by_index(after, need))
        within = [one for one in batch.executions if not self._is_beyond(one.id)]
        ended = len(within) < len(batch.executions)
        kept = [one for one in within if self._matches(one)]
        return _ExecutionBatch(kept, batch.examined, batch.more and not ended)

    async def _by_index(self, after: str | None, need: int) -> _ExecutionBatch:
        limit = need if not self.listed.states else max(need, INDEX_BATCH)
        query = Query(
            partition=EXECUTION.index_partition(pipeline=self.pipeline),
            index=True,
            range=Range(EXECUTION.pk.prefix({})),
            after=None if after is None else key_of_execution(after),
            descending=self.descending,
            limit=limit,
        )
        read = partial(execution_of, projection=self.projection)
        found = await read_records(self.table, query, read)
        reached = found.records[-1].id if found.records else after
        return _ExecutionBatch(found.records, reached, found.more)

    async def _by_tags(self, after: str | None, need: int) -> _ExecutionBatch:
        bounds = self.access.budget
        travel = ScanParams(self.table, KIND, self.descending)
        found = await search(
            [_PipelinePostings(travel, self.pipeline)],
            term_filter(self.listed.tags),
            after=after,
            limit=need,
            descending=self.descending,
            budget=SearchBudget(
                bounds.rounds, bounds.reads, lambda: self.table.units.rcu >= bounds.units
            ),
        )
        keys = [key_of_execution(id) for id in found.ids]
        rows = await read_rows(self.table, keys)
        read = partial(execution_of, projection=self.projection)
        there = read_all(read, (rows[key] for key in keys if key in rows))
        return _ExecutionBatch(there, found.examined, found.more)

    def _matches(self, one: Execution) -> bool:
        states = self.listed.states
        return one.deleted_at is None and (not states or one.state in states)

    def _is_beyond(self, id: str) -> bool:
        """Whether the id lies after the far end of the time range."""
        far = self.listed.since if self.descending else self.listed.until
        if far is None:
            return False
        return id < first_id(far) if self.descending else id >= first_id(far)


def first_id(moment: datetime) -> str:
    """The smallest id that can be made in this millisecond."""
    return _id_at(moment, 0)


def last_id(moment: datetime) -> str:
    """The greatest id that can be made in this millisecond."""
    return _id_at(moment, -1)


def _id_at(moment: datetime, rest: int) -> str:
    milliseconds = max(0, int(moment.timestamp() * 1000))
    return str(UUID(int=(milliseconds << 80) | (rest & ((1 << 80) - 1))))
