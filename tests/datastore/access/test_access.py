"""The access of callers: reading and changing resources."""

import weakref
from collections.abc import Awaitable, Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import ExpectedFailure, NotFound, NotPermitted
from penstock.datastore.records import Pipeline
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, ancestors, are_on_one_line
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.support.consistency_check import contents
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    TREE,
    USA,
    caller,
    create_groups,
    draft,
    make,
    on_sqlite,
)

USA2 = GroupPath("/usa2")
CITY = GroupPath("/usa/northwest/city")
READER, CONTRIBUTOR, ADMIN = Role.READER, Role.CONTRIBUTOR, Role.ADMIN
GROUPS = st.sampled_from([ROOT, *TREE, USA2, CITY])
ROLES = st.dictionaries(GROUPS, st.sampled_from(Role), max_size=4)

Change = Callable[[Session, Pipeline], Awaitable[object]]


@pytest.mark.parametrize(
    ("roles", "group", "role"),
    [
        ({USA: ADMIN}, NORTHWEST, ADMIN),
        ({USA: ADMIN, NORTHWEST: READER}, NORTHWEST, READER),
        ({USA: ADMIN, NORTHWEST: READER}, CITY, READER),
        ({USA: ADMIN, NORTHWEST: READER}, SOUTH, ADMIN),
        ({ROOT: READER, NORTHWEST: ADMIN}, USA, READER),
        ({NORTHWEST: ADMIN}, USA, None),
        ({USA: ADMIN}, USA2, None),
        ({ROOT: ADMIN}, CITY, ADMIN),
        ({}, ROOT, None),
    ],
)
def test_the_role_of_the_deepest_group_on_the_line_wins(
    roles: Mapping[GroupPath, Role], group: GroupPath, role: Role | None
) -> None:
    assert caller(roles).role_at(group) is role


@given(ROLES, GROUPS)
def test_the_effective_role_is_that_of_the_deepest_ancestor(
    roles: dict[GroupPath, Role], group: GroupPath
) -> None:
    held = [roles[above] for above in ancestors(group) if above in roles]
    one = caller(roles)
    assert one.role_at(group) == (held[-1] if held else None)
    for role in Role:
        assert one.has_role(role, group) == (bool(held) and held[-1] >= role)
    assert one.sees(group) == any(are_on_one_line(own, group) for own in roles)


@pytest.mark.parametrize(
    ("held", "seen"),
    [
        (ROOT, True),
        (USA, True),
        (NORTHWEST, True),
        (CITY, True),
        (SOUTH, False),
        (EU, False),
        (USA2, False),
    ],
)
@on_sqlite
async def test_a_resource_is_seen_up_and_down_its_line_but_not_beside_it(
    store: Store, held: GroupPath, seen: bool
) -> None:
    session = await create_groups(store, *TREE, USA2, CITY)
    made = await make(session, NORTHWEST, "Smelt")
    reader = store.open_session(caller({held: READER}))
    (found,) = await reader.pipelines.reading.many([made.id])
    assert isinstance(found, Pipeline) == seen
    if seen:
        assert found == made
    else:
        assert isinstance(found, NotFound)


REQUESTS: dict[str, Change] = {
    "get": lambda session, it: session.pipelines.reading.one(it.id),
    "get version": lambda session, it: session.pipelines.versions.one(it.id, 1),
    "update": lambda session, it: session.pipelines.writing.update(it.id, 1, {"name": "Other"}),
    "grant": lambda session, it: session.pipelines.writing.grant(it.id, EU),
    "revoke": lambda session, it: session.pipelines.writing.revoke(it.id, USA),
    "delete": lambda session, it: session.pipelines.deleting.delete(it.id),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
@on_sqlite
async def test_what_a_stranger_may_not_know_of_fails_like_what_is_not_there(
    store: Store, request_: Change
) -> None:
    session = await create_groups(store)
    foreign = await make(session, USA, "Smelt")
    gone = await make(session, EU, "Gone")
    await session.pipelines.deleting.delete(gone.id)
    before = await contents(store.table)
    stranger = store.open_session(caller({EU: ADMIN}))
    failures = []
    for one in (foreign, gone):
        with pytest.raises(NotFound) as refused:
            await request_(stranger, one)
        shape = refused.value.message.replace(one.id, "ID"), refused.value.path
        failures.append((*shape, refused.value.extensions))
    assert failures[0] == failures[1]
    assert failures[0][:2] == ("There is no pipeline with this id.", ["id"])
    assert await contents(store.table) == before


@pytest.mark.parametrize("id", ["", "1", "not-an-id", "018F3B6E-0000-7000-8000-000000000001"])
@on_sqlite
async def test_what_is_no_id_is_not_found(store: Store, id: str) -> None:
    session = await create_groups(store)
    for request_ in (
        session.pipelines.reading.one(id),
        session.pipelines.versions.one(id, 1),
        session.pipelines.writing.update(id, 1, {}),
        session.pipelines.deleting.delete(id),
    ):
        with pytest.raises(NotFound, match="There is no pipeline"):
            await request_


@on_sqlite
async def test_a_group_the_caller_may_not_know_of_fails_like_one_that_is_not_there(
    store: Store,
) -> None:
    await create_groups(store)
    stranger = store.open_session(caller({EU: ADMIN}))
    failures = []
    for group in (USA, GroupPath("/xyz")):
        for request_ in (
            stranger.groups.one(group),
            stranger.groups.delete(group),
            stranger.pipelines.writing.create(group, draft("n"), None),
            stranger.pipelines.reading.by_name("n", group),
            stranger.pipelines.listing.page(ListRequest(group=group), Window()),
            stranger.pipelines.tags.keys(group, Window()),
            stranger.pipelines.tags.values("k", None, group, Window()),
        ):
            with pytest.raises(NotFound) as refused:
                await request_
            failures.append((refused.value.message.replace(group, "GROUP"), refused.value.path))
    assert set(map(str, failures)) == {"('There is no group GROUP.', ['group'])"}


NEEDS: dict[str, Role] = {"update": CONTRIBUTOR, "grant": ADMIN, "revoke": ADMIN, "delete": ADMIN}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("name", NEEDS)
@on_sqlite
async def test_changes_need_the_role_at_the_owner_group(
    store: Store, name: str, role: Role
) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt")
    made = (await session.pipelines.writing.grant(made.id, USA))[0]
    before = await contents(store.table)
    acting = store.open_session(caller({USA: role, EU: ADMIN}))
    if role >= NEEDS[name]:
        await REQUESTS[name](acting, made)
        assert await contents(store.table) != before
        return
    with pytest.raises(NotPermitted) as refused:
        await REQUESTS[name](acting, made)
    assert refused.value.message == f"This needs the role {NEEDS[name].name} at {NORTHWEST}."
    assert await contents(store.table) == before


@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.parametrize(
    "roles",
    [{EU: ADMIN}, {CITY: ADMIN}, {USA: ADMIN, NORTHWEST: READER}, {ROOT: READER, EU: ADMIN}],
    ids=["grantee", "descendant", "demoted deeper", "admin elsewhere"],
)
@on_sqlite
async def test_grantees_and_descendants_read_and_change_nothing(
    store: Store, name: str, roles: dict[GroupPath, Role]
) -> None:
    session = await create_groups(store, *TREE, CITY)
    made = await make(session, NORTHWEST, "Smelt")
    made = (await session.pipelines.writing.grant(made.id, EU))[0]
    before = await contents(store.table)
    acting = store.open_session(caller(roles))
    assert await acting.pipelines.reading.one(made.id) == made
    with pytest.raises(NotPermitted):
        await REQUESTS[name](acting, made)
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("roles", "failure"),
    [
        ({USA: CONTRIBUTOR}, None),
        ({ROOT: ADMIN}, None),
        ({USA: READER}, NotPermitted),
        ({NORTHWEST: ADMIN}, NotPermitted),
        ({ROOT: ADMIN, USA: READER}, NotPermitted),
        ({EU: ADMIN}, NotFound),
    ],
)
@on_sqlite
async def test_creating_needs_a_contributor_at_the_group(
    store: Store, roles: dict[GroupPath, Role], failure: type[ExpectedFailure] | None
) -> None:
    await create_groups(store)
    before = await contents(store.table)
    session = store.open_session(caller(roles))
    if failure is None:
        assert (await make(session, USA, "Smelt")).created_by == "ann"
        return
    with pytest.raises(failure):
        await make(session, USA, "Smelt")
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("target_role", "failure"), [(None, NotFound), (CONTRIBUTOR, NotPermitted), (ADMIN, None)]
)
@on_sqlite
async def test_granting_needs_an_admin_at_the_target_too(
    store: Store, target_role: Role | None, failure: type[ExpectedFailure] | None
) -> None:
    made = await make(await create_groups(store), USA, "Smelt")
    before = await contents(store.table)
    roles = {USA: ADMIN} | ({} if target_role is None else {EU: target_role})
    acting = store.open_session(caller(roles))
    if failure is None:
        assert (await acting.pipelines.writing.grant(made.id, EU))[0].groups == (USA, EU)
        return
    with pytest.raises(failure):
        await acting.pipelines.writing.grant(made.id, EU)
    assert await contents(store.table) == before


@on_sqlite
async def test_the_default_group_stands_in_where_none_is_named(store: Store) -> None:
    await create_groups(store)
    session = store.open_session(Caller("ann", {USA: CONTRIBUTOR}, USA))
    made = await session.pipelines.writing.create(None, draft("Smelt"), None)
    assert made.owner == USA
    assert await session.pipelines.reading.by_name("smelt", None) == made
    page = await session.pipelines.listing.page(ListRequest(), Window())
    assert [pipeline for _, pipeline in page.entries] == [made]


@on_sqlite
async def test_units_are_counted_for_each_session(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    reader = store.open_session(SUPER)
    await reader.pipelines.reading.one(made.id)
    assert (reader.units.rcu, reader.units.wcu, reader.units.calls) == (1.0, 0.0, 1)


@on_sqlite
async def test_a_session_goes_with_its_request_and_not_with_a_garbage_collection(
    store: Store,
) -> None:
    session = store.open_session(SUPER)
    held = [session.pipelines, session.groups, session.jobs, session.executions, session.run_lists]
    held += [session.run_recovery, session.audio, session.playlists, session.listening]
    held += [session.evaluations, session.dataset_files, session.notifications]
    gone = weakref.ref(session)
    del session, held
    assert gone() is None
