"""An execution whose pipeline says so makes the next version of a reference dataset, or none."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import chain, repeat
from typing import Any

import pytest
from msgspec.structs import replace as changed

from penstock.datastore.access.work import worker_units
from penstock.datastore.clock import Clock
from penstock.datastore.datasets import build_index
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.datasets.staged_files import STAGING_TIME
from penstock.datastore.errors import InUse, Invalid, NotPermitted
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.records import Execution, ExecutionRules
from penstock.datastore.groups.content import GroupContent
from penstock.datastore.objects.port import Chunks, Files
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.records import (
    DatasetTarget,
    GroupState,
    Output,
    Parameter,
    Pipeline,
    ReferenceDataset,
    RowKeeping,
    State,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.dataset_loads.sample_loads import StuckFiles, index_always
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    begin_execution,
    current_execution,
    finished_execution,
    pipeline_in,
    put_file,
    ready_execution,
)
from tests.datastore.executions.worker_death import (
    ForwardingFiles,
    MortalFiles,
    MortalTable,
    WriteAllowance,
)
from tests.datastore.resources.test_calculation_refs import save
from tests.datastore.resources.test_formula_references import value_of
from tests.support.consistency_check import contents, faults
from tests.support.patience import until
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    draft,
    on_sqlite,
)
from tests.support.table_interceptors import ProcessDied

__all__ = ["index_always"]

INPUT = b"fuel,kg\ngas,2\noil,3.50\n"
LATER = timedelta(minutes=5)


def factors(target: DatasetTarget | None, **more: Any) -> Transformer:
    """Two outputs, `impact` and `co2`, of the columns `fuel` and `kg`."""
    columns = (("fuel", "impact", ValueType.STRING), ("kg", "co2", ValueType.NUMBER))
    return Transformer(
        parameters=tuple(
            Parameter(index=n, key=given, type=type) for n, (given, _, type) in enumerate(columns)
        ),
        transforms=tuple(
            Transform(index=n, formula=f":{given}", outputs=(Output(index=0, key=made, type=type),))
            for n, (given, made, type) in enumerate(columns)
        ),
        dataset=target,
        **more,
    )


async def writing_pipeline(store: Store) -> tuple[Pipeline, ReferenceDataset]:
    """Create a dataset of /usa, and a pipeline of /usa/northwest that writes it."""
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="1")
    target = DatasetTarget(id=dataset.id, key=("impact",))
    return await pipeline_in(store, NORTHWEST, transformer=factors(target)), dataset


async def latest(store: Store, dataset: ReferenceDataset) -> ReferenceDataset:
    return await store.open_session(SUPER).datasets.reading.one(dataset.id)


async def test_the_output_is_the_next_version_and_formulas_read_it(store: Store) -> None:
    pipeline, dataset = await writing_pipeline(store)
    session = store.open_session(SUPER)
    asked = await save(session, USA, "asked", "IMPACT('fuels', 'oil', 'co2')")
    ended = await finished_execution(store, pipeline, INPUT)
    assert (ended.state, ended.dataset_id, ended.dataset_version) == ("success", dataset.id, 2)
    made = await latest(store, dataset)
    assert [one.name for one in made.content.columns] == ["impact", "co2"]
    assert (made.content.key_column, made.content.row_count) == ("impact", 2)
    assert (made.version, made.updated_by, made.name) == (2, "ann", "fuels")
    assert str(await value_of(session, asked)) == "3.5"
    again = await finished_execution(store, pipeline, INPUT)
    assert (again.copied_from, again.dataset_version) == (None, 3)
    assert await faults(store.table) == []


class CancellingFiles(ForwardingFiles):
    """A file store whose user cancels the execution just before its output is read."""

    def __init__(self, files: Files, cancel: Callable[[], Awaitable[object]]) -> None:
        super().__init__(files)
        self._cancel = cancel

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        if "/output" in key:
            await self._cancel()
        async for chunk in super().read(key, start=start, end=end):
            yield chunk


@on_sqlite
async def test_a_cancellation_between_the_output_and_the_dataset_is_no_failure(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline, dataset = await writing_pipeline(store)
    made = await ready_execution(store, pipeline, INPUT)
    changing = store.open_session(ANN).executions.changing
    files = CancellingFiles(store.files, lambda: changing.cancel(made.id))
    assert await replace(store, files=files).execution_worker("w").run_one()
    assert (await current_execution(store, made)).state == "cancelled"
    assert (await latest(store, dataset)).version == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert await faults(store.table) == []


async def test_a_dataset_lists_the_pipeline_that_writes_it_and_is_not_deleted(store: Store) -> None:
    pipeline, dataset = await writing_pipeline(store)
    session = store.open_session(SUPER)
    found = await session.uses.list_users(dataset, Window(size=5))
    assert [one.id for _, one in found.entries] == [pipeline.id]
    used = await session.uses.list_used(pipeline, Window(size=1))
    assert [one.id for _, one in used.entries] == [dataset.id]
    with pytest.raises(InUse):
        await session.datasets.deleting.delete(dataset.id)
    plain = {"transformer": factors(None)}
    await session.pipelines.writing.update(pipeline.id, 1, plain)
    await session.datasets.deleting.delete(dataset.id)
    assert await faults(store.table) == []


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"fuel,kg\ngas,2\ngas,3\n", "DUPLICATE_KEY"), (b"fuel,kg\n,2\n", "MISSING_KEY")],
)
async def test_an_output_that_is_no_dataset_fails_and_makes_no_version(
    store: Store, data: bytes, code: str
) -> None:
    pipeline, dataset = await writing_pipeline(store)
    before = await latest(store, dataset)
    ended = await finished_execution(store, pipeline, data)
    assert (ended.state, ended.code, ended.dataset_version) == ("failed", code, None)
    assert await latest(store, dataset) == before
    assert await faults(store.table) == []


async def freeze(store: Store, dataset: ReferenceDataset) -> None:
    writing = store.open_session(SUPER).datasets.writing
    await writing.update(dataset.id, dataset.version, {"state": State.FROZEN})


async def delete(store: Store, dataset: ReferenceDataset) -> None:
    await store.open_session(SUPER).datasets.deleting.delete(dataset.id, force=True)


@pytest.mark.parametrize(("change", "code"), [(freeze, "ILLEGAL_STATE"), (delete, "DATASET_GONE")])
async def test_a_dataset_that_takes_no_version_any_more_fails_the_execution(
    store: Store, change: Callable[..., Any], code: str
) -> None:
    pipeline, dataset = await writing_pipeline(store)
    made = await ready_execution(store, pipeline, INPUT)
    await change(store, dataset)
    assert await store.execution_worker("w").run_all() == 1
    ended = await current_execution(store, made)
    assert (ended.state, ended.code, ended.dataset_version) == ("failed", code, None)
    assert await faults(store.table) == []


async def test_whoever_may_not_write_the_dataset_runs_nothing(store: Store) -> None:
    pipeline, dataset = await writing_pipeline(store)
    nora = caller({NORTHWEST: Role.CONTRIBUTOR}, "nora")
    before = await contents(store.table)
    with pytest.raises(NotPermitted):
        await begin_execution(store, pipeline, nora)
    assert await contents(store.table) == before
    both = caller({NORTHWEST: Role.CONTRIBUTOR, USA: Role.CONTRIBUTOR}, "nora")
    begun = await begin_execution(store, pipeline, both)
    await put_file(store.files, ingest_key(begun), INPUT)
    with pytest.raises(NotPermitted):
        await store.open_session(nora).executions.uploads.confirm(begun.id)
    assert await store.confirm_uploads() == 0
    assert (await latest(store, dataset)).version == 1


async def shared_pipeline(store: Store) -> tuple[Pipeline, ReferenceDataset]:
    """Create a dataset of /usa, and a pipeline of /eu that writes it."""
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="1")
    target = DatasetTarget(id=dataset.id, key=("impact",))
    return await pipeline_in(store, EU, transformer=factors(target)), dataset


NAMED = "It writes a dataset of /usa, which needs the role CONTRIBUTOR there."
HIDDEN = "It writes a dataset of a group out of sight, which needs the role CONTRIBUTOR there."


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({}, HIDDEN),
        ({SOUTH: Role.ADMIN}, NAMED),
        ({USA: Role.READER}, NAMED),
    ],
)
async def test_the_group_of_a_dataset_out_of_sight_is_not_named(
    store: Store, roles: Mapping[GroupPath, Role], words: str
) -> None:
    pipeline, dataset = await shared_pipeline(store)
    begun = await begin_execution(store, pipeline, SUPER)
    await put_file(store.files, ingest_key(begun), INPUT)
    ended = await begin_execution(store, pipeline, SUPER)
    await store.open_session(SUPER).executions.changing.cancel(ended.id)
    before = await contents(store.table)
    session = store.open_session(caller({EU: Role.CONTRIBUTOR, **roles}, "nora"))
    for refused in (
        session.executions.uploads.confirm(begun.id),
        session.executions.changing.retry(ended.id),
    ):
        with pytest.raises(NotPermitted) as told:
            await refused
        assert told.value.message == words
    with pytest.raises(NotPermitted, match=r"^Only a caller who may start it now starts it\.$"):
        await session.executions.uploads.confirm_key(ingest_key(begun))
    assert await contents(store.table) == before
    assert (await latest(store, dataset)).version == 1


async def disable_group(store: Store, _: ReferenceDataset) -> Store:
    content = GroupContent(state=GroupState.DISABLED)
    await store.open_session(SUPER).groups.update(USA, content)
    return store


async def freeze_dataset(store: Store, dataset: ReferenceDataset) -> Store:
    await freeze(store, dataset)
    return store


async def fill_group(store: Store, _: ReferenceDataset) -> Store:
    rules = QuotaRules(own={USA: Amounts(versions=1)})
    return replace(store, quotas=Quotas(rules))


async def fill_user(store: Store, _: ReferenceDataset) -> Store:
    return replace(store, quotas=Quotas(QuotaRules(per_user=Amounts(versions=1))))


STATE = "The reference dataset or its group is {}: it takes no version."


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (disable_group, "ILLEGAL_STATE", STATE.format("disabled")),
        (freeze_dataset, "ILLEGAL_STATE", STATE.format("frozen")),
        (
            fill_group,
            "QUOTA_EXCEEDED",
            "versions: the group of the dataset, or one above, has no room left.",
        ),
        (fill_user, "QUOTA_EXCEEDED", "versions: the creator has no room left."),
    ],
)
@on_sqlite
async def test_a_failure_names_neither_the_group_of_the_dataset_nor_amounts(
    store: Store, change: Callable[..., Any], code: str, words: str
) -> None:
    pipeline, dataset = await shared_pipeline(store)
    made = await ready_execution(store, pipeline, INPUT, SUPER)
    store = await change(store, dataset)
    before = await latest(store, dataset)
    assert await store.execution_worker("w").run_all() == 1
    ended = await current_execution(store, made)
    assert (ended.state, ended.code, ended.message) == ("failed", code, words)
    assert await latest(store, dataset) == before
    assert await faults(store.table) == []


async def test_two_executions_at_once_make_two_versions(store: Store) -> None:
    pipeline, dataset = await writing_pipeline(store)
    for data in (INPUT, b"fuel,kg\nwood,1\n"):
        await ready_execution(store, pipeline, data)
    workers = [store.execution_worker(f"w{n}") for n in range(2)]
    await asyncio.gather(*(one.run_all() for one in workers))
    assert (await latest(store, dataset)).version == 3
    assert await faults(store.table) == []


@on_sqlite
async def test_wherever_a_worker_dies_there_is_one_version_for_each_execution(
    store: Store, watch: Watch
) -> None:
    pipeline, dataset = await writing_pipeline(store)
    for calls in range(60):
        made = await ready_execution(store, pipeline, INPUT)
        life = WriteAllowance(calls)
        table, files = MortalTable(store.table, life), MortalFiles(store.files, life)
        try:
            await replace(store, table=table, files=files).execution_worker("mortal").run_all()
            break
        except ProcessDied:
            watch.move(LATER)
        await store.execution_worker("heir").run_all()
        ended: Execution = await current_execution(store, made)
        assert (ended.state, ended.dataset_version) == ("success", calls + 2)
        assert (await latest(store, dataset)).version == calls + 2
    assert 5 < calls < 59
    watch.move(timedelta(hours=2))
    await store.sweep_files()
    assert await faults(store.table) == []


@pytest.mark.parametrize(
    ("key", "more", "path"),
    [
        (("nope",), {}, ["dataset", "key", "0"]),
        ((), {}, ["dataset", "key"]),
        (("impact", "impact"), {}, ["dataset", "key", "1"]),
        (("impact",), {"rows": RowKeeping(key=("impact",))}, ["dataset"]),
    ],
)
async def test_a_pipeline_that_could_write_no_dataset_is_not_saved(
    store: Store, key: tuple[str, ...], more: dict[str, Any], path: list[str]
) -> None:
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="1")
    before = await contents(store.table)
    target = DatasetTarget(id=dataset.id, key=key)
    with pytest.raises(Invalid) as refused:
        await pipeline_in(store, USA, transformer=factors(target, **more))
    assert [one.path for one in refused.value.problems] == [["transformer", *path]]
    assert await contents(store.table) == before


async def test_outputs_without_keys_and_datasets_out_of_sight_are_refused(store: Store) -> None:
    session = await create_groups(store)
    dataset = await lookup_dataset(session, USA, "fuels", gas="1")
    target = DatasetTarget(id=dataset.id, key=("impact",))
    good = factors(target)
    bare = tuple(
        changed(one, outputs=(changed(one.outputs[0], key=None),)) for one in good.transforms
    )
    before = await contents(store.table)
    with pytest.raises(Invalid):
        await pipeline_in(store, USA, transformer=changed(good, transforms=bare))
    with pytest.raises(Invalid) as refused:
        await store.open_session(EVE).pipelines.writing.create(
            EU, draft("eu", transformer=good), None
        )
    assert [one.code for one in refused.value.problems] == ["UNKNOWN_DATASET"]
    assert await contents(store.table) == before


@on_sqlite
async def test_an_output_that_is_too_large_for_the_memory_gets_an_index(
    store: Store, index_always: None
) -> None:
    pipeline, dataset = await writing_pipeline(store)
    over = await finished_execution(store, pipeline, INPUT)
    assert over.state == "success"
    made = await store.open_session(SUPER).datasets.reading.one(dataset.id)
    assert (made.version, made.content.row_count, made.content.is_indexed) == (2, 2, True)
    rows = await store.dataset_cache.rows(store.files, made)
    assert rows.find("oil", None) == Decimal("3.5")
    few = replace(store, dataset_limits=CsvLimits(10**6, 1, 10**6))
    refused = await finished_execution(few, pipeline, INPUT + b"air,1\n")
    assert (refused.state, refused.code) == ("failed", "TOO_MANY_ROWS")
    assert (await store.open_session(SUPER).datasets.reading.one(dataset.id)).version == 2
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize(
    ("data", "state"), [(INPUT, "success"), (INPUT + b"gas,3\n", "failed")], ids=["made", "in vain"]
)
async def test_the_creator_owes_the_processor_time_of_an_index(
    data: bytes, state: str, store: Store, index_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, _ = await writing_pipeline(store)
    clock = chain([10.0], repeat(12.0))
    monkeypatch.setattr(build_index, "thread_time", lambda: next(clock))
    assert (await finished_execution(store, pipeline, data)).state == state
    owed = dict[str, int]()
    await store.work_debts.take_all(owed.__setitem__)
    assert owed == {"ann": worker_units(2.0)}


@on_sqlite
async def test_a_cancelled_execution_leaves_nothing_that_its_dataset_does_not_count(
    store: Store,
) -> None:
    watch, stuck = Watch(), StuckFiles(store.files)
    rules = ExecutionRules(heartbeat=timedelta(milliseconds=10))
    store = replace(store, clock=Clock(now=watch), files=stuck, execution_rules=rules)
    pipeline, dataset = await writing_pipeline(store)
    made = await ready_execution(store, pipeline, INPUT)
    stuck.left = 0
    working = asyncio.create_task(store.execution_worker("w").run_all())
    await stuck.is_stuck.wait()
    await store.open_session(ANN).executions.changing.cancel(made.id)
    await working
    await until(stuck.has_deleted_all)
    assert await latest(store, dataset) == dataset
    assert (await current_execution(store, made)).state == "cancelled"
    watch.move(STAGING_TIME + timedelta(seconds=1))
    await store.sweep_files()
    assert await faults(store.table) == []
