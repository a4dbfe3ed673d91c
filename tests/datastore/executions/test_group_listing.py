"""Lists of the executions of groups, for those who see their pipelines."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.errors import BadArgument, LimitExceeded, NotFound
from penstock.datastore.executions.lists.group_listing import (
    DurationRange,
    ExecutionOrder,
    GroupExecutions,
    TimeSpan,
)
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import ROOT, Caller, GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    NORA,
    REED,
    begin_execution,
    finished_execution,
    pipeline_in,
    ready_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    Watch,
    on_sqlite,
    tags,
    walk,
)

CANCELLED, FAILED, IN_PROGRESS, SUCCESS, WAITING = (
    ExecutionState.CANCELLED,
    ExecutionState.FAILED,
    ExecutionState.IN_PROGRESS,
    ExecutionState.SUCCESS,
    ExecutionState.WAITING,
)
ENDED = ExecutionOrder.ENDED_LAST
OLDEST = ExecutionOrder.OLDEST_FIRST
NOBODY = Caller("nobody", {})


async def list_ids(
    store: Store,
    size: int = 1,
    who: Caller = SUPER,
    group: GroupPath | None = USA,
    *,
    backward: bool = False,
    **more: object,
) -> list[str]:
    asked = GroupExecutions(group=group, **more)  # type: ignore[arg-type]
    listing = store.open_session(who).executions.of_groups
    found = await walk(lambda window: listing.page(asked, window), size, backward=backward)
    return [one.id for one in found]


async def cancel(store: Store, execution: Execution) -> None:
    await store.open_session(SUPER).executions.changing.cancel(execution.id)


def states(*wanted: ExecutionState) -> frozenset[ExecutionState]:
    return frozenset(wanted)


async def test_executions_of_a_group_by_state_and_creation(
    store: Store, pipeline: Pipeline
) -> None:
    other = await pipeline_in(store, name="other")
    made = [await begin_execution(store, each) for each in (pipeline, other) * 2]
    await cancel(store, made[1])
    waiting = [made[n].id for n in (0, 2, 3)]
    for size in (1, 2, 10):
        for backward in (False, True):
            walked: dict[str, Any] = {"size": size, "backward": backward}
            found = await list_ids(store, states=states(WAITING), **walked)
            assert found == waiting[::-1]
            found = await list_ids(store, states=states(WAITING), order=OLDEST, **walked)
            assert found == waiting
            found = await list_ids(store, states=states(CANCELLED), **walked)
            assert found == [made[1].id]
            found = await list_ids(store, **walked)
            assert found == [one.id for one in made[::-1]]
    assert await list_ids(store, states=states(FAILED, SUCCESS)) == []
    assert await faults(store.table) == []


async def test_an_execution_is_listed_in_each_state_of_its_life(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await ready_execution(store, pipeline)

    async def places() -> list[ExecutionState]:
        return [one for one in ExecutionState if await list_ids(store, states=states(one))]

    assert await places() == [WAITING]
    claimed = await store.open_session(ANN).executions.external.claim(made.id, "w")
    assert await places() == [IN_PROGRESS]
    external = store.open_session(ANN).executions.external
    await external.fail(made.id, claimed.execution.fence, "WORKER_FAILED", "It broke.")
    assert await places() == [FAILED]
    assert await list_ids(store, order=ENDED) == [made.id]
    await store.open_session(ANN).executions.changing.retry(made.id)
    assert await places() == [WAITING]
    assert await list_ids(store, order=ENDED) == []
    await store.execution_worker("v").run_all()
    assert await places() == [SUCCESS]
    assert await faults(store.table) == []
    watch.move(timedelta(days=31))
    await store.finish_deletes()
    assert await places() == []
    assert not [key for key in await contents(store.table) if key.pk.startswith(("EL:", "EE:"))]


async def test_executions_by_their_end(store: Store, pipeline: Pipeline, watch: Watch) -> None:
    made = [await begin_execution(store, pipeline) for _ in range(3)]
    times = []
    for one in (made[2], made[0]):
        watch.move(timedelta(minutes=1))
        await cancel(store, one)
        times.append(store.clock.now())
    watch.move(timedelta(minutes=1))
    over = await finished_execution(store, pipeline)
    by_end = [over.id, made[0].id, made[2].id]
    for size in (1, 2, 10):
        for backward in (False, True):
            assert await list_ids(store, size, order=ENDED, backward=backward) == by_end
    assert await list_ids(store, order=ENDED, states=states(CANCELLED, WAITING)) == by_end[1:]
    assert await list_ids(store, order=ENDED, states=states(WAITING)) == []
    for order, wanted in ((ENDED, by_end), (OLDEST, [made[0].id, made[2].id, over.id])):
        for span, ids in (
            (TimeSpan(times[0]), {*by_end}),
            (TimeSpan(times[0] + timedelta(seconds=1)), {over.id, made[0].id}),
            (TimeSpan(None, times[1]), {made[2].id}),
            (TimeSpan(times[0], times[1]), {made[2].id}),
            (TimeSpan(times[1], times[1]), set()),
            (TimeSpan(times[1], times[0]), set()),
        ):
            expected = [id for id in wanted if id in ids]
            assert await list_ids(store, order=order, ended=span) == expected, (order, span)


async def test_executions_by_the_time_that_they_took(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    external = store.open_session(ANN).executions.external
    made = []
    for milliseconds in (1_500, 250, 60_000):
        one = await ready_execution(store, pipeline)
        claimed = await external.claim(one.id, "w")
        watch.move(timedelta(milliseconds=milliseconds))
        await external.fail(one.id, claimed.execution.fence, "WORKER_FAILED", "It broke.")
        made.append(one.id)
    slow, quick, slowest = made
    never = await begin_execution(store, pipeline)
    await cancel(store, never)
    at_work = await ready_execution(store, pipeline)
    await external.claim(at_work.id, "w")
    watch.move(timedelta(seconds=2))
    for (least, most), ids in {
        (1.5, None): [slowest, slow],
        (1.501, None): [slowest],
        (None, 1.5): [quick, slow],
        (None, 1.499): [quick],
        (0.25, 60): [slowest, quick, slow],
        (0, 0.2): [],
        (2, 1): [],
    }.items():
        span = DurationRange(least, most)
        for size in (1, 10):
            assert await list_ids(store, size, duration=span) == ids, span
            assert await list_ids(store, size, duration=span, order=OLDEST) == ids[::-1], span
    by_end = [slowest, quick]
    long = DurationRange(0.2, 100)
    assert (await list_ids(store, duration=long, order=ENDED))[:2] == by_end
    assert await list_ids(store, duration=long, states=states(IN_PROGRESS, CANCELLED)) == []
    assert await list_ids(store, duration=long, who=ANN) == [slowest, quick, slow]
    with pytest.raises(NotFound):
        await list_ids(store, duration=long, who=EVE)


@on_sqlite
async def test_executions_by_creation_down_to_the_millisecond(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = []
    for _ in range(3):
        watch.move(timedelta(milliseconds=1))
        made.append(await begin_execution(store, pipeline))
        await cancel(store, made[-1])
    at = [datetime.fromtimestamp(int(one.id[:8] + one.id[9:13], 16) / 1000, UTC) for one in made]
    for order in ExecutionOrder:
        for since in (None, *at):
            for until in (None, *at):
                wanted = [
                    one.id
                    for one, time in zip(made, at, strict=True)
                    if (since is None or since <= time) and (until is None or time < until)
                ]
                found = await list_ids(store, order=order, created=TimeSpan(since, until))
                assert found == (wanted if order is OLDEST else wanted[::-1])
    for extreme in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        for order in ExecutionOrder:
            for name in ("created", "ended"):
                early: dict[str, Any] = {"order": order, name: TimeSpan(None, extreme)}
                late: dict[str, Any] = {"order": order, name: TimeSpan(extreme)}
                found = [*await list_ids(store, 5, **early), *await list_ids(store, 5, **late)]
                assert sorted(found) == [one.id for one in made]


async def test_executions_of_a_pipeline_a_creator_and_tags(
    store: Store, pipeline: Pipeline
) -> None:
    other = await pipeline_in(store, name="other")
    made = [
        await begin_execution(store, each, who, tags=tags(f"n={n % 2}"))
        for n, (each, who) in enumerate(
            (each, who) for each in (pipeline, other) for who in (ANN, SUPER) * 2
        )
    ]
    ids = [one.id for one in made[::-1]]
    for size in (1, 3, 20):
        assert await list_ids(store, size, pipeline=other.id) == ids[:4]
        assert await list_ids(store, size, group=None, pipeline=pipeline.id) == ids[4:]
        assert await list_ids(store, size, created_by="ann") == ids[1::2]
        assert await list_ids(store, size, tags=TagFilter(all=tags("n=1"))) == ids[::2]
        found = await list_ids(
            store, size, tags=TagFilter(none=tags("n=1")), created_by="ann", pipeline=other.id
        )
        assert found == ids[1:4:2]
    assert await list_ids(store, created_by="eve") == []


async def test_a_list_holds_the_executions_of_the_pipelines_that_the_group_sees(
    store: Store, pipeline: Pipeline
) -> None:
    below = await pipeline_in(store, NORTHWEST, "below")
    above = await pipeline_in(store, ROOT, "above")
    foreign = await pipeline_in(store, EU, "foreign")
    unseen = await pipeline_in(store, EU, "unseen")
    writing = store.open_session(SUPER).pipelines.writing
    await writing.grant(foreign.id, NORTHWEST)
    made = {
        each.name: (await begin_execution(store, each, SUPER)).id
        for each in (pipeline, below, above, foreign, unseen)
    }

    async def names(group: GroupPath, who: Caller = SUPER, *, below: bool = False) -> set[str]:
        found = [await list_ids(store, n, who, group, include_child_groups=below) for n in (1, 9)]
        assert found[0] == found[1] == sorted(found[0], reverse=True)
        return {name for name, id in made.items() if id in found[0]}

    assert await names(USA) == {"Trips", "above"}
    assert await names(USA, below=True) == {"Trips", "below", "above", "foreign"}
    assert await names(NORTHWEST) == {"Trips", "below", "above", "foreign"}
    assert await names(SOUTH) == {"Trips", "above"}
    assert await names(EU) == {"above", "foreign", "unseen"}
    assert await names(ROOT, below=True) == {*made}
    assert await names(NORTHWEST, NORA) == {"Trips", "below", "above", "foreign"}
    assert await names(USA, NORA, below=True) == {"Trips", "below", "above", "foreign"}
    for group, found in ((USA, []), (NORTHWEST, [made["foreign"]]), (EU, [made["foreign"]])):
        assert await list_ids(store, group=group, pipeline=foreign.id) == found
    everywhere: dict[str, Any] = {"include_child_groups": True, "pipeline": foreign.id}
    assert await list_ids(store, group=USA, **everywhere) == [made["foreign"]]
    assert await faults(store.table) == []


async def test_a_revoked_grant_hides_executions_at_once(store: Store, pipeline: Pipeline) -> None:
    foreign = await pipeline_in(store, EU, "foreign")
    writing = store.open_session(SUPER).pipelines.writing
    await writing.grant(foreign.id, USA)
    one = await begin_execution(store, foreign, EVE)
    assert await list_ids(store, who=ANN) == [one.id]
    assert await list_ids(store, who=NORA, group=NORTHWEST, pipeline=foreign.id) == [one.id]
    await writing.revoke(foreign.id, USA)
    assert await list_ids(store, who=ANN) == []
    with pytest.raises(NotFound) as refused:
        await list_ids(store, who=ANN, group=None, pipeline=foreign.id)
    assert refused.value.path == ["pipeline"]
    assert await list_ids(store, who=EVE, group=EU) == [one.id]
    assert await faults(store.table) == []


async def test_a_grant_above_the_owner_shows_executions_there(
    store: Store, pipeline: Pipeline
) -> None:
    below = await pipeline_in(store, NORTHWEST, "below")
    one = await begin_execution(store, below, SUPER)
    writing = store.open_session(SUPER).pipelines.writing
    await writing.grant(below.id, USA)
    for group in (USA, NORTHWEST, SOUTH):
        assert await list_ids(store, group=group) == [one.id]
        assert await list_ids(store, group=group, include_child_groups=True) == [one.id]
    await writing.revoke(below.id, USA)
    assert await list_ids(store, group=SOUTH) == []
    assert await list_ids(store, group=NORTHWEST) == [one.id]
    assert await faults(store.table) == []


async def test_a_stranger_learns_nothing_of_a_group(store: Store, pipeline: Pipeline) -> None:
    await begin_execution(store, pipeline)
    for group in (USA, GroupPath("/nowhere")):
        for who in (EVE, NOBODY):
            with pytest.raises(NotFound) as refused:
                await list_ids(store, who=who, group=group)
            assert refused.value.path == ["group"]
    with pytest.raises(NotFound):
        await list_ids(store, who=SUPER, group=GroupPath("/nowhere"))
    with pytest.raises(NotFound):
        await list_ids(store, who=EVE, group=EU, pipeline=pipeline.id)
    with pytest.raises(BadArgument):
        await list_ids(store, who=SUPER, group=None)
    assert len(await list_ids(store, who=REED)) == 1


@on_sqlite
async def test_a_list_spans_a_bounded_number_of_groups(store: Store, pipeline: Pipeline) -> None:
    tight = Store(store.table, files=store.files, list_budget=Budget(groups=3))
    await begin_execution(store, pipeline)
    assert len(await list_ids(tight, include_child_groups=True)) == 1
    with pytest.raises(LimitExceeded):
        await list_ids(tight, group=ROOT, include_child_groups=True)


@on_sqlite
async def test_a_rare_creator_is_found_within_the_budget_of_each_page(
    store: Store, pipeline: Pipeline
) -> None:
    rare = await begin_execution(store, pipeline, SUPER, tags=tags("rare=yes"))
    for _ in range(30):
        await begin_execution(store, pipeline)
    tight = Store(store.table, files=store.files, list_budget=Budget(units=5, rounds=1))
    filters: list[dict[str, Any]] = [
        {"created_by": "super"},
        {"tags": TagFilter(all=tags("rare=yes"))},
    ]
    for filtered in filters:
        for size in (1, 5):
            assert await list_ids(tight, size, **filtered) == [rare.id]
    asked = GroupExecutions(group=USA, tags=TagFilter(all=tags("rare=yes")))
    page = await tight.open_session(SUPER).executions.of_groups.page(asked, Window(size=1))
    assert (page.entries, page.more) == ((), True)


@on_sqlite
async def test_a_rare_duration_is_found_within_the_budget_of_each_page(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    external = store.open_session(ANN).executions.external
    made = [await ready_execution(store, pipeline) for _ in range(12)]
    for seconds, one in enumerate(made[::-1]):
        claimed = await external.claim(one.id, "w")
        watch.move(timedelta(seconds=seconds))
        await external.fail(one.id, claimed.execution.fence, "WORKER_FAILED", "It broke.")
    tight = Store(store.table, files=store.files, list_budget=Budget(units=5, rounds=1))
    slowest = DurationRange(at_least=11)
    for order in (ENDED, ExecutionOrder.NEWEST_FIRST):
        for size in (1, 5):
            assert await list_ids(tight, size, duration=slowest, order=order) == [made[0].id]
    asked = GroupExecutions(group=USA, duration=slowest)
    page = await tight.open_session(SUPER).executions.of_groups.page(asked, Window(size=1))
    assert (page.entries, page.more) == ((), True)
