"""The list of the executions of groups: by state, time, pipeline, creator and tags."""

from asyncio import gather
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded, NotFound, blame_field
from penstock.datastore.executions.listed_rows import epoch_milliseconds
from penstock.datastore.executions.lists.listing import first_id
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.groups.repository import Groups
from penstock.datastore.resources.reading import ACCESS_FIELDS, ResourceReader, term_filter
from penstock.datastore.roles import GroupPath, ancestors, covers
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import (
    EXECUTION_ENDED,
    EXECUTION_LISTED,
    PIPELINE,
    SHARED_PIPELINE,
)
from penstock.datastore.table.merged_pages import QueryRange, read_merged_stages
from penstock.datastore.table.pages import Slice, Window, read_existing
from penstock.datastore.table.port import Attributes, Query, Range, Table
from penstock.datastore.tag_search import tags
from penstock.datastore.tag_search.tags import TagFilter
from penstock.datastore.text import unescape

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LAST_MILLISECOND: Final = 9_999_999_999_999
MOST_SHARED: Final = 1_000
"""The most pipelines of other groups that one group's list of executions may have."""
AFTER_ALL_IDS: Final = "~"
"""Sorts behind every id, which has hexadecimal digits and dashes."""

_STAGES: Final = (
    frozenset({ExecutionState.WAITING}),
    frozenset({ExecutionState.IN_PROGRESS}),
    frozenset(state for state in ExecutionState if state.is_over),
)
"""The states in the order in which executions take them."""


class ExecutionOrder(StrEnum):
    """The order of a list of executions: by their creation, or by their end."""

    NEWEST_FIRST = "NEWEST_FIRST"
    OLDEST_FIRST = "OLDEST_FIRST"
    ENDED_LAST = "ENDED_LAST"


class TimeSpan(NamedTuple):
    """A span of time: `since` is inclusive and `until` exclusive; None leaves an end open."""

    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self.since is not None and self.until is not None and self.since >= self.until


ANY_TIME: Final = TimeSpan()


class DurationRange(NamedTuple):
    """Durations in seconds from one to another, both inclusive; None leaves an end open."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, seconds: float | None) -> bool:
        return seconds is not None and (
            (self.at_least is None or seconds >= self.at_least)
            and (self.at_most is None or seconds <= self.at_most)
        )


ANY_DURATION: Final = DurationRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExecutions:
    """The request for a list of executions; no states means any state.

    With a pipeline the group may be left out.
    In the order ENDED_LAST, and with a span of ends or a range of durations, only executions that
    have ended are listed. Those that never started have no duration.
    """

    group: GroupPath | None = None
    include_child_groups: bool = False
    states: frozenset[ExecutionState] = frozenset()
    pipeline: str | None = None
    tags: TagFilter = field(default_factory=TagFilter)
    created_by: str | None = None
    created: TimeSpan = ANY_TIME
    ended: TimeSpan = ANY_TIME
    duration: DurationRange = ANY_DURATION
    order: ExecutionOrder = ExecutionOrder.NEWEST_FIRST

    @property
    def by_end(self) -> bool:
        return self.order is ExecutionOrder.ENDED_LAST

    @property
    def ended_only(self) -> bool:
        return self.by_end or self.ended != ANY_TIME or self.duration != ANY_DURATION

    def stages(self) -> list[list[ExecutionState]]:
        """The wanted states, in the order in which executions take them."""
        wanted = self.states or frozenset(ExecutionState)
        if self.ended_only:
            wanted = frozenset(state for state in wanted if state.is_over)
        return [sorted(stage & wanted) for stage in _STAGES if stage & wanted]


class Source(NamedTuple):
    """A group whose executions are read: all of them, or those of some of its pipelines."""

    group: GroupPath
    pipelines: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ListGroupExecutions:
    """The lists of the executions of groups for the caller."""

    access: Access

    async def page(self, listed: GroupExecutions, window: Window) -> Slice[Execution]:
        """List executions of groups: `pk = EL:<group>:<state>`, merged by id; then BatchGet.

        By their end: `pk = EE:<group>:<state>`, merged by `sk`. They are those of the pipelines
        that a list of the group's pipelines has. All is read consistently. A search that reaches
        its cost budget ends the page early. Raises NotFound for a group or pipeline that the caller
        does not see.
        """
        listed.tags.check()
        table, limits = MeteredTable(self.access.table), self.access.budget
        sources = await self.find_sources(listed, table)
        if listed.created.is_empty or listed.ended.is_empty:
            return Slice((), more=False, reached=window.after)
        descending = (listed.order is not ExecutionOrder.OLDEST_FIRST) is not window.backward
        scan = GroupScan(table, listed, descending)
        stages = [
            [scan.lane(source, state) for source, state in product(sources, states)]
            for states in listed.stages()
        ]
        lanes = sum(map(len, stages))
        self.access.payments.promise_calls(lanes)
        rounds = max(1, limits.rounds // (lanes or 1))
        return await read_existing(
            window,
            lambda part: read_merged_stages(stages, part, rounds, _linked_id),
            partial(self._load, table, listed),
            lambda: table.units.rcu >= limits.units,
        )

    async def find_sources(self, listed: GroupExecutions, table: Table) -> Sequence[Source]:
        """Find the groups that a list reads; raises as `page`."""
        if listed.pipeline is not None:
            return await self._source_of(listed, listed.pipeline)
        group = self.access.require_visible_group(listed.group)
        await self.access.require_group(group)
        *above, _ = ancestors(group)
        below = await Groups(self.access).subtree(group) if listed.include_child_groups else [group]
        scope = [*above, *below]
        pipelines = defaultdict[GroupPath, set[str]](set)
        for owner, id in await self._all_shared(table, scope):
            pipelines[owner].add(id)
        others = [owner for owner in pipelines if owner not in scope]
        most = self.access.budget.groups
        if len(others) > most:
            raise LimitExceeded("groups in one list", most, len(others), ["group"])
        return [
            *map(Source, scope),
            *(Source(owner, frozenset(pipelines[owner])) for owner in others),
        ]

    async def _source_of(self, listed: GroupExecutions, id: str) -> Sequence[Source]:
        """The owner of one pipeline, if the group's list of pipelines has it."""
        with blame_field("pipeline"):
            pipeline = await ResourceReader(PIPELINE, self.access).one(id)
        if listed.group is not None:
            group = self.access.require_visible_group(listed.group)
            await self.access.require_group(group)
            seen = filter(self.access.caller.sees, pipeline.groups)
            below = listed.include_child_groups
            if not any(covers(one, group) or (below and covers(group, one)) for one in seen):
                return []
        return [Source(pipeline.owner, frozenset((id,)))]

    async def shared_pipelines(self, group: GroupPath, *, below: bool) -> frozenset[str]:
        """Find the pipelines of other groups that the list of a group has; raises as `page`."""
        groups = await Groups(self.access).subtree(group) if below else [group]
        *above, _ = ancestors(group)
        shared = await self._all_shared(self.access.table, [*above, *groups])
        return frozenset(id for _, id in shared)

    async def _all_shared(
        self, table: Table, groups: Sequence[GroupPath]
    ) -> list[tuple[GroupPath, str]]:
        self.access.payments.promise_calls(len(groups))
        found = await gather(*(self._read_shared(table, each) for each in groups))
        return [pair for pairs in found for pair in pairs]

    async def _read_shared(self, table: Table, group: GroupPath) -> list[tuple[GroupPath, str]]:
        """List the pipelines of other groups: `pk = PS:<group>`, with their owners."""
        row = SHARED_PIPELINE
        listed = Query(
            partition=row.pk.fill({"group": group}),
            range=Range(row.sk.prefix({})),
            limit=MOST_SHARED,
            consistent=True,
        )
        page = await table.query(listed)
        if page.last is not None:
            words = "pipelines of other groups in one list"
            raise LimitExceeded(words, MOST_SHARED, MOST_SHARED + 1, ["group"])
        parts = [row.sk.parse(str(item["sk"])) for item in page.items]
        return [(GroupPath(unescape(part["owner"])), part["id"]) for part in parts]

    async def _load(
        self, table: Table, listed: GroupExecutions, ids: Sequence[str]
    ) -> list[Execution | None]:
        """The executions that still match, by their own records; each once."""
        reading = ReadExecutions(replace(self.access, table=table))
        unique = list(dict.fromkeys(ids))
        found = await reading.many_with_pipelines(unique, projection=ACCESS_FIELDS)
        seen = {one.execution.id: one.execution for one in found if not isinstance(one, NotFound)}
        matching = {id: one for id, one in seen.items() if _matches(listed, one)}
        return [matching.pop(id, None) for id in ids]


@dataclass(frozen=True, slots=True)
class GroupScan:
    """A scan of the lists of several groups and states, all in one direction.

    Rows of pipelines that were `deleted` are left out.
    """

    table: Table
    listed: GroupExecutions
    descending: bool
    deleted: frozenset[str] = frozenset()

    def lane(self, source: Source, state: ExecutionState) -> QueryRange:
        row = EXECUTION_ENDED if self.listed.by_end else EXECUTION_LISTED
        query = Query(
            partition=row.pk.fill({"group": source.group, "state": state.value}),
            range=self._ended_range() if self.listed.by_end else self._created_range(),
            descending=self.descending,
            consistent=True,
        )
        is_filtered = source.pipelines is not None or self._filters()
        return QueryRange(self.table, query, partial(self._keeps, source) if is_filtered else None)

    def _created_range(self) -> Range:
        prefix, created = EXECUTION_LISTED.sk.prefix({}), self.listed.created
        if created == ANY_TIME:
            return Range(prefix)
        low = "" if created.since is None else first_id(created.since)
        # No id is the smallest of its millisecond, so this end is exclusive.
        high = AFTER_ALL_IDS if created.until is None else first_id(created.until)
        return Range(prefix, prefix + low, prefix + high)

    def _ended_range(self) -> Range:
        prefix, ended = EXECUTION_ENDED.sk.prefix({}), self.listed.ended
        if ended == ANY_TIME:
            return Range(prefix)
        low = 0 if ended.since is None else _milliseconds(ended.since)
        high = _LAST_MILLISECOND if ended.until is None else _milliseconds(ended.until) - 1
        return Range(prefix, f"{prefix}{low:013}:", f"{prefix}{max(high, 0):013}:{AFTER_ALL_IDS}")

    def _filters(self) -> bool:
        timed = self.listed.created if self.listed.by_end else self.listed.ended
        return bool(self.deleted) or self.listed.created_by is not None or timed != ANY_TIME

    def _keeps(self, source: Source, item: Attributes) -> bool:
        """Whether the row of a list does not rule out its execution."""
        return (
            (source.pipelines is None or item.get("pipelineId") in source.pipelines)
            and item.get("pipelineId") not in self.deleted
            and self.listed.created_by in (None, item.get("createdBy"))
            and _is_created_within(self.listed.created, _linked_id(item))
            and _is_ended_within(self.listed.ended, str(item.get("finishedAt", "")) or None)
        )


def _matches(listed: GroupExecutions, one: Execution) -> bool:
    """Whether the record of an execution matches the request."""
    wanted = term_filter(listed.tags)
    in_state = not listed.states or one.state in listed.states
    ended = _is_ended_within(listed.ended, one.finished_at)
    if listed.duration != ANY_DURATION and not listed.duration.holds(one.duration_seconds):
        return False
    tagged = not wanted.restricts or wanted.matches(tags.tag_map(one.tags))
    return in_state and ended and tagged and (one.state.is_over or not listed.ended_only)


def _is_created_within(span: TimeSpan, id: str) -> bool:
    since, until = span
    return (since is None or id >= first_id(since)) and (until is None or id < first_id(until))


def _is_ended_within(span: TimeSpan, ended: str | None) -> bool:
    if span == ANY_TIME:
        return True
    if ended is None:
        return False
    at = epoch_milliseconds(ended)
    return (span.since is None or at >= _milliseconds(span.since)) and (
        span.until is None or at < _milliseconds(span.until)
    )


def _milliseconds(moment: datetime) -> int:
    """The first whole millisecond at or after a moment since 1970, because records have those."""
    return max(0, -((_EPOCH - moment) // _MILLISECOND))


def _linked_id(item: Attributes) -> str:
    return str(item["sk"]).rpartition(":")[2]
