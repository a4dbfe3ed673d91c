"""The events of the list of a group's pipelines."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial

from penstock.datastore.access.access import Access
from penstock.datastore.change_log.feed import ChangeFeed
from penstock.datastore.change_log.follow import FollowedGroup, ListEvent, Outcome, follow_changes
from penstock.datastore.change_log.rows import Change, ChangeKind
from penstock.datastore.errors import NotFound
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import PIPELINE


@dataclass(frozen=True, slots=True)
class PipelineEvents:
    """The events of lists of pipelines for the caller."""

    access: Access

    async def follow(
        self, feed: ChangeFeed, group: GroupPath | None, after: int | None, *, below: bool
    ) -> AsyncGenerator[ListEvent]:
        """Yield what happens to the list of a group's pipelines: `pk = CL:P:<shard>`, polled.

        Raises NotFound for a hidden group. The caller's access is looked at for each event.
        """
        followed = await FollowedGroup.of(self.access, group, below=below)
        read = partial(self._read, followed)
        async for event in follow_changes(feed, ChangeKind.PIPELINE, after, read):
            yield event

    async def _read(self, followed: FollowedGroup, changes: Sequence[Change]) -> list[Outcome]:
        listed = [change for change in changes if followed.lists_any(change)]
        reading = ResourceReader(PIPELINE, self.access)
        found = await reading.many([change.id for change in listed])
        outcomes = []
        for change, pipeline in zip(listed, found, strict=True):
            if not isinstance(pipeline, NotFound) and any(map(followed.lists, pipeline.groups)):
                outcomes.append(Outcome(change.id, pipeline))
            elif followed.may_know(change):
                outcomes.append(Outcome(change.id))
        return outcomes
