"""Concurrent calls end as if they had run one after another."""

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.datastore.errors import NameTaken, NotFound, VersionConflict
from penstock.datastore.records import Resource
from penstock.datastore.roles import ROOT, GroupPath, are_on_one_line
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, KindDefinition
from tests.support.consistency_check import faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    TREE,
    USA,
    create_groups,
    each_kind,
    make_of,
    tags,
    without_moto,
)
from tests.support.table_interceptors import InterruptedTable

pytestmark = without_moto

CITY = GroupPath("/usa/northwest/city")
each_kind_in_an_order = pytest.mark.parametrize(
    ("kind", "seed"),
    [(kind, seed) for seed, kind in enumerate(KINDS)],
    ids=[kind.noun for kind in KINDS],
)
"""For calls in a random order, which what all kinds share gets in as many orders as kinds."""

LINES = (USA, NORTHWEST, SOUTH, EU, CITY, GroupPath("/eu/north"))


def many(implementation: str, most: int) -> int:
    """The number of concurrent calls; fewer where each request goes over HTTP."""
    return most if implementation == "sqlite" else most // 5


async def gather_outcomes(calls: Iterable[Awaitable[Any]]) -> tuple[list[Any], list[Exception]]:
    """The results and the failures of concurrent calls."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    return [outcome for outcome in outcomes if not isinstance(outcome, Exception)], failures


def assert_one_holder_on_each_line(holders: list[GroupPath], wanted: Iterable[GroupPath]) -> None:
    for group in holders:
        assert [other for other in holders if are_on_one_line(group, other)] == [group]
    for group in wanted:
        assert any(are_on_one_line(group, holder) for holder in holders)


@each_kind_in_an_order
async def test_creates_of_one_name_leave_one_holder_on_each_line(
    store: Store, kind: KindDefinition[Any], implementation: str, seed: int
) -> None:
    await create_groups(store, *LINES)
    wanted = [LINES[n % len(LINES)] for n in range(many(implementation, 100))]
    Random(seed).shuffle(wanted)
    made, failures = await gather_outcomes(
        make_of(store.open_session(SUPER), kind, group, "Smelt") for group in wanted
    )
    assert {type(failure) for failure in failures} == {NameTaken}
    assert_one_holder_on_each_line([one.owner for one in made], wanted)
    assert await faults(store.table) == []


@each_kind
async def test_creates_in_one_group_and_in_the_group_below_meet(
    store: Store, kind: KindDefinition[Any], implementation: str
) -> None:
    await create_groups(store)
    for n in range(many(implementation, 25)):
        pair = (USA, NORTHWEST) if n % 2 else (NORTHWEST, USA)
        made, failures = await gather_outcomes(
            make_of(store.open_session(SUPER), kind, group, f"n{n}") for group in pair
        )
        assert len(made) == 1
        assert [type(failure) for failure in failures] == [NameTaken]
    assert await faults(store.table) == []


@each_kind
async def test_renames_to_one_name_leave_one_holder_on_each_line(
    store: Store, kind: KindDefinition[Any], implementation: str
) -> None:
    session = await create_groups(store, *LINES)
    groups = [LINES[n % len(LINES)] for n in range(many(implementation, 60))]
    made = [await make_of(session, kind, group, f"n{n}") for n, group in enumerate(groups)]
    renamed, failures = await gather_outcomes(
        store.open_session(SUPER).repository(kind).writing.update(one.id, 1, {"name": "Smelt"})
        for one in made
    )
    assert {type(failure) for failure in failures} == {NameTaken}
    assert_one_holder_on_each_line([one.owner for one in renamed], groups)
    assert await faults(store.table) == []


@each_kind
async def test_grants_of_one_name_to_one_line_leave_one_holder(
    store: Store, kind: KindDefinition[Any], implementation: str
) -> None:
    homes = [GroupPath(f"/g{n:02}") for n in range(many(implementation, 40))]
    session = await create_groups(store, *LINES, *homes)
    made = [await make_of(session, kind, home, "Smelt") for home in homes]
    line = (USA, NORTHWEST, CITY)
    granted, failures = await gather_outcomes(
        store.open_session(SUPER).repository(kind).writing.grant(one.id, line[n % 3])
        for n, one in enumerate(made)
    )
    assert {type(failure) for failure in failures} == {NameTaken}
    assert len(granted) == 1
    assert await faults(store.table) == []


@each_kind
async def test_deletes_free_the_name_for_one_on_each_line(
    store: Store, kind: KindDefinition[Any], implementation: str
) -> None:
    session = await create_groups(store, *LINES)
    held = [await make_of(session, kind, group, "Smelt") for group in (CITY, SOUTH, EU)]
    wanted = [LINES[n % len(LINES)] for n in range(many(implementation, 60))]
    deleting = session.repository(kind).deleting
    calls = [deleting.delete(one.id) for one in held]
    calls += [make_of(store.open_session(SUPER), kind, group, "Smelt") for group in wanted]
    Random(0).shuffle(calls)
    done, failures = await gather_outcomes(calls)
    assert {type(failure) for failure in failures} <= {NameTaken}
    assert {one.id for one in held} <= {one.id for one in done}
    # Who came too early was refused; whoever asks again finds the name free or held by one.
    again, refused = await gather_outcomes(
        make_of(session, kind, group, "Smelt") for group in LINES
    )
    assert {type(failure) for failure in refused} <= {NameTaken}
    gone = {one.id for one in held}
    holders = [one.owner for one in (*done, *again) if one.id not in gone]
    assert_one_holder_on_each_line(holders, LINES)
    assert await faults(store.table) == []


async def test_a_name_is_taken_once_in_each_kind(store: Store, implementation: str) -> None:
    await create_groups(store, *LINES)
    for kind in KINDS:
        await make_of(store.open_session(SUPER), kind, EU, "Smelt")
    calls = [
        make_of(store.open_session(SUPER), KINDS[n % len(KINDS)], (USA, CITY)[n // 2 % 2], "Smelt")
        for n in range(many(implementation, 40))
    ]
    made, failures = await gather_outcomes(calls)
    assert {type(failure) for failure in failures} == {NameTaken}
    assert {type(one) for one in made} == {kind.record for kind in KINDS}
    assert len(made) == len(KINDS)
    assert await faults(store.table) == []


@each_kind
async def test_grants_of_one_resource_to_many_groups_all_happen(
    store: Store, kind: KindDefinition[Any]
) -> None:
    homes = [GroupPath(f"/g{n:02}") for n in range(12)]
    session = await create_groups(store, *TREE, *homes)
    made = await make_of(session, kind, USA, "Smelt", "m=a/b")
    granted, failures = await gather_outcomes(
        store.open_session(SUPER).repository(kind).writing.grant(made.id, home) for home in homes
    )
    assert failures == []
    assert len(granted) == 12
    found = await session.repository(kind).reading.one(made.id)
    assert sorted(found.groups) == [*homes, USA]
    assert await faults(store.table) == []


@each_kind
async def test_updates_of_one_version_have_one_winner(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store, USA)
    made = await make_of(session, kind, USA, "Smelt", "m=a")
    updated, failures = await gather_outcomes(
        store.open_session(SUPER)
        .repository(kind)
        .writing.update(made.id, 1, {"tags": tags(f"m=a/{n}")})
        for n in range(20)
    )
    assert len(updated) == 1
    assert [type(failure) for failure in failures] == [VersionConflict] * 19
    assert {failure.current_version for failure in failures} == {2}  # type: ignore[attr-defined]
    assert await session.repository(kind).reading.one(made.id) == updated[0]
    assert await faults(store.table) == []


@each_kind_in_an_order
async def test_changes_of_all_kinds_at_once_keep_every_row_exact(
    store: Store, kind: KindDefinition[Any], implementation: str, seed: int
) -> None:
    session = await create_groups(store, *LINES)
    random = Random(seed)
    values = ("m=a", "m=a/b", "m=a/b/c", "n=x", "n=y/z")
    made = [
        await make_of(session, kind, random.choice(LINES), f"n{n}", random.choice(values))
        for n in range(many(implementation, 30))
    ]

    async def change(one: Resource) -> None:
        repository = store.open_session(SUPER).repository(kind)
        for _ in range(3):
            match random.randrange(5):
                case 0:
                    await repository.writing.grant(one.id, random.choice((ROOT, *LINES)))
                case 1:
                    now = await repository.reading.one(one.id)
                    new = {"tags": tags(random.choice(values)), "name": f"n{random.randrange(40)}"}
                    await repository.writing.update(one.id, now.version, new)
                case 2:
                    now = await repository.reading.one(one.id)
                    for group in set(now.groups) - {now.owner}:
                        await repository.writing.revoke(one.id, group)
                case 3:
                    now = await repository.reading.one(one.id)
                    await repository.writing.update(one.id, now.version, {"tags": ()})
                case _:
                    await repository.deleting.delete(one.id)

    # Everything is changed by two at once.
    _, failures = await gather_outcomes(change(one) for one in made * 2)
    assert {type(failure) for failure in failures} <= {NameTaken, NotFound, VersionConflict}
    assert await faults(store.table) == []


@each_kind
@pytest.mark.parametrize("writes", [0, 1])
async def test_the_last_of_several_takes_counters_and_markers_away(
    store: Store, kind: KindDefinition[Any], writes: int
) -> None:
    session = await create_groups(store)
    first, second = [
        await make_of(session, kind, group, "Smelt", "m=a/b") for group in (NORTHWEST, SOUTH)
    ]
    third = await make_of(session, kind, NORTHWEST, "Cast", "m=a/b")

    async def others_go() -> None:
        for other in (second, third):
            await session.repository(kind).deleting.delete(other.id)

    interrupted = InterruptedTable(store.table, others_go, writes=writes)
    await (
        replace(store, table=interrupted)
        .open_session(SUPER)
        .repository(kind)
        .deleting.delete(first.id)
    )
    assert interrupted.other is None
    assert await faults(store.table) == []


@each_kind
@pytest.mark.parametrize("writes", [0, 1])
async def test_counters_and_markers_stay_for_those_who_come_meanwhile(
    store: Store, kind: KindDefinition[Any], writes: int
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, NORTHWEST, "Smelt", "m=a/b")

    async def others_come() -> None:
        await make_of(session, kind, SOUTH, "Smelt")
        await make_of(session, kind, NORTHWEST, "Forge", "m=a/b")

    interrupted = InterruptedTable(store.table, others_come, writes=writes)
    await (
        replace(store, table=interrupted)
        .open_session(SUPER)
        .repository(kind)
        .deleting.delete(made.id)
    )
    assert interrupted.other is None
    assert await faults(store.table) == []
