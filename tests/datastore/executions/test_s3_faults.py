"""Executions over S3 that refuses, delays and breaks off: the same output, or a new attempt."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.errors import RequestRefused
from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.files import errors_key, ingest_key, input_key, output_key
from penstock.datastore.executions.records import Execution, ExecutionRules
from penstock.datastore.executions.workers.worker import REFUSED
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.s3_client import Patience
from penstock.datastore.objects.s3_multipart import PART_BYTES
from penstock.datastore.records import (
    Output,
    Parameter,
    Pipeline,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    event_history,
    pipeline_in,
    plant_pipeline,
    put_file,
    read_content,
    ready_execution,
)
from tests.faults.s3_proxy import S3Fault, S3Proxy
from tests.support.consistency_check import faults
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.stores import REGION, aws_environment, moto_endpoint

pytestmark = on_sqlite

ROWS = 300
REPEATED = Transformer(
    parameters=(Parameter(index=0, key="text", type=ValueType.STRING),),
    transforms=(
        Transform(
            index=0,
            formula=f"CONCAT({', '.join([':text'] * 10)})",
            outputs=(Output(index=0, key="tenfold", type=ValueType.STRING),),
        ),
    ),
)
"""Makes ten times as much of its input, so that a small one gives several parts."""
LINE = b"x" * 3000
INPUT = b"text\n" + (LINE + b"\n") * ROWS + b"\x81\n"
OUTPUT = b"tenfold\r\n" + (LINE * 10 + b"\r\n") * ROWS


@pytest.fixture(scope="session")
async def bucket() -> AsyncIterator[S3Files]:
    name = f"penstock-runs-{uuid4()}"
    with aws_environment():
        files = await S3Files.open(name, region=REGION, endpoint_url=moto_endpoint())
    await files._client.create_bucket(Bucket=name)
    yield files
    await files.close()


@pytest.fixture
async def proxy() -> AsyncIterator[S3Proxy]:
    async with S3Proxy(moto_endpoint()) as started:
        yield started


@pytest.fixture
async def far(
    store: Store,
    bucket: S3Files,
    proxy: S3Proxy,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Store]:
    """The store over S3, which is reached through the proxy; it waits long unless S3 stalls."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is None or S3Fault.STALLED in callspec.params.get("faults_met", ()):
        limit = "penstock.datastore.objects.s3_client.OWN_PATIENCE"
        monkeypatch.setattr(limit, Patience(30.0, 1.0))
    with aws_environment():
        files = await S3Files.open(bucket.bucket, region=REGION, endpoint_url=proxy.url)
    yield replace(
        store, files=files, execution_rules=ExecutionRules(heartbeat=timedelta(seconds=60))
    )
    await files.close()


@pytest.fixture
async def tenfold(far: Store) -> Pipeline:
    await plant_pipeline(far)
    return await pipeline_in(far, name="Tenfold", transformer=REPEATED)


async def unfinished_uploads(files: S3Files, execution: Execution) -> int:
    """Return the number of the execution's uploads; other tests share the bucket."""
    found = await files._client.list_multipart_uploads(Bucket=files.bucket)
    return sum(execution.id in upload["Key"] for upload in found.get("Uploads", ()))


@pytest.mark.parametrize(
    ("operation", "faults_met"),
    [
        ("GetObject", (S3Fault.SLOW_DOWN, S3Fault.RESET_BEFORE, S3Fault.SLOW)),
        ("GetObject", (S3Fault.CUT_OFF, S3Fault.CUT_OFF)),
        ("GetObject", (S3Fault.STALLED, S3Fault.CUT_OFF, S3Fault.STALLED)),
        ("HeadObject", (S3Fault.RESET_BEFORE, S3Fault.SLOW_DOWN)),
        ("CreateMultipartUpload", (S3Fault.SLOW_DOWN,)),
        ("UploadPart", (S3Fault.RESET_BEFORE, S3Fault.RESET_AFTER, S3Fault.SLOW_DOWN)),
        ("PutObject", (S3Fault.RESET_AFTER, S3Fault.SLOW)),
        ("CompleteMultipartUpload", (S3Fault.SLOW_DOWN, S3Fault.RESET_BEFORE)),
        ("CompleteMultipartUpload", (S3Fault.RESET_AFTER,)),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(f.name for f in value),
)
async def test_what_passes_is_sent_again_and_changes_nothing(
    far: Store, tenfold: Pipeline, proxy: S3Proxy, operation: str, faults_met: tuple[S3Fault, ...]
) -> None:
    assert len(OUTPUT) > PART_BYTES
    made = await ready_execution(far, tenfold, INPUT)
    proxy.script(operation, *faults_met)
    assert await far.execution_worker("w").run_all() == 1
    after = await current_execution(far, made)
    assert (after.state, after.attempts, after.failed) == ("success", 1, 1)
    assert proxy.left == 0
    assert await read_content(far.files, output_key(made)) == OUTPUT
    assert await faults(far.table) == []


@pytest.mark.parametrize(
    "operation",
    ["GetObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "PutObject"],
)
async def test_what_is_denied_is_tried_later_and_leaves_no_parts_behind(
    far: Store,
    tenfold: Pipeline,
    proxy: S3Proxy,
    bucket: S3Files,
    watch: Watch,
    operation: str,
) -> None:
    made = await ready_execution(far, tenfold, INPUT)
    proxy.script(operation, S3Fault.DENIED)
    await far.execution_worker("w").run_all()
    after = await current_execution(far, made)
    assert (after.state, after.message) == (
        "in_progress",
        f"The last attempt failed: {REFUSED}",
    )
    assert await read_content(far.files, output_key(made)) is None
    assert await unfinished_uploads(bucket, made) == 0
    watch.move(timedelta(seconds=2))
    assert await far.execution_worker("w").run_all() == 1
    ended = await current_execution(far, made)
    assert ended.state == "success"
    assert await read_content(far.files, output_key(ended)) == OUTPUT


@pytest.mark.parametrize(
    ("operation", "faults_met"),
    [
        # The answer that it was completed is lost, and the store has forgotten the upload.
        ("CompleteMultipartUpload", (S3Fault.RESET_AFTER, S3Fault.UNKNOWN_UPLOAD)),
        ("UploadPart", (S3Fault.UNKNOWN_UPLOAD,)),
    ],
)
async def test_an_upload_that_the_store_knows_no_more_is_made_anew(
    far: Store,
    tenfold: Pipeline,
    proxy: S3Proxy,
    watch: Watch,
    operation: str,
    faults_met: tuple[S3Fault, ...],
) -> None:
    made = await ready_execution(far, tenfold, INPUT)
    proxy.script(operation, *faults_met)
    assert await far.execution_worker("w").run_one()
    waiting = await current_execution(far, made)
    assert (waiting.state, waiting.attempts) == ("in_progress", 1)
    watch.move(timedelta(seconds=3))
    assert await far.execution_worker("w").run_one()
    after = await current_execution(far, made)
    assert (after.state, after.attempts) == ("success", 2)
    assert await read_content(far.files, output_key(after)) == OUTPUT


async def test_the_copy_of_an_input_is_sent_again_and_not_made_if_denied(
    far: Store, tenfold: Pipeline, proxy: S3Proxy
) -> None:
    made = await begin_execution(far, tenfold)
    await put_file(far.files, ingest_key(made), INPUT)
    uploads = far.open_session(ANN).executions.uploads
    proxy.script("CopyObject", S3Fault.DENIED)
    with pytest.raises(RequestRefused):
        await uploads.confirm(made.id)
    assert await current_execution(far, made) == made
    proxy.script("CopyObject", S3Fault.RESET_AFTER, S3Fault.SLOW_DOWN)
    ready = await uploads.confirm(made.id)
    assert proxy.left == 0
    assert await read_content(far.files, input_key(ready)) == INPUT
    assert await far.execution_worker("w").run_all() == 1
    assert await read_content(far.files, output_key(made)) == OUTPUT


async def test_an_outage_is_waited_for(
    far: Store, tenfold: Pipeline, proxy: S3Proxy, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await ready_execution(far, tenfold, INPUT)
    monkeypatch.setattr("penstock.datastore.objects.s3.Attempts", lambda *_, **__: Attempts(0.2))
    proxy.script("GetObject", *[S3Fault.SLOW_DOWN] * 30)
    assert await far.execution_worker("w").run_one()
    waiting = await current_execution(far, made)
    assert (waiting.state, waiting.attempts) == ("in_progress", 1)
    assert not await far.execution_worker("w").run_one()
    proxy._scripts.clear()
    monkeypatch.undo()
    watch.move(timedelta(seconds=3))
    assert await far.execution_worker("w").run_one()
    assert (await current_execution(far, made)).state == "success"
    assert await read_content(far.files, output_key(await current_execution(far, made))) == OUTPUT


async def test_the_parts_of_a_dead_worker_are_taken_away_by_its_heir(
    far: Store, tenfold: Pipeline, bucket: S3Files, watch: Watch
) -> None:
    made = await ready_execution(far, tenfold, INPUT)
    for key in (output_key(made), errors_key(made)):
        await bucket._client.create_multipart_upload(Bucket=bucket.bucket, Key=key)
    await bucket._client.create_multipart_upload(
        Bucket=bucket.bucket, Key=output_key(made) + ".other"
    )
    held = await Claims(far.table, far.clock, far.execution_rules).claim(made, "dead")
    assert held is not None
    watch.move(timedelta(minutes=5))
    assert await far.execution_worker("heir").run_one()
    assert await unfinished_uploads(bucket, made) == 1
    assert (await event_history(far.open_session(ANN), made))[-1] == (
        "succeeded",
        "success",
        "heir",
    )
    await bucket.drop_unfinished(output_key(made) + ".other")
    assert await unfinished_uploads(bucket, made) == 0
