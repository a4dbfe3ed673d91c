"""Groups, with all below them, and users keep no more than their quotas; counts stay exact."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import UNLIMITED, Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import kept_key, sum_group, sum_user
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, KINDS, PIPELINE
from penstock.datastore.table.port import Key, Update
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    create_groups,
    draft,
    make,
    make_of,
    on_sqlite,
    without_moto,
)

ANN = Caller("ann", {ROOT: Role.ADMIN})
TWIN = GroupPath("/usa2")


def with_quotas(
    store: Store,
    per_group: Amounts = UNLIMITED,
    per_user: Amounts = UNLIMITED,
    own: Mapping[GroupPath, Amounts] | None = None,
) -> Store:
    return replace(store, quotas=Quotas(QuotaRules(per_group, per_user, own or {})))


async def expect_refusal(session: Session, group: GroupPath, name: str) -> QuotaExceeded:
    table = session._store.table
    before = await contents(table)
    with pytest.raises(QuotaExceeded) as caught:
        await make(session, group, name)
    assert await contents(table) == before
    return caught.value


def facts(error: QuotaExceeded) -> tuple[QuotaKind, int, int, str | None]:
    return error.kind, error.maximum, error.used, error.group


async def test_a_group_keeps_its_quota_with_all_below_it(store: Store) -> None:
    session = await create_groups(store)
    await session.groups.create(TWIN, None)
    session = with_quotas(store, Amounts(resources=3)).open_session(SUPER)
    first = await make(session, USA, "one")
    await make_of(session, CALCULATION, NORTHWEST, "two")
    await make(session, SOUTH, "three")
    error = await expect_refusal(session, SOUTH, "four")
    assert facts(error) == (QuotaKind.RESOURCES, 3, 3, USA)
    await make(session, TWIN, "four")
    await session.pipelines.deleting.delete(first.id)
    await make(session, SOUTH, "four")
    assert facts(await expect_refusal(session, USA, "five")) == (QuotaKind.RESOURCES, 3, 3, USA)
    found = [await sum_group(store.table, group) for group in (USA, SOUTH, EU, TWIN, ROOT)]
    assert [each.resources for each in found] == [3, 2, 0, 1, 4]
    assert await faults(store.table) == []


async def test_a_user_keeps_the_quota_in_all_groups_together(store: Store) -> None:
    session = await create_groups(store)
    store = with_quotas(store, per_user=Amounts(resources=2))
    session = store.open_session(ANN)
    made = await make(session, NORTHWEST, "one")
    await make(session, EU, "two")
    assert facts(await expect_refusal(session, SOUTH, "three")) == (QuotaKind.RESOURCES, 2, 2, None)
    await make(store.open_session(SUPER), SOUTH, "of another")
    await store.open_session(SUPER).pipelines.deleting.delete(made.id)
    await make(session, SOUTH, "three")
    assert await sum_user(store.table, "ann") == Amounts(2, 2)
    assert await faults(store.table) == []


async def test_a_group_may_have_a_quota_of_its_own(store: Store) -> None:
    await create_groups(store)
    own = {NORTHWEST: Amounts(resources=1), ROOT: Amounts(resources=3), SOUTH: Amounts(resources=9)}
    session = with_quotas(store, Amounts(resources=2), own=own).open_session(SUPER)
    await make(session, NORTHWEST, "one")
    assert facts(await expect_refusal(session, NORTHWEST, "two"))[1:] == (1, 1, NORTHWEST)
    # Its own maximum is larger, but that of the group above still holds.
    await make(session, SOUTH, "two")
    assert facts(await expect_refusal(session, SOUTH, "three"))[1:] == (2, 2, USA)
    await make(session, EU, "three")
    assert facts(await expect_refusal(session, EU, "four"))[1:] == (3, 3, ROOT)


async def test_each_version_counts_until_its_resource_is_deleted(store: Store) -> None:
    await create_groups(store)
    store = with_quotas(store, Amounts(versions=3))
    session = store.open_session(SUPER)
    made = await make(session, USA, "one")
    for version in (1, 2):
        await session.pipelines.writing.update(made.id, version, {"name": f"v{version}"})
    before = await contents(store.table)
    with pytest.raises(QuotaExceeded) as caught:
        await session.pipelines.writing.update(made.id, 3, {"name": "v3"})
    assert facts(caught.value) == (QuotaKind.VERSIONS, 3, 3, USA)
    assert await contents(store.table) == before
    # A grant makes no version.
    await session.pipelines.writing.grant(made.id, EU)
    assert await sum_group(store.table, USA) == Amounts(1, 3)
    await session.pipelines.deleting.delete(made.id)
    assert await sum_group(store.table, USA) == Amounts()
    assert await faults(store.table) == []


@without_moto
@pytest.mark.parametrize("servers", [1, 2])
async def test_no_more_creates_than_there_is_room_go_through(store: Store, servers: int) -> None:
    await create_groups(store)
    rules = QuotaRules(Amounts(resources=8), Amounts(resources=9))
    stores = [replace(store, quotas=Quotas(rules)) for _ in range(servers)]
    sessions = [each.open_session(ANN) for each in stores]
    for n in range(5):
        await make(sessions[0], USA, f"{n}")
    calls = [make(sessions[n % servers], (USA, SOUTH)[n % 3 % 2], f"new {n}") for n in range(16)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    refused = [facts(each) for each in outcomes if isinstance(each, QuotaExceeded)]
    assert refused == [(QuotaKind.RESOURCES, 8, 8, USA)] * 13
    assert (await sum_group(store.table, USA)).resources == 8
    assert await faults(store.table) == []


@without_moto
async def test_one_of_many_creates_takes_the_last_place(store: Store) -> None:
    await create_groups(store)
    store = with_quotas(store, Amounts(resources=1))
    session = store.open_session(SUPER)
    calls = [make(session, NORTHWEST, f"new {n}") for n in range(12)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(each, QuotaExceeded) for each in outcomes) == 11
    assert (await sum_group(store.table, USA)).resources == 1
    assert await faults(store.table) == []


@without_moto
async def test_creates_and_deletes_at_the_border_keep_the_counts_exact(store: Store) -> None:
    await create_groups(store)
    store = with_quotas(store, Amounts(resources=4))
    session = store.open_session(SUPER)
    made = [await make(session, USA, f"{n}") for n in range(4)]
    for n, each in enumerate(made):
        delete = session.pipelines.deleting.delete(each.id)
        create = make(session, SOUTH, f"again {n}")
        _, outcome = await asyncio.gather(delete, create, return_exceptions=True)
        if isinstance(outcome, QuotaExceeded):
            await make(session, SOUTH, f"again {n}")
    assert facts(await expect_refusal(session, USA, "one more"))[1:] == (4, 4, USA)
    assert await faults(store.table) == []


@on_sqlite
async def test_a_repeated_call_gets_its_resource_though_nothing_is_left(store: Store) -> None:
    await create_groups(store)
    writing = with_quotas(store, Amounts(resources=1)).open_session(SUPER).pipelines.writing
    made = await writing.create(USA, draft("one"), "key")
    assert (await writing.create(USA, draft("one"), "key")).id == made.id


@on_sqlite
async def test_all_kinds_count_together(store: Store) -> None:
    session = await create_groups(store)
    for kind in KINDS:
        await make_of(session, kind, USA, "x")
    # A dataset comes with a file.
    assert await sum_group(store.table, USA) == Amounts(len(KINDS), len(KINDS), 1, 0)


async def test_a_group_that_goes_leaves_no_counts(store: Store) -> None:
    session = await create_groups(store)
    made = await make_of(session, PIPELINE, NORTHWEST, "one")
    await session.pipelines.deleting.delete(made.id)
    await session.groups.delete(NORTHWEST)
    assert not [key for key in await contents(store.table) if key.pk.startswith("Q")]


@on_sqlite
async def test_what_is_over_a_maximum_refuses_only_more_of_the_same(store: Store) -> None:
    session = await create_groups(store)
    made = [await make(session, USA, f"{n}") for n in range(3)]
    lowered = with_quotas(store, Amounts(resources=2, versions=9)).open_session(SUPER)
    assert facts(await expect_refusal(lowered, USA, "more"))[1:3] == (2, 3)
    await lowered.pipelines.writing.update(made[0].id, 1, {"name": "new"})
    await lowered.pipelines.deleting.delete(made[1].id)
    assert facts(await expect_refusal(lowered, USA, "more"))[1:3] == (2, 2)


@on_sqlite
async def test_a_gate_of_earlier_times_lets_nothing_through(store: Store) -> None:
    session = await create_groups(store)
    await session.groups.create(TWIN, None)
    store = with_quotas(store, Amounts(resources=4_000))
    limited = store.open_session(SUPER)
    key = kept_key(SOUTH, "super", 1)
    await store.table.transact([Update(key=key, add={"count": 3_500}, default={"user": "super"})])
    await make(limited, USA, "near")
    gate = Key("QL:group:/usa", "QL")
    # The gate is left behind, while others fill the group.
    assert (await contents(store.table))[gate]["resources"] == 499
    await store.table.transact([Update(key=key, add={"count": -3_500})])
    later = with_quotas(store, Amounts(resources=4_000)).open_session(SUPER)
    await make(later, USA, "far")
    await store.table.transact([Update(key=key, add={"count": 3_998})])
    last = with_quotas(store, Amounts(resources=4_000)).open_session(SUPER)
    assert facts(await expect_refusal(last, USA, "more"))[1:3] == (4_000, 4_000)
