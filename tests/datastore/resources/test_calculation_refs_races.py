"""Calculations saved concurrently never call each other in a circle or reveal hidden ones."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.datastore.errors import Invalid, LimitExceeded, VersionConflict
from penstock.datastore.formulas.calculations import calculation_identity
from penstock.datastore.records import Calculation
from penstock.datastore.resources.calculation_refs import read_callees
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION
from penstock.formula.checking.calculation_library import find_cycle
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import calls_of, link
from penstock.formula.core.errors import FormulaCode, FormulaInvalid
from penstock.formula.syntax.parser import parse
from tests.datastore.resources.test_calculation_refs import codes, content, rewrite, save
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import forget_references
from tests.support.sample_resources import (
    EU,
    SUPER,
    USA,
    caller,
    create_groups,
    on_sqlite,
    without_moto,
)
from tests.support.table_interceptors import InterruptedTable


def overtaken_view(store: Store, other: Callable[[], Awaitable[object]]) -> Session:
    """A session of a caller whom other writers overtake between reading and writing."""
    return Store(InterruptedTable(store.table, other)).open_session(SUPER)


async def circle_among(session: Session, made: list[Calculation]) -> tuple[str, ...] | None:
    """A circle in the present calls, by the names of the calculations, if there is one."""
    found = await session.calculations.reading.many([one.id for one in made])
    standing = [one for one in found if isinstance(one, Calculation)]
    assert len(standing) == len(made)
    return find_cycle(
        {one.name: [call.name for call in calls_of(parse(one.formula))] for one in standing}
    )


@without_moto
async def test_two_that_begin_to_call_each_other_are_told_of_the_circle(store: Store) -> None:
    session = await create_groups(store)
    a, b = [await save(session, USA, name, "1") for name in ("a", "b")]
    late = overtaken_view(store, lambda: rewrite(session, b, "#a()"))
    with pytest.raises(Invalid) as refused:
        await rewrite(late, a, "#b()")
    assert codes(refused.value) == ["CALCULATION_CYCLE"]
    assert (await session.calculations.reading.one(a.id)) == a
    assert await faults(store.table) == []


@on_sqlite
async def test_a_circle_that_closes_far_below_is_seen_as_well(store: Store) -> None:
    session = await create_groups(store)
    c = await save(session, USA, "c", "1")
    await save(session, USA, "b", "#c()")
    a = await save(session, USA, "a", "2")
    late = overtaken_view(store, lambda: rewrite(session, c, "#a()"))
    with pytest.raises(Invalid) as refused:
        await rewrite(late, a, "#b()")
    assert codes(refused.value) == ["CALCULATION_CYCLE"]


@on_sqlite
async def test_a_new_one_takes_a_name_and_what_called_it_means_the_old_one(store: Store) -> None:
    session = await create_groups(store)
    old = await save(session, USA, "a", "1")
    b = await save(session, USA, "b", "2")

    async def call_and_rename() -> None:
        await rewrite(session, b, "#a()")
        await rewrite(session, old, "1", name="old")

    made = await save(overtaken_view(store, call_and_rename), USA, "a", "#b()")
    assert [one.id for one in made.references] == [b.id]
    called = await session.calculations.reading.one(b.id)
    assert [one.id for one in called.references] == [old.id]


@on_sqlite
async def test_what_is_called_may_change_and_go_while_its_caller_is_saved(store: Store) -> None:
    session = await create_groups(store)
    one = await save(session, USA, "one", "1")
    late = overtaken_view(store, lambda: rewrite(session, one, ":x"))
    with pytest.raises(Invalid) as refused:
        await save(late, USA, "two", "#one()")
    assert codes(refused.value) == ["WRONG_ARITY"]
    late = overtaken_view(store, lambda: session.calculations.deleting.delete(one.id))
    with pytest.raises(Invalid) as refused:
        await save(late, USA, "two", "#one(1)")
    assert codes(refused.value) == ["UNKNOWN_CALCULATION"]
    assert await faults(store.table) == []


@without_moto
async def test_many_that_begin_to_call_the_next_leave_no_circle(
    store: Store, implementation: str
) -> None:
    count = 16 if implementation == "sqlite" else 5
    session = await create_groups(store)
    made = [await save(session, USA, f"c{n}", "1") for n in range(count)]
    outcomes = await asyncio.gather(
        *(
            rewrite(store.open_session(SUPER), one, f"#c{(n + 1) % count}()")
            for n, one in enumerate(made)
        ),
        return_exceptions=True,
    )
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert {type(failure) for failure in failures} <= {Invalid, VersionConflict}
    assert failures
    assert len(failures) < count
    assert await circle_among(session, made) is None
    assert await faults(store.table) == []


@on_sqlite
async def test_a_save_leaves_what_it_calls_as_it_was(store: Store) -> None:
    session = await create_groups(store)
    one = await save(session, USA, "one", "1")
    before = await contents(store.table)
    two = await save(session, USA, "two", "#one()")
    after = await contents(store.table)
    assert {key: after[key] for key in before if key.pk == f"C:{one.id}"} == {
        key: item for key, item in before.items() if key.pk == f"C:{one.id}"
    }
    assert calculation_identity(two) == f"{two.id}:1"


@on_sqlite
async def test_more_calls_than_fit_a_transaction_are_refused(store: Store) -> None:
    session = await create_groups(store)
    for n in range(50):
        await save(session, USA, f"c{n}", "1")
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as refused:
        await save(session, USA, "wide", "+".join(f"#c{n}()" for n in range(50)))
    assert (refused.value.maximum, refused.value.path) == (100, ["formula"])
    assert await contents(store.table) == before
    assert (
        await save(session, USA, "narrow", "+".join(f"#c{n}()" for n in range(44)))
    ).version == 1


async def hidden_chain(session: Session) -> tuple[Calculation, Calculation]:
    """In `/eu` a calculation that calls another; in `/usa` one of `/eu` that calls the first."""
    deepest = await save(session, EU, "deepest", "1")
    secret = await save(session, EU, "secret", "#deepest()*7")
    shared = await save(session, EU, "shared", "#secret()")
    await session.calculations.writing.grant(shared.id, USA)
    return deepest, secret


async def failure_text(session: Session, group: GroupPath, formula: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        await session.calculations.writing.create(group, content("new", formula), None)
    return [problem.message.partition(": ")[2] for problem in refused.value.problems]


@on_sqlite
async def test_what_is_wrong_with_one_out_of_sight_is_not_told(store: Store) -> None:
    session = await create_groups(store)
    local = store.open_session(caller({USA: Role.CONTRIBUTOR}))
    deepest, secret = await hidden_chain(session)
    assert (await save(local, USA, "fine", "#shared()")).version == 1

    await rewrite(session, secret, "#deepest()*:x")
    assert await failure_text(local, USA, "#shared()") == ["#shared cannot be used"]
    assert await failure_text(session, USA, "#shared()") == [
        "#shared cannot be used: line 1, column 1: #secret does not take no arguments: "
        "it is #secret(x)"
    ]

    await session.calculations.deleting.delete(deepest.id, force=True)
    assert sorted(await failure_text(local, USA, "#shared()")) == [
        "#secret cannot be used",
        "#shared cannot be used",
    ]
    everything = " ".join(await failure_text(session, USA, "#shared()"))
    assert "no calculation #deepest can be seen from here" in everything


@on_sqlite
async def test_a_circle_out_of_sight_names_nobody_that_is_hidden(store: Store) -> None:
    session = await create_groups(store)
    local = store.open_session(caller({USA: Role.CONTRIBUTOR}))
    deepest, secret = await hidden_chain(session)
    wide = await save(session, USA, "deepest", "1")
    await rewrite(session, wide, "#shared()")
    await forget_references(store.table, CALCULATION, secret)
    # Without its id, a grant changes what a name means in another group.
    await session.calculations.deleting.delete(deepest.id, force=True)
    await session.calculations.writing.grant(wide.id, EU)
    circle = "#shared -> #secret -> #deepest -> #shared"
    assert await failure_text(session, USA, "#shared()") == [f"the calls go in a circle: {circle}"]
    unseen = circle.replace("#deepest", "a calculation out of sight")
    assert await failure_text(local, USA, "#shared()") == [f"the calls go in a circle: {unseen}"]
    shared = await session.calculations.reading.by_name("shared", USA)
    library = await read_callees(session.calculations.writing.access, shared, [shared.formula])
    around = Surroundings(library=library, within=calculation_identity(shared))
    with pytest.raises(FormulaInvalid) as unusable:
        link(parse(shared.formula), around)
    assert [problem.code for problem in unusable.value.problems] == [FormulaCode.CALCULATION_CYCLE]
