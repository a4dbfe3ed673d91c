"""The events of the list of a group's executions."""

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.change_log.feed import ChangeFeed
from penstock.datastore.change_log.follow import (
    REMOVED,
    ChangeReader,
    FollowedGroup,
    ListChange,
    ListEvent,
    Outcome,
    follow_changes,
)
from penstock.datastore.change_log.rows import Change, ChangeKind
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.lists.group_listing import ListGroupExecutions
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.roles import GroupPath

SHARED_AGAIN: Final = timedelta(seconds=30)
"""The time after which the pipelines of other groups are looked up again, when they matter."""


@dataclass(slots=True)
class _FollowedExecutions:
    """The list of one follower: executions of the groups' pipelines, and of those they share."""

    group: FollowedGroup
    states: Collection[ExecutionState]
    shared: frozenset[str] = frozenset()
    looked_up: datetime | None = field(default=None)

    def wants(self, change: Change) -> bool:
        """Whether the list may have the execution: that of a shared pipeline is looked up then."""
        if self.states and change.states and not self._may_have_state(change):
            return False
        if self.group.lists_any(change.groups):
            return True
        return change.pipeline_id in self.shared or self._is_unsure

    def _may_have_state(self, change: Change) -> bool:
        return any(ExecutionState(state) in self.states for state in change.states)

    @property
    def _is_unsure(self) -> bool:
        now = self.group.access.clock.now()
        return self.looked_up is None or now - self.looked_up > SHARED_AGAIN

    async def read(self, change: Change) -> Outcome | None:
        """Read what a change means: the execution that the list has now, or that it left it."""
        if not await self._lists(change):
            return None
        (found,) = await ReadExecutions(self.group.access).many([change.id])
        if isinstance(found, NotFound):
            return REMOVED if self.group.lists_any(change.groups) else None
        if not self.states or found.state in self.states:
            return Outcome(ListChange.CHANGED, found)
        return REMOVED if self._may_have_state(change) else None

    async def _lists(self, change: Change) -> bool:
        is_own = self.group.lists_any(change.groups)
        return is_own or change.pipeline_id in await self._find_shared()

    async def _find_shared(self) -> frozenset[str]:
        access = self.group.access
        if self._is_unsure:
            self.looked_up = access.clock.now()
            listing = ListGroupExecutions(access)
            self.shared = await listing.shared_pipelines(self.group.group, below=self.group.below)
        return self.shared


@dataclass(frozen=True, slots=True)
class ExecutionEvents:
    """The events of lists of executions for the caller."""

    access: Access

    async def follow(
        self,
        feed: ChangeFeed,
        group: GroupPath | None,
        states: Collection[ExecutionState],
        after: int | None,
        *,
        below: bool,
    ) -> AsyncGenerator[ListEvent]:
        """Yield what happens to a group's executions in some states: `pk = CL:PE:<shard>`, polled.

        An execution that is no longer in one of the states has left the list; no states means any.
        Raises NotFound for a hidden group. The caller's access is looked at for each event.
        """
        followed = await FollowedGroup.of(self.access, group, below=below)
        executions = _FollowedExecutions(followed, states)
        reader = ChangeReader(executions.wants, executions.read)
        async for event in follow_changes(feed, ChangeKind.EXECUTION, self.access, after, reader):
            yield event
