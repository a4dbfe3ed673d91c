"""The changes that the log of the table gets, handed to the followers of lists in this process.

Any process may write the log, so it is polled: a query of each of its partitions for each kind
that somebody follows, however many follow it. A change may be committed some time after the moment
in its key, or by a clock that is slow, so each poll reads a little of the past again, and now and
then more of it.
"""

import asyncio
import dataclasses
import logging
from asyncio import gather
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, NoReturn

from msgspec import structs

from penstock.datastore.change_log.rows import (
    RETENTION,
    SHARDS,
    Change,
    ChangeKind,
    change_of,
    groups_of,
    moment_of,
)
from penstock.datastore.clock import Clock
from penstock.datastore.periodic import try_once
from penstock.datastore.table.items import read_all
from penstock.datastore.table.layout import CHANGE
from penstock.datastore.table.port import Attributes, Query, Range, Table

LATE: Final = 30_000
"""Milliseconds by which a change may be committed after the moment in its key."""

RECENT: Final = 2_000
"""Milliseconds of the past that every poll reads again; one in DEEP_EVERY reads all of LATE."""

DEEP_EVERY: Final = 5

MOST_PENDING: Final = 1_000
"""The objects with changes that wait for one follower; with more it has to read its list anew."""

logger = logging.getLogger("penstock.changes")


class Follower:
    """The changes that wait for one follower: of each object the latest, with all its groups."""

    __slots__ = ("_arrived", "_lost", "_pending")

    def __init__(self) -> None:
        self._pending: dict[str, Change] = {}
        self._arrived = asyncio.Event()
        self._lost = False

    def offer(self, changes: Iterable[Change]) -> None:
        """Add changes; of too many none is kept, and the follower learns of that instead."""
        for change in changes:
            waiting = self._pending.pop(change.id, None)
            self._pending[change.id] = _join(waiting, change)
            if len(self._pending) > MOST_PENDING:
                self._pending.clear()
                self._lost = True
                break
        if self._pending or self._lost:
            self._arrived.set()

    async def take(self) -> Change | None:
        """Wait for a change and take it; None if some were lost."""
        while not (self._pending or self._lost):
            await self._arrived.wait()
            self._arrived.clear()
        if self._lost:
            self._lost = False
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
    return structs.replace(later, at=at, groups=groups, states=states)


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

    def offer_new(self, found: Iterable[Change]) -> None:
        """Offer the changes that were not seen before to the followers, and remember them."""
        new = [change for change in found if change.key not in self.seen]
        self.seen.update(change.key for change in new)
        for follower in self.followers:
            follower.offer(new)

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
    async def follow(self, kind: ChangeKind) -> AsyncIterator[Follower]:
        """Follow all changes of a kind that can be read from now on.

        What can be read already is known to whoever reads the list after this.
        """
        followed = self._kinds.get(kind)
        if followed is None:
            followed = self._kinds[kind] = _FollowedKind(self._now())
        follower = Follower()
        followed.waiting.add(follower)
        self._wanted.set()
        try:
            await self._read(kind, followed, LATE)
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

    async def replay(self, kind: ChangeKind, position: int, follower: Follower) -> None:
        """Offer a follower the changes since a position, some of them perhaps again."""
        follower.offer(await self._read_since(kind, position - LATE))

    async def poll(self) -> None:
        """Read what is new of each followed kind, and offer it to the followers."""
        for kind, followed in list(self._kinds.items()):
            followed.polls += 1
            is_deep = followed.polls % DEEP_EVERY == 0
            await self._read(kind, followed, LATE if is_deep else RECENT)
            if is_deep:
                followed.forget_old()

    async def _read(self, kind: ChangeKind, followed: _FollowedKind, past: int) -> None:
        """Read the log from so many milliseconds before the latest read on."""
        start, now = followed.read_at - past, self._now()
        followed.offer_new(await self._read_since(kind, start))
        followed.read_at = max(followed.read_at, now)

    async def run(self, seconds: float) -> NoReturn:
        """Poll at this interval while any kind is followed."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(seconds)
            await try_once(self.poll, logger, "the log of changes could not be read")

    async def _read_since(self, kind: ChangeKind, start: int) -> list[Change]:
        """Read the log: `pk = CL:<kind>:<shard>, sk` from `CL:<changed>` on, for each shard."""
        shards = await gather(*(self._read_shard(kind, shard, start) for shard in range(SHARDS)))
        found = [change for changes in shards for change in changes]
        return sorted(found, key=lambda change: change.at)

    async def _read_shard(self, kind: ChangeKind, shard: int, start: int) -> list[Change]:
        prefix, rows = CHANGE.sk.prefix({}), list[Attributes]()
        query = Query(
            partition=CHANGE.pk.fill({"kind": kind.value, "shard": shard}),
            range=Range(prefix, f"{prefix}{max(start, 0):013}", f"{prefix}~"),
        )
        while True:
            page = await self._table.query(query)
            rows += page.items
            if page.last is None:
                return read_all(change_of, rows)
            query = dataclasses.replace(query, after=page.last)

    def _now(self) -> int:
        return moment_of(self._clock.now())
