"""The events of the list of a group's pipelines or metrics."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.datastore.access.access import Access, known_grants
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
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import KindDefinition


@dataclass(frozen=True, slots=True)
class ResourceEvents:
    """The events of lists of a kind of resource for the caller."""

    access: Access
    kind: KindDefinition[Any]

    async def follow(
        self, feed: ChangeFeed, group: GroupPath | None, after: int | None, *, below: bool
    ) -> AsyncGenerator[ListEvent]:
        """Yield what happens to the list of a group's resources: `pk = CL:<kind>:<shard>`, polled.

        Raises NotFound for a hidden group. The caller's access is looked at for each event.
        """
        followed = await FollowedGroup.of(self.access, group, below=below)
        reader = ChangeReader(
            lambda change: followed.lists_any(change.groups), partial(self._read, followed)
        )
        async for event in follow_changes(
            feed, ChangeKind(self.kind.letter), self.access, after, reader
        ):
            yield event

    async def _read(self, followed: FollowedGroup, change: Change) -> Outcome | None:
        (found,) = await ResourceReader(self.kind, self.access).many([change.id])
        if isinstance(found, NotFound) or not followed.lists_any(found.groups):
            return REMOVED
        if change.grants and not known_grants(self.access.caller, found.owner, change.grants):
            return None
        return Outcome(ListChange.CHANGED, found)
