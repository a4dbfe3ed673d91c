"""An execution uses the bytes that were there when it was confirmed, whatever is uploaded later."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.datastore.errors import IllegalState, NotFound, Unavailable
from penstock.datastore.executions.files import ingest_key, input_key, output_key
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.objects.directory import LocalFiles, UploadRefused
from penstock.datastore.objects.port import Chunks, FileReplaced, Files, Stat
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.signed_links import SignedLink
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.port import Update
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    OUTPUT,
    begin_execution,
    current_execution,
    finished_execution,
    put_file,
    read_content,
    ready_execution,
    uploaded_execution,
)
from tests.datastore.executions.worker_death import (
    ForwardingFiles,
    mortal_store,
)
from tests.support.consistency_check import faults
from tests.support.patience import HUNG_SECONDS
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.stores import REGION, aws_environment, moto_endpoint
from tests.support.table_interceptors import ProcessDied, dies

OTHER = b"distance,Fuel type\n500,gas\n"
Change = Callable[[], Awaitable[object]]


@pytest.fixture(params=["directory", "s3"])
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Files]:
    if request.param == "directory":
        opened: Files = await LocalFiles.open(tmp_path / "f", base_url="http://x", key=b"k" * 32)
    else:
        with aws_environment():
            name = f"penstock-pins-{uuid4()}"
            bucket = await S3Files.open(name, region=REGION, endpoint_url=moto_endpoint())
        await bucket._client.create_bucket(Bucket=name)
        opened = bucket
    yield opened
    await opened.close()


class ChangingFiles(ForwardingFiles):
    """A file store in which something happens once, right before a copy or a read."""

    def __init__(
        self, files: Files, before_copy: Change | None = None, before_read: Change | None = None
    ) -> None:
        super().__init__(files)
        self.before_copy, self.before_read = before_copy, before_read

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        change, self.before_copy = self.before_copy, None
        if change is not None:
            await change()
            found = await self.stat(source)
            if etag is not None and found is not None and found.etag != etag:
                raise FileReplaced("S3 refuses this copy, but moto does not.")
        await super().copy(source, target, etag)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        change, self.before_read = self.before_read, None
        if change is not None:
            await change()
        async for chunk in self.files.read(key, start=start, end=end):
            yield chunk


async def inputs_of(store: Store, execution: Execution) -> list[str]:
    """The names of the copies of an execution's input."""
    folder = output_key(execution).rpartition("/")[0]
    keys = await store.files.list(f"{folder}/input")
    return [key.rpartition("/")[2] for key in keys]


async def run_to_end(store: Store, made: Execution) -> bytes | None:
    assert await store.execution_worker("w").run_all() == 1
    return await read_content(store.files, output_key(made))


async def test_what_was_uploaded_last_before_the_start_is_used_and_nothing_later(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline, OTHER)
    await put_file(store.files, ingest_key(made), INPUT)
    ready = await store.open_session(ANN).executions.uploads.confirm(made.id)
    await put_file(store.files, ingest_key(made), OTHER)
    assert ready.bytes_total == len(INPUT)
    assert await store.open_session(ANN).executions.uploads.confirm(made.id) == ready
    assert await store.confirm_uploads() == 0
    assert await run_to_end(store, made) == OUTPUT
    assert await faults(store.table) == []


async def test_an_upload_goes_once_its_copy_is_used(store: Store, pipeline: Pipeline) -> None:
    made = await uploaded_execution(store, pipeline)
    uploads = store.open_session(ANN).executions.uploads
    ready = await uploads.confirm(made.id)
    folder = f"pipelines/{pipeline.id}/"
    assert await store.files.list(folder) == (input_key(ready),)
    # What a form of S3 sends later goes with a repeated start.
    await put_file(store.files, ingest_key(made), OTHER)
    assert await uploads.confirm(made.id) == ready
    assert await store.files.list(folder) == (input_key(ready),)


@on_sqlite
async def test_an_upload_that_another_confirmation_used_and_removed_is_confirmed(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline)

    async def confirm() -> None:
        await store.open_session(ANN).executions.uploads.confirm(made.id)

    late = replace(store, files=ChangingFiles(store.files, before_copy=confirm))
    ready = await late.open_session(ANN).executions.uploads.confirm(made.id)
    assert ready == await current_execution(store, made)
    assert await store.files.list(f"pipelines/{pipeline.id}/") == (input_key(ready),)
    assert await run_to_end(store, made) == OUTPUT


@on_sqlite
async def test_bytes_replaced_while_it_runs_are_not_read(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)

    async def replace_upload() -> None:
        await put_file(store.files, ingest_key(made), OTHER)
        await store.files.delete(ingest_key(made))

    changing = replace(store, files=ChangingFiles(store.files, before_read=replace_upload))
    assert await run_to_end(changing, made) == OUTPUT


@on_sqlite
async def test_an_external_worker_is_given_what_was_confirmed(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    await put_file(store.files, ingest_key(made), OTHER)
    claimed = await store.open_session(ANN).executions.external.claim(made.id, "far")
    assert input_key(claimed.execution) in _plain_path(store, claimed.input.url)
    assert await read_content(store.files, input_key(claimed.execution)) == INPUT


def _plain_path(store: Store, url: str) -> str:
    """The key that a URL leads to."""
    if isinstance(store.files, LocalFiles):
        link = store.files.signer.check("GET", url.rpartition("/")[2].encode())
        assert link is not None
        return link.key
    return url.partition("?")[0]


@on_sqlite
async def test_of_two_confirmations_one_is_used_and_the_other_leaves_nothing(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline)

    async def confirm_and_replace() -> None:
        await store.open_session(ANN).executions.uploads.confirm(made.id)
        await put_file(store.files, ingest_key(made), OTHER)

    late = replace(store, files=ChangingFiles(store.files, before_copy=confirm_and_replace))
    ready = await late.open_session(ANN).executions.uploads.confirm(made.id)
    assert await inputs_of(store, made) == [f"input.{ready.input_copy}.txt"]
    assert await run_to_end(store, made) == OUTPUT


@on_sqlite
async def test_a_confirmation_that_a_cancellation_overtook_leaves_nothing(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline, OTHER)
    changing = store.open_session(ANN).executions.changing
    late = replace(
        store, files=ChangingFiles(store.files, before_copy=lambda: changing.cancel(made.id))
    )
    with pytest.raises(IllegalState, match="cancelled"):
        await late.open_session(ANN).executions.uploads.confirm(made.id)
    assert await inputs_of(store, made) == []
    again = await changing.retry(made.id)
    form = await store.open_session(ANN).executions.uploads.form(made.id)
    assert form is not None
    await put_file(store.files, ingest_key(again), INPUT)
    await store.confirm_uploads()
    assert await run_to_end(store, made) == OUTPUT


class RetryingFiles(ForwardingFiles):
    """A store of files in which an execution is cancelled and tried again behind its copy."""

    def __init__(self, store: Store, execution: Execution) -> None:
        super().__init__(store.files)
        self.changing, self.id = store.open_session(ANN).executions.changing, execution.id

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        await super().copy(source, target, etag)
        await self.changing.cancel(self.id)
        await self.changing.retry(self.id)


async def test_what_came_before_a_retry_is_not_used_by_a_start_that_was_under_way(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline, OTHER)
    late = replace(store, files=RetryingFiles(store, made))
    with pytest.raises(IllegalState, match="Nothing was uploaded yet"):
        await late.open_session(ANN).executions.uploads.confirm(made.id)
    again = await current_execution(store, made)
    assert (again.state, again.ready_at) == (ExecutionState.WAITING, None)
    assert await store.files.list(f"pipelines/{pipeline.id}/") == ()
    await put_file(store.files, ingest_key(again), INPUT)
    await store.open_session(ANN).executions.uploads.confirm(made.id)
    assert await run_to_end(store, made) == OUTPUT


class SlowFiles(ForwardingFiles):
    """A file store that copies when it is released."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.begun, self.released = asyncio.Event(), asyncio.Event()
        self.copies = list[str]()

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        self.copies.append(target)
        self.begun.set()
        await self.released.wait()
        await super().copy(source, target, etag)


class DistantFiles(SlowFiles):
    """A file store that ends a copy whose source was deleted meanwhile, as S3 does."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.removed = asyncio.Event()

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        content = await read_content(self.files, source)
        self.copies.append(target)
        self.begun.set()
        await self.released.wait()
        await put_file(self.files, target, content or b"")

    async def delete(self, key: str) -> None:
        await super().delete(key)
        if key in self.copies:
            self.removed.set()


@on_sqlite
async def test_a_start_that_is_cut_off_is_continued_with_its_copy(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline)
    slow = SlowFiles(store.files)
    uploads = replace(store, files=slow).open_session(ANN).executions.uploads
    for _ in range(3):
        calling = asyncio.ensure_future(uploads.confirm(made.id))
        await slow.begun.wait()
        for _ in range(3):
            await asyncio.sleep(0)
        calling.cancel()
        await asyncio.wait([calling])
    slow.released.set()
    ready = await uploads.confirm(made.id)
    assert slow.copies == [input_key(ready)]
    assert await inputs_of(store, made) == [f"input.{ready.input_copy}.txt"]
    assert await run_to_end(store, made) == OUTPUT


@on_sqlite
@pytest.mark.parametrize("retries", [False, True])
async def test_a_copy_that_outlasts_its_start_goes_if_the_execution_was_cancelled_meanwhile(
    store: Store, pipeline: Pipeline, retries: bool
) -> None:
    made = await uploaded_execution(store, pipeline)
    slow = DistantFiles(store.files)
    calling = asyncio.ensure_future(
        replace(store, files=slow).open_session(ANN).executions.uploads.confirm(made.id)
    )
    await slow.begun.wait()
    calling.cancel()
    await asyncio.wait([calling])
    changing = store.open_session(ANN).executions.changing
    await changing.cancel(made.id)
    if retries:
        await changing.retry(made.id)
    slow.released.set()
    async with asyncio.timeout(HUNG_SECONDS):
        await slow.removed.wait()
    assert await inputs_of(store, made) == []


@on_sqlite
async def test_a_removal_that_overtakes_a_confirmation_leaves_nothing(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline)

    async def remove() -> None:
        await store.open_session(ANN).pipelines.deleting.delete(pipeline.id)
        await store.finish_deletes()
        await put_file(store.files, ingest_key(made), INPUT)

    late = replace(store, files=ChangingFiles(store.files, before_copy=remove))
    with pytest.raises(NotFound):
        await late.open_session(ANN).executions.uploads.confirm(made.id)
    assert await inputs_of(store, made) == []


@on_sqlite
async def test_wherever_a_confirmation_is_cut_the_upload_is_found_and_nothing_stays(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    deaths = 0
    for calls in range(20):
        made = await uploaded_execution(store, pipeline)
        mortal = mortal_store(store, calls)
        if not await dies(mortal.open_session(ANN).executions.uploads.confirm(made.id)):
            break
        deaths += 1
        await store.confirm_uploads()
        assert await run_to_end(store, made) == OUTPUT
        assert await store.files.stat(ingest_key(made)) is None
        watch.move(timedelta(seconds=1))
    assert deaths >= 2
    watch.move(timedelta(days=31))
    await store.finish_deletes()
    await store.execution_worker("w").run_all()
    watch.move(timedelta(days=31))
    await store.finish_deletes()
    assert await store.files.list("pipelines/") == ()
    assert await faults(store.table) == []


@on_sqlite
async def test_a_cancellation_removes_the_copy_of_a_start_that_was_killed(
    store: Store, pipeline: Pipeline
) -> None:
    deaths, left = 0, 0
    for calls in range(20):
        made = await uploaded_execution(store, pipeline)
        mortal = mortal_store(store, calls)
        with suppress(ProcessDied):
            await mortal.open_session(ANN).executions.uploads.confirm(made.id)
            break
        deaths += 1
        begun = (await current_execution(store, made)).ready_at is not None
        left += not begun and await inputs_of(store, made) != []
        await store.open_session(ANN).executions.changing.cancel(made.id)
        assert await store.files.stat(ingest_key(made)) is None
        assert begun or await inputs_of(store, made) == []
    assert deaths >= 2
    assert left >= 1


@on_sqlite
async def test_a_result_is_reused_for_what_was_confirmed_and_not_for_what_came_later(
    store: Store, pipeline: Pipeline
) -> None:
    await finished_execution(store, pipeline, OTHER)
    made = await ready_execution(store, pipeline, INPUT)
    await put_file(store.files, ingest_key(made), OTHER)
    assert await run_to_end(store, made) == OUTPUT
    again = await finished_execution(store, pipeline, INPUT)
    assert again.copied_from == made.id


@on_sqlite
async def test_a_retry_uses_what_was_confirmed_first(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    changing = store.open_session(ANN).executions.changing
    await changing.cancel(made.id)
    await put_file(store.files, ingest_key(made), OTHER)
    again = await changing.retry(made.id)
    assert (again.input_copy, again.ready_at) == (made.input_copy, made.ready_at)
    assert await run_to_end(store, made) == OUTPUT


@on_sqlite
async def test_an_execution_that_an_earlier_release_made_ready_is_run(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    await store.files.delete(input_key(made))
    await put_file(store.files, ingest_key(made), INPUT)
    await store.table.transact([Update(key=key_of_execution(made.id), remove=("inputCopy",))])
    assert await run_to_end(store, made) == OUTPUT


@on_sqlite
async def test_a_slow_copy_holds_up_no_other_upload(store: Store, pipeline: Pipeline) -> None:
    made = [await begin_execution(store, pipeline) for _ in range(3)]
    for one in made:
        await put_file(store.files, ingest_key(one), INPUT)
    slow, fast = made[0], made[1:]

    copied: list[str] = []
    others_copied = asyncio.Event()

    class WaitingFiles(ForwardingFiles):
        """A file store that copies one upload after all others."""

        async def copy(self, source: str, target: str, etag: str | None = None) -> None:
            if source == ingest_key(slow):
                await others_copied.wait()
            await super().copy(source, target, etag)
            copied.append(source)
            if len(copied) == len(fast):
                others_copied.set()

    found = replace(store, files=WaitingFiles(store.files)).confirm_uploads()
    assert await asyncio.wait_for(found, HUNG_SECONDS) == 3
    assert copied[-1] == ingest_key(slow)


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_the_form_of_a_confirmed_upload_is_refused(store: Store, pipeline: Pipeline) -> None:
    made = await begin_execution(store, pipeline)
    assert isinstance(store.files, LocalFiles)
    link = SignedLink("POST", ingest_key(made), "text/csv", None, 1000)
    await store.files.write_upload(link, _chunks(INPUT))
    await store.open_session(ANN).executions.uploads.confirm(made.id)
    with pytest.raises(UploadRefused):
        await store.files.write_upload(link, _chunks(OTHER))
    assert await read_content(store.files, ingest_key(made)) is None
    assert (await current_execution(store, made)).bytes_total == len(INPUT)


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_nothing_is_stored_by_the_form_behind_the_copy(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline)
    assert isinstance(store.files, LocalFiles)
    directory, link = store.files, SignedLink("POST", ingest_key(made), "text/csv", None, 1000)
    refused: list[str] = []

    class LateUpload(ForwardingFiles):
        """A file store to which another file is sent as soon as the first one is copied."""

        async def copy(self, source: str, target: str, etag: str | None = None) -> None:
            await super().copy(source, target, etag)
            try:
                await directory.write_upload(link, _chunks(OTHER))
            except UploadRefused:
                refused.append(source)

    late = replace(store, files=LateUpload(store.files))
    await late.open_session(ANN).executions.uploads.confirm(made.id)
    assert refused == [ingest_key(made)]
    assert await read_content(store.files, ingest_key(made)) is None
    assert await run_to_end(store, made) == OUTPUT


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_nothing_is_started_while_its_form_stays_open(
    store: Store, pipeline: Pipeline
) -> None:
    class BrokenFiles(ForwardingFiles):
        """A file store that stops before it refuses a form."""

        async def refuse_uploads(self, key: str) -> None:
            raise Unavailable("not now")

    made = await uploaded_execution(store, pipeline)
    broken = replace(store, files=BrokenFiles(store.files))
    with pytest.raises(Unavailable):
        await broken.open_session(ANN).executions.uploads.confirm(made.id)
    assert (await current_execution(store, made)).ready_at is None
    await store.open_session(ANN).executions.uploads.confirm(made.id)
    assert isinstance(store.files, LocalFiles)
    link = SignedLink("POST", ingest_key(made), "text/csv", None, 1000)
    with pytest.raises(UploadRefused):
        await store.files.write_upload(link, _chunks(OTHER))
    assert await run_to_end(store, made) == OUTPUT


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


class ResizingFiles(ForwardingFiles):
    """A file store that gives inputs with `more` bytes at their end, or without the last ones."""

    more: int | None = None

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        content = b"".join([chunk async for chunk in self.files.read(key, start=start, end=end)])
        if self.more is not None and "/input" in key and end is None:
            content = content + b"\n" * self.more if self.more > 0 else content[: self.more]
        yield content


@on_sqlite
@pytest.mark.parametrize("more", [-8, 8])
@pytest.mark.parametrize("data", [INPUT, gzip.compress(INPUT, mtime=0)], ids=["CSV", "gzip"])
async def test_an_input_of_another_size_than_the_confirmed_one_is_not_processed(
    store: Store, pipeline: Pipeline, data: bytes, more: int, watch: Watch
) -> None:
    files = ResizingFiles(store.files)
    lying = replace(store, files=files)
    made = await ready_execution(lying, pipeline, data)
    files.more = more
    assert await lying.execution_worker("w").run_one()
    found = await current_execution(store, made)
    assert (found.state, found.counts.succeeded) == ("in_progress", 0)
    assert "another size" in (found.message or "")
    assert await read_content(store.files, output_key(made)) is None
    files.more = None
    watch.move(timedelta(minutes=5))
    assert await lying.execution_worker("w").run_one()
    after = await current_execution(store, made)
    assert after.state == "success"
    assert await read_content(store.files, output_key(after)) == OUTPUT


class GrowingStat(ForwardingFiles):
    """A file store that says that inputs have one byte more."""

    async def stat(self, key: str) -> Stat | None:
        found = await super().stat(key)
        return found and replace(found, size=found.size + ("/input" in key))


@on_sqlite
async def test_the_size_of_an_input_is_the_confirmed_one(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    lying = replace(store, files=GrowingStat(store.files))
    assert await lying.execution_worker("w").run_one()
    found = await current_execution(store, made)
    assert (found.state, found.counts.succeeded) == ("in_progress", 0)
    assert await read_content(store.files, output_key(made)) is None


class OneTagFiles(ForwardingFiles):
    """A file store in which all inputs have one entity tag, as files with one MD5 have in S3."""

    async def stat(self, key: str) -> Stat | None:
        found = await super().stat(key)
        return replace(found, etag='"one"') if found and "/input" in key else found


@on_sqlite
async def test_no_result_is_reused_for_another_input_of_the_same_size_and_entity_tag(
    store: Store, pipeline: Pipeline
) -> None:
    alike = replace(store, files=OneTagFiles(store.files))
    first = await finished_execution(alike, pipeline, b"distance,Fuel type\n100,gas\n")
    other = await finished_execution(alike, pipeline, b"distance,Fuel type\n900,gas\n")
    again = await finished_execution(alike, pipeline, b"distance,Fuel type\n900,gas\n")
    assert other.copied_from is None
    assert again.copied_from == other.id
    outputs = [await read_content(store.files, output_key(one)) for one in (first, other, again)]
    assert outputs[0] != outputs[1] == outputs[2]
