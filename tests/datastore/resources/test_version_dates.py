"""A version may be active from another time than its creation: the past and the future go by it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import LimitExceeded, NotFound
from penstock.datastore.records import Resource
from penstock.datastore.resources.version_dates.active_from import MAX_DATES, active_since
from penstock.datastore.resources.version_diff import diff_versions
from penstock.datastore.resources.versions import Versions
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KindDefinition
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.resources.test_calculation_refs import save
from tests.datastore.resources.test_formula_references import value_of
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    USA,
    Watch,
    create_groups,
    draft,
    draft_of,
    each_kind,
    make,
)
from tests.support.stores import open_table

NEW_YEAR = "2027-01-01T00:00:00.000Z"
YEAR_BEFORE = "2026-12-31T23:59:59.999Z"
Step = int | str | None
"""The start that an update gives, in days from the first day, `kept` or None for from now on."""


@pytest.fixture
def timed(store: Store, watch: Watch) -> Store:
    return replace(store, clock=Clock(watch))


async def number_at(versions: Versions[Any], id: str, at: str, of: Resource) -> int | None:
    try:
        found: Resource = await versions.as_at(of, at)
    except NotFound:
        return None
    assert found.id == id
    return found.version


@each_kind
async def test_the_set_of_next_year_waits_and_corrections_of_both_years_reach_theirs(
    timed: Store, watch: Watch, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(timed)
    repository = session.repository(kind)
    writing = repository.writing
    made = await writing.create(USA, draft_of(kind, "factors"), None)

    async def change(version: int, **changes: Any) -> Any:
        watch.move(timedelta(days=1))
        changes = {"description": f"change of {version}", **changes}
        return await writing.update(made.id, version, changes)

    await change(1, active_from=NEW_YEAR)
    waiting = await change(2)
    assert waiting.active_from == NEW_YEAR
    this_year = await change(3, active_from=None)
    assert (this_year.active_from, active_since(this_year)) == (None, this_year.updated_at)
    latest = await change(4, active_from=NEW_YEAR)

    async def at(time: str) -> int | None:
        return await number_at(repository.versions, made.id, time, latest)

    before = iso_timestamp(watch() - timedelta(days=1, milliseconds=1))
    assert [await at(before), await at(this_year.updated_at), await at(YEAR_BEFORE)] == [1, 4, 4]
    assert [await at(NEW_YEAR), await at("2999-01-01T00:00:00.000Z")] == [5, 5]
    assert await at("2022-08-10T23:55:20.321Z") is None
    restored = await writing.restore(made.id, 1, 5, NEW_YEAR)
    assert (restored.version, restored.active_from) == (6, NEW_YEAR)
    assert await number_at(repository.versions, made.id, NEW_YEAR, restored) == 6
    second, third = [await repository.versions.one(made.id, n) for n in (2, 3)]
    assert (second.active_from, second.undated, second.dates) == (NEW_YEAR, 1, ())
    assert [one.path for one in diff_versions(second, third)] == ["/description"]
    assert await faults(timed.table) == []


async def test_a_version_of_the_past_is_found_before_the_resource_was_created(timed: Store) -> None:
    session = await create_groups(timed)
    early = draft("late", active_from="1999-01-01T00:00:00.000Z")
    made = await session.pipelines.writing.create(USA, early, None)
    versions = session.pipelines.versions
    assert (await versions.as_at(made, "1999-01-01T00:00:00.000Z")).version == 1
    with pytest.raises(NotFound):
        await versions.as_at(made, "1998-12-31T23:59:59.999Z")


async def test_formulas_read_the_version_that_is_active_at_their_time(
    timed: Store, watch: Watch
) -> None:
    session = await create_groups(timed)
    fuels = await lookup_dataset(session, USA, "fuels", gas="2")
    base = await save(session, USA, "base", "1")
    watch.move(timedelta(days=1))
    changes = {"formula": "10", "active_from": NEW_YEAR}
    await session.calculations.writing.update(base.id, 1, changes)
    brought = await session.dataset_files.check_text(fuels.content.columns, None, "k,v\ngas,3\n")
    writing = session.datasets.writing.with_attachment(brought.file)
    await writing.update(fuels.id, 1, {"content": brought.content, "active_from": NEW_YEAR})
    for time, value in ((YEAR_BEFORE, 3), (NEW_YEAR, 13)):
        pin = f"versionAsAt='{time}'"
        asked = await save(
            session, USA, f"at {value}", f"#base({pin}) + LOOKUP('fuels', 'gas', {pin})"
        )
        assert await value_of(session, asked) == value
    newest = await save(session, USA, "newest", "#base() + LOOKUP('fuels', 'gas')")
    assert await value_of(session, newest) == 13


async def test_starts_are_bounded_and_one_too_many_changes_nothing(
    timed: Store, watch: Watch
) -> None:
    session = await create_groups(timed)
    made = await make(session, USA, "factors")
    writing = session.pipelines.writing
    for n in range(MAX_DATES):
        start = iso_timestamp(watch() + timedelta(days=n))
        made = await writing.update(made.id, made.version, {"active_from": start})
    made = await writing.update(made.id, made.version, {"active_from": made.dates[0].start})
    assert (len(made.dates), made.version) == (MAX_DATES, MAX_DATES + 2)
    before = await contents(timed.table)
    with pytest.raises(LimitExceeded) as failure:
        await writing.update(made.id, made.version, {"active_from": NEW_YEAR})
    assert failure.value.path == ["activeFrom"]
    assert await contents(timed.table) == before


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(-3, 12) | st.just("kept") | st.none()), max_size=9
    )
)
async def test_any_history_is_read_as_its_definition_says(history: list[tuple[int, Step]]) -> None:
    with TemporaryDirectory() as folder:
        async with open_table("sqlite", Path(folder)) as table:
            watch = Watch()
            first = watch()
            session = await create_groups(Store(table, clock=Clock(watch)))
            latest = await make(session, USA, "factors")
            starts = [latest.updated_at]
            for pause, step in history:
                watch.move(timedelta(days=pause, milliseconds=1))
                now, changes = iso_timestamp(watch()), dict[str, Any](description=f"{len(starts)}")
                start = max(starts[-1], now) if latest.active_from else now
                if isinstance(step, int):
                    start = changes["active_from"] = iso_timestamp(first + timedelta(days=step))
                elif step is None:
                    start, changes["active_from"] = now, None
                starts.append(start)
                latest = await session.pipelines.writing.update(latest.id, latest.version, changes)
            for day in range(-4, 40):
                at = iso_timestamp(first + timedelta(days=day))
                begun = [(start, n) for n, start in enumerate(starts, 1) if start <= at]
                found = await number_at(session.pipelines.versions, latest.id, at, latest)
                assert found == (max(begun)[1] if begun else None)
