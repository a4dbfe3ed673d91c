"""A caller and a group have only so many uploads open, counted exactly."""

from asyncio import gather
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.datasets.files import upload_key
from penstock.datastore.errors import IllegalState, Invalid, NotFound, QuotaExceeded
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.records import Execution, ExecutionMode
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.records import DatasetColumn, Pipeline, State, ValueType
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table, Update
from tests.datastore.audio.sample_uploads import COVER, TAGS, put, sound, upload_and_register
from tests.datastore.executions.sample_executions import (
    ANN,
    EVE,
    INPUT,
    begin_execution,
    pipeline_in,
    put_file,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import SUPER, USA, Watch, create_groups, on_sqlite, without_moto
from tests.support.table_interceptors import CutOffTable, ProcessDied


@pytest.fixture
async def other_pipeline(store: Store, pipeline: Pipeline) -> Pipeline:
    """Another pipeline of the group."""
    return await pipeline_in(store, name="Other trips")


COLUMNS = [DatasetColumn(name="k", type=ValueType.STRING)]


def with_limits(store: Store, per_caller: int, per_group: int = 100) -> Store:
    return replace(store, upload_limits=UploadLimits(per_caller, per_group))


async def open_places(table: Table) -> list[str]:
    """Return the uploads that hold places, those of callers and of groups."""
    rows = (await contents(table)).items()
    return sorted(str(row["subject"]) for key, row in rows if key.pk.startswith("FU:"))


async def expect_refusal(store: Store, pipeline: Pipeline, who: Caller = ANN) -> QuotaExceeded:
    before = await contents(store.table)
    with pytest.raises(QuotaExceeded) as caught:
        await begin_execution(store, pipeline, who)
    assert await contents(store.table) == before
    return caught.value


async def start(store: Store, execution: Execution, who: Caller = ANN) -> None:
    await put_file(store.files, ingest_key(execution), INPUT)
    await store.open_session(who).executions.uploads.confirm(execution.id)


async def test_uploads_are_open_until_they_are_confirmed(store: Store, pipeline: Pipeline) -> None:
    store = with_limits(store, 3)
    made = [await begin_execution(store, pipeline) for _ in range(3)]
    error = await expect_refusal(store, pipeline)
    assert (error.kind, error.maximum, error.used) == (QuotaKind.OPEN_UPLOADS, 3, 3)
    assert error.group is None
    await start(store, made[1])
    await begin_execution(store, pipeline)
    await expect_refusal(store, pipeline)
    await start(store, made[0])
    await start(store, made[2])
    for _ in range(2):
        await begin_execution(store, pipeline)
    await expect_refusal(store, pipeline)


async def test_uploads_of_all_kinds_count_together(store: Store, pipeline: Pipeline) -> None:
    store = with_limits(store, 3)
    session = store.open_session(ANN)
    await begin_execution(store, pipeline)
    await session.audio.registering.upload("a.mp3")
    await session.dataset_files.upload(USA)
    await expect_refusal(store, pipeline)
    for opening in (session.audio.registering.upload("b.mp3"), session.dataset_files.upload(USA)):
        with pytest.raises(QuotaExceeded):
            await opening
    await store.open_session(EVE).audio.registering.upload("a.mp3")


async def test_a_group_has_only_so_many_uploads_open(store: Store, pipeline: Pipeline) -> None:
    store = with_limits(store, 3, 4)
    bob = Caller("bob", ANN.roles, ANN.default_group)
    for who in (ANN, ANN, bob, bob):
        await begin_execution(store, pipeline, who)
    for who in (ANN, bob):
        assert (await expect_refusal(store, pipeline, who)).group == pipeline.owner
    with pytest.raises(QuotaExceeded):
        await store.open_session(ANN).dataset_files.upload(USA)
    await store.open_session(ANN).audio.registering.upload("of no group.mp3")


@on_sqlite
async def test_an_upload_whose_form_expired_is_not_open(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    store = with_limits(store, 2)
    for _ in range(2):
        await begin_execution(store, pipeline)
    watch.move(timedelta(minutes=59))
    await expect_refusal(store, pipeline)
    watch.move(timedelta(minutes=2))
    for _ in range(2):
        await begin_execution(store, pipeline)
    await expect_refusal(store, pipeline)


@on_sqlite
async def test_an_execution_that_was_cancelled_has_no_upload_open(
    store: Store, pipeline: Pipeline
) -> None:
    store = with_limits(store, 1)
    made = await begin_execution(store, pipeline)
    await store.open_session(ANN).executions.changing.cancel(made.id)
    await begin_execution(store, pipeline)
    await expect_refusal(store, pipeline)


@on_sqlite
async def test_a_retry_that_waits_for_an_input_opens_an_upload(
    store: Store, pipeline: Pipeline
) -> None:
    store = with_limits(store, 1)
    changing = store.open_session(ANN).executions.changing
    cancelled = await begin_execution(store, pipeline)
    await changing.cancel(cancelled.id)
    waiting = await begin_execution(store, pipeline)
    before = await contents(store.table)
    with pytest.raises(QuotaExceeded):
        await changing.retry(cancelled.id)
    assert await contents(store.table) == before
    await changing.cancel(waiting.id)
    await changing.retry(cancelled.id)
    await expect_refusal(store, pipeline)
    before = await contents(store.table)
    with pytest.raises(IllegalState):
        await changing.retry(cancelled.id)
    assert await contents(store.table) == before


@on_sqlite
async def test_an_execution_that_begins_again_and_again_has_one_upload_open(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    store = with_limits(store, 3)
    session = store.open_session(ANN)
    made = await begin_execution(store, pipeline)
    for _ in range(6):
        watch.move(timedelta(milliseconds=1))
        await session.executions.changing.cancel(made.id)
        assert await counts_of(store) == (0, 0)
        await session.executions.changing.retry(made.id)
        assert await counts_of(store) == (1, 1)
    await begin_execution(store, pipeline)
    await begin_execution(store, pipeline)
    assert await counts_of(store) == (3, 3)
    await expect_refusal(store, pipeline)


async def counts_of(store: Store) -> tuple[int, int]:
    """The uploads that ann has open, and those of the group."""
    uploads = store.open_session(ANN).executions.access.open_uploads
    return await uploads.count(), await uploads.count(USA)


@on_sqlite
async def test_a_place_of_an_earlier_release_is_open_while_its_execution_waits(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline)
    places = [key for key in await contents(store.table) if key.pk.startswith("FU:")]
    await store.table.transact([Update(key=key, remove=("opening",)) for key in places])
    assert await counts_of(store) == (1, 1)
    await start(store, made)
    assert await counts_of(store) == (0, 0)


@on_sqlite
async def test_a_dataset_upload_is_open_until_its_file_is_used(store: Store) -> None:
    store = with_limits(store, 1, 1)
    await create_groups(store)
    files = store.open_session(ANN).dataset_files
    ticket = await files.upload(USA)
    missing = await files.check_upload(COLUMNS, "k", ticket.id)
    assert missing.problems[0].code == "NO_FILE"
    with pytest.raises(QuotaExceeded):
        await files.upload(USA)
    await put_file(store.files, upload_key(files.access, ticket.id), b"k\na\n")
    checked = await files.check_upload(COLUMNS, "k", ticket.id)
    assert checked.file is not None
    taken = await open_places(store.table)
    assert len(taken) == 2, "a file that was only checked is not used"
    writing = store.open_session(ANN).datasets.writing.with_attachment(checked.file)
    fields = {"name": "d", "tags": (), "content": checked.content}
    with pytest.raises(Invalid):
        await writing.create(USA, {**fields, "name": ""}, None)
    assert await open_places(store.table) == taken
    await writing.create(USA, fields, None)
    assert await open_places(store.table) == []
    await files.upload(USA)


@on_sqlite
async def test_a_creation_that_fails_or_is_repeated_holds_no_place(
    store: Store, pipeline: Pipeline
) -> None:
    creating = store.open_session(ANN).executions.creating
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    made = await creating.create(wanted, "key")
    for _ in range(3):
        assert (await creating.create(wanted, "key")).id == made.id
    with pytest.raises(Invalid):
        await creating.create(replace(wanted, max_failed_rows=1), "key")
    with pytest.raises(NotFound):
        await store.open_session(EVE).executions.creating.create(wanted)
    assert await open_places(store.table) == [f"execution:{made.ingest}"] * 2


@without_moto
@pytest.mark.parametrize("limits", [(1, 100), (100, 1), (1, 1)])
async def test_a_repeated_creation_gets_its_execution_though_no_place_is_left(
    store: Store, pipeline: Pipeline, limits: tuple[int, int]
) -> None:
    store = with_limits(store, *limits)
    creating = store.open_session(ANN).executions.creating
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    made = await creating.create(wanted, "key")
    before = await contents(store.table)
    for _ in range(3):
        assert (await creating.create(wanted, "key")).id == made.id
    with pytest.raises(QuotaExceeded):
        await creating.create(wanted, "other")
    assert await contents(store.table) == before


@without_moto
async def test_a_creation_that_meets_its_repetition_at_the_last_place_is_the_same(
    store: Store, pipeline: Pipeline
) -> None:
    store = with_limits(store, 1)
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    calls = [store.open_session(ANN).executions.creating.create(wanted, "key") for _ in range(8)]
    assert len({one.id for one in await gather(*calls)}) == 1


@on_sqlite
async def test_rows_that_come_with_the_request_open_no_upload(
    store: Store, pipeline: Pipeline
) -> None:
    inline = store.open_session(ANN).executions.inline
    wanted = ExecutionRequest(pipeline_id=pipeline.id, mode=ExecutionMode.INLINE)
    await inline.run(wanted, [{"distance": 1}])
    assert await open_places(store.table) == []


@without_moto
async def test_many_at_once_never_open_more(store: Store, pipeline: Pipeline) -> None:
    store = with_limits(store, 5)
    opening = [store.open_session(ANN).audio.registering.upload(f"{n}.mp3") for n in range(20)]
    ended = await gather(*opening, return_exceptions=True)
    assert sum(not isinstance(one, BaseException) for one in ended) == 5
    assert all(isinstance(one, QuotaExceeded) for one in ended if isinstance(one, BaseException))
    assert len(await open_places(store.table)) == 5


@on_sqlite
async def test_a_smaller_limit_holds_for_what_was_open_before(
    store: Store, pipeline: Pipeline
) -> None:
    for _ in range(10):
        await begin_execution(with_limits(store, 10), pipeline)
    await expect_refusal(with_limits(store, 3), pipeline)


@on_sqlite
async def test_an_audio_upload_is_open_until_it_is_a_track(store: Store) -> None:
    audio = with_limits(store, 2).open_session(ANN).audio
    for name in "abcd":
        await upload_and_register(audio, f"{name}.wav", sound("wav", 1, TAGS, COVER))
    await audio.registering.upload("e.wav")
    await audio.registering.upload("f.wav")
    with pytest.raises(QuotaExceeded):
        await audio.registering.upload("g.wav")


def form_is_refused(store: Store, key: str) -> bool:
    assert isinstance(store.files, LocalFiles)
    return store.files._takes_no_uploads(key)


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_the_form_of_a_cancelled_execution_writes_nothing_ever_again(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline)
    key, changing = ingest_key(made), store.open_session(ANN).executions.changing
    await put_file(store.files, key, INPUT)
    assert not form_is_refused(store, key)
    for _ in range(2):
        await changing.cancel(made.id)
        assert form_is_refused(store, key)
        assert await store.files.stat(key) is None
    for number in (1, 2):
        again = await changing.retry(made.id)
        assert ingest_key(again) == key.replace(".txt", f"_{number}.txt")
        assert not form_is_refused(store, ingest_key(again))
        assert form_is_refused(store, key)
        if number == 1:
            await changing.cancel(made.id)
    # What S3 still takes by the first form belongs to nobody, and goes with the execution.
    await put_file(store.files, key, INPUT)
    with pytest.raises(IllegalState, match="Nothing was uploaded yet"):
        await store.open_session(ANN).executions.uploads.confirm(made.id)
    assert await store.open_session(ANN).executions.uploads.confirm_key(key) is None
    await put_file(store.files, ingest_key(again), INPUT)
    begun = await store.open_session(ANN).executions.uploads.confirm_key(ingest_key(again))
    assert begun is not None
    assert form_is_refused(store, ingest_key(again))
    await store.open_session(ANN).pipelines.deleting.delete(pipeline.id)
    await store.finish_deletes()
    assert await store.files.list("") == ()


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_the_forms_of_executions_end_with_their_pipeline(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline)
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    await store.finish_deletes()
    assert form_is_refused(store, ingest_key(made))
    assert await store.files.stat(ingest_key(made)) is None


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_a_form_writes_nothing_once_its_track_or_its_dataset_was_saved(store: Store) -> None:
    await create_groups(store)
    session = store.open_session(ANN)
    uploaded = await put(session.audio, "a.mp3", sound("mp3", 1, TAGS, COVER))
    assert not form_is_refused(store, uploaded)
    await session.audio.registering.register(uploaded)
    assert form_is_refused(store, uploaded)
    assert await store.files.stat(uploaded) is None
    ticket = await session.dataset_files.upload(USA)
    key = upload_key(session.dataset_files.access, ticket.id)
    await put_file(store.files, key, b"k\na\n")
    checked = await session.dataset_files.check_upload(COLUMNS, "k", ticket.id)
    assert checked.file is not None
    assert not form_is_refused(store, key)
    writing = session.datasets.writing.with_attachment(checked.file)
    await writing.create(USA, {"name": "d", "tags": (), "content": checked.content}, None)
    assert form_is_refused(store, key)


@on_sqlite
@pytest.mark.parametrize("files", ["directory"], indirect=True)
async def test_a_deleted_pipeline_gives_the_places_of_its_uploads_back_at_once(
    store: Store, pipeline: Pipeline, other_pipeline: Pipeline
) -> None:
    store = with_limits(store, 2, 2)
    made = [await begin_execution(store, pipeline) for _ in range(2)]
    keys = [ingest_key(one) for one in made]
    for key in keys:
        await put_file(store.files, key, b"distance\n1\n")
    await expect_refusal(store, other_pipeline)
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    assert await counts_of(store) == (2, 2)
    assert not any(form_is_refused(store, key) for key in keys)
    # Whoever takes such a place ends the form that has it first, and removes its file.
    for taken in (1, 2):
        await begin_execution(store, other_pipeline)
        refused = [key for key in keys if form_is_refused(store, key)]
        assert len(refused) >= taken
        assert [await store.files.stat(key) for key in refused] == [None] * len(refused)
    await expect_refusal(store, other_pipeline)
    await store.finish_deletes()
    assert await counts_of(store) == (2, 2)


@on_sqlite
async def test_a_file_that_is_sent_after_the_deletion_of_its_pipeline_counts_until_it_is_removed(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline)
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    assert await counts_of(store) == (0, 0)
    await put_file(store.files, ingest_key(made), b"distance\n1\n")
    assert await counts_of(store) == (1, 1)
    await store.finish_deletes()
    assert await store.files.stat(ingest_key(made)) is None
    assert await counts_of(store) == (0, 0)


@on_sqlite
async def test_whoever_dies_while_a_pipeline_is_deleted_leaves_an_exact_count(
    store: Store, pipeline: Pipeline, other_pipeline: Pipeline
) -> None:
    """Each death is after one more write, up to the end of the sweep that removes executions."""
    limited = with_limits(store, 1, 1)
    await begin_execution(limited, pipeline)
    for writes in range(40):
        killed = replace(limited, table=CutOffTable(store.table, writes))
        try:
            if await read_state(store, pipeline) is not None:
                await killed.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
            await killed.finish_deletes()
        except ProcessDied:
            is_there = await read_state(store, pipeline) is not None
            assert await counts_of(limited) == (int(is_there), int(is_there))
        else:
            break
    assert await counts_of(limited) == (0, 0)
    await begin_execution(limited, other_pipeline)


async def read_state(store: Store, pipeline: Pipeline) -> State | None:
    """The state of a pipeline; None for one that was deleted."""
    try:
        return (await store.open_session(SUPER).pipelines.reading.one(pipeline.id)).state
    except NotFound:
        return None


@on_sqlite
async def test_the_execution_of_a_deleted_pipeline_of_an_earlier_release_is_not_open(
    store: Store, pipeline: Pipeline
) -> None:
    await begin_execution(store, pipeline)
    places = [key for key in await contents(store.table) if key.pk.startswith("FU:")]
    await store.table.transact([Update(key=key, remove=("pipeline",)) for key in places])
    assert await counts_of(store) == (1, 1)
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    assert await counts_of(store) == (0, 0)
