"""A registration that is cut off is continued by the next one: an upload is copied once."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.access.upload_forms import FORM_TIME
from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.audio.upkeep.loose_objects import COPY_TIME, UNUSED_TIME, LooseObjects
from penstock.datastore.errors import Invalid, Unavailable
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import drift, listener
from tests.datastore.audio.sample_uploads import TAGS, content_of, put, single_chunk, sound
from tests.datastore.audio.test_upload_safety import later
from tests.support.patience import until
from tests.support.sample_resources import walk

SONG = sound("mp3", 1, TAGS)
OTHER = sound("mp3", 2, TAGS)


class SlowCopies:
    """Copies that wait until they may go on; `targets` are those that began."""

    def __init__(self, files: Files, patch: pytest.MonkeyPatch) -> None:
        self.targets: list[str] = []
        self.released = asyncio.Event()
        self.copy = files.copy
        patch.setattr(files, "copy", self.run)

    async def run(self, source: str, target: str, etag: str) -> None:
        self.targets.append(target)
        await self.released.wait()
        await self.copy(source, target, etag)


@pytest.fixture
def store(table: Table, files: Files) -> Store:
    return Store(table, files=files)


@pytest.fixture
async def slow(files: Files, monkeypatch: pytest.MonkeyPatch) -> SlowCopies:
    return SlowCopies(files, monkeypatch)


async def cut_off(call: Callable[[], Awaitable[Any]], slow: SlowCopies, begun: int = 1) -> None:
    """Make a call, and cancel it as a deadline does while it waits for its copy."""
    calling = asyncio.ensure_future(call())
    await until(lambda: len(slow.targets) >= begun)
    await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait([calling])
    assert calling.cancelled()


async def copy_without_its_call(store: Store, slow: SlowCopies) -> tuple[AudioLibrary, str]:
    """Let a copy end whose call was cut off; returns the library and the key of the upload."""
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    await cut_off(lambda: library.registering.register(key), slow)
    slow.released.set()
    await until(lambda: store.files.stat(slow.targets[0]))
    return library, key


async def test_a_call_goes_on_with_the_copy_of_the_call_that_was_cut_off(
    store: Store, files: Files, slow: SlowCopies
) -> None:
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    for _ in range(3):
        await cut_off(lambda: library.registering.register(key), slow)
    assert len(slow.targets) == 1
    assert (await library.reading.totals()).count == 0
    slow.released.set()
    await until(lambda: files.stat(slow.targets[0]))
    track = await library.registering.register(key)
    assert slow.targets == [track.object_key]
    assert await files.list("audio/ann/tracks/") == (track.object_key,)
    assert await content_of(files, track.object_key) == SONG
    assert await later(store, FORM_TIME + UNUSED_TIME).sweep_files() == 1
    assert await content_of(files, track.object_key) == SONG
    assert await drift(store.table) == []


async def test_another_content_of_the_upload_gets_another_copy(
    store: Store, files: Files, slow: SlowCopies
) -> None:
    library, key = await copy_without_its_call(store, slow)
    await files.write(key, single_chunk(OTHER), content_type="audio/mpeg")
    track = await library.registering.register(key)
    assert await content_of(files, track.object_key) == OTHER
    assert len(await files.list("audio/ann/tracks/")) == 2
    await later(store, COPY_TIME + timedelta(minutes=1)).sweep_files()
    assert await files.list("audio/ann/tracks/") == (track.object_key,)


async def test_the_copy_of_a_call_that_nobody_repeats_is_swept(
    store: Store, files: Files, slow: SlowCopies
) -> None:
    library, key = await copy_without_its_call(store, slow)
    assert await later(store, COPY_TIME - timedelta(minutes=1)).sweep_files() == 0
    assert await later(store, COPY_TIME + timedelta(minutes=1)).sweep_files() == 1
    assert await files.list("audio/ann/tracks/") == ()
    track = await library.registering.register(key)
    assert await content_of(files, track.object_key) == SONG


async def test_a_refused_upload_is_copied_again_when_it_was_sent_again(
    store: Store, files: Files
) -> None:
    library = listener(store)
    key = await put(library, "1.mp3", b"fLaC" + bytes(300))
    with pytest.raises(Invalid):
        await library.registering.register(key)
    await files.write(key, single_chunk(SONG), content_type="audio/mpeg")
    track = await library.registering.register(key)
    assert await content_of(files, track.object_key) == SONG


async def test_an_import_does_not_report_an_upload_that_a_call_adds_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    job = await library.importing.begin(None, "")
    begin = LooseObjects.begin_copy
    registered = asyncio.Event()

    async def let_others_first(self: LooseObjects, *given: str) -> str:
        if not registered.is_set():
            registered.set()
            await library.registering.register(key)
        return await begin(self, *given)

    monkeypatch.setattr(LooseObjects, "begin_copy", let_others_first)
    assert await store.run_jobs("worker") == 1
    assert await walk(lambda w: library.import_reports.page(job.id, w)) == []
    assert (await library.reading.totals()).count == 1
    assert await drift(store.table) == []


async def test_a_store_that_is_away_for_a_moment_costs_no_copy(
    store: Store, files: Files, slow: SlowCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow.released.set()
    library = listener(store)
    key = await put(library, "1.mp3", SONG)
    read = type(files).read

    async def away(self: Files, key: str, **more: Any) -> Any:
        if key.startswith("audio/ann/tracks/"):
            raise Unavailable("away")
        async for chunk in read(self, key, **more):
            yield chunk

    with monkeypatch.context() as patch:
        patch.setattr(type(files), "read", away)
        with pytest.raises(Unavailable):
            await library.registering.register(key)
    track = await library.registering.register(key)
    assert slow.targets == [track.object_key]
