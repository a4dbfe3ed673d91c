"""A form cannot replace what was registered; uploads without a track are swept, others never."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.access.upload_forms import FORM_TIME as FORM
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.upkeep.loose_objects import SENT_AGAIN_TIME, UNUSED_TIME, loose_key
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, NotFound, ObjectTaken, Unavailable
from penstock.datastore.objects.port import Files, Stat
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import drift, listener
from tests.datastore.audio.sample_uploads import COVER, TAGS, content_of, put, single_chunk, sound
from tests.datastore.executions.worker_death import ForwardingFiles
from tests.support.sample_resources import Watch, walk
from tests.support.table_interceptors import CutOffTable, ProcessDied

SONG = sound("mp3", 1, TAGS)
OTHER = sound("flac", 2, TAGS)


@pytest.fixture
def store(table: Table, files: Files) -> Store:
    return Store(table, files=files)


def later(store: Store, by: timedelta) -> Store:
    watch = Watch()
    watch.time = store.clock.now() + by
    return replace(store, clock=Clock(watch))


async def write(files: Files, key: str, content: bytes = OTHER) -> None:
    await files.write(key, single_chunk(content), content_type="audio/mpeg")


async def keys_below(files: Files, folder: str) -> list[str]:
    return [key.removeprefix("audio/ann/") for key in await files.list(f"audio/ann/{folder}")]


async def test_a_form_that_is_still_open_cannot_replace_what_was_registered(
    store: Store, files: Files
) -> None:
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    track = await library.registering.register(key)
    assert await keys_below(files, "uploads/") == []
    await write(files, key)
    assert await content_of(files, track.object_key) == SONG
    (found,) = await library.reading.many([track.id])
    assert found == track
    for _ in range(2):
        with pytest.raises(ObjectTaken) as taken:
            await library.registering.register(key)
        assert taken.value.existing == track.id
    job = await library.importing.begin(None, "")
    await store.run_jobs("worker")
    assert await walk(lambda w: library.import_reports.page(job.id, w)) == []
    assert (await library.reading.totals()).count == 1
    # On S3, what a form sends again is stored, but for no longer than anything can come.
    assert await later(store, SENT_AGAIN_TIME - timedelta(minutes=1)).sweep_files() == 0
    assert await keys_below(files, "uploads/") == ["uploads/" + key.partition("/uploads/")[2]]
    assert await later(store, SENT_AGAIN_TIME).sweep_files() == 1
    assert await keys_below(files, "") == [track.object_key.removeprefix("audio/ann/")]
    assert await drift(store.table) == []


async def test_an_upload_that_changes_while_it_is_registered_is_read_as_it_was_copied(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    copy = type(files).copy

    async def replace_behind(
        self: Files, source: str, target: str, etag: str | None = None
    ) -> None:
        await copy(self, source, target, etag)
        await write(files, key)

    monkeypatch.setattr(type(files), "copy", replace_behind)
    track = await library.registering.register(key)
    stat = await files.stat(track.object_key)
    assert stat is not None
    assert (track.size, track.etag, track.format) == (len(SONG), stat.etag, "mp3")


async def test_concurrent_registrations_of_an_upload_make_one_track_and_leave_no_copy(
    store: Store, files: Files
) -> None:
    library = listener(store)
    key = await put(library, "1.mp3", sound("mp3", 1, TAGS, COVER))
    job = await library.importing.begin(None, "")
    outcomes = await asyncio.gather(
        *(library.registering.register(key) for _ in range(3)),
        store.run_jobs("worker"),
        return_exceptions=True,
    )
    tracks = [each for each in outcomes if isinstance(each, Audio)]
    assert not [each for each in outcomes if not isinstance(each, Audio | ObjectTaken | int)]
    assert (await library.reading.totals()).count == 1
    assert len(tracks) <= 1
    assert len(await keys_below(files, "tracks/")) == 1
    assert await walk(lambda w: library.import_reports.page(job.id, w)) == []
    assert await drift(store.table) == []


class RegisteringFiles(ForwardingFiles):
    """A store of files in which an upload is registered just before it is looked at."""

    key = ""

    async def stat(self, key: str) -> Stat | None:
        if key == self.key:
            self.key = ""
            await listener(Store(self.table, files=self.files)).registering.register(key)
        return await self.files.stat(key)

    def __init__(self, table: Table, files: Files) -> None:
        super().__init__(files)
        self.table = table


async def test_an_upload_that_a_call_adds_amid_an_import_is_no_failure_of_it(
    table: Table, files: Files
) -> None:
    racing = RegisteringFiles(table, files)
    store = Store(table, files=racing)
    library = listener(store)
    racing.key = await put(library, "1.mp3", sound("mp3", 1, TAGS, COVER))
    job = await library.importing.begin(None, "")
    assert await store.run_jobs("worker") == 1
    assert racing.key == ""
    assert await walk(lambda w: library.import_reports.page(job.id, w)) == []
    assert (await library.reading.totals()).count == 1
    assert len(await keys_below(files, "tracks/")) == 1
    assert await drift(table) == []


async def test_an_upload_without_a_track_is_swept_after_its_time(
    store: Store, files: Files
) -> None:
    library = listener(store)
    unused, used = await put(library, "1.mp3", SONG), await put(library, "2.mp3", SONG)
    never_sent = (await library.registering.upload("3.mp3")).object_key
    track = await library.registering.register(used)
    before = later(store, FORM + UNUSED_TIME - timedelta(minutes=1))
    assert await before.sweep_files() == 1, "only what was used waits for nothing"
    assert await files.stat(unused) is not None
    after = later(store, FORM + UNUSED_TIME + timedelta(minutes=1))
    assert await after.sweep_files() == 2
    assert await after.sweep_files() == 0
    assert await keys_below(files, "uploads/") == []
    assert await content_of(files, track.object_key) == SONG
    for key in (unused, never_sent):
        with pytest.raises(NotFound):
            await library.registering.register(key)


async def test_a_sweep_and_a_registration_at_once_leave_a_whole_track_or_none(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep marks the upload after it was copied; the transaction then comes too late."""
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    copy = type(files).copy

    async def sweep_behind(self: Files, source: str, target: str, etag: str | None = None) -> None:
        await copy(self, source, target, etag)
        await later(store, FORM + UNUSED_TIME).sweep_files()

    monkeypatch.setattr(type(files), "copy", sweep_behind)
    with pytest.raises((NotFound, Unavailable)):
        await library.registering.register(key)
    assert (await library.reading.totals()).count == 0
    assert await keys_below(files, "") == []
    assert await drift(store.table) == []


async def test_what_is_no_audio_leaves_no_copy(store: Store, files: Files) -> None:
    library = listener(store)
    for content in (b"no audio at all", b"fLaC" + bytes(300)):
        key = await put(library, "1.mp3", content)
        with pytest.raises(Invalid):
            await library.registering.register(key)
    assert await keys_below(files, "tracks/") == []


async def test_a_process_that_dies_at_any_write_leaves_what_the_sweep_removes(
    store: Store, files: Files
) -> None:
    for writes in range(40):
        library = listener(store)
        key = await put(library, f"{writes}.mp3", sound("mp3", 1, TAGS, COVER))
        dying = listener(replace(store, table=CutOffTable(store.table, writes)))
        try:
            await dying.registering.register(key)
        except ProcessDied:
            assert await drift(store.table) == []
        else:
            break
        await later(store, FORM + UNUSED_TIME).sweep_files()
        assert (await library.reading.totals()).count == 0
        assert await keys_below(files, "uploads/") == await keys_below(files, "tracks/") == []
    assert writes > 2


async def test_the_object_of_a_deleted_track_goes_even_if_the_store_was_away(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = listener(store)
    track = await library.registering.register(await put(library, "1.mp3", SONG))

    async def away(*_: object) -> None:
        raise Unavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(files), "delete", away)
        await library.removing.delete(track.id)
    assert await keys_below(files, "tracks/") != []
    await store.sweep_files()
    assert await keys_below(files, "tracks/") == []


async def test_an_object_that_is_registered_again_is_not_swept(store: Store, files: Files) -> None:
    """An import may find the object of a deleted track before the sweep does."""
    library = listener(store)
    key = "audio/ann/uploads/x/1.mp3"
    await write(files, key, SONG)
    track = await library.registering.register(key)
    await library.editing.delete(track.id)
    again = await library.registering.register(key)
    assert again.object_key == key
    await later(store, timedelta(days=3)).sweep_files()
    assert await content_of(files, key) == SONG
    assert loose_key(key) not in (await store.table.get([loose_key(key)])).items
