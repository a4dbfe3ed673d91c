"""An object whose bytes come too slowly is refused by itself, in whatever bucket it lies."""

import asyncio

import pytest

from penstock.datastore.audio import uploads
from penstock.datastore.audio.tags import tag_reader
from penstock.datastore.errors import Invalid
from penstock.datastore.jobs.jobs import JobState, find_jobs
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import drift, listener
from tests.datastore.audio.sample_uploads import TAGS, put, single_chunk, sound
from tests.support.sample_resources import walk

SLOW, FAST = "audio/ann/uploads/x/slow.mp3", "audio/ann/uploads/y/fast.mp3"


@pytest.fixture
def store(table: Table, files: Files, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose own bucket never sends the bytes of a slow object behind its first block."""
    scan = tag_reader.TagScan.run
    limits: dict[asyncio.Task[object] | None, asyncio.Timeout] = {}

    def open_limit(_seconds: float) -> asyncio.Timeout:
        """A limit that ends when the test says so, whatever the clock shows."""
        limit = limits[asyncio.current_task()] = asyncio.timeout(None)
        return limit

    async def run(self: tag_reader.TagScan, title: str) -> tag_reader.ScanResult:
        if "slow" in title:
            limits[asyncio.current_task()].reschedule(asyncio.get_running_loop().time())
            await asyncio.Event().wait()
        return await scan(self, title)

    monkeypatch.setattr(uploads, "timeout", open_limit)
    monkeypatch.setattr(tag_reader.TagScan, "run", run)
    return Store(table, files=files)


@pytest.fixture
async def songs(files: Files) -> None:
    for n, key in enumerate((SLOW, FAST), 1):
        content = single_chunk(sound("mp3", n, TAGS))
        await files.write(key, content, content_type="audio/mpeg")


@pytest.mark.usefixtures("songs")
async def test_an_import_reports_a_slow_object_and_adds_the_others(store: Store) -> None:
    library = listener(store)
    job = await library.importing.begin(None, "")
    assert await store.run_jobs("worker") == 1
    (ended,) = await find_jobs(store.table, [job.id])
    assert ended is not None
    assert ended.state is JobState.DONE
    found = await walk(lambda w: library.import_reports.page(job.id, w))
    assert [(each.object_key, each.code.value) for each in found] == [(SLOW, "UNREADABLE")]
    tracks = await walk(library.lists.audios)
    assert [track.object_key for track in tracks] == [FAST]
    assert await drift(store.table) == []


async def test_a_slow_upload_is_refused_and_leaves_no_copy(store: Store, files: Files) -> None:
    library = listener(store)
    key = await put(library, "slow.mp3", sound("mp3", 1, TAGS))
    with pytest.raises(Invalid) as refused:
        await library.registering.register(key)
    assert [problem.code for problem in refused.value.problems] == ["UNREADABLE"]
    assert (await library.reading.totals()).count == 0
    assert await files.list("audio/ann/tracks/") == ()
