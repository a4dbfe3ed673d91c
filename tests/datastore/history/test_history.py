"""The audit trail has an entry for each change of rights, states, keys and groups."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from penstock.datastore.errors import PenstockError
from penstock.datastore.history.rows import Action, HistoryEntry
from penstock.datastore.records import GroupRole, State
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import KINDS, KindDefinition
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import TTL
from tests.support.consistency_check import contents_with_logs, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    create_groups,
    make,
    make_of,
    on_sqlite,
    walk,
)

ADDRESS = "192.0.2.7"
ADA = Caller("ada", {ROOT: Role.ADMIN})


def session_of(store: Store, caller: Caller = ADA) -> Session:
    return store.open_session(caller, address=ADDRESS)


async def trail(store: Store, group: GroupPath) -> list[tuple[Any, ...]]:
    """The entries of a group, newest first; walks by single entries find the same."""
    read = partial(store.open_session(SUPER).history.of_group, group)
    found = await walk(read, 1)
    assert await walk(read, 1, backward=True) == found
    assert await walk(read, 100) == found
    return [(one.action, one.by, one.address, one.subject, one.group) for one in found]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
async def test_rights_states_and_the_end_of_a_resource_are_in_its_trail_and_its_groups(
    store: Store, kind: KindDefinition[Any]
) -> None:
    made = await make_of(await create_groups(store), kind, USA, "Smelt")
    session = session_of(store)
    repository = session.repository(kind)
    await repository.writing.grant(made.id, EU)
    await repository.writing.update(made.id, 1, {"state": State.ENABLED, "description": "Ore"})
    await repository.writing.update(made.id, 2, {"state": State.FROZEN})
    await repository.writing.revoke(made.id, EU)
    found = await walk(partial(session.history.of_resource, made), 1)
    assert [(one.action, one.group, one.state) for one in found] == [
        (Action.REVOKED, EU, None),
        (Action.STATE_CHANGED, None, "frozen"),
        (Action.GRANTED, EU, None),
    ]
    await repository.deleting.delete(made.id)
    by = ("ada", ADDRESS, "Smelt")
    of_eu = [(Action.REVOKED, *by, EU), (Action.GRANTED, *by, EU)]
    assert await trail(store, EU) == of_eu
    assert await trail(store, USA) == [
        (Action.DELETED, *by, None),
        of_eu[0],
        (Action.STATE_CHANGED, *by, None),
        of_eu[1],
    ]
    assert await faults(store.table) == []


async def test_deleted_groups_are_in_the_trail_of_the_group_above(store: Store) -> None:
    await make(await create_groups(store), NORTHWEST, "Smelt")
    session = session_of(store)
    await session.groups.delete(EU)
    _, job = await session.group_deletions.delete(USA)
    assert job is not None
    await store.run_jobs("w")
    assert await trail(store, ROOT) == [
        (Action.GROUP_DELETED, "ada", ADDRESS, USA, None),
        (Action.GROUP_DELETED, "ada", ADDRESS, EU, None),
    ]


async def test_keys_are_in_the_trails_of_their_groups_without_their_secret(store: Store) -> None:
    await create_groups(store)
    session = session_of(store)
    expires = (store.clock.now() + timedelta(days=1)).isoformat()
    roles = [GroupRole(group=USA, role=Role.READER), GroupRole(group=EU, role=Role.ADMIN)]
    made = await session.api_keys.create("robot", roles, expires)
    await session.api_keys.revoke(made.key.id)
    for group in (USA, EU):
        assert await trail(store, group) == [
            (Action.API_KEY_REVOKED, "ada", ADDRESS, "robot", None),
            (Action.API_KEY_CREATED, "ada", ADDRESS, "robot", None),
        ]
    (_, created) = (await session.history.of_group(USA, Window())).entries
    assert created[1].roles == ("/eu=ADMIN", "/usa=READER")
    assert made.text.secret not in str(await contents_with_logs(store.table))


@on_sqlite
@pytest.mark.parametrize(
    ("reader", "group", "seen"),
    [
        (Caller("a", {USA: Role.ADMIN}), USA, ("/usa/northwest=READER", "/usa=READER")),
        (Caller("b", {EU: Role.ADMIN}), EU, ("/eu=ADMIN",)),
        (Caller("c", {NORTHWEST: Role.ADMIN}), NORTHWEST, ("/usa/northwest=READER", "/usa=READER")),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
async def test_an_administrator_reads_the_roles_of_a_key_only_on_their_own_lines(
    store: Store, reader: Caller, group: GroupPath, seen: tuple[str, ...]
) -> None:
    await create_groups(store)
    expires = (store.clock.now() + timedelta(days=1)).isoformat()
    roles = [GroupRole(group=path, role=Role.READER) for path in (USA, NORTHWEST)]
    roles.append(GroupRole(group=EU, role=Role.ADMIN))
    await session_of(store).api_keys.create("robot", roles, expires)
    (entry,) = await walk(partial(store.open_session(reader).history.of_group, group), 1)
    assert sorted(entry.roles) == sorted(seen)


@on_sqlite
async def test_only_administrators_of_the_group_read_a_trail(store: Store) -> None:
    made = await make(await create_groups(store), USA, "Smelt")
    await session_of(store).pipelines.writing.grant(made.id, EU)

    async def count_entries(caller: Caller) -> tuple[int, int]:
        history = store.open_session(caller).history
        of_group, of_resource = (
            await history.of_group(USA, Window()),
            await history.of_resource(made, Window()),
        )
        return len(of_group.entries), len(of_resource.entries)

    assert await count_entries(Caller("a", {USA: Role.ADMIN})) == (1, 1)
    assert await count_entries(Caller("b", {USA: Role.CONTRIBUTOR})) == (0, 0)
    assert await count_entries(Caller("c", {NORTHWEST: Role.ADMIN, EU: Role.ADMIN})) == (0, 0)


@on_sqlite
async def test_a_refused_change_and_one_that_changes_nothing_leave_no_entry(store: Store) -> None:
    made = await make(await create_groups(store), USA, "Smelt")
    before = await contents_with_logs(store.table)
    reader = session_of(store, Caller("eve", {USA: Role.READER}))
    writing = session_of(store).pipelines.writing
    refused: list[Callable[[], Awaitable[Any]]] = [
        lambda: reader.pipelines.writing.grant(made.id, NORTHWEST),
        lambda: reader.pipelines.deleting.delete(made.id),
        lambda: writing.update(made.id, 9, {"state": State.DISABLED}),
        lambda: writing.revoke(made.id, EU),
        lambda: reader.groups.delete(EU),
    ]
    for attempt in refused:
        with pytest.raises(PenstockError):
            await attempt()
    await writing.grant(made.id, NORTHWEST)
    after = await contents_with_logs(store.table)
    assert {key: row for key, row in after.items() if key.pk.startswith("AT:")} == {}
    assert after == before


@on_sqlite
async def test_entries_expire_after_the_time_of_the_setting(store: Store) -> None:
    short = replace(store, keep_history=timedelta(days=3))
    made = await make(await create_groups(short), USA, "Smelt")
    await session_of(short).pipelines.deleting.delete(made.id)
    rows = [
        row
        for key, row in (await contents_with_logs(store.table)).items()
        if key.pk.startswith("AT:")
    ]
    now = store.clock.now().timestamp()
    assert len(rows) == 2
    for row in rows:
        assert abs(int(str(row[TTL])) - now - 3 * 86_400) < 60


@on_sqlite
async def test_an_entry_costs_two_units_in_each_trail_and_a_page_is_one_query(store: Store) -> None:
    made = await make(await create_groups(store), USA, "Smelt")
    await session_of(store).pipelines.writing.grant(made.id, EU)
    metered = MeteredTable(store.table)
    session = replace(store, table=metered).open_session(SUPER)
    await session.history.of_group(USA, Window(size=1))
    assert (metered.units.calls, metered.units.rcu) == (1, 0.5)
    rows = [key for key in await contents_with_logs(store.table) if key.pk.startswith("AT:")]
    assert sorted(key.pk for key in rows) == ["AT:G:/eu", "AT:G:/usa", f"AT:R:{made.id}"]


def test_an_entry_has_no_room_for_contents() -> None:
    assert set(HistoryEntry.__struct_fields__) == {
        "id", "at", "by", "action", "subject", "subject_kind", "subject_id", "address",
        "api_key", "group", "state", "label", "version", "roles", "home",
    }  # fmt: skip
