"""Lists of runs by state and time, and of stuck runs: full pages, in both directions."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import ManifestName, Run, RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Heartbeat, Skip
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.manifest.sample_runs import (
    SNOW,
    TRANSFORM,
    bring_to,
    claim,
    discover,
    run_name,
)
from tests.support.sample_resources import (
    EU,
    USA,
    Watch,
    caller,
    create_groups,
    on_sqlite,
    walk,
    without_moto,
)
from tests.support.table_interceptors import TracedTable

START = datetime(2022, 8, 10, 23, 55, 20, 322000, UTC)
SECOND = timedelta(seconds=1)
STATES = tuple(RunState)


async def fill(session: Session, watch: Watch, count: int) -> list[Run]:
    """Discover runs, one or two a second, in various states; oldest first."""
    runs = []
    for n in range(count):
        runs.append(await bring_to(session, STATES[n % len(STATES)], f"r{n:02}/"))
        if n % 3:
            watch.move(SECOND)
    return runs


def ids(runs: Sequence[Run]) -> list[str]:
    return [run.run_id for run in runs]


@without_moto
async def test_lists_are_by_time_and_state_either_way(store: Store, watch: Watch) -> None:
    session = await create_groups(store)
    runs = await fill(session, watch, 12)
    page = session.run_lists.page
    for state in (None, *STATES):
        wanted = ids([run for run in runs if state in (None, run.state)])
        for newest_first in (False, True):
            listed = partial(page, SNOW, RunListFilter(state=state, newest_first=newest_first))
            for backward in (False, True):
                found = ids(await walk(listed, 1, backward=backward))
                assert found == (wanted[::-1] if newest_first else wanted)
            whole = await listed(Window(size=len(wanted)))
            assert (ids([run for _, run in whole.entries]), whole.more) == (found, False)


@without_moto
async def test_a_window_begins_at_its_start_and_ends_before_its_end(
    store: Store, watch: Watch
) -> None:
    session = await create_groups(store)
    runs = await fill(session, watch, 9)
    seconds = [datetime.fromtimestamp(run.added_at, UTC) for run in runs]
    cases = [
        (seconds[3], seconds[6]),
        (seconds[3], seconds[3]),
        (seconds[6], seconds[3]),
        (None, seconds[2]),
        (seconds[5], None),
        (seconds[3] + SECOND / 2, seconds[6] + SECOND / 2),
        (datetime(1960, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)),
        (datetime(1, 1, 2, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC)),
    ]
    for start, end in cases:
        wanted = [
            run.run_id
            for run, at in zip(runs, seconds, strict=True)
            if (start is None or at >= start) and (end is None or at < end)
        ]
        listed = RunListFilter(start=start, end=end)
        for backward in (False, True):
            found = await walk(partial(session.run_lists.page, SNOW, listed), 1, backward=backward)
            assert ids(found) == wanted


@without_moto
async def test_runs_to_be_skipped_can_be_left_out_or_asked_for(store: Store, watch: Watch) -> None:
    session = await create_groups(store)
    for n in range(9):
        reason = "bad day" if n % 3 else None
        await discover(session, f"r{n}/", skip_reason=reason)
    for to_skip, wanted in (
        (False, ["r0/", "r3/", "r6/"]),
        (True, ["r1/", "r2/", "r4/", "r5/", "r7/", "r8/"]),
    ):
        for state in (None, RunState.NEW):
            listed = partial(
                session.run_lists.page, SNOW, RunListFilter(state=state, to_skip=to_skip)
            )
            for size in (1, 2, 3, 20):
                assert ids(await walk(listed, size)) == wanted
                assert ids(await walk(listed, size, backward=True)) == wanted
    await session.runs.change(run_name("r0/"), Skip(reason="bad"))
    left = await walk(partial(session.run_lists.page, SNOW, RunListFilter(to_skip=False)))
    assert ids(left) == ["r3/", "r6/"]


async def test_a_page_goes_on_where_the_last_ended_though_runs_come_and_go(
    store: Store, watch: Watch
) -> None:
    session = await create_groups(store)
    for n in range(6):
        await discover(session, f"r{n}/")
    listed = partial(session.run_lists.page, SNOW, RunListFilter(state=RunState.NEW))
    first = await listed(Window(size=2))
    await claim(session, TRANSFORM, run_name("r1/"))
    await claim(session, TRANSFORM, run_name("r3/"))
    await discover(session, "r6/")
    rest = await listed(Window(size=9, after=first.reached))
    assert ids([run for _, run in rest.entries]) == ["r2/", "r4/", "r5/", "r6/"]
    assert not rest.more


@on_sqlite
async def test_a_run_that_moves_on_while_the_page_is_read_is_left_out(
    store: Store, watch: Watch
) -> None:
    session = await create_groups(store)
    for n in range(4):
        await discover(session, f"r{n}/")

    class Meanwhile(TracedTable):
        """A table in which a run is claimed between the list's read and the runs' read."""

        async def query(self, query: object) -> object:  # type: ignore[override]
            page = await self._table.query(query)  # type: ignore[arg-type]
            await claim(session, TRANSFORM, run_name("r1/"), owner="w")
            return page

    table: Table = Meanwhile(store.table)  # type: ignore[assignment]
    late = Store(table, store.clock).open_session(session.caller)
    page = await late.run_lists.page(SNOW, RunListFilter(state=RunState.NEW), Window(size=2))
    assert ids([run for _, run in page.entries]) == ["r0/", "r2/"]
    assert page.more


@on_sqlite
async def test_a_budget_that_is_used_up_ends_the_page_and_the_cursor_goes_on(
    table: Table, watch: Watch
) -> None:
    store = Store(table, Clock(now=watch), list_budget=Budget(rounds=1))
    session = await create_groups(store)
    for n in range(230):
        await discover(session, f"r{n:03}/", skip_reason=None if n in {5, 150, 229} else "bad")
    listed = partial(session.run_lists.page, SNOW, RunListFilter(to_skip=False))
    first = await listed(Window(size=2))
    assert (ids([run for _, run in first.entries]), first.more) == (["r005/"], True)
    assert ids(await walk(listed, 2)) == ["r005/", "r150/", "r229/"]
    assert ids(await walk(listed, 2, backward=True)) == ["r005/", "r150/", "r229/"]
    assert ids(await walk(partial(session.run_lists.stale, SNOW), 2)) == []
    watch.move(timedelta(hours=2))
    assert ids(await walk(partial(session.run_lists.stale, SNOW), 2)) == ["r005/", "r150/", "r229/"]


@without_moto
async def test_stale_runs_are_those_that_nobody_claims_and_those_in_no_hand(
    store: Store, watch: Watch
) -> None:
    session = await create_groups(store)
    for state in STATES:
        await bring_to(session, state, f"old {state}/")
    await discover(session, "skipped/", skip_reason="bad")
    held = await bring_to(session, RunState.PROCESSING, "alive/")
    watch.move(timedelta(minutes=59))
    await discover(session, "young/")
    stale = partial(session.run_lists.stale, SNOW)
    assert ids(await walk(stale)) == ["old PROCESSING/", "old LOADING/", "alive/"]
    await session.runs.change(run_name("alive/"), Heartbeat(fence=held.fence, seconds=3600))
    assert ids(await walk(stale)) == ["old PROCESSING/", "old LOADING/"]
    watch.move(timedelta(minutes=1))
    whole = ["old NEW/", "old PROCESSING/", "old LOADING/"]
    for size in (1, 2, 20):
        assert ids(await walk(stale, size)) == whole
        assert ids(await walk(stale, size, backward=True)) == whole
    young = partial(session.run_lists.stale, SNOW, older_than=timedelta(0))
    assert ids(await walk(young)) == [*whole, "young/"]


@on_sqlite
async def test_lists_of_what_is_not_there_or_not_for_the_caller_are_the_same(
    store: Store, watch: Watch
) -> None:
    session = await create_groups(store)
    await discover(session)
    stranger = store.open_session(caller({EU: Role.ADMIN}))
    told = set()
    names = ("x", "", "x" * 5000, "a\0")
    for of, name in ((of, ManifestName(USA, name)) for of in (session, stranger) for name in names):
        for call in (
            of.run_lists.page(name, RunListFilter(), Window()),
            of.run_lists.stale(name, Window()),
        ):
            with pytest.raises(NotFound) as refused:
                await call
            told.add(refused.value.message)
    assert told == {"There is no such manifest in /usa."}
    with pytest.raises(NotFound, match="no such manifest in /usa"):
        await stranger.run_lists.page(SNOW, RunListFilter(), Window())


@on_sqlite
async def test_a_page_costs_two_round_trips_however_many_runs_there_are(
    store: Store, watch: Watch
) -> None:
    session = await create_groups(store)
    for n in range(60):
        await discover(session, f"r{n}/")
    traced = TracedTable(store.table)
    seen = Store(traced, store.clock).open_session(session.caller)
    for listed in (
        RunListFilter(state=RunState.NEW),
        RunListFilter(start=START + timedelta(days=1)),
        RunListFilter(to_skip=True),
    ):
        traced.start()
        await seen.run_lists.page(SNOW, listed, Window(size=20))
        assert traced.depth <= 2
        assert traced.reads <= 3
    assert seen.units.rcu < 30


async def test_manifests_of_a_group_are_listed_by_name(store: Store) -> None:
    session = await create_groups(store)
    for name in ("b", "C", "a:x", "d"):
        await session.runs.discover(ManifestName(USA, name), Discovery(run_id="r", added_by="t"))
    listed = partial(session.manifests.page, USA)
    for size in (1, 2, 9):
        for backward in (False, True):
            found = await walk(listed, size, backward=backward)
            assert [manifest.name for manifest in found] == ["a:x", "b", "C", "d"]
    assert await walk(partial(session.manifests.page, EU)) == []
    with pytest.raises(NotFound):
        await store.open_session(caller({EU: Role.ADMIN})).manifests.page(USA, Window())


@on_sqlite
@pytest.mark.parametrize("seed", range(20))
async def test_what_was_there_throughout_is_met_once_whatever_else_happens(
    store: Store, watch: Watch, seed: int
) -> None:
    random = Random(seed)
    session = await create_groups(store)
    there = {(await discover(session, f"r{n}/")).run_id for n in range(12)}
    listed = RunListFilter(state=RunState.NEW, newest_first=random.random() < 0.5)
    met, after = [], None
    for turn in range(100):
        window = Window(size=random.randint(1, 4), after=after)
        page = await session.run_lists.page(SNOW, listed, window)
        met += ids([run for _, run in page.entries])
        if not page.more:
            break
        after = page.reached
        if there and random.random() < 0.5:
            gone = random.choice(sorted(there))
            there.discard(gone)
            await claim(session, TRANSFORM, run_name(gone))
        if random.random() < 0.5:
            watch.move(SECOND)
            await discover(session, f"new {turn}/")
    assert len(met) == len(set(met))
    assert there <= set(met)
