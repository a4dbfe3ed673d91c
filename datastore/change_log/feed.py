"""The changes that the log of the table gets, handed to the followers of lists in this process.

Any process may write the log, so it is polled: a query of each of its partitions for each kind
that somebody follows, however many follow it. A change may be committed some time after the moment
in its key, or by a clock that is slow, so each poll reads a little of the past again, and now and
then more of it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Final, NoReturn, TypeAlias

from msgspec import structs

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import FREE_WORK, WorkAccount
from penstock.datastore.change_log.log_reader import LogReader
from penstock.datastore.change_log.rows import RETENTION, Change, ChangeKind, groups_of, moment_of
from penstock.datastore.clock import Clock
from penstock.datastore.periodic import try_once
from penstock.datastore.table.port import Table

LATE: Final = 30_000
"""Milliseconds by which a change may be committed after the moment in its key."""

RECENT: Final = 2_000
"""Milliseconds of the past that every poll reads again; one in DEEP_EVERY reads all of LATE."""

DEEP_EVERY: Final = 5

MOST_PENDING: Final = 1_000
"""The objects with changes that wait for one follower; with more it has to read its list anew."""

MOST_REPLAYED: Final = 8 * MOST_PENDING
"""The changes of all lists that are read for a follower who resumes; the hour may have more."""

CHANGES_IN_A_UNIT: Final = 16
"""Changes that are looked at for a follower for one unit of work."""

LOOKS_IN_A_TURN: Final = 500
"""Looks at a change for a follower, some microseconds each, before others have their turn."""

LOOKS_OF_A_WAKING: Final = 50
"""What a follower who gets a change takes of a turn: it then reads what the change means."""

WantsChange: TypeAlias = Callable[[Change], bool]

logger = logging.getLogger("penstock.changes")


def _want_any(_: Change) -> bool:
    return True


class Follower:
    """The changes that wait for one follower: of each object the latest, with all its groups.

    It gets those that it wants, and its work pays for a look at each.
    """

    __slots__ = ("_arrived", "_looked", "_pending", "_wants", "_work", "has_lost")

    def __init__(self, wants: WantsChange = _want_any, work: WorkAccount = FREE_WORK) -> None:
        self._pending: dict[str, Change] = {}
        self._arrived = asyncio.Event()
        self._wants = wants
        self._work = work
        self._looked = 0
        self.has_lost = False

    def offer(self, changes: Sequence[Change]) -> bool:
        """Add the wanted changes, and return whether there are any.

        Of too many none is kept, and the follower learns of that instead.
        """
        self._pay(len(changes))
        wanted = [change for change in changes if self._wants(change)]
        for change in wanted:
            waiting = self._pending.pop(change.id, None)
            self._pending[change.id] = _join(waiting, change)
            if len(self._pending) > MOST_PENDING:
                self.lose()
                break
        if self._pending:
            self._arrived.set()
        return bool(wanted)

    def _pay(self, looks: int) -> None:
        units, self._looked = divmod(self._looked + looks, CHANGES_IN_A_UNIT)
        if units:
            self._work.owe(units)

    def lose(self) -> None:
        """Keep none of the changes; the follower learns that there were too many."""
        self._pending.clear()
        self.has_lost = True
        self._arrived.set()

    async def take(self) -> Change | None:
        """Wait for a change and take it; None if some were lost."""
        while not (self._pending or self.has_lost):
            await self._arrived.wait()
            self._arrived.clear()
        if self.has_lost:
            self.has_lost = False
            return None
        return self._pending.pop(next(iter(self._pending)))

    def earliest(self, otherwise: int) -> int:
        """Return the moment of the earliest change that waits, if it is before the given one."""
        return min((otherwise, *(change.at for change in self._pending.values())))


def _join(earlier: Change | None, later: Change) -> Change:
    if earlier is None:
        return later
    states = tuple(dict.fromkeys((*earlier.states, *later.states)))
    at, groups = max(earlier.at, later.at), groups_of(earlier.groups, later.groups)
    only_grants = earlier.grants and later.grants
    grants = groups_of(earlier.grants, later.grants) if only_grants else ()
    return structs.replace(later, at=at, groups=groups, states=states, grants=grants)


class _FollowedKind:
    """The state of reading the changes of one kind.

    `read_at` is the time of the latest read by the clock of this process, because a writer's clock
    may be fast. `seen` are the changes that a poll may read again. Followers are `waiting` until
    what was there before them has been read.
    """

    __slots__ = ("followers", "polls", "read_at", "seen", "waiting")

    def __init__(self, now: int) -> None:
        self.followers: set[Follower] = set()
        self.waiting: set[Follower] = set()
        self.read_at = now
        self.polls = 0
        self.seen: set[tuple[int, str, int]] = set()

    async def offer_new(self, found: Iterable[Change]) -> None:
        """Offer the changes that were not seen before to the followers, and remember them.

        Others have their turn in between, because anybody may have many followers.
        """
        new = [change for change in found if change.key not in self.seen]
        self.seen.update(change.key for change in new)
        looks = 0
        for start in range(0, len(new), LOOKS_IN_A_TURN):
            part = new[start : start + LOOKS_IN_A_TURN]
            for follower in tuple(self.followers):
                if looks >= LOOKS_IN_A_TURN:
                    await asyncio.sleep(0)
                    looks = 0
                wakes = follower.offer(part)
                looks += len(part) + wakes * LOOKS_OF_A_WAKING

    def forget_old(self) -> None:
        """Forget the changes that no read goes back to."""
        oldest = self.read_at - 2 * LATE
        self.seen = {one for one in self.seen if one[0] >= oldest}


class ChangeFeed:
    """The kinds of objects whose lists are followed in this process, which `poll` reads."""

    __slots__ = ("_clock", "_kinds", "_table", "_wanted")

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._kinds: dict[ChangeKind, _FollowedKind] = {}
        self._wanted = asyncio.Event()

    @asynccontextmanager
    async def follow(
        self, kind: ChangeKind, access: Access | None = None, wants: WantsChange = _want_any
    ) -> AsyncIterator[Follower]:
        """Follow wanted changes that can be read from now on, and perhaps the latest before.

        What can be read already is known to whoever reads the list after this. Only the first
        followers read anything: they pay by their `access` for learning what is there.
        """
        followed = self._kinds.get(kind)
        if followed is None:
            followed = self._kinds[kind] = _FollowedKind(self._now())
        follower = Follower(wants, FREE_WORK if access is None else access.work)
        followed.waiting.add(follower)
        self._wanted.set()
        try:
            if not followed.followers:
                await self._read(followed, LATE, self._reading(kind, access))
            followed.waiting.discard(follower)
            followed.followers.add(follower)
            yield follower
        finally:
            followed.waiting.discard(follower)
            followed.followers.discard(follower)
            if not (followed.followers or followed.waiting):
                self._kinds.pop(kind, None)
            if not self._kinds:
                self._wanted.clear()

    def position(self, kind: ChangeKind) -> int:
        """Return the moment up to which changes of a followed kind are read, LATE ones aside."""
        return self._kinds[kind].read_at

    def keeps(self, position: int) -> bool:
        """Whether the log still has everything since a position."""
        return position - LATE >= moment_of(self._clock.now() - RETENTION)

    async def replay(
        self, kind: ChangeKind, position: int, follower: Follower, access: Access | None = None
    ) -> None:
        """Offer a follower the changes since a position, some of them perhaps again.

        It ends where the follower has lost some, or would read too many of other lists.
        """
        count = 0
        async with aclosing(self._reading(kind, access).pages(position - LATE)) as pages:
            async for changes in pages:
                count += len(changes)
                follower.offer(changes)
                if count > MOST_REPLAYED:
                    follower.lose()
                if follower.has_lost:
                    return

    async def poll(self) -> None:
        """Read what is new of each followed kind, and offer it to the followers."""
        for kind, followed in list(self._kinds.items()):
            followed.polls += 1
            is_deep = followed.polls % DEEP_EVERY == 0
            past = LATE if is_deep else RECENT
            await self._read(followed, past, self._reading(kind))
            if is_deep:
                followed.forget_old()

    async def _read(self, followed: _FollowedKind, past: int, reading: LogReader) -> None:
        """Read the log from so many milliseconds before the latest read on."""
        start, now = followed.read_at - past, self._now()
        found = [change async for page in reading.pages(start) for change in page]
        await followed.offer_new(sorted(found, key=lambda change: change.at))
        followed.read_at = max(followed.read_at, now)

    def _reading(self, kind: ChangeKind, access: Access | None = None) -> LogReader:
        """Read with the access of a caller, or else for all followers."""
        if access is None:
            return LogReader(self._table, kind)
        return LogReader(access.table, kind, access.work)

    async def run(self, seconds: float) -> NoReturn:
        """Poll at this interval while any kind is followed."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(seconds)
            await try_once(self.poll, logger, "the log of changes could not be read")

    def _now(self) -> int:
        return moment_of(self._clock.now())
