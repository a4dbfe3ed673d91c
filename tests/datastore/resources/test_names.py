"""A name is unique along its line, and free again when its holder is gone."""

import pytest

from penstock.datastore.errors import NameTaken, NotFound
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Attributes, Key, Put, Table
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    TREE,
    USA,
    caller,
    create_groups,
    make,
    on_sqlite,
)

CITY = GroupPath("/usa/northwest/city")


async def name_rows(table: Table) -> dict[Key, Attributes]:
    return {key: item for key, item in (await contents(table)).items() if key.pk[:4] == "AID:"}


@pytest.mark.parametrize(
    ("first", "second", "reported"),
    [
        (USA, USA, USA),
        (USA, NORTHWEST, USA),
        (USA, CITY, USA),
        (ROOT, CITY, ROOT),
        (NORTHWEST, USA, NORTHWEST),
        (CITY, USA, CITY),
        (CITY, ROOT, CITY),
    ],
)
@on_sqlite
async def test_a_name_is_taken_above_and_below_and_says_where_by_whom(
    store: Store, first: GroupPath, second: GroupPath, reported: GroupPath
) -> None:
    session = await create_groups(store, *TREE, CITY)
    made = await make(session, first, "Smelt")
    before = await contents(store.table)
    with pytest.raises(NameTaken) as refused:
        await make(session, second, "Smelt")
    taken = refused.value
    assert (taken.kind, taken.name, taken.group, taken.holder) == ("P", "Smelt", reported, made.id)
    assert await contents(store.table) == before


async def test_a_name_taken_on_its_line_is_free_beside_it(store: Store) -> None:
    session = await create_groups(store)
    first = await make(session, NORTHWEST, "Smelt")
    others = [await make(session, group, "Smelt") for group in (SOUTH, EU)]
    for group in (USA, ROOT, NORTHWEST):
        with pytest.raises(NameTaken):
            await make(session, group, "Smelt")
    assert await faults(store.table) == []
    for one in (first, *others):
        await session.pipelines.deleting.delete(one.id)
        assert await faults(store.table) == []
    assert await name_rows(store.table) == {}
    await make(session, ROOT, "Smelt")


@pytest.mark.parametrize("written", ["SMELT", " smelt ", "Ｓｍｅｌｔ", "ſmelt"])
@on_sqlite
async def test_names_that_users_take_for_the_same_are_the_same(store: Store, written: str) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    with pytest.raises(NameTaken) as refused:
        await make(session, NORTHWEST, written)
    assert refused.value.name == written
    assert refused.value.holder == made.id
    assert await session.pipelines.reading.by_name(written, NORTHWEST) == made


@on_sqlite
async def test_names_with_separators_do_not_meet_others(store: Store) -> None:
    session = await create_groups(store)
    names = ["a:b", "a", "a%3Ab", "a#b", "b"]
    made = [await make(session, USA, name) for name in names]
    assert [await session.pipelines.reading.by_name(name, USA) for name in names] == made
    assert await faults(store.table) == []


async def test_a_rename_swaps_the_claim(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt")
    other = await make(session, NORTHWEST, "Cast")
    before = await contents(store.table)
    with pytest.raises(NameTaken) as refused:
        await session.pipelines.writing.update(made.id, 1, {"name": "cast"})
    assert (refused.value.group, refused.value.holder) == (NORTHWEST, other.id)
    assert await contents(store.table) == before
    await session.pipelines.writing.update(made.id, 1, {"name": "Forge"})
    assert (await session.pipelines.reading.by_name("forge", NORTHWEST)).id == made.id
    with pytest.raises(NotFound, match="There is no pipeline named 'Smelt'"):
        await session.pipelines.reading.by_name("Smelt", NORTHWEST)
    assert await faults(store.table) == []
    await make(session, USA, "Smelt")
    assert await faults(store.table) == []


@on_sqlite
async def test_a_rename_to_the_same_name_in_other_letters_keeps_the_claim(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt")
    rows = await name_rows(store.table)
    renamed = await session.pipelines.writing.update(made.id, 1, {"name": "SMELT"})
    assert renamed.name == "SMELT"
    assert await name_rows(store.table) == rows


@on_sqlite
async def test_a_grant_needs_the_name_on_the_line_of_its_target_too(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    other = await make(session, EU, "Smelt")
    before = await contents(store.table)
    with pytest.raises(NameTaken) as refused:
        await session.pipelines.writing.grant(made.id, EU)
    assert (refused.value.group, refused.value.holder) == (EU, other.id)
    assert await contents(store.table) == before
    await session.pipelines.deleting.delete(other.id)
    await session.pipelines.writing.grant(made.id, EU)
    with pytest.raises(NameTaken):
        await make(session, EU, "Smelt")
    await session.pipelines.writing.revoke(made.id, EU)
    await make(session, EU, "Smelt")
    assert await faults(store.table) == []


@pytest.mark.parametrize(("own", "others"), [(NORTHWEST, SOUTH), (SOUTH, NORTHWEST)])
@on_sqlite
async def test_a_grant_above_meets_the_names_of_others_below_but_not_its_own(
    store: Store, own: GroupPath, others: GroupPath
) -> None:
    session = await create_groups(store)
    made = await make(session, own, "Smelt")
    other = await make(session, others, "Smelt")
    before = await contents(store.table)
    with pytest.raises(NameTaken) as refused:
        await session.pipelines.writing.grant(made.id, USA)
    assert (refused.value.group, refused.value.holder) == (others, other.id)
    assert await contents(store.table) == before
    await session.pipelines.writing.update(other.id, 1, {"name": "Cast"})
    assert (await session.pipelines.writing.grant(made.id, USA))[0].groups == (USA,)
    assert await faults(store.table) == []


@on_sqlite
async def test_a_grant_of_two_groups_renames_both_claims(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "Smelt")
    for group in (SOUTH, EU):
        await session.pipelines.writing.grant(made.id, group)
    await session.pipelines.writing.update(made.id, 1, {"name": "Forge"})
    assert await faults(store.table) == []
    for group in (NORTHWEST, SOUTH, EU):
        assert (await session.pipelines.reading.by_name("forge", group)).id == made.id
    assert (await make(session, USA, "Smelt")).name == "Smelt"
    with pytest.raises(NameTaken):
        await make(session, USA, "Forge")


@pytest.mark.parametrize("group", [USA, NORTHWEST])
async def test_lookup_by_name_walks_up_the_chain(store: Store, group: GroupPath) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    await make(session, EU, "Smelt")
    reader = store.open_session(caller({group: Role.READER}))
    assert await reader.pipelines.reading.by_name("smelt", group) == made
    with pytest.raises(NotFound, match="named 'Smelt'"):
        await session.pipelines.reading.by_name("Smelt", ROOT)
    with pytest.raises(NotFound, match="There is no group /xyz"):
        await session.pipelines.reading.by_name("Smelt", GroupPath("/xyz"))


@on_sqlite
async def test_the_nearest_of_two_claims_on_a_chain_is_found(store: Store) -> None:
    session = await create_groups(store)
    near, far = await make(session, NORTHWEST, "Near"), await make(session, USA, "Far")
    # No write of ours makes this; should it stand there, the nearer one still answers.
    await store.table.write([Put({"pk": "AID:P:near", "sk": "G:/usa", "id": far.id})])
    assert await session.pipelines.reading.by_name("near", NORTHWEST) == near
    assert await session.pipelines.reading.by_name("near", SOUTH) == far


async def test_who_holds_a_name_in_a_group_out_of_sight_stays_untold(store: Store) -> None:
    germany = GroupPath("/eu/germany")
    session = await create_groups(store, USA, EU, germany)
    mine = await make(session, USA, "mine")
    await make(session, germany, "theirs")
    await session.pipelines.writing.grant(mine.id, EU)
    local = store.open_session(caller({USA: Role.ADMIN})).pipelines.writing
    with pytest.raises(NameTaken) as raised:
        await local.update(mine.id, 1, {"name": "theirs"})
    assert (raised.value.group, raised.value.holder) == (ROOT, None)
    assert "germany" not in raised.value.message
