"""Formulas keep the ids of what they name, from one save to the next."""

from typing import Any

import pytest

from penstock.datastore.errors import Invalid
from penstock.datastore.records import Calculation, Reference
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.resources.test_calculation_refs import rewrite, save
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import forget_references
from tests.support.sample_resources import NORTHWEST, USA, create_groups, on_sqlite


async def value_of(session: Session, one: Calculation, version: int | None = None) -> Any:
    """The value of a calculation without parameters, or the code with which it fails."""
    _, prepared = await session.evaluations.prepare_by_id(one.id, VersionName(version))
    found = await prepared.evaluate([{}])
    return found.errors[0].code.value if found.errors else found.values[0]


async def rename(session: Session, one: Calculation, name: str) -> Calculation:
    return await session.calculations.writing.update(one.id, one.version, {"name": name})


async def test_each_name_of_a_formula_is_kept_once_with_its_id(store: Store) -> None:
    session = await create_groups(store)
    base = await save(session, USA, "Base", "1")
    fuels = await lookup_dataset(session, USA, "Fuels", gas="2")
    formula = "#base() + #BASE(version=1) + #base(group='/usa') + LOOKUP('fuels', 'gas')"
    made = await save(session, NORTHWEST, "caller", formula)
    assert made.references == (
        Reference(kind="C", name="base", id=base.id),
        Reference(kind="C", name="base", group="/usa", id=base.id),
        Reference(kind="D", name="fuels", id=fuels.id),
    )
    found = await session.calculations.reading.one(made.id)
    assert found == made
    assert (await session.calculations.versions.one(made.id, 1)).references == made.references
    assert (await save(session, USA, "plain", "1")).references == ()
    assert await faults(store.table) == []


@on_sqlite
async def test_every_version_is_evaluated_with_what_it_was_saved_with(store: Store) -> None:
    session = await create_groups(store)
    old = await save(session, USA, "base", "1")
    caller = await save(session, USA, "caller", "#base()")
    old = await rename(session, old, "former")
    new = await save(session, USA, "base", "1000")
    assert await value_of(session, caller) == 1
    caller = await rewrite(session, caller, "#base() + 1")
    assert [one.id for one in caller.references] == [new.id]
    assert (await value_of(session, caller), await value_of(session, caller, 1)) == (1001, 1)
    then = await session.calculations.versions.as_at(caller, "2999-01-01T00:00:00.000Z")
    assert then.references == caller.references
    await session.calculations.deleting.delete(old.id)
    assert await value_of(session, caller) == 1001
    with pytest.raises(Invalid, match="no calculation #base can be seen from here"):
        await value_of(session, caller, 1)


@on_sqlite
async def test_a_change_of_other_fields_keeps_what_the_formula_means(store: Store) -> None:
    session = await create_groups(store)
    old = await save(session, USA, "base", "1")
    caller = await save(session, USA, "caller", "#base()")
    await rename(session, old, "former")
    await save(session, USA, "base", "1000")
    changes = {"description": "new", "name": "other"}
    changed = await session.calculations.writing.update(caller.id, 1, changes)
    assert changed.references == caller.references
    assert await value_of(session, changed) == 1


@on_sqlite
async def test_a_deleted_dataset_is_not_replaced_by_another_of_its_name(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    formula = "LOOKUP('fuels', 'gas')"
    caller = await save(session, USA, "caller", formula)
    assert await value_of(session, caller) == 2
    await session.datasets.deleting.delete(fuels.id, force=True)
    changed = await session.calculations.writing.update(caller.id, 1, {"description": "new"})
    assert changed.references == caller.references
    await lookup_dataset(session, USA, "fuels", gas="1000")
    assert await value_of(session, changed) == "UNKNOWN_DATASET"
    assert await value_of(session, await rewrite(session, changed, formula)) == 1000


@on_sqlite
async def test_a_calculation_may_be_saved_before_its_data_and_then_finds_it(store: Store) -> None:
    session = await create_groups(store)
    caller = await save(session, USA, "caller", "LOOKUP('fuels', 'gas')")
    assert caller.references == ()
    assert await value_of(session, caller) == "UNKNOWN_DATASET"
    await lookup_dataset(session, USA, "fuels", gas="2")
    assert await value_of(session, caller) == 2


@on_sqlite
async def test_a_circle_is_found_by_ids_and_not_by_names(store: Store) -> None:
    session = await create_groups(store)
    a = await save(session, USA, "a", "1")
    b = await save(session, USA, "b", "#a()")
    a = await rename(session, a, "c")
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await rewrite(session, a, "#b()")
    assert [problem.code for problem in refused.value.problems] == ["CALCULATION_CYCLE"]
    assert await contents(store.table) == before
    await save(session, USA, "a", "#b()")
    assert await value_of(session, b) == 1


@on_sqlite
async def test_a_row_of_an_earlier_release_is_evaluated_by_name(store: Store) -> None:
    session = await create_groups(store)
    old = await save(session, USA, "base", "1")
    caller = await save(session, USA, "caller", "#base()")
    await forget_references(store.table, CALCULATION, caller)
    assert await value_of(session, caller) == 1
    await rename(session, old, "former")
    with pytest.raises(Invalid, match="no calculation #base can be seen from here"):
        await value_of(session, caller)
    await save(session, USA, "base", "2")
    assert await value_of(session, caller) == 2
