"""Creating, reading, listing and deleting groups."""

import asyncio
from functools import partial

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
)
from penstock.datastore.records import Group, GroupCounts
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    TREE,
    USA,
    caller,
    create_groups,
    make,
    on_sqlite,
    walk,
    without_moto,
)

CITY = GroupPath("/usa/northwest/city")
USA2 = GroupPath("/usa2")


async def children(
    session: Session, of: GroupPath, size: int = 1, *, backward: bool = False
) -> list[GroupPath]:
    group = await session.groups.one(of)
    found = await walk(partial(session.groups.children, group), size, backward=backward)
    return [child.path for child in found]


async def test_a_group_is_created_and_read_back_with_its_counts(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "Smelt")
    group = await session.groups.one(USA)
    assert (group.path, group.name, group.created_by) == (USA, "usa", "super")
    assert await session.groups.count(USA) == GroupCounts(children=2, grants=1)
    root = await session.groups.one(ROOT)
    assert root.path == ROOT
    assert await session.groups.count(ROOT) == GroupCounts(children=2, grants=0)
    assert await faults(store.table) == []


@on_sqlite
async def test_the_root_is_there_before_anything_is_written(store: Store) -> None:
    session = store.open_session(SUPER)
    assert await session.groups.one(ROOT) == Group(path=ROOT, name="")
    assert await contents(store.table) == {}


@on_sqlite
async def test_a_given_name_is_trimmed_and_kept(store: Store) -> None:
    session = store.open_session(SUPER)
    assert (await session.groups.create(USA, " United States ")).name == "United States"
    assert (await session.groups.one(USA)).name == "United States"


@on_sqlite
@pytest.mark.parametrize("name", [".", "..", "....."])
async def test_no_group_is_called_by_dots_alone(name: str, store: Store) -> None:
    session = await create_groups(store)
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await session.groups.create(GroupPath(f"/usa/{name}"), "Dots")
    (problem,) = refused.value.problems
    assert (problem.path, problem.message) == (["path"], "has a name of dots alone")
    assert await contents(store.table) == before
    assert (await session.groups.create(GroupPath(f"/usa/a{name}"), "More")).name == "More"


@on_sqlite
async def test_creating_refuses_what_exists_what_has_no_parent_and_odd_names(store: Store) -> None:
    session = await create_groups(store)
    before = await contents(store.table)
    with pytest.raises(NameTaken) as taken:
        await session.groups.create(USA, None)
    assert (taken.value.kind, taken.value.group, taken.value.holder) == ("G", ROOT, USA)
    with pytest.raises(NameTaken):
        await session.groups.create(ROOT, None)
    with pytest.raises(NotFound, match="There is no group /xyz"):
        await session.groups.create(GroupPath("/xyz/abc"), None)
    for name in ("", " ", "x" * 65, "a\x00"):
        with pytest.raises(Invalid) as invalid:
            await session.groups.create(CITY, name)
        assert [problem.path for problem in invalid.value.problems] == [["name"]]
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("roles", "failure"),
    [
        ({USA: Role.ADMIN}, None),
        ({USA: Role.CONTRIBUTOR}, NotPermitted),
        ({USA: Role.ADMIN, NORTHWEST: Role.CONTRIBUTOR}, NotPermitted),
        ({CITY: Role.READER}, NotPermitted),
        ({EU: Role.ADMIN}, NotFound),
    ],
)
@on_sqlite
async def test_creating_and_deleting_need_an_admin_at_the_group_itself(
    store: Store, roles: dict[GroupPath, Role], failure: type[Exception] | None
) -> None:
    await create_groups(store)
    before = await contents(store.table)
    session = store.open_session(caller(roles))
    if failure is None:
        await session.groups.create(CITY, None)
        await session.groups.delete(CITY)
        assert (await contents(store.table)).keys() == before.keys()
        return
    for refused in (session.groups.create(CITY, None), session.groups.delete(NORTHWEST)):
        with pytest.raises(failure):
            await refused
    assert await contents(store.table) == before


async def test_only_an_empty_group_is_deleted(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, EU, "Smelt")
    before = await contents(store.table)
    for group in (USA, EU, ROOT):
        with pytest.raises(IllegalState):
            await session.groups.delete(group)
    assert await contents(store.table) == before
    await session.pipelines.deleting.delete(made.id)
    for group in (EU, SOUTH, NORTHWEST, USA):
        assert (await session.groups.delete(group)).path == group
        assert await faults(store.table) == []
        with pytest.raises(NotFound):
            await session.groups.one(group)
    assert set(await contents(store.table)) <= {Key("G:", "G:/")}


@on_sqlite
async def test_a_group_stays_as_long_as_it_owns_something_though_a_grant_above_covers_it(
    store: Store,
) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt")
    await session.pipelines.writing.grant(made.id, ROOT)
    before = await contents(store.table)
    with pytest.raises(IllegalState):
        await session.groups.delete(NORTHWEST)
    assert await contents(store.table) == before
    assert (await session.pipelines.writing.revoke(made.id, ROOT)).groups == (NORTHWEST,)
    await session.pipelines.deleting.delete(made.id)
    await session.groups.delete(NORTHWEST)
    assert await faults(store.table) == []


@on_sqlite
async def test_deleting_what_is_not_there_is_not_found(store: Store) -> None:
    session = await create_groups(store)
    before = await contents(store.table)
    with pytest.raises(NotFound):
        await session.groups.delete(GroupPath("/xyz"))
    assert await contents(store.table) == before


@on_sqlite
async def test_a_deleted_group_can_be_made_again(store: Store) -> None:
    session = await create_groups(store)
    await session.groups.delete(EU)
    await session.groups.create(EU, "New")
    assert (await session.groups.one(EU)).name == "New"
    assert await faults(store.table) == []


async def test_children_are_listed_in_order_and_in_both_directions(store: Store) -> None:
    session = await create_groups(store, *TREE, CITY, USA2)
    assert await children(session, ROOT) == [EU, USA, USA2]
    assert await children(session, ROOT, backward=True) == [EU, USA, USA2]
    assert await children(session, USA, 2) == [NORTHWEST, SOUTH]
    assert await children(session, SOUTH) == []


@on_sqlite
async def test_a_page_of_children_names_its_end(store: Store) -> None:
    session = await create_groups(store, *TREE, USA2)
    root = await session.groups.one(ROOT)
    first = await session.groups.children(root, Window(size=2))
    assert ([path for path, _ in first.entries], first.more, first.reached) == (
        [EU, USA],
        True,
        USA,
    )
    last = await session.groups.children(root, Window(size=2, after=USA))
    assert ([path for path, _ in last.entries], last.more) == ([USA2], False)
    back = await session.groups.children(root, Window(size=2, backward=True))
    assert ([path for path, _ in back.entries], back.more, back.reached) == ([USA, USA2], True, USA)


@on_sqlite
async def test_a_caller_without_a_role_above_sees_the_children_that_lead_to_their_groups(
    store: Store,
) -> None:
    await create_groups(store, *TREE, CITY, USA2)
    session = store.open_session(
        caller({CITY: Role.READER, USA2: Role.READER, GroupPath("/gone"): Role.READER})
    )
    for backward in (False, True):
        assert await children(session, ROOT, backward=backward) == [USA, USA2]
        assert await children(session, USA, backward=backward) == [NORTHWEST]
        assert await children(session, NORTHWEST, backward=backward) == [CITY]
    assert await session.groups.subtree(ROOT) == (ROOT, USA, USA2, NORTHWEST, CITY)
    with pytest.raises(NotFound):
        await session.groups.one(SOUTH)


@on_sqlite
async def test_many_groups_are_aligned_with_their_paths(store: Store) -> None:
    await create_groups(store)
    session = store.open_session(caller({USA: Role.READER}))
    asked = [EU, NORTHWEST, GroupPath("/usa/xyz"), ROOT, NORTHWEST]
    found = await session.groups.many(asked)
    assert [one.path if isinstance(one, Group) else None for one in found] == [
        None,
        NORTHWEST,
        None,
        ROOT,
        NORTHWEST,
    ]


@on_sqlite
async def test_a_subtree_wider_than_a_list_may_span_is_refused(store: Store) -> None:
    await create_groups(store, *TREE)
    assert (
        len(
            await Store(store.table, list_budget=Budget(groups=5))
            .open_session(SUPER)
            .groups.subtree(ROOT)
        )
        == 5
    )
    with pytest.raises(LimitExceeded) as refused:
        await (
            Store(store.table, list_budget=Budget(groups=4))
            .open_session(SUPER)
            .groups.subtree(ROOT)
        )
    assert (refused.value.limit, refused.value.maximum) == ("groups in one list", 4)


@without_moto
async def test_a_create_and_the_delete_of_its_group_never_both_happen(store: Store) -> None:
    session = await create_groups(store, USA)
    outcomes = await asyncio.gather(
        make(session, USA, "Smelt"), session.groups.delete(USA), return_exceptions=True
    )
    failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert len(failures) == 1
    assert isinstance(failures[0], IllegalState | NotFound)
    assert await faults(store.table) == []
