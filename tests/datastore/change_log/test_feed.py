"""The log of changes: what a change writes, what a poll reads, and what followers get of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.change_log.feed import (
    DEEP_EVERY,
    LATE,
    MOST_PENDING,
    RECENT,
    ChangeFeed,
    Follower,
)
from penstock.datastore.change_log.rows import (
    RETENTION,
    SHARDS,
    Change,
    ChangeKind,
    change_write,
    moment_of,
)
from penstock.datastore.clock import Clock
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import TTL, Put, Table
from tests.support.sample_resources import USA, Watch, create_groups, make, on_sqlite

PIPELINE = ChangeKind.PIPELINE


def change(number: int, at: int, step: int = 1, *groups: GroupPath) -> Change:
    return Change(id=f"01a1fd33-4531-77f0-8555-{number:012x}", at=at, step=step, groups=groups)


async def write(table: Table, *changes: Change) -> None:
    for one in changes:
        await commit(table, [change_write(PIPELINE, one)])


class Reader:
    """A feed with one follower and a clock that the test moves."""

    def __init__(self, table: Table) -> None:
        self.watch = Watch()
        self.clock = Clock(self.watch)
        self.feed = ChangeFeed(table, self.clock)

    @property
    def now(self) -> int:
        return moment_of(self.clock.now())

    async def poll(self, follower: Follower) -> list[Change] | None:
        """Poll, and take what the follower has got; an empty list if that is nothing."""
        await self.feed.poll()
        if not (follower._pending or follower._lost):
            return []
        return await follower.take(MOST_PENDING)


async def test_each_change_is_offered_once_and_in_the_order_of_the_log(table: Table) -> None:
    reader = Reader(table)
    with reader.feed.follow(PIPELINE) as follower:
        assert await reader.poll(follower) == []
        one, two, three = (change(n, reader.now + n) for n in (1, 2, 3))
        await write(table, three, one)
        assert await reader.poll(follower) == [one, three]
        await write(table, two)
        assert await reader.poll(follower) == [two]
        for _ in range(2 * DEEP_EVERY):
            assert await reader.poll(follower) == []
        again = change(1, reader.now + 9, 2)
        await write(table, again)
        assert await reader.poll(follower) == [again]


@on_sqlite
async def test_a_change_that_is_committed_late_is_offered_all_the_same(table: Table) -> None:
    reader = Reader(table)
    with reader.feed.follow(PIPELINE) as follower:
        assert await reader.poll(follower) == []
        new = change(1, reader.now + 60_000)
        await write(table, new)
        assert await reader.poll(follower) == [new]
        recent, late = change(2, new.at - RECENT), change(3, new.at - LATE)
        await write(table, late, recent)
        assert await reader.poll(follower) == [recent]
        found = [await reader.poll(follower) for _ in range(DEEP_EVERY)]
        assert [one for one in found if one] == [[late]]


@on_sqlite
async def test_changes_of_one_object_that_wait_are_one_with_all_its_groups(table: Table) -> None:
    reader = Reader(table)
    eu, usa = GroupPath("/eu"), GroupPath("/usa")
    with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.poll()
        at = reader.now
        await write(table, change(1, at, 1, eu), change(2, at + 1, 1), change(1, at + 2, 2, usa))
        assert await reader.poll(follower) == [
            change(2, at + 1, 1),
            change(1, at + 2, 2, eu, usa),
        ]


async def test_what_was_there_before_anybody_followed_is_not_offered(table: Table) -> None:
    reader = Reader(table)
    await write(table, change(1, reader.now - RECENT - 1))
    with reader.feed.follow(PIPELINE) as follower:
        for _ in range(DEEP_EVERY + 1):
            assert await reader.poll(follower) == []


async def test_a_replay_offers_what_came_since_a_position(table: Table) -> None:
    reader = Reader(table)
    at = reader.now
    before, since, later = (change(n, at + n * LATE) for n in (0, 1, 2))
    await write(table, before, since, later)
    with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.replay(PIPELINE, at + 2 * LATE, follower)
        assert await follower.take(9) == [since, later]
    assert reader.feed.keeps(at)
    reader.watch.move(RETENTION)
    assert not reader.feed.keeps(at)
    assert reader.feed.keeps(at + LATE)


def test_a_follower_that_takes_nothing_learns_that_changes_were_lost() -> None:
    follower = Follower()
    follower.offer(change(n, n) for n in range(MOST_PENDING + 1))
    assert follower._pending == {}
    assert follower._lost


async def test_after_a_loss_new_changes_are_offered_again() -> None:
    follower = Follower()
    follower.offer(change(n, n) for n in range(MOST_PENDING + 1))
    assert await follower.take(9) is None
    follower.offer([change(1, 5)])
    assert await follower.take(9) == [change(1, 5)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), max_size=30), st.integers(1, 4))
async def test_no_object_is_forgotten_and_positions_never_pass_one_that_waits(
    changes: list[tuple[int, int]], most: int
) -> None:
    follower = Follower()
    follower.offer(change(number, at) for number, at in changes)
    latest: dict[str, int] = {}
    for number, at in changes:
        one = change(number, at).id
        latest[one] = max(at, latest.get(one, 0))
    while latest:
        assert follower.earliest(1_000) == min(latest.values())
        for taken in await follower.take(most) or ():
            assert latest.pop(taken.id) == taken.at
    assert follower.earliest(1_000) == 1_000


@on_sqlite
async def test_a_poll_costs_the_same_whatever_lies_in_the_log_and_whoever_follows(
    table: Table,
) -> None:
    metered = MeteredTable(table)
    reader = Reader(metered)
    await write(table, *(change(n, reader.now - 2 * LATE) for n in range(50)))
    await reader.feed.poll()
    assert metered.units.calls == 0
    with reader.feed.follow(PIPELINE), reader.feed.follow(PIPELINE):
        await reader.feed.poll()
        assert (metered.units.rcu, metered.units.calls) == (0.5 * SHARDS, SHARDS)
    await reader.feed.poll()
    assert metered.units.calls == SHARDS


@pytest.mark.parametrize("kind", ["create", "update", "grant", "revoke", "delete"])
@on_sqlite
async def test_each_change_of_a_pipeline_is_in_the_log_with_the_groups_of_both_states(
    store: Store, kind: str
) -> None:
    session = await create_groups(store)
    eu = GroupPath("/eu")
    made = await make(session, USA, "Smelt")
    reader = Reader(store.table)
    reader.clock = store.clock
    reader.feed = ChangeFeed(store.table, store.clock)
    if kind == "revoke":
        await session.pipelines.writing.grant(made.id, eu)
    with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.poll()
        if follower._pending:
            await follower.take(9)
        writing = session.pipelines.writing
        match kind:
            case "create":
                made = await make(session, USA, "Mill")
            case "update":
                await writing.update(made.id, 1, {"description": "new"})
            case "grant":
                await writing.grant(made.id, eu)
            case "revoke":
                await writing.revoke(made.id, eu)
            case _:
                await session.pipelines.deleting.delete(made.id)
        found, *others = await reader.poll(follower) or [change(0, 0)]
        assert others == []
        groups = {USA, eu} if kind in ("grant", "revoke") else {USA}
        assert (found.id, set(found.groups)) == (made.id, groups)


@on_sqlite
async def test_a_refused_change_is_not_in_the_log(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    feed = ChangeFeed(store.table, store.clock)
    with feed.follow(PIPELINE) as follower:
        await feed.poll()
        follower._pending.clear()
        with pytest.raises(Exception, match="version"):
            await session.pipelines.writing.update(made.id, 7, {"description": "new"})
        await feed.poll()
        assert not follower._pending


def test_changes_expire_after_an_hour() -> None:
    operation = change_write(PIPELINE, change(1, 1_000_000)).operation
    assert isinstance(operation, Put)
    assert operation.item[TTL] == 1_000 + 3_600
