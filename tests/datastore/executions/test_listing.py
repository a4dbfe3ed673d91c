"""Lists of executions: whole, by state, by time and by tags, in pages of any size."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.executions.lists.listing import ExecutionFilter, first_id
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.datastore.executions.sample_executions import ANN, begin_execution, pipeline_in
from tests.support.sample_resources import on_sqlite, tags, walk

CANCELLED, WAITING = ExecutionState.CANCELLED, ExecutionState.WAITING


async def create_executions(store: Store, pipeline: Pipeline, count: int) -> list[Execution]:
    """Create executions; every third is cancelled, and tags hold remainders by 2 and 3."""
    made = []
    for n in range(count):
        made.append(
            await begin_execution(store, pipeline, tags=tags(f"two={n % 2}", f"three=x/{n % 3}"))
        )
        if n % 3 == 0:
            await store.open_session(ANN).executions.changing.cancel(made[-1].id)
    return made


async def list_ids(
    store: Store, pipeline: Pipeline, size: int = 1, *, backward: bool = False, **more: object
) -> list[str]:
    asked = ExecutionFilter(**more)  # type: ignore[arg-type]
    listing = store.open_session(ANN).executions.listing

    found = await walk(
        lambda window: listing.page(pipeline, asked, window), size, backward=backward
    )
    return [one.id for one in found]


def ids(made: Sequence[Execution]) -> list[str]:
    return [one.id for one in made]


async def test_executions_of_a_pipeline_newest_first(store: Store, pipeline: Pipeline) -> None:
    made = await create_executions(store, pipeline, 4)
    await begin_execution(store, await pipeline_in(store, name="other"))
    for size in (1, 3, 10):
        assert await list_ids(store, pipeline, size) == ids(made)[::-1]
        assert await list_ids(store, pipeline, size, newest_first=False) == ids(made)
    assert await list_ids(store, pipeline, 1, backward=True) == ids(made)[::-1]


@on_sqlite
@pytest.mark.parametrize("size", [1, 2, 50])
async def test_by_state_with_full_pages(store: Store, pipeline: Pipeline, size: int) -> None:
    made = await create_executions(store, pipeline, 10)
    found = await list_ids(store, pipeline, size, states=frozenset({CANCELLED}))
    assert found == ids(made)[::3][::-1]
    both = await list_ids(store, pipeline, size, states=frozenset({CANCELLED, WAITING}))
    assert both == ids(made)[::-1]
    page = await store.open_session(ANN).executions.listing.page(
        pipeline, ExecutionFilter(states=frozenset({CANCELLED})), Window(size=3)
    )
    assert len(page.entries) == 3
    assert page.more


@on_sqlite
@pytest.mark.parametrize("backward", [False, True])
async def test_by_tags_with_the_and_of_resources(
    store: Store, pipeline: Pipeline, backward: bool
) -> None:
    made = await create_executions(store, pipeline, 12)
    wanted = TagFilter(all=tags("two=1", "three=x/0"))
    found = await list_ids(store, pipeline, tags=wanted, backward=backward)
    assert found == [ids(made)[9], ids(made)[3]]
    either = TagFilter(any=tags("three=x/0", "three=x/1"), none=tags("two=0"))
    expected = [one for n, one in enumerate(ids(made)) if n % 3 < 2 and n % 2]
    assert await list_ids(store, pipeline, 2, tags=either, newest_first=False) == expected
    states = frozenset({CANCELLED})
    assert (
        await list_ids(store, pipeline, tags=TagFilter(all=tags("two=1")), states=states) == found
    )
    assert await list_ids(store, pipeline, tags=TagFilter(without_keys=("two",))) == []
    lacking = await list_ids(store, pipeline, tags=TagFilter(without_keys=("four",)))
    assert lacking == ids(made)[::-1]
    assert await list_ids(store, pipeline, tags=TagFilter(all=tags("two=7"))) == []


@on_sqlite
@pytest.mark.parametrize("newest_first", [False, True])
async def test_by_time_down_to_the_millisecond(
    store: Store, pipeline: Pipeline, newest_first: bool
) -> None:
    made = await create_executions(store, pipeline, 5)
    moments = [
        datetime.fromtimestamp(int(one.id[:8] + one.id[9:13], 16) / 1000, UTC) for one in made
    ]
    for n, since in enumerate(moments):
        for m, until in enumerate(moments):
            expected = [
                one.id for one, at in zip(made, moments, strict=True) if since <= at < until
            ]
            found = await list_ids(
                store, pipeline, since=since, until=until, newest_first=newest_first
            )
            assert found == (expected[::-1] if newest_first else expected), (n, m)
    future = datetime.now(UTC) + timedelta(days=1)
    assert await list_ids(store, pipeline, since=future) == []
    assert await list_ids(store, pipeline, until=datetime(1, 1, 2, tzinfo=UTC)) == []
    tagged = TagFilter(all=tags("two=0"))
    found = await list_ids(store, pipeline, tags=tagged, since=moments[1], newest_first=False)
    assert (
        found
        == [one.id for one, at in zip(made, moments, strict=True) if at >= moments[1]][
            (0 if moments[1] == moments[0] else 1) :: 2
        ]
    )


def test_the_first_id_of_a_moment_lies_between_those_before_and_those_of_it() -> None:
    moment = datetime(2022, 8, 10, 23, 55, 20, 322000, UTC)
    assert first_id(moment) == "01828a2f-1f82-0000-0000-000000000000"


@on_sqlite
async def test_a_hopeless_search_ends_early_and_goes_on_from_there(
    store: Store, pipeline: Pipeline
) -> None:
    made = await create_executions(store, pipeline, 7)
    session = Store(store.table, list_budget=Budget(rounds=1), files=store.files).open_session(ANN)
    asked = ExecutionFilter(states=frozenset({ExecutionState.SUCCESS}))
    page = await session.executions.listing.page(pipeline, asked, Window(size=2))
    assert (page.entries, page.more) == ((), False)
    small = ExecutionFilter(tags=TagFilter(all=tags("two=0")), states=frozenset({CANCELLED}))
    first = await session.executions.listing.page(pipeline, small, Window(size=1))
    assert [id for id, _ in first.entries] == [made[6].id]
