"""Grants: an antichain that covers the owner, effective at once."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.groups.rows import with_grant, without_grant
from penstock.datastore.roles import ROOT, GroupPath, Role, are_on_one_line, covers
from penstock.datastore.store import Store
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
    names_in,
    on_sqlite,
    tags,
)
from tests.support.table_interceptors import InterruptedTable

CITY = GroupPath("/usa/northwest/city")
GROUPS = st.sampled_from([ROOT, *TREE, CITY, GroupPath("/usa2")])


@given(GROUPS, st.lists(st.tuples(st.booleans(), GROUPS), max_size=8))
def test_grants_stay_an_antichain_that_covers_the_owner(
    owner: GroupPath, steps: list[tuple[bool, GroupPath]]
) -> None:
    held: tuple[GroupPath, ...] = (owner,)
    for granting, group in steps:
        before = held
        if granting:
            held = with_grant(held, group)
            assert any(covers(granted, group) for granted in held)
            assert all(any(covers(now, was) for now in held) for was in before)
        elif group in held and group != owner:
            held = without_grant(held, group, owner)
            assert group not in held
        assert not any(
            are_on_one_line(one, other) for one in held for other in held if one != other
        )
        assert any(covers(granted, owner) for granted in held)
        assert len(set(held)) == len(held)


async def test_a_grant_above_replaces_the_grants_below_and_its_revoke_narrows_to_the_owner(
    store: Store,
) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt", "m=a/b")
    granted: list[tuple[tuple[GroupPath, ...], bool]] = []
    for group in (SOUTH, EU, USA):
        pipeline, changed = await session.pipelines.writing.grant(made.id, group)
        granted.append((pipeline.groups, changed))
        assert await faults(store.table) == []
    assert granted == [
        ((NORTHWEST, SOUTH), True),
        ((NORTHWEST, SOUTH, EU), True),
        ((EU, USA), True),
    ]
    assert await names_in(session, SOUTH) == ["Smelt"]
    revoked = await session.pipelines.writing.revoke(made.id, USA)
    assert revoked.groups == (EU, NORTHWEST)
    assert await names_in(session, SOUTH) == []
    assert await names_in(session, NORTHWEST) == ["Smelt"]
    assert await faults(store.table) == []


@on_sqlite
async def test_grants_and_revokes_make_no_version(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    granted, _ = await session.pipelines.writing.grant(made.id, EU)
    assert granted == msgspec.structs.replace(made, groups=(USA, EU), revision=2)
    revoked = await session.pipelines.writing.revoke(made.id, EU)
    assert revoked == msgspec.structs.replace(made, revision=3)
    versions = [key for key in await contents(store.table) if key.sk.startswith("PV:0")]
    assert versions == [Key(f"P:{made.id}", "PV:0000000001")]


@pytest.mark.parametrize("group", [USA, NORTHWEST])
@on_sqlite
async def test_a_grant_to_a_group_that_has_it_already_changes_nothing(
    store: Store, group: GroupPath
) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    before = await contents(store.table)
    assert await session.pipelines.writing.grant(made.id, group) == (made, False)
    assert await contents(store.table) == before


@pytest.mark.parametrize(
    ("group", "failure", "message"),
    [
        (NORTHWEST, IllegalState, "owns"),
        (USA, NotFound, "no grant of its own"),
        (ROOT, NotFound, "no grant of its own"),
        (GroupPath("/xyz"), NotFound, "no grant of its own"),
    ],
)
@on_sqlite
async def test_the_owners_grant_and_what_is_no_grant_cannot_be_revoked(
    store: Store, group: GroupPath, failure: type[Exception], message: str
) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt")
    await session.pipelines.writing.grant(made.id, EU)
    before = await contents(store.table)
    with pytest.raises(failure, match=message):
        await session.pipelines.writing.revoke(made.id, group)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_grant_to_a_group_that_is_not_there_is_refused(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    before = await contents(store.table)
    with pytest.raises(NotFound, match="There is no group /xyz"):
        await session.pipelines.writing.grant(made.id, GroupPath("/xyz"))
    assert await contents(store.table) == before


@on_sqlite
async def test_a_grant_to_the_root_shows_the_resource_to_all(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt", "m=a")
    granted, _ = await session.pipelines.writing.grant(made.id, ROOT)
    assert granted.groups == (ROOT,)
    assert await names_in(store.open_session(caller({EU: Role.READER})), EU) == ["Smelt"]
    assert await faults(store.table) == []
    assert (await session.pipelines.writing.revoke(made.id, ROOT)).groups == (NORTHWEST,)
    assert await faults(store.table) == []


@on_sqlite
async def test_a_revoke_races_a_change_of_tags_and_leaves_nothing_behind(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt", "m=a/b")
    await session.pipelines.writing.grant(made.id, EU)

    async def overtake() -> None:
        await session.pipelines.writing.update(made.id, 1, {"tags": tags("m=c", "n=d/e")})

    late = replace(store, table=InterruptedTable(store.table, overtake)).open_session(SUPER)
    assert (await late.pipelines.writing.revoke(made.id, EU)).groups == (USA,)
    assert await faults(store.table) == []


async def test_a_grant_opens_and_a_revoke_closes_the_eyes_of_a_group(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    european = store.open_session(caller({EU: Role.READER}))
    with pytest.raises(NotFound):
        await european.pipelines.reading.one(made.id)
    await session.pipelines.writing.grant(made.id, EU)
    assert (await european.pipelines.reading.one(made.id)).groups == (USA, EU)
    assert await names_in(european, EU) == ["Smelt"]
    await session.pipelines.writing.revoke(made.id, EU)
    with pytest.raises(NotFound):
        await european.pipelines.reading.one(made.id)
    assert await names_in(european, EU) == []


@on_sqlite
async def test_a_new_sub_group_sees_what_it_inherits_at_once(store: Store) -> None:
    session = await create_groups(store)
    await make(session, USA, "Smelt")
    await session.groups.create(CITY, None)
    assert await names_in(store.open_session(caller({CITY: Role.READER})), CITY) == ["Smelt"]
