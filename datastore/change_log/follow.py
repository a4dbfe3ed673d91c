"""The events of a followed list: what changed, what left it, and when to read it anew."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from penstock.datastore.access.access import Access
from penstock.datastore.change_log.feed import ChangeFeed, WantsChange
from penstock.datastore.change_log.opening_deadline import end_opening
from penstock.datastore.change_log.rows import Change, ChangeKind
from penstock.datastore.roles import GroupPath, covers


class ListChange(StrEnum):
    """The kind of an event: an object of the list is new or changed, or left it; or all may have.

    RESET comes first, and again where changes were lost.
    """

    CHANGED = "changed"
    REMOVED = "removed"
    RESET = "reset"


class ListEvent(NamedTuple):
    """An event of a list; `record` is the object as it is now, if it changed.

    A follower that resumes at `position`, in milliseconds since 1970, misses nothing.
    """

    change: ListChange
    position: int
    id: str | None = None
    record: Any = None


class Outcome(NamedTuple):
    """The meaning of a change for one follower; `record` is the object if it is in the list."""

    change: ListChange
    record: Any = None


REMOVED: Final = Outcome(ListChange.REMOVED)
ReadOutcome: TypeAlias = Callable[[Change], Awaitable[Outcome | None]]


class ChangeReader(NamedTuple):
    """The two steps of a follower: whether a change may be of its list, and what it means there."""

    wants: WantsChange
    read: ReadOutcome


@dataclass(frozen=True, slots=True)
class FollowedGroup:
    """The group whose list is followed: it has what the groups above have, and perhaps below."""

    access: Access
    group: GroupPath
    below: bool

    @classmethod
    async def of(cls, access: Access, group: GroupPath | None, *, below: bool) -> "FollowedGroup":
        """Return a group that the caller may know; raises NotFound for another one."""
        visible = access.require_visible_group(group)
        await access.require_group(visible)
        return cls(access, visible, below)

    def lists_any(self, groups: Iterable[GroupPath]) -> bool:
        """Whether the list has the objects of one of these groups, as far as the caller sees."""
        return any(self._lists(group) and self.access.caller.sees(group) for group in groups)

    def _lists(self, owner: GroupPath) -> bool:
        return covers(owner, self.group) or (self.below and covers(self.group, owner))


async def follow_changes(
    feed: ChangeFeed, kind: ChangeKind, access: Access, after: int | None, reader: ChangeReader
) -> AsyncIterator[ListEvent]:
    """Yield the events of a list from now on, or from the position `after`, without an end.

    What has to be read of the log to begin is read with the access of the caller, who pays for it.

    `reader` says what a change means for this follower, whose access it checks, just before the
    event is sent. Of several changes of an object that wait, one event tells the latest state.
    """
    async with feed.follow(kind, access, reader.wants) as follower:
        if after is None or not feed.keeps(after):
            yield ListEvent(ListChange.RESET, feed.position(kind))
        else:
            await feed.replay(kind, after, follower, access)
        end_opening()
        while True:
            change = await follower.take()
            if change is None:
                yield ListEvent(ListChange.RESET, feed.position(kind))
                continue
            outcome = await reader.read(change)
            if outcome is not None:
                position = follower.earliest(feed.position(kind))
                yield ListEvent(outcome.change, position, change.id, outcome.record)
