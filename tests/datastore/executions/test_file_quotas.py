"""The files of executions count for the group of the pipeline and for the user, until removed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import errors_key, output_key, staged_key
from penstock.datastore.executions.records import ExecutionMode, ExecutionState
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import sum_group, sum_user
from penstock.datastore.records import Pipeline
from penstock.datastore.recount import Recount
from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Update
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    INPUT,
    OUTPUT,
    begin_execution,
    finished_execution,
    put_file,
    ready_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite

CARA = caller({USA: Role.CONTRIBUTOR}, "cara")
BOTH = len(INPUT) + len(OUTPUT) + len(ERRORS)


async def sum_files(store: Store) -> Amounts:
    """The files that ann keeps, which are all files of the group."""
    found = await sum_user(store.table, "ann")
    group = await sum_group(store.table, USA)
    assert (found.files, found.bytes) == (group.files, group.bytes)
    return found


async def test_input_and_output_count_until_the_execution_is_removed(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await begin_execution(store, pipeline)
    assert await sum_files(store) == Amounts()
    await finished_execution(store, pipeline)
    assert await sum_files(store) == Amounts(files=2, bytes=BOTH)
    await ready_execution(store, pipeline)
    assert await sum_files(store) == Amounts(files=3, bytes=len(INPUT) + BOTH)
    watch.move(timedelta(days=30))
    await store.finish_deletes()
    assert await sum_files(store) == Amounts(files=1, bytes=len(INPUT))
    assert await faults(store.table) == []


async def test_a_deleted_pipeline_frees_the_files_of_its_executions(
    store: Store, pipeline: Pipeline
) -> None:
    await finished_execution(store, pipeline)
    await ready_execution(store, pipeline)
    await store.open_session(ANN).pipelines.deleting.delete(pipeline.id)
    await store.finish_deletes()
    assert await sum_files(store) == Amounts()
    assert await faults(store.table) == []


@on_sqlite
async def test_rows_of_a_request_count_like_a_file(store: Store, pipeline: Pipeline) -> None:
    wanted = ExecutionRequest(pipeline_id=pipeline.id, mode=ExecutionMode.INLINE)
    rows = [{"distance": 3, "Fuel type": "gas"}]
    await store.open_session(ANN).executions.inline.run(wanted, rows)
    found = await sum_files(store)
    assert found.files == 2
    assert found.bytes > 0
    counted = Recount()
    for item in (await contents(store.table)).values():
        counted.read(item)
    assert counted.differences() == []


@on_sqlite
@pytest.mark.parametrize("kind", [QuotaKind.FILES, QuotaKind.BYTES])
async def test_where_no_room_is_left_no_execution_begins(
    store: Store, pipeline: Pipeline, kind: QuotaKind
) -> None:
    await finished_execution(store, pipeline)
    most = (await sum_files(store)).of(kind)
    rules = QuotaRules(per_user=Amounts(**{kind.value: most}))
    store = replace(store, quotas=Quotas(rules))
    before = await contents(store.table)
    with pytest.raises(QuotaExceeded) as refused:
        await begin_execution(store, pipeline)
    assert (refused.value.kind, refused.value.used, refused.value.group) == (kind, most, None)
    left = {key for key in await contents(store.table) if not key.pk.startswith(("FU:", "QL:"))}
    assert left == {key for key in before if not key.pk.startswith("FU:")}


async def test_an_execution_begins_again_only_where_one_can_begin(
    store: Store, pipeline: Pipeline
) -> None:
    prepared = [await begin_execution(store, pipeline) for _ in range(2)]
    for each in prepared:
        await store.open_session(ANN).executions.changing.cancel(each.id)
    await finished_execution(store, pipeline)
    quotas = Quotas(QuotaRules(per_user=Amounts(files=2)))
    full = replace(store, quotas=quotas).open_session(ANN).executions.changing
    before = await contents(store.table)
    for each in prepared:
        with pytest.raises(QuotaExceeded) as refused:
            await full.retry(each.id)
        assert (refused.value.kind, refused.value.used) == (QuotaKind.FILES, 2)
    assert await contents(store.table) == before


@on_sqlite
async def test_an_execution_of_an_earlier_release_does_not_count(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await ready_execution(store, pipeline)
    assert (await sum_files(store)).files == 1
    key = Key(f"PE:{made.id}", "PE:P")
    counted = [
        each
        for each, row in (await contents(store.table)).items()
        if each.pk.startswith("QG:") and "files" in row
    ]
    forgotten = Update(key=key, remove=("owner", "countedFiles", "countedBytes"))
    uncounted = [Update(key=each, remove=("files", "bytes")) for each in counted]
    await store.table.transact([forgotten, *uncounted])
    assert await store.execution_worker("w").run_all() == 1
    assert await sum_files(store) == Amounts()
    watch.move(timedelta(days=31))
    await store.finish_deletes()
    assert await sum_files(store) == Amounts()


@on_sqlite
async def test_a_repeated_creation_gets_its_execution_though_no_room_is_left(
    store: Store, pipeline: Pipeline
) -> None:
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    made = await store.open_session(ANN).executions.creating.create(wanted, "key")
    await finished_execution(store, pipeline)
    full = replace(store, quotas=Quotas(QuotaRules(Amounts(files=2))))
    again = await full.open_session(ANN).executions.creating.create(wanted, "key")
    assert again.id == made.id


@on_sqlite
async def test_rejected_rows_of_a_failure_count(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    bad = b"distance,Fuel type\nfar,gas\n"
    over = await finished_execution(store, pipeline, bad)
    assert over.state is ExecutionState.FAILED
    errors = await store.files.stat(errors_key(over))
    assert errors is not None
    counted = Amounts(files=2, bytes=len(bad) + errors.size)
    assert await sum_files(store) == counted
    # They stay while the execution waits for its second try.
    await store.open_session(ANN).executions.changing.retry(over.id)
    assert await sum_files(store) == counted
    assert await store.execution_worker("w").run_all() == 1
    assert await sum_files(store) == counted
    watch.move(timedelta(days=31))
    await store.finish_deletes()
    assert await sum_files(store) == Amounts()
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("claims", [0, 10**15])
@pytest.mark.parametrize("succeeds", [True, False])
async def test_files_of_a_worker_elsewhere_count_by_their_size_and_not_by_its_word(
    store: Store, pipeline: Pipeline, claims: int, succeeds: bool
) -> None:
    made = await ready_execution(store, pipeline)
    external = store.open_session(CARA).executions.external
    await external.claim(made.id, "far")
    said = RowCounts(3, 2, 1, 43, claims)
    await put_file(store.files, staged_key(errors_key(made), 1), ERRORS)
    if succeeds:
        await put_file(store.files, staged_key(output_key(made), 1), OUTPUT)
        over = await external.complete(made.id, 1, said)
        assert await sum_files(store) == Amounts(files=2, bytes=BOTH)
    else:
        await external.heartbeat(made.id, 1, said)
        over = await external.fail(made.id, 1, "WORKER_FAILED", "no")
        assert await sum_files(store) == Amounts(files=2, bytes=len(INPUT) + len(ERRORS))
    assert over.bytes_written == claims
    assert await faults(store.table) == []


@on_sqlite
async def test_a_worker_elsewhere_that_stores_nothing_adds_nothing(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    external = store.open_session(CARA).executions.external
    await external.claim(made.id, "far")
    await external.fail(made.id, 1, "WORKER_FAILED", "no")
    assert await sum_files(store) == Amounts(files=1, bytes=len(INPUT))


async def test_a_copied_result_counts_by_its_size(store: Store, pipeline: Pipeline) -> None:
    first = await finished_execution(store, pipeline)
    again = await finished_execution(store, pipeline)
    assert again.copied_from == first.id
    assert first.result_bytes == again.result_bytes == len(OUTPUT) + len(ERRORS)
    assert await sum_files(store) == Amounts(files=4, bytes=2 * BOTH)
