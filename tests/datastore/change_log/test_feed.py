"""The log of changes: what a change writes, what a poll reads, and what followers get of it."""

import asyncio
from contextlib import AsyncExitStack, aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work import LOGGED_CHANGES
from penstock.datastore.change_log.feed import (
    CHANGES_IN_A_UNIT,
    DEEP_EVERY,
    LATE,
    MOST_PENDING,
    MOST_REPLAYED,
    RECENT,
    ChangeFeed,
    Follower,
)
from penstock.datastore.change_log.follow import REMOVED, ChangeReader, Outcome, follow_changes
from penstock.datastore.change_log.log_reader import LogReader
from penstock.datastore.change_log.opening_deadline import opening_until
from penstock.datastore.change_log.rows import (
    RETENTION,
    SHARDS,
    Change,
    ChangeKind,
    change_write,
    moment_of,
)
from penstock.datastore.clock import Clock
from penstock.datastore.errors import RateLimited
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import TTL, Put, Table
from tests.support.patience import until
from tests.support.sample_resources import SUPER, USA, Watch, create_groups, make, on_sqlite
from tests.support.work_account import Account

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

    async def poll(self, follower: Follower) -> list[Change]:
        """Poll, and take all that the follower has got."""
        await self.feed.poll()
        return await take_all(follower)


async def take_all(follower: Follower) -> list[Change]:
    """Take what waits for a follower, which has lost nothing."""
    found = []
    while follower._pending or follower.has_lost:
        change = await follower.take()
        assert change is not None
        found.append(change)
    return found


async def test_each_change_is_offered_once_and_in_the_order_of_the_log(table: Table) -> None:
    reader = Reader(table)
    async with reader.feed.follow(PIPELINE) as follower:
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
    async with reader.feed.follow(PIPELINE) as follower:
        recent, late = change(2, reader.now - RECENT), change(3, reader.now - LATE)
        await write(table, late, recent)
        assert await reader.poll(follower) == [recent]
        found = [await reader.poll(follower) for _ in range(DEEP_EVERY)]
        assert [one for one in found if one] == [[late]]


@on_sqlite
async def test_a_writer_whose_clock_is_fast_hides_no_change_of_others(table: Table) -> None:
    reader = Reader(table)
    async with reader.feed.follow(PIPELINE) as follower:
        fast, usual = change(1, reader.now + 40_000), change(2, reader.now)
        await write(table, fast)
        assert await reader.poll(follower) == [fast]
        await write(table, usual)
        assert await reader.poll(follower) == [usual]


@on_sqlite
async def test_who_follows_later_hears_of_what_is_committed_later(table: Table) -> None:
    reader = Reader(table)
    async with reader.feed.follow(PIPELINE) as first:
        known = change(1, reader.now - 1)
        await write(table, known)
        async with reader.feed.follow(PIPELINE) as second:
            assert await reader.poll(first) == [known]
            assert await take_all(second) == [known]
            slow = change(2, reader.now - 3_000)
            await write(table, slow)
            found = [await reader.poll(second) for _ in range(DEEP_EVERY)]
            assert [one for one in found if one] == [[slow]]
            assert await take_all(first) == [slow]


@on_sqlite
async def test_changes_of_one_object_that_wait_are_one_with_all_its_groups(table: Table) -> None:
    reader = Reader(table)
    eu, usa = GroupPath("/eu"), GroupPath("/usa")
    async with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.poll()
        at = reader.now
        await write(table, change(1, at, 1, eu), change(2, at + 1, 1), change(1, at + 2, 2, usa))
        assert await reader.poll(follower) == [change(2, at + 1, 1), change(1, at + 2, 2, eu, usa)]


async def test_what_was_there_before_anybody_followed_is_not_offered(table: Table) -> None:
    reader = Reader(table)
    await write(table, change(1, reader.now - RECENT - 1))
    async with reader.feed.follow(PIPELINE) as follower:
        for _ in range(DEEP_EVERY + 1):
            assert await reader.poll(follower) == []


async def test_a_replay_offers_what_came_since_a_position(table: Table) -> None:
    reader = Reader(table)
    at = reader.now
    before, since, later = (change(n, at + n * LATE) for n in (0, 1, 2))
    await write(table, before, since, later)
    async with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.replay(PIPELINE, at + 2 * LATE, follower)
        assert await take_all(follower) == [since, later]
    assert reader.feed.keeps(at)
    reader.watch.move(RETENTION)
    assert not reader.feed.keeps(at)
    assert reader.feed.keeps(at + LATE)


@pytest.mark.parametrize("page", [1, 3, 500])
@on_sqlite
async def test_a_replay_reads_every_page_and_gives_way_between_them(
    table: Table, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.change_log.log_reader.PAGE", page)
    reader = Reader(table)
    written = [change(n % 12, reader.now + n, n) for n in range(24)]
    await write(table, *written)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    pages = LogReader(table, PIPELINE).pages(reader.now)
    found, seen = [], []
    async with aclosing(pages):
        async for some in pages:
            found += some
            seen.append(turns)
    counting.cancel()
    assert sorted(found, key=lambda one: one.at) == written
    assert max(map(len, by_object(found))) == 2
    assert all(one == sorted(one, key=lambda each: each.step) for one in by_object(found))
    assert len({*seen}) == len(seen) >= 24 / (page * SHARDS)


def by_object(changes: list[Change]) -> list[list[Change]]:
    """The changes of each object, in the order in which they were read."""
    ids = dict.fromkeys(one.id for one in changes)
    return [[one for one in changes if one.id == id] for id in ids]


@pytest.mark.parametrize(
    ("objects", "each", "is_lost"), [(10, 1, False), (11, 1, True), (1, 80, False), (1, 81, True)]
)
@on_sqlite
async def test_a_replay_ends_where_too_much_waits_or_would_be_read(
    table: Table, objects: int, each: int, is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_REPLAYED == 8 * MOST_PENDING
    for name, most in (
        ("feed.MOST_PENDING", 10),
        ("feed.MOST_REPLAYED", 80),
        ("log_reader.PAGE", 8),
    ):
        monkeypatch.setattr(f"penstock.datastore.change_log.{name}", most)
    reader = Reader(table)
    count = objects * each
    await write(table, *(change(n % objects, reader.now + n, n) for n in range(count)))
    async with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.replay(PIPELINE, reader.now + LATE, follower)
        assert follower.has_lost is is_lost
        assert len(follower._pending) == (0 if is_lost else objects)


@on_sqlite
async def test_no_more_is_read_of_a_log_than_a_follower_gets(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.change_log.feed.MOST_PENDING", 10)
    monkeypatch.setattr("penstock.datastore.change_log.log_reader.PAGE", 8)
    reader = Reader(store.table)
    await write(store.table, *(change(n, reader.now + n) for n in range(400)))
    session = store.open_session(SUPER)
    async with reader.feed.follow(PIPELINE) as follower:
        await reader.feed.replay(PIPELINE, reader.now + LATE, follower, session._access)
        assert await follower.take() is None
    assert session.units.calls == SHARDS


@on_sqlite
async def test_who_begins_to_follow_pays_for_what_is_read(store: Store) -> None:
    reader = Reader(store.table)
    await write(store.table, *(change(n, reader.now - n) for n in range(120)))
    for resumes in (False, True):
        account = Account()
        session = store.open_session(SUPER, account)
        async with reader.feed.follow(PIPELINE, session._access) as follower:
            if resumes:
                await reader.feed.replay(PIPELINE, reader.now, follower, session._access)
        assert session.units.calls == SHARDS * (2 if resumes else 1)
        assert account.taken == sum(30 // LOGGED_CHANGES for _ in range(SHARDS)) * (1 + resumes)


@on_sqlite
async def test_a_caller_in_debt_cannot_resume(store: Store) -> None:
    reader = Reader(store.table)
    await write(store.table, *(change(n, reader.now - n) for n in range(120)))
    session = store.open_session(SUPER, Account(most=19))
    async with reader.feed.follow(PIPELINE) as follower:
        with pytest.raises(RateLimited):
            await reader.feed.replay(PIPELINE, reader.now, follower, session._access)
    with pytest.raises(RateLimited):
        async with reader.feed.follow(PIPELINE, store.open_session(SUPER, Account(19))._access):
            pass
    assert reader.feed._kinds == {}


@on_sqlite
async def test_who_follows_what_others_follow_reads_nothing(store: Store) -> None:
    reader = Reader(store.table)
    session = store.open_session(SUPER)
    async with (
        reader.feed.follow(PIPELINE),
        reader.feed.follow(PIPELINE, session._access) as second,
    ):
        assert session.units.calls == 0
        new = change(1, reader.now)
        await write(store.table, new)
        assert await reader.poll(second) == [new]


@on_sqlite
async def test_a_follower_pays_for_looks_at_changes_and_waits_for_those_it_wants(
    store: Store,
) -> None:
    reader, account = Reader(store.table), Account()
    session = store.open_session(SUPER, account)
    wanted = change(3, reader.now)
    async with (
        reader.feed.follow(PIPELINE),
        reader.feed.follow(PIPELINE, session._access, lambda one: one.id == wanted.id) as second,
    ):
        waiting = asyncio.create_task(second.take())
        await write(store.table, *(change(n, reader.now) for n in range(5, 7 + CHANGES_IN_A_UNIT)))
        await reader.feed.poll()
        assert account.owed == 1
        assert not waiting.done()
        await write(store.table, wanted)
        await reader.feed.poll()
        assert await waiting == wanted
    assert (account.taken, account.owed) == (0, 1)


@on_sqlite
@pytest.mark.parametrize("wakes", [True, False])
async def test_others_have_their_turn_while_many_followers_get_a_change(
    table: Table, monkeypatch: pytest.MonkeyPatch, *, wakes: bool
) -> None:
    monkeypatch.setattr("penstock.datastore.change_log.feed.LOOKS_IN_A_TURN", 10)
    monkeypatch.setattr("penstock.datastore.change_log.feed.LOOKS_OF_A_WAKING", 4)
    reader, turns = Reader(table), 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with AsyncExitStack() as stack:
        followers = [
            await stack.enter_async_context(reader.feed.follow(PIPELINE, wants=lambda one: wakes))
            for _ in range(100)
        ]
        (kind,) = reader.feed._kinds.values()
        counting = asyncio.create_task(count_turns())
        await asyncio.sleep(0)
        await kind.offer_new([change(1, reader.now)])
        taken = turns
        counting.cancel()
        assert all(bool(follower._pending) is wakes for follower in followers)
    # 10 looks fill a turn, or 2 followers who wake, each of whom counts as 5 looks.
    assert taken == (50 if wakes else 10)


def test_changes_of_grants_alone_are_told_apart_from_others() -> None:
    eu, usa = GroupPath("/eu"), GroupPath("/usa")
    to_eu, to_usa = (replace(change(1, n, n), grants=(one,)) for n, one in ((1, eu), (2, usa)))
    content = change(1, 3, 3)
    for offered, grants in (
        ([to_eu, to_usa], (eu, usa)),
        ([to_eu, content], ()),
        ([content, to_usa], ()),
    ):
        follower = Follower()
        follower.offer(offered)
        (waiting,) = follower._pending.values()
        assert waiting.grants == grants


def test_a_follower_that_takes_nothing_learns_that_changes_were_lost() -> None:
    follower = Follower()
    follower.offer([change(n, n) for n in range(MOST_PENDING + 1)])
    assert follower._pending == {}
    assert follower.has_lost


async def test_after_a_loss_new_changes_are_offered_again() -> None:
    follower = Follower()
    follower.offer([change(n, n) for n in range(MOST_PENDING + 1)])
    assert await follower.take() is None
    follower.offer([change(1, 5)])
    assert await follower.take() == change(1, 5)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), max_size=30))
async def test_no_object_is_forgotten_and_positions_never_pass_one_that_waits(
    changes: list[tuple[int, int]],
) -> None:
    follower = Follower()
    follower.offer([change(number, at) for number, at in changes])
    latest: dict[str, int] = {}
    for number, at in changes:
        one = change(number, at).id
        latest[one] = max(at, latest.get(one, 0))
    while latest:
        assert follower.earliest(1_000) == min(latest.values())
        taken = await follower.take()
        assert taken is not None
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
    async with reader.feed.follow(PIPELINE), reader.feed.follow(PIPELINE):
        before = replace(metered.units)
        await reader.feed.poll()
        spent = (metered.units.rcu - before.rcu, metered.units.calls - before.calls)
        assert spent == (0.5 * SHARDS, SHARDS)
    calls = metered.units.calls
    await reader.feed.poll()
    assert metered.units.calls == calls


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
    async with reader.feed.follow(PIPELINE) as follower:
        await reader.poll(follower)
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
        (found,) = await reader.poll(follower)
        groups = {USA, eu} if kind in ("grant", "revoke") else {USA}
        assert (found.id, set(found.groups)) == (made.id, groups)
        assert found.grants == ((eu,) if kind in ("grant", "revoke") else ())


@on_sqlite
async def test_a_refused_change_is_not_in_the_log(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    feed = ChangeFeed(store.table, store.clock)
    async with feed.follow(PIPELINE) as follower:
        with pytest.raises(Exception, match="version"):
            await session.pipelines.writing.update(made.id, 7, {"description": "new"})
        await feed.poll()
        assert not follower._pending


def test_changes_expire_after_an_hour() -> None:
    operation = change_write(PIPELINE, change(1, 1_000_000)).operation
    assert isinstance(operation, Put)
    assert operation.item[TTL] == 1_000 + 3_600


@on_sqlite
async def test_a_list_that_is_resumed_is_open_when_it_waits_for_a_change(table: Table) -> None:
    reader, opened = Reader(table), list[str]()

    async def read(_: Change) -> Outcome:
        return REMOVED

    access = Access(table, SUPER, reader.clock, Budget())
    wanted = ChangeReader(lambda _: True, read)
    events = follow_changes(reader.feed, PIPELINE, access, reader.now, wanted)
    with opening_until(lambda: opened.append("open")):
        told = asyncio.ensure_future(anext(events))
    assert opened == []
    await until(lambda: opened)
    assert not told.done()
    await write(table, change(1, reader.now + 1))
    await reader.feed.poll()
    assert (await told).id == change(1, 0).id
    await events.aclose()  # type: ignore[attr-defined]
