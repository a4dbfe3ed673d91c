"""Creating, reading, updating, granting and revoking one resource."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import (
    BadArgument,
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from penstock.datastore.records import Parameter, Pipeline, State, Transformer, ValueType
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.counters import SHARDS, choose_shard
from penstock.datastore.table.port import Table
from penstock.datastore.text import is_id
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    SUPER,
    TRANSFORMER,
    USA,
    Watch,
    caller,
    create_groups,
    draft,
    make,
    on_sqlite,
    tags,
)
from tests.support.table_interceptors import InterruptedTable


async def test_a_created_pipeline_is_read_back_as_it_was_given(table: Table) -> None:
    watch = Watch()
    store = Store(table, Clock(now=watch))
    await create_groups(store)
    parameter = Parameter(index=0, key="c", type=ValueType.STRING, required=True)
    transformer = Transformer(parameters=(parameter,), transforms=TRANSFORMER.transforms)
    attributes = {"Rate": 2, "nested": {"list": [1, None, True, "x"]}}
    content = draft(" Smelt ", "Material=Wood/Oak", "size=10:3#4%") | {
        "description": "Two\nlines",
        "attributes": attributes,
        "transformer": transformer,
    }
    made = await store.open_session(caller({USA: Role.CONTRIBUTOR})).pipelines.writing.create(
        USA, content, None
    )
    assert made == Pipeline(
        id=made.id,
        name=" Smelt ",
        description="Two\nlines",
        state=State.ENABLED,
        tags=tags("Material=Wood/Oak", "size=10:3#4%"),
        groups=(USA,),
        owner=USA,
        version=1,
        revision=1,
        created_at="2022-08-10T23:55:20.322Z",
        created_by="ann",
        updated_at="2022-08-10T23:55:20.322Z",
        updated_by="ann",
        attributes=attributes,
        transformer=transformer,
        shard=choose_shard(made.id, SHARDS),
        counted_versions=1,
        named=True,
    )
    assert is_id(made.id)
    session = store.open_session(SUPER)
    assert await session.pipelines.reading.one(made.id) == made
    assert msgspec.structs.asdict(await session.pipelines.versions.one(made.id, 1)) == (
        msgspec.structs.asdict(msgspec.structs.replace(made, counted_versions=0, named=False))
    )
    assert await faults(table) == []


@on_sqlite
async def test_ids_follow_the_order_of_creation(store: Store) -> None:
    session = await create_groups(store)
    ids = [(await make(session, USA, f"n{n}")).id for n in range(20)]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        ({"name": " "}, [["name"]]),
        ({"name": "x" * 129}, [["name"]]),
        ({"description": "x" * 8193}, [["description"]]),
        ({"tags": tags("k=v", "K=w")}, [["tags", "1", "key"]]),
        ({"name": "\x07", "tags": tags("=v")}, [["name"], ["tags", "0", "key"]]),
        (
            {"transformer": Transformer(parameters=(), transforms=())},
            [["transformer", "transforms"]],
        ),
    ],
)
@on_sqlite
async def test_content_that_breaks_rules_is_refused_with_all_of_them(
    store: Store, content: dict[str, Any], paths: list[list[str]]
) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.pipelines.writing.create(USA, draft("New") | content, None)
    assert [problem.path for problem in refused.value.problems] == paths
    with pytest.raises(Invalid) as refused:
        await session.pipelines.writing.update(made.id, 1, content)
    assert [problem.path for problem in refused.value.problems] == paths
    assert await contents(store.table) == before


@on_sqlite
async def test_creating_in_a_group_that_is_not_there_is_refused(store: Store) -> None:
    session = await create_groups(store)
    before = await contents(store.table)
    with pytest.raises(NotFound, match="There is no group /xyz"):
        await make(session, GroupPath("/xyz"), "Smelt")
    with pytest.raises(NotFound, match="There is no group /xyz"):
        await session.pipelines.writing.create(GroupPath("/xyz"), draft(""), None)
    with pytest.raises(BadArgument, match="no default group"):
        await session.pipelines.writing.create(None, draft("Smelt"), None)
    assert await contents(store.table) == before


async def test_an_update_is_a_new_version_that_leaves_the_old_one(table: Table) -> None:
    watch = Watch()
    store = Store(table, Clock(now=watch))
    session = await create_groups(store)
    made = await make(session, USA, "Smelt", "m=a/b", "old=1")
    watch.move(timedelta(seconds=1))
    bob = store.open_session(caller({USA: Role.CONTRIBUTOR}, "bob"))
    changes = {"description": "new", "tags": tags("m=a", "new=1")}
    changed = await bob.pipelines.writing.update(made.id, 1, changes)
    assert changed == msgspec.structs.replace(
        made,
        **changes,
        version=2,
        revision=2,
        updated_at="2022-08-10T23:55:21.322Z",
        updated_by="bob",
        counted_versions=2,
    )
    assert await session.pipelines.reading.one(made.id) == changed
    first, second = [await session.pipelines.versions.one(made.id, n) for n in (1, 2)]
    assert (first.description, first.tags) == (None, made.tags)
    assert (second.description, second.tags) == ("new", changes["tags"])
    assert await faults(table) == []


@pytest.mark.parametrize("expected", [0, 1, 3, -1])
@on_sqlite
async def test_an_update_of_another_version_than_the_current_changes_nothing(
    store: Store, expected: int
) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    await session.pipelines.writing.update(made.id, 1, {"description": "two"})
    before = await contents(store.table)
    with pytest.raises(VersionConflict) as refused:
        await session.pipelines.writing.update(made.id, expected, {"name": "Stale"})
    assert refused.value.current_version == 2
    assert await contents(store.table) == before


async def test_an_update_that_somebody_else_overtakes_is_a_conflict(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")

    async def overtake() -> None:
        await session.pipelines.writing.update(made.id, 1, {"name": "First"})

    late = Store(InterruptedTable(store.table, overtake)).open_session(SUPER)
    with pytest.raises(VersionConflict) as refused:
        await late.pipelines.writing.update(made.id, 1, {"name": "Late", "tags": tags("k=v")})
    assert refused.value.current_version == 2
    assert (await session.pipelines.reading.one(made.id)).name == "First"
    assert await faults(store.table) == []


@on_sqlite
async def test_an_update_goes_through_when_only_the_grants_moved(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt", "k=v")

    async def overtake() -> None:
        await session.pipelines.writing.grant(made.id, EU)

    late = Store(InterruptedTable(store.table, overtake)).open_session(SUPER)
    changed = await late.pipelines.writing.update(made.id, 1, {"tags": tags("k=w")})
    assert (changed.version, changed.revision, changed.groups) == (2, 3, (USA, EU))
    assert await faults(store.table) == []


@pytest.mark.parametrize("state", [State.FROZEN, State.DISABLED])
@on_sqlite
async def test_a_frozen_or_disabled_pipeline_takes_a_change_of_state_and_nothing_else(
    store: Store, state: State
) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    writing = session.pipelines.writing
    stopped = await writing.update(made.id, 1, {"state": state})
    assert (stopped.state, stopped.version) == (state, 2)
    before = await contents(store.table)
    for changes in ({"name": "New"}, {"tags": ()}, {"state": State.ENABLED, "name": "New"}, {}):
        with pytest.raises(IllegalState) as refused:
            await writing.update(made.id, 2, changes)
        assert refused.value.state == state.name
    assert await contents(store.table) == before
    assert (await session.pipelines.reading.one(made.id)).name == "Smelt"
    again = await writing.update(made.id, 2, {"state": State.ENABLED})
    assert (again.state, again.version) == (State.ENABLED, 3)
    assert (await writing.update(made.id, 3, {"name": "New"})).version == 4


@on_sqlite
async def test_an_item_that_grows_beyond_its_limit_is_refused(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    before = await contents(store.table)
    for size in (400 * 1024, 5 * 1024 * 1024):
        with pytest.raises(LimitExceeded):
            await session.pipelines.writing.update(
                made.id, 1, {"attributes": {"filler": "x" * size}}
            )
    assert await contents(store.table) == before


@on_sqlite
async def test_many_reads_are_aligned_with_their_ids(store: Store) -> None:
    session = await create_groups(store)
    made = [await make(session, USA, f"n{n}") for n in range(103)]
    asked = [made[2].id, "nonsense", made[0].id, made[2].id, *(one.id for one in made)]
    found = await session.pipelines.reading.many(asked)
    assert [one.id if isinstance(one, Pipeline) else None for one in found] == [
        id if id != "nonsense" else None for id in asked
    ]


def test_a_moment_is_written_in_utc_with_milliseconds() -> None:
    clock = Clock(now=lambda: datetime(2022, 8, 10, 23, 55, 20, 322999, UTC))
    assert clock.timestamp() == "2022-08-10T23:55:20.322Z"
