"""Labels name versions: each is on one version of a resource, and no version is made for it."""

from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    NotPermitted,
    PenstockError,
)
from penstock.datastore.history.rows import Action
from penstock.datastore.records import State
from penstock.datastore.resources.version_diff import diff_versions
from penstock.datastore.resources.version_labels.labels import (
    MAX_LABELS,
    find_label,
    labels_of_version,
)
from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import KindDefinition
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.resources.test_calculation_refs import save
from tests.datastore.resources.test_formula_references import value_of
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    SUPER,
    USA,
    caller,
    create_groups,
    draft_of,
    each_kind,
    make,
    walk,
)


@each_kind
async def test_a_label_is_on_one_version_and_moves_only_when_told(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    repository = session.repository(kind)
    writing = repository.writing
    made = await writing.create(USA, draft_of(kind, "factors"), None)
    await writing.update(made.id, 1, {"description": "of 2025"})
    await writing.label(made.id, 1, "2024 audited")
    labelled = await writing.label(made.id, 1, "prod")
    assert [(one.label, one.version) for one in labelled.labels] == [
        ("2024 audited", 1),
        ("prod", 1),
    ]
    assert (labelled.version, labelled.labels[0].set_by) == (2, "super")
    assert await writing.label(made.id, 1, "prod") == labelled
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await writing.label(made.id, 2, "PROD")
    assert [(p.path, p.message) for p in refused.value.problems] == [
        (["label"], "version 1 has it")
    ]
    assert await contents(store.table) == before
    moved = await writing.label(made.id, 2, "PROD", moves=True)
    assert [labels_of_version(moved, n) for n in (1, 2)] == [["2024 audited"], ["PROD"]]
    changed = await writing.update(made.id, 2, {"description": "of 2026"})
    assert changed.labels == moved.labels
    first, second = [await repository.versions.one(made.id, n) for n in (1, 2)]
    assert [one.path for one in diff_versions(first, second)] == ["/description"]
    assert (first.labels, second.labels) == ((), ())
    past = await repository.versions.as_at(changed, first.updated_at)
    assert [one.version for one in past.labels if one.version > past.version] == []
    bare = await writing.remove_label(made.id, "Prod")
    assert [one.label for one in bare.labels] == ["2024 audited"]
    trail = await walk(partial(session.history.of_resource, made), 1)
    assert [(one.action, one.label, one.version) for one in trail] == [
        (Action.LABEL_REMOVED, "Prod", None),
        (Action.LABEL_SET, "PROD", 2),
        (Action.LABEL_SET, "prod", 1),
        (Action.LABEL_SET, "2024 audited", 1),
    ]
    assert await faults(store.table) == []
    await repository.deleting.delete(made.id)
    assert await faults(store.table) == []


async def test_whoever_may_not_label_changes_nothing(store: Store) -> None:
    session = await create_groups(store)
    writing = session.pipelines.writing
    made = await make(session, USA, "factors")
    off = await make(session, USA, "off")
    await writing.update(off.id, 1, {"state": State.DISABLED})
    reader = store.open_session(caller({USA: Role.READER})).pipelines.writing
    stranger = store.open_session(caller({})).pipelines.writing
    before = await contents(store.table)

    async def refusal(call: Awaitable[object]) -> type[PenstockError]:
        with pytest.raises(PenstockError) as failure:
            await call
        return type(failure.value)

    refused: list[tuple[Awaitable[object], type[PenstockError]]] = [
        (reader.label(made.id, 1, "prod"), NotPermitted),
        (reader.remove_label(made.id, "prod"), NotPermitted),
        (stranger.label(made.id, 1, "prod"), NotFound),
        (stranger.remove_label(made.id, "prod"), NotFound),
        (writing.label(off.id, 1, "prod"), IllegalState),
        (writing.remove_label(off.id, "prod"), IllegalState),
        (writing.label(made.id, 2, "prod"), NotFound),
        (writing.label(made.id, 0, "prod"), NotFound),
        (writing.label(made.id, 1, ""), Invalid),
        (writing.label(made.id, 1, "x" * 65), Invalid),
        (writing.label(made.id, 1, "two\nlines"), Invalid),
        (writing.remove_label(made.id, "prod"), NotFound),
    ]
    for call, error in refused:
        assert await refusal(call) is error
    assert await contents(store.table) == before


async def test_a_frozen_version_can_be_labelled_and_a_label_costs_one_transaction(
    store: Store,
) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "factors")
    await session.pipelines.writing.update(made.id, 1, {"state": State.FROZEN})
    metered = MeteredTable(store.table)
    user = replace(store, table=metered).open_session(SUPER)
    await user.pipelines.writing.label(made.id, 2, "audited")
    assert metered.units.calls == 2
    assert find_label(await session.pipelines.reading.one(made.id), "AUDITED") is not None


async def test_labels_are_bounded_and_one_too_many_changes_nothing(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "factors")
    for n in range(MAX_LABELS):
        await session.pipelines.writing.label(made.id, 1, f"label {n}")
    before = await contents(store.table)
    with pytest.raises(LimitExceeded) as failure:
        await session.pipelines.writing.label(made.id, 1, "one more")
    assert failure.value.path == ["label"]
    assert await contents(store.table) == before


async def test_formulas_read_the_version_that_has_a_label(store: Store) -> None:
    session = await create_groups(store)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    base = await save(session, USA, "base", "1")
    await session.calculations.writing.label(base.id, 1, "audited")
    await session.datasets.writing.label(fuels.id, 1, "audited")
    await session.calculations.writing.update(base.id, 1, {"formula": "10"})
    brought = await session.dataset_files.check_text(fuels.content.columns, None, "k,v\ngas,3\n")
    writing = session.datasets.writing.with_attachment(brought.file)
    await writing.update(fuels.id, 1, {"content": brought.content})
    pin = "label='Audited'"
    asked = await save(session, USA, "audited", f"#base({pin}) + LOOKUP('fuels', 'gas', {pin})")
    assert await value_of(session, asked) == 3
    await session.calculations.writing.label(base.id, 2, "audited", moves=True)
    assert await value_of(session, asked) == 12
    await session.calculations.writing.remove_label(base.id, "audited")
    with pytest.raises(Invalid) as refused:
        await value_of(session, asked)
    assert [one.code for one in refused.value.problems] == ["UNKNOWN_CALCULATION"]
