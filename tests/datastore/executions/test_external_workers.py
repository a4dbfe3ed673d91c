"""Executions run by external workers, which can write only under the current fence."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
from msgspec import convert, structs

from penstock.datastore.errors import FieldProblem, IllegalState, Invalid, NotFound, NotPermitted
from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.files import (
    errors_key,
    ingest_key,
    input_key,
    output_key,
    place_files,
    staged_key,
)
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.directory import LocalFiles, UploadRefused
from penstock.datastore.objects.signed_links import SignedLink
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import Caller, Role
from penstock.datastore.store import Store
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.outcome import RowCounts
from penstock.transform.plan import TransformPlan
from penstock.transform.program import Program
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    EVE,
    INPUT,
    NORA,
    OUTPUT,
    all_keys,
    current_execution,
    finished_execution,
    put_file,
    read_content,
    ready_execution,
)
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite
from tests.support.table_interceptors import ProcessDied

pytestmark = on_sqlite

COUNTS = RowCounts(3, 2, 1, 43, 121)


async def upload_results(store: Store, made: Execution) -> None:
    """Upload the output and the rejected rows of the first claim."""
    await put_file(store.files, staged_key(output_key(made), 1), OUTPUT)
    await put_file(store.files, staged_key(errors_key(made), 1), ERRORS)


async def test_a_claim_brings_all_that_it_takes(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    claimed = await store.open_session(ANN).executions.external.claim(made.id, "far")
    assert await read_content(store.files, input_key(made)) == INPUT
    assert dict(claimed.output.fields)["key"] == staged_key(output_key(made), 1)
    assert dict(claimed.errors.fields)["key"] == staged_key(errors_key(made), 1)
    assert claimed.input.url.startswith("http://x/files/")
    assert claimed.plan["columns"][0] == {
        "key": "distance",
        "type": "number",
        "required": True,
        "label": None,
    }


async def test_only_contributors_of_the_owner_run_things_elsewhere(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    before = await contents(store.table)
    for who, refusal in ((EVE, NotFound), (NORA, NotPermitted)):
        with pytest.raises(refusal):
            await store.open_session(who).executions.external.claim(made.id, "far")
    assert await contents(store.table) == before
    al = store.open_session(caller({USA: Role.CONTRIBUTOR}, "al")).executions.external
    assert (await al.claim(made.id, "far")).execution.worker == "al: far"


async def test_what_was_taken_over_is_lost(store: Store, pipeline: Pipeline, watch: Watch) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    await external.claim(made.id, "slow")
    watch.move(timedelta(minutes=5))
    assert (await external.claim(made.id, "heir")).execution.fence == 2
    before = await contents(store.table)
    for call in (
        external.heartbeat(made.id, 1, COUNTS),
        external.complete(made.id, 1, COUNTS),
        external.fail(made.id, 1, "WORKER_FAILED", "too late"),
    ):
        with pytest.raises(IllegalState, match="Another worker took it over"):
            await call
    assert await contents(store.table) == before


async def end_in_every_way(store: Store, who: Caller, id: str, fence: int) -> None:
    """Call for a claim of others, which changes nothing."""
    external = store.open_session(who).executions.external
    before = await contents(store.table)
    for call in (
        external.heartbeat(id, fence, COUNTS),
        external.complete(id, fence, COUNTS),
        external.fail(id, fence, "WORKER_FAILED", "by a guess"),
    ):
        with pytest.raises(IllegalState, match="A worker of somebody else holds it"):
            await call
    assert await contents(store.table) == before


@pytest.mark.parametrize("name", ["al", "an", "ann: far", "far"])
async def test_a_claim_is_kept_and_ended_by_who_made_it(
    store: Store, pipeline: Pipeline, name: str
) -> None:
    made = await ready_execution(store, pipeline)
    external = store.open_session(ANN).executions.external
    await external.claim(made.id, "far")
    await upload_results(store, made)
    await end_in_every_way(store, caller({USA: Role.CONTRIBUTOR}, name), made.id, 1)
    assert (await external.complete(made.id, 1, COUNTS)).state is ExecutionState.SUCCESS


async def test_a_claim_of_a_worker_of_a_server_is_nobodys(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    claims = Claims(store.table, store.clock, store.execution_rules)
    for worker in (ANN.user_id, f"{ANN.user_id}@pool"):
        await claims.claim(await current_execution(store, made), worker)
        await end_in_every_way(store, ANN, made.id, 1)


async def test_a_worker_has_no_name_that_seems_to_be_that_of_another_user(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    before = await contents(store.table)
    with pytest.raises(Invalid, match="must not hold ': '"):
        await store.open_session(ANN).executions.external.claim(made.id, "bob: far")
    assert await contents(store.table) == before


async def test_a_failure_says_why(store: Store, pipeline: Pipeline) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    await external.claim(made.id, "far")
    await external.heartbeat(made.id, 1, COUNTS)
    failed = await external.fail(made.id, 1, "WORKER_FAILED", "There was no room.")
    assert (failed.state, failed.code, failed.message) == (
        "failed",
        "WORKER_FAILED",
        "There was no room.",
    )
    assert failed.counts == COUNTS
    with pytest.raises(IllegalState, match="failed"):
        await external.heartbeat(made.id, 1, COUNTS)
    assert await faults(store.table) == []


async def refused_failure(
    store: Store, pipeline: Pipeline, code: str, message: str
) -> Sequence[FieldProblem]:
    """The problems of a failure that a worker reports, and that changes nothing."""
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    await external.claim(made.id, "far")
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await external.fail(made.id, 1, code, message)
    assert await contents(store.table) == before
    return refused.value.problems


@pytest.mark.parametrize(
    "code",
    ["", "DISK_FULL", "worker_failed", "INTERNAL_ERROR", "ATTEMPTS_EXHAUSTED", "NOT_STARTED"],
)
async def test_a_failure_has_a_code_that_workers_may_report(
    store: Store, pipeline: Pipeline, code: str
) -> None:
    (problem,) = await refused_failure(store, pipeline, code, "It failed.")
    assert problem.path == ["code"]
    assert problem.message.startswith("must be one of ALL_ROWS_FAILED, DATASET_GONE, ")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("gone\x1b[2J", "holds the character U+001B"),
        ("x" * 1001, "is longer than 1000 characters"),
    ],
)
async def test_the_message_of_a_failure_is_short_and_printable(
    store: Store, pipeline: Pipeline, message: str, problem: str
) -> None:
    refused = await refused_failure(store, pipeline, "WORKER_FAILED", message)
    assert refused == [FieldProblem(["message"], problem)]


async def test_success_needs_its_files(store: Store, pipeline: Pipeline) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    await external.claim(made.id, "far")
    await put_file(store.files, staged_key(output_key(made), 1), OUTPUT)
    with pytest.raises(IllegalState, match=r"errors\.csv was not uploaded yet"):
        await external.complete(made.id, 1, COUNTS)
    await put_file(store.files, staged_key(errors_key(made), 1), ERRORS)
    over = await external.complete(made.id, 1, COUNTS)
    assert over.state == "success"
    before = await contents(store.table)
    assert await external.complete(made.id, 1, RowCounts()) == over
    for call in (
        external.heartbeat(made.id, 1, COUNTS),
        external.fail(made.id, 1, "WORKER_FAILED", ""),
    ):
        with pytest.raises(IllegalState, match="It is success"):
            await call
    assert await contents(store.table) == before
    assert await faults(store.table) == []


async def test_the_plan_of_a_claim_makes_the_bytes_that_our_own_workers_make(
    store: Store, pipeline: Pipeline
) -> None:
    claimed = await store.open_session(ANN).executions.external.claim(
        (await ready_execution(store, pipeline)).id, "far"
    )
    plan = convert(json.loads(json.dumps(claimed.plan)), TransformPlan)
    transform = CsvTransform(Program(plan))
    made = transform.feed(INPUT).concat(transform.finish())
    over = await finished_execution(store, pipeline)
    assert over.message is None
    assert made.output == await read_content(store.files, output_key(over)) == OUTPUT
    assert made.errors == await read_content(store.files, errors_key(over)) == ERRORS
    assert transform.ending.counts == over.counts


async def test_what_a_zombie_uploads_reaches_nobody(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    slow = await external.claim(made.id, "slow")
    watch.move(timedelta(minutes=5))
    heir = await external.claim(made.id, "heir")
    for form in (slow.output, slow.errors):
        await put_file(store.files, dict(form.fields)["key"], b"late")
    with pytest.raises(IllegalState, match=r"output\.txt was not uploaded yet"):
        await external.complete(made.id, 2, COUNTS)
    for form, data in ((heir.output, OUTPUT), (heir.errors, ERRORS)):
        await put_file(store.files, dict(form.fields)["key"], data)
    over = await external.complete(made.id, 2, COUNTS)
    assert over.state == "success"
    for form in (slow.output, slow.errors, heir.output, heir.errors):
        await put_file(store.files, dict(form.fields)["key"], b"later")
    assert await read_content(store.files, output_key(over)) == OUTPUT
    assert await read_content(store.files, errors_key(over)) == ERRORS
    watch.move(timedelta(days=30))
    await store.finish_deletes()
    keys = all_keys(heir.execution)
    assert len(keys) == 8
    assert [await read_content(store.files, key) for key in keys] == [None] * 8


async def test_a_copy_into_place_that_outlasts_its_claim_replaces_nothing(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    slow = (await external.claim(made.id, "slow")).execution
    for key in (output_key(made), errors_key(made)):
        await put_file(store.files, staged_key(key, 1), b"late")
    real, ended = LocalFiles.copy, list[Execution]()

    async def copy_late(
        files: LocalFiles, source: str, target: str, etag: str | None = None
    ) -> None:
        if source != staged_key(output_key(made), 1):
            await real(files, source, target, etag)
            return
        watch.move(timedelta(minutes=5))
        heir = (await external.claim(made.id, "heir")).execution
        await upload_staged(store, heir)
        ended.append(await external.complete(made.id, 2, COUNTS))
        await put_file(files, target, b"late")  # which was begun before the heir removed it

    monkeypatch.setattr(LocalFiles, "copy", copy_late)
    with pytest.raises((IllegalState, NotFound)):
        await external.complete(slow.id, 1, COUNTS)
    after = await current_execution(store, made)
    assert after == ended[0]
    assert await read_content(store.files, output_key(after)) == OUTPUT
    assert await read_content(store.files, errors_key(after)) == ERRORS
    assert await faults(store.table) == []


async def test_what_earlier_claims_put_into_place_goes_with_the_next_end(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    lost = (await external.claim(made.id, "slow")).execution
    watch.move(timedelta(minutes=5))
    heir = (await external.claim(made.id, "heir")).execution
    places = [key(place_files(lost)) for key in (output_key, errors_key)]
    for place in places:
        await put_file(store.files, place, b"late")
    await upload_staged(store, heir)
    await external.complete(made.id, 2, COUNTS)
    assert [await read_content(store.files, place) for place in places] == [None, None]


async def test_a_server_that_claims_it_later_writes_without_a_number(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    placed = structs.replace(made, fence=1, placed=1)
    assert output_key(placed) == output_key(made).replace("output.txt", "output.1.txt")
    assert output_key(structs.replace(placed, fence=2)) == output_key(made)


async def test_what_was_uploaded_lies_in_one_place_after_the_end(
    store: Store, pipeline: Pipeline
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    held = (await external.claim(made.id, "far")).execution
    await upload_results(store, made)
    over = await external.complete(made.id, 1, COUNTS)
    keys = [*all_keys(held), output_key(over), errors_key(over)]
    found = {key: await read_content(store.files, key) for key in keys}
    assert found == {
        ingest_key(made): None,
        input_key(made): INPUT,
        output_key(made): None,
        errors_key(made): None,
        output_key(over): OUTPUT,
        errors_key(over): ERRORS,
        staged_key(output_key(made), 1): None,
        staged_key(errors_key(made), 1): None,
    }


async def test_a_completion_that_is_cut_short_can_be_made_again(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    await store.open_session(ANN).executions.external.claim(made.id, "far")
    await upload_results(store, made)
    deaths = 0
    for calls in range(10):
        mortal = mortal_store(store, calls)
        with suppress(ProcessDied):
            await mortal.open_session(ANN).executions.external.complete(made.id, 1, COUNTS)
            break
        deaths += 1
    assert deaths >= 4
    over = await current_execution(store, made)
    assert (over.state, over.counts) == ("success", COUNTS)
    assert await read_content(store.files, output_key(over)) == OUTPUT
    assert await read_content(store.files, errors_key(over)) == ERRORS
    assert await faults(store.table) == []


async def test_the_rejected_rows_of_a_failure_are_kept(store: Store, pipeline: Pipeline) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    await external.claim(made.id, "far")
    await put_file(store.files, staged_key(errors_key(made), 1), ERRORS)
    over = await external.fail(made.id, 1, "TOO_MANY_FAILED_ROWS", "Most rows were bad.")
    assert await read_content(store.files, errors_key(over)) == ERRORS


@pytest.mark.parametrize(
    ("counts", "fields"),
    [
        (
            RowCounts(-1, -1, -1, -1, -1),
            ["rowsSucceeded", "rowsFailed", "bytesRead", "bytesWritten"],
        ),
        (RowCounts(2**63, 2**62, 2**62, 0, 0), ["rowsSucceeded", "rowsFailed"]),
        (RowCounts(0, 0, 0, 10**15 + 1, 0), ["bytesRead"]),
    ],
)
async def test_progress_makes_sense(
    store: Store, pipeline: Pipeline, counts: RowCounts, fields: list[str]
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline)
    await external.claim(made.id, "far")
    await upload_results(store, made)
    before = await contents(store.table)
    for call in (external.heartbeat, external.complete):
        with pytest.raises(Invalid) as refused:
            await call(made.id, 1, counts)
        assert [one.path for one in refused.value.problems] == [["progress", f] for f in fields]
    assert await contents(store.table) == before
    most = RowCounts(2 * 10**15, 10**15, 10**15, 10**15, 10**15)
    assert (await external.complete(made.id, 1, most)).counts == most


async def test_an_input_that_is_gone_fails_at_the_claim(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    await store.files.delete(input_key(made))
    with pytest.raises(IllegalState):
        await store.open_session(ANN).executions.external.claim(made.id, "far")
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "INPUT_GONE")


async def test_a_worker_has_a_name(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    with pytest.raises(Invalid):
        await store.open_session(ANN).executions.external.claim(made.id, " ")


async def upload_staged(store: Store, claimed: Execution) -> None:
    """Send both files of a claim with its forms."""
    assert isinstance(store.files, LocalFiles)
    for key, data in ((output_key(claimed), OUTPUT), (errors_key(claimed), ERRORS)):
        link = SignedLink("POST", staged_key(key, claimed.fence), "text/csv", None, 1000)
        await store.files.write_upload(link, single_chunk(data))


@pytest.mark.parametrize("end", ["success", "failure", "cancel", "takeover", "another worker"])
async def test_the_forms_of_a_claim_write_nothing_once_it_is_over(
    store: Store, pipeline: Pipeline, watch: Watch, end: str
) -> None:
    executions = store.open_session(ANN).executions
    made = await ready_execution(store, pipeline)
    claimed = (await executions.external.claim(made.id, "far")).execution
    await upload_staged(store, claimed)
    if end == "success":
        await executions.external.complete(made.id, 1, COUNTS)
    elif end == "failure":
        await executions.external.fail(made.id, 1, "WORKER_FAILED", "It broke.")
    elif end == "cancel":
        await executions.changing.cancel(made.id)
    else:
        watch.move(timedelta(minutes=5))
        if end == "takeover":
            await executions.external.claim(made.id, "heir")
        else:
            assert await store.execution_worker("near").run_all() == 1
    for key in (output_key(made), errors_key(made)):
        assert await read_content(store.files, staged_key(key, 1)) is None
    with pytest.raises(UploadRefused):
        await upload_staged(store, claimed)


async def test_the_forms_of_a_claim_write_nothing_once_its_execution_is_removed(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    session = store.open_session(ANN)
    made = await ready_execution(store, pipeline)
    claimed = (await session.executions.external.claim(made.id, "far")).execution
    await session.pipelines.deleting.delete(pipeline.id)
    watch.move(timedelta(hours=1))
    await store.finish_deletes()
    with pytest.raises(UploadRefused):
        await upload_staged(store, claimed)


@pytest.mark.parametrize(
    ("counts", "field", "code"),
    [
        (RowCounts(4, 2, 2, 9, 9), "rowsFailed", "TOO_MANY_FAILED_ROWS"),
        (RowCounts(1, 0, 1, 9, 9), "rowsSucceeded", "ALL_ROWS_FAILED"),
    ],
)
async def test_what_fails_at_workers_of_the_server_is_no_success_elsewhere(
    store: Store, pipeline: Pipeline, counts: RowCounts, field: str, code: str
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline, max_failed_rows=1)
    await external.claim(made.id, "far")
    await upload_results(store, made)
    before = await contents(store.table)
    with pytest.raises(Invalid, match=f"`failExecution` with the code {code}") as refused:
        await external.complete(made.id, 1, counts)
    assert [one.path for one in refused.value.problems] == [["progress", field]]
    assert await contents(store.table) == before
    assert (await external.fail(made.id, 1, code, "So it is.")).code == code


@pytest.mark.parametrize("counts", [RowCounts(3, 2, 1, 9, 9), RowCounts(0, 0, 0, 9, 9)])
async def test_as_many_failed_rows_as_were_allowed_are_a_success_elsewhere(
    store: Store, pipeline: Pipeline, counts: RowCounts
) -> None:
    external = store.open_session(ANN).executions.external
    made = await ready_execution(store, pipeline, max_failed_rows=1)
    await external.claim(made.id, "far")
    await upload_results(store, made)
    assert (await external.complete(made.id, 1, counts)).state is ExecutionState.SUCCESS
