"""The users of a resource are listed to those who see them, and decide whether it can go."""

from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest

from penstock.datastore.errors import InUse, Invalid, NotFound, NotPermitted
from penstock.datastore.records import Calculation, Pipeline, Resource, State, Transformer
from penstock.datastore.resources.delete import ResourceDeleter
from penstock.datastore.roles import ROOT, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PIPELINE, USE_COUNT
from penstock.datastore.table.pages import Window
from penstock.datastore.table.schema_marker import place_marker
from penstock.datastore.upgrades.use_rows import list_users
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.resources.test_calculation_refs import codes, rewrite, save
from tests.datastore.resources.test_calculation_refs_races import overtaken_view
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import forget_uses
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    OUTPUT,
    SOUTH,
    SUPER,
    TREE,
    USA,
    caller,
    create_groups,
    draft,
    on_sqlite,
    open_one_shard,
    tags,
    walk,
    without_moto,
)
from tests.support.stores import TWO
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied, TracedTable

on_two = pytest.mark.parametrize("implementation", TWO, indirect=True)


async def pipe(session: Session, group: GroupPath, name: str, *formulas: str) -> Pipeline:
    """Save a pipeline with the formulas."""
    given = draft(name, transformer=transformer_of(*formulas))
    return await session.pipelines.writing.create(group, given, None)


def transformer_of(*formulas: str) -> Transformer:
    transforms = [
        {"index": n, "formula": formula, "outputs": (OUTPUT,)} for n, formula in enumerate(formulas)
    ]
    return msgspec.convert({"parameters": (), "transforms": transforms}, Transformer)


async def users_of(session: Session, used: Resource, **how: Any) -> list[str]:
    found = await walk(partial(session.uses.list_users, used), **how)
    return [user.name for user in found]


async def names_used(session: Session, user: Resource, **how: Any) -> list[str]:
    found = await walk(partial(session.uses.list_used, user), **how)
    return [used.name for used in found]


@on_two
async def test_both_directions_are_listed_and_follow_each_change_of_a_formula(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    base, other = [await save(session, USA, name, "1") for name in ("base", "other")]
    top = await save(session, NORTHWEST, "top", "#base() + LOOKUP('fuels', 'gas') + #base()")
    pipeline = await pipe(session, EU, "far", "1")
    near = await pipe(session, USA, "near", "#base()", "#other(version=1)", "#base() * 2")
    assert await users_of(session, base) == ["top", "near"]
    assert await users_of(session, base, backward=True) == ["top", "near"]
    assert [await users_of(session, one) for one in (other, fuels)] == [["near"], ["top"]]
    assert await names_used(session, top) == ["base", "fuels"]
    assert await names_used(session, near, backward=True) == ["base", "other"]
    assert await names_used(session, pipeline) == await users_of(session, near) == []
    assert await faults(store.table) == []
    top = await rewrite(session, top, "#other()")
    await session.pipelines.writing.update(near.id, 1, {"name": "renamed"})
    await session.calculations.writing.update(base.id, 1, {"name": "basis"})
    assert await users_of(session, base) == ["renamed"]
    assert await users_of(session, other) == ["top", "renamed"]
    assert (await users_of(session, fuels), await names_used(session, top)) == ([], ["other"])
    await session.pipelines.deleting.delete(near.id)
    assert (await users_of(session, base), await users_of(session, other)) == ([], ["top"])
    assert await faults(store.table) == []


CALLERS = {
    "everywhere": caller({ROOT: Role.READER}),
    "usa": caller({USA: Role.READER}),
    "northwest": caller({NORTHWEST: Role.READER}),
    "south and eu": caller({SOUTH: Role.READER, EU: Role.READER}),
    "usa and below": caller({USA: Role.READER, NORTHWEST: Role.ADMIN}),
    "nobody": caller({}),
}


@on_two
async def test_users_are_listed_to_those_who_see_them_and_each_once(store: Store) -> None:
    session = await create_groups(store)
    base = await save(session, ROOT, "base", "1")
    made = [await pipe(session, group, group, "#base()") for group in (ROOT, *TREE)]
    for group in (EU, SOUTH):
        await session.pipelines.writing.grant(made[2].id, group)  # that of NORTHWEST
    found = {name: await users_of(store.open_session(each), base) for name, each in CALLERS.items()}
    assert found == {
        "everywhere": ["/", NORTHWEST, EU, SOUTH, USA],
        "usa": ["/", NORTHWEST, SOUTH, USA],
        "northwest": ["/", NORTHWEST, USA],
        "south and eu": ["/", NORTHWEST, EU, SOUTH, USA],
        "usa and below": ["/", NORTHWEST, SOUTH, USA],
        "nobody": [],
    }
    for each in CALLERS.values():
        local = store.open_session(each)
        assert await users_of(local, base, size=100) == await users_of(local, base)
    await session.pipelines.writing.revoke(made[2].id, EU)
    local = store.open_session(CALLERS["south and eu"])
    assert await users_of(local, base, backward=True) == ["/", EU, NORTHWEST, SOUTH, USA]
    assert await faults(store.table) == []


@on_sqlite
async def test_what_is_used_is_listed_to_those_who_see_it(store: Store) -> None:
    session = await create_groups(store)
    await save(session, EU, "secret", "1")
    await save(session, ROOT, "base", "1")
    shared = await save(session, EU, "shared", "#secret() + #base()")
    await session.calculations.writing.grant(shared.id, USA)
    local = store.open_session(caller({USA: Role.ADMIN}))
    assert await names_used(session, shared) == ["secret", "base"]
    assert await names_used(local, shared) == ["base"]


async def refuse(session: Session, used: Resource) -> InUse:
    deleting: ResourceDeleter[Any] = (
        session.calculations if isinstance(used, Calculation) else session.datasets
    ).deleting
    with pytest.raises(InUse) as refused:
        await deleting.delete(used.id)
    return refused.value


@on_two
async def test_what_is_used_is_not_deleted_and_the_seen_users_are_named(store: Store) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "base", "1")
    await session.calculations.writing.grant(base.id, EU)
    await pipe(session, EU, "hidden", "#base()")
    local = store.open_session(caller({USA: Role.ADMIN}))
    before = await contents(store.table)
    unnamed = await refuse(local, base)
    assert (unnamed.users, unnamed.more) == ((), True)
    assert unnamed.message == "This calculation is used by others."
    assert await contents(store.table) == before
    near = await save(session, SOUTH, "near", "#base()")
    some = await refuse(local, base)
    assert (some.users, some.more) == ((near,), True)
    assert some.message == "This calculation is used by 'near', others."
    every = await refuse(session, base)
    assert ([one.name for one in every.users], every.more) == (["hidden", "near"], False)
    assert "hidden" not in unnamed.message + some.message
    reader = store.open_session(caller({USA: Role.CONTRIBUTOR}))
    with pytest.raises(NotPermitted):
        await reader.calculations.deleting.delete(base.id, force=True)
    with pytest.raises(NotFound):
        await store.open_session(caller({})).calculations.deleting.delete(base.id)
    assert (await session.calculations.reading.one(base.id)).name == "base"
    assert await faults(store.table) == []


@on_sqlite
async def test_a_refusal_names_ten_users_and_says_that_there_are_more(store: Store) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "base", "1")
    for n in range(11):
        await pipe(session, USA, f"p{n:02}", "#base()")
    found = await refuse(session, base)
    assert ([one.name for one in found.users], found.more) == (
        [f"p{n:02}" for n in range(10)],
        True,
    )
    assert len(await users_of(session, base)) == 11


@on_two
async def test_a_forced_deletion_leaves_users_that_can_go_and_no_count_behind(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    base = await save(session, USA, "base", "1")
    one, two = [
        await save(session, USA, name, "#base() + LOOKUP('fuels', 'gas')") for name in ("a", "b")
    ]
    assert [user.name for user in (await refuse(session, fuels)).users] == ["a", "b"]
    await session.datasets.deleting.delete(fuels.id, force=True)
    await session.calculations.deleting.delete(base.id, force=True)
    assert await names_used(session, one) == []
    assert await faults(store.table) == []
    with pytest.raises(Invalid) as unknown:
        await save(session, USA, "c", "#base()")
    assert codes(unknown.value) == ["UNKNOWN_CALCULATION"]
    # A change of state is possible, and needs nothing of what is gone.
    await session.calculations.writing.update(one.id, 1, {"state": State.DISABLED})
    await session.calculations.writing.grant(one.id, EU)
    await session.calculations.deleting.delete(one.id)
    await rewrite(session, two, "1")
    assert await faults(store.table) == []
    gone = {f"D:{fuels.id}", f"C:{base.id}"}
    assert [key for key in await contents(store.table) if key.pk in gone] == []


@on_two
async def test_a_forced_deletion_takes_the_count_of_what_nobody_uses_any_more(store: Store) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "base", "1")
    user = await save(session, USA, "user", "#base()")
    await rewrite(session, user, "1")
    assert (await contents(store.table))[USE_COUNT.key(kind="C", id=base.id)]["count"] == 0
    await session.calculations.deleting.delete(base.id, force=True)
    assert [key for key in await contents(store.table) if key.pk == f"C:{base.id}"] == []
    assert await faults(store.table) == []


@without_moto
async def test_a_save_and_a_deletion_at_once_leave_no_user_of_what_is_gone(store: Store) -> None:
    session = await create_groups(store)
    fresh, used = [await save(session, USA, name, "1") for name in ("fresh", "used")]
    await pipe(session, USA, "first", "#used()")
    for one in (fresh, used):
        delete = partial(session.calculations.deleting.delete, one.id, force=True)
        late = overtaken_view(store, delete)
        with pytest.raises(Invalid) as refused:
            await pipe(late, USA, "late", f"#{one.name}()")
        assert codes(refused.value) == ["UNKNOWN_CALCULATION"]
    again = await save(session, USA, "again", "1")
    late = overtaken_view(store, lambda: pipe(session, USA, "early", "#again()"))
    assert [user.name for user in (await refuse(late, again)).users] == ["early"]
    assert await users_of(session, again) == ["early"]
    assert await faults(store.table) == []


@on_sqlite
async def test_a_deletion_whose_users_go_meanwhile_succeeds(store: Store) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "base", "1")
    user = await pipe(session, USA, "user", "#base()")

    class ReleasingTable(InterruptedTable):
        """Deletes the user behind the refused transaction, before its reason is read."""

        async def transact(self, operations: Any) -> float:
            try:
                return await super(InterruptedTable, self).transact(operations)
            finally:
                if self.other is not None:
                    other, self.other = self.other, None
                    await other()

    late = Store(ReleasingTable(store.table, lambda: session.pipelines.deleting.delete(user.id)))
    await late.open_session(SUPER).calculations.deleting.delete(base.id)
    assert await faults(store.table) == []
    assert not any(key.pk == f"C:{base.id}" for key in await contents(store.table))


@on_sqlite
@pytest.mark.parametrize("after", range(1, 6))
async def test_a_large_user_that_is_cut_off_is_finished_with_its_lists(
    store: Store, after: int
) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "base", "1")
    user = await pipe(session, USA, "user", "1")
    many = {"tags": tags(*(f"k{n}=a/b/c" for n in range(40)))}
    formula = transformer_of("#base()")
    change = {**many, "transformer": formula}
    cut = Store(CutOffTable(store.table, after)).open_session(SUPER)
    with suppress(ProcessDied):
        await cut.pipelines.writing.update(user.id, 1, change)
    if (await session.pipelines.reading.one(user.id)).version == 1:
        await session.pipelines.writing.update(user.id, 1, change)
    with pytest.raises(InUse):
        await session.calculations.deleting.delete(base.id)
    await store.finish_deletes()
    assert await users_of(session, base) == ["user"]
    assert await faults(store.table) == []
    cut = Store(CutOffTable(store.table, after)).open_session(SUPER)
    with suppress(ProcessDied):
        await cut.pipelines.deleting.delete(user.id)
    await store.finish_deletes()
    assert await users_of(session, base) == []
    assert await faults(store.table) == []


@on_two
async def test_the_upgrade_lists_the_users_that_earlier_releases_wrote(store: Store) -> None:
    session = await create_groups(store)
    base, gone = [await save(session, USA, name, "1") for name in ("base", "gone")]
    made = [await pipe(session, group, group, "#base()", "#gone()") for group in (USA, NORTHWEST)]
    for one in made:
        await forget_uses(store.table, PIPELINE, one)
    await session.calculations.deleting.delete(gone.id)
    assert (await users_of(session, base), await faults(store.table)) == ([], [])
    # Each write lists it, too.
    await session.pipelines.writing.grant(made[0].id, EU)
    assert await users_of(session, base) == [USA]
    await place_marker(store.table)
    await store.upgrade_rows(lambda _step, _page: None)
    assert await users_of(session, base) == [USA, NORTHWEST]
    assert await faults(store.table) == []
    rows, access = await contents(store.table), store._system_access(admin=True)
    assert sum([changed async for _, _, changed in list_users(access, None)]) == 0
    assert await contents(store.table) == rows
    assert rows[USE_COUNT.key(kind="C", id=gone.id)]["closed"] == "deleted"


@on_sqlite
async def test_the_first_use_takes_three_transactions_and_each_later_one_no_more(
    store: Store,
) -> None:
    await open_one_shard(store)
    traced = TracedTable(store.table)
    session = Store(traced, shards=1).open_session(SUPER)
    await save(session, USA, "base", "1")
    counts = []
    for n in range(3):
        traced.start()
        await pipe(session, USA, f"p{n}", "#base()")
        counts.append((traced.reads, traced.writes))
    assert counts[1:] == [(counts[0][0], 1)] * 2
    assert counts[0][1] == 3


@on_sqlite
async def test_a_page_of_users_takes_two_queries_for_a_role_one_for_a_group_above_and_one_batch(
    store: Store,
) -> None:
    session = await create_groups(store)
    base = await save(session, ROOT, "base", "1")
    for n in range(5):
        await pipe(session, NORTHWEST, f"p{n}", "#base()")
    traced = TracedTable(store.table)
    for roles, reads in (({ROOT: Role.READER}, 2), ({NORTHWEST: Role.READER}, 5)):
        traced.start()
        local = Store(traced).open_session(caller(roles))
        page = await local.uses.list_users(base, Window(size=10))
        assert (len(page.entries), traced.seen) == (5, (reads, 0, 2))
