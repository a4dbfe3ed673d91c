"""An upload that nobody uses holds its places as long as its file is stored."""

from asyncio import gather
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access import ended_uploads
from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.audio.upkeep.loose_objects import SENT_AGAIN_TIME, UNUSED_TIME
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.files import upload_key
from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Files, UploadForm
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_uploads import (
    COVER,
    TAGS,
    open_files,
    single_chunk,
    sound,
    upload_and_register,
)
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    begin_execution,
    pipeline_in,
    put_file,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA, Watch, create_groups, on_sqlite
from tests.support.table_interceptors import CutOffTable, ProcessDied

FORM = timedelta(hours=1, seconds=1)
BOTH_FILES = pytest.mark.parametrize("files", ["local", "s3"], indirect=True)


@pytest.fixture
async def files(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Files]:
    async with open_files(getattr(request, "param", "local"), tmp_path) as opened:
        yield opened


@pytest.fixture
def watch() -> Watch:
    watch = Watch()
    watch.time = datetime.now(UTC)
    return watch


@pytest.fixture
async def store(table: Table, files: Files, watch: Watch) -> Store:
    store = Store(table, clock=Clock(watch), files=files, upload_limits=UploadLimits(2, 100))
    await create_groups(store)
    return store


async def open_audio(session: Session) -> str:
    return (await session.audio.registering.upload("a.mp3")).object_key


async def open_playlist(session: Session) -> str:
    return (await session.playlists.uploads.form("a.m3u")).object_key


async def open_cover(session: Session) -> str:
    return (await session.audio.covers.uploads.form("a.png")).object_key


async def open_dataset(session: Session) -> str:
    files = session.dataset_files
    return upload_key(files.access, (await files.upload(USA)).id)


KINDS: list[Callable[[Session], Awaitable[str]]] = [
    open_audio,
    open_playlist,
    open_cover,
    open_dataset,
]


async def write(files: Files, key: str) -> None:
    await files.write(key, single_chunk(sound("mp3", 1, TAGS)), content_type="audio/mpeg")


async def expect_refusal(store: Store) -> None:
    before = await contents(store.table)
    with pytest.raises(QuotaExceeded):
        await open_audio(store.open_session(ANN))
    assert await contents(store.table) == before


async def count_open(store: Store) -> int:
    return await store.open_session(ANN).audio.registering.access.open_uploads.count()


@on_sqlite
@BOTH_FILES
@pytest.mark.parametrize("open_form", KINDS)
async def test_a_file_that_nobody_uses_counts_until_it_is_swept(
    store: Store, watch: Watch, open_form: Callable[[Session], Awaitable[str]]
) -> None:
    session = store.open_session(ANN)
    key = await open_form(session)
    await open_form(session)
    await write(store.files, key)
    watch.move(2 * FORM)
    assert await count_open(store) == 1
    await open_form(session)
    await expect_refusal(store)
    watch.move(2 * FORM)
    assert await count_open(store) == 1
    watch.move(timedelta(days=2))
    assert await count_open(store) == 1, "it is old enough, but stored still"
    await store.sweep_files()
    assert await store.files.stat(key) is None
    assert await count_open(store) == 0
    for _ in range(2):
        await open_form(session)
    await expect_refusal(store)


async def set_cover(session: Session, key: str) -> None:
    track = await upload_and_register(session.audio, "a.mp3", sound("mp3", 1, TAGS))
    await session.audio.covers.set_for_audio(track.id, key)


async def make_playlist(session: Session, key: str) -> None:
    await session.playlists.uploads.try_note_use(key)


@on_sqlite
@BOTH_FILES
@pytest.mark.parametrize(
    ("open_form", "use"), [(open_cover, set_cover), (open_playlist, make_playlist)]
)
async def test_a_used_file_gives_its_place_back_and_goes_when_that_is_needed(
    store: Store,
    watch: Watch,
    open_form: Callable[[Session], Awaitable[str]],
    use: Callable[[Session, str], Awaitable[None]],
) -> None:
    session = store.open_session(ANN)
    key = await open_form(session)
    await store.files.write(key, single_chunk(COVER), content_type="image/png")
    await use(session, key)
    assert await count_open(store) == 0
    assert await store.files.stat(key) is not None, "it may be used again"
    for _ in range(2):
        await open_form(session)
    assert await count_open(store) == 2
    assert await store.files.stat(key) is None
    if isinstance(store.files, LocalFiles):
        assert store.files._takes_no_uploads(key)
    await expect_refusal(store)


@on_sqlite
@BOTH_FILES
@pytest.mark.parametrize("is_used", [False, True])
async def test_what_a_used_form_sends_again_is_swept_when_nothing_more_can_come(
    store: Store, watch: Watch, *, is_used: bool
) -> None:
    session = store.open_session(ANN)
    key = await open_playlist(session)
    await write(store.files, key)
    if is_used:
        await make_playlist(session, key)
    watch.move(SENT_AGAIN_TIME - timedelta(minutes=1))
    await write(store.files, key)
    await store.sweep_files()
    assert await store.files.stat(key) is not None
    watch.move(timedelta(minutes=2))
    await store.sweep_files()
    assert (await store.files.stat(key) is None) is is_used
    watch.move(UNUSED_TIME)
    await store.sweep_files()
    assert await store.files.stat(key) is None


async def test_a_place_counts_on_in_every_table(store: Store, watch: Watch) -> None:
    session = store.open_session(ANN)
    kept = [await open_audio(session) for _ in range(2)]
    for key in kept:
        await write(store.files, key)
    watch.move(timedelta(hours=20))
    await expect_refusal(store)
    await session.audio.registering.register(kept[0])
    await open_audio(session)
    await expect_refusal(store)


@on_sqlite
@pytest.mark.parametrize("open_form", KINDS)
async def test_a_form_that_took_long_to_sign_holds_its_place_as_long_as_it_writes(
    store: Store,
    watch: Watch,
    open_form: Callable[[Session], Awaitable[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sign = store.files.presign_upload

    async def sign_late(key: str, **terms: Any) -> UploadForm:
        watch.move(FORM)
        return await sign(key, **terms)

    with monkeypatch.context() as patch:
        patch.setattr(store.files, "presign_upload", sign_late)
        await open_form(store.open_session(ANN))
    assert await count_open(store) == 1
    watch.move(FORM)
    assert await count_open(store) == 0


@on_sqlite
@BOTH_FILES
async def test_a_form_that_cannot_be_ended_holds_its_place_for_another_hour(
    store: Store, watch: Watch
) -> None:
    await open_audio(store.open_session(ANN))
    watch.move(FORM)
    assert await count_open(store) == (0 if store.files.ends_forms else 1)
    watch.move(FORM)
    assert await count_open(store) == 0


@on_sqlite
async def test_an_input_that_nobody_starts_counts_while_its_execution_waits(
    store: Store, watch: Watch
) -> None:
    pipeline = await pipeline_in(store)
    session = store.open_session(ANN)
    sent, _ = await begin_execution(store, pipeline), await begin_execution(store, pipeline)
    await put_file(store.files, ingest_key(sent), INPUT)
    watch.move(FORM)
    assert await count_open(store) == 1
    await open_audio(session)
    await expect_refusal(store)
    await session.executions.uploads.confirm(sent.id)
    await open_audio(session)
    await expect_refusal(store)


@on_sqlite
async def test_the_form_of_a_place_that_is_given_away_writes_nothing(
    store: Store, watch: Watch
) -> None:
    session = store.open_session(ANN)
    keys = [await open_audio(session) for _ in range(2)]
    watch.move(FORM)
    await open_audio(session)
    assert isinstance(store.files, LocalFiles)
    assert all(map(store.files._takes_no_uploads, keys))


@on_sqlite
async def test_a_slow_upload_that_ends_at_the_last_moment_keeps_its_place(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.open_session(ANN)
    for _ in range(2):
        await open_audio(session)
    watch.move(FORM)
    refuse = store.files.refuse_uploads

    async def come_first(key: str) -> None:
        await write(store.files, key)
        await refuse(key)

    with monkeypatch.context() as patch:
        patch.setattr(store.files, "refuse_uploads", come_first)
        await expect_refusal(store)
    assert await count_open(store) == 2


@on_sqlite
async def test_many_at_once_take_only_the_places_whose_files_are_gone(
    store: Store, watch: Watch
) -> None:
    store = replace(store, upload_limits=UploadLimits(6))
    session = store.open_session(ANN)
    keys = [await open_audio(session) for _ in range(6)]
    for key in keys[:2]:
        await write(store.files, key)
    watch.move(FORM)
    ended = await gather(*(open_audio(session) for _ in range(12)), return_exceptions=True)
    assert sum(isinstance(one, str) for one in ended) == 4
    assert sum(isinstance(one, QuotaExceeded) for one in ended) == 8
    assert await count_open(store) == 6


@on_sqlite
@pytest.mark.parametrize("writes", range(5))
async def test_whoever_dies_while_places_are_freed_gives_none_of_a_stored_file_away(
    store: Store, watch: Watch, writes: int
) -> None:
    store = replace(store, upload_limits=UploadLimits(4))
    session = store.open_session(ANN)
    keys = [await open_audio(session) for _ in range(4)]
    await write(store.files, keys[0])
    watch.move(FORM)
    killed = replace(store, table=CutOffTable(store.table, writes)).open_session(ANN)

    async def open_often() -> None:
        for _ in range(4):
            await open_audio(killed)

    with pytest.raises(ProcessDied):
        await open_often()
    left = 4 - await count_open(store)
    for _ in range(left):
        await open_audio(session)
    await expect_refusal(store)
    assert await count_open(store) == 4


@on_sqlite
async def test_a_call_looks_at_only_so_many_files(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        await open_audio(store.open_session(ANN))
    watch.move(FORM)
    monkeypatch.setattr(ended_uploads, "MAX_LOOKS", 1)
    assert await count_open(store) == 1
    monkeypatch.setattr(ended_uploads, "MAX_LOOKS", 2)
    assert await count_open(store) == 0
