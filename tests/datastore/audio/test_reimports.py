"""A repeated import sees objects that were replaced, moved or deleted, and loses nothing by it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio import import_job
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.imports import moved_tracks
from penstock.datastore.audio.library import AudioLibrary, BucketAccess
from penstock.datastore.audio.records import Audio, Tags
from penstock.datastore.clock import Clock
from penstock.datastore.jobs.jobs import JobState, find_jobs
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.listening.records import Kind
from penstock.datastore.objects.port import Credentials, Files
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import ANN, drift, library_rows, listener
from tests.datastore.audio.sample_uploads import open_files, put, single_chunk, sound
from tests.support.sample_resources import Watch, walk
from tests.support.stores import REGION, moto_endpoint, open_table
from tests.support.table_interceptors import CutOffTable, ProcessDied

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG")
UPLOADS = "audio/ann/uploads/"


class Shelf:
    """A bucket with songs that is imported again and again: the server's own, or the user's."""

    def __init__(self, store: Store, files: Files, folder: str, connection: str | None) -> None:
        self.store = store
        self.files = files
        self.folder = folder
        self.connection = connection

    @property
    def library(self) -> AudioLibrary:
        return listener(self.store)

    async def put(self, name: str, title: str, length: float = 0.1, artist: str = "A") -> None:
        tags = Tags(title=title, artists=(artist,), album="Album", genres=("Rock",))
        content = single_chunk(sound("mp3", length, tags))
        await self.files.write(self.folder + name, content, content_type="audio/mpeg")

    async def move(self, name: str, target: str) -> None:
        await self.files.copy(self.folder + name, self.folder + target)
        await self.files.delete(self.folder + name)

    async def delete(self, name: str) -> None:
        await self.files.delete(self.folder + name)

    async def run(self, below: str = "") -> dict[str, str]:
        """Import once; return the code of each report by the object's name."""
        job = await self.library.importing.begin(self.connection, self.folder + below)
        assert await self.store.run_jobs("worker") == 1
        (ended,) = await find_jobs(self.store.table, [job.id])
        assert ended is not None
        assert (ended.state, ended.done) == (JobState.DONE, ended.total)
        assert await drift(self.store.table) == []
        found = await walk(lambda w: self.library.import_reports.page(job.id, w), 50)
        return {each.object_key.removeprefix(self.folder): each.code.value for each in found}

    async def tracks(self) -> dict[str, Audio]:
        found = await walk(self.library.lists.audios, 100)
        return {track.object_key.removeprefix(self.folder): track for track in found}


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_job, "SECONDS_PER_TRACK", 0)
    monkeypatch.setattr(import_job, "STEP", 3)


@pytest.fixture(params=["own", "theirs"])
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    """A shelf in each kind of bucket: the server's directory, or a bucket of the user's on S3."""
    buckets = BucketAccess(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
    async with (
        open_table("sqlite", tmp_path) as table,
        open_files("local", tmp_path) as files,
        open_files("s3", tmp_path) as theirs,
    ):
        store = Store(table, files=files, user_buckets=buckets)
        if request.param == "own":
            yield Shelf(store, files, f"{UPLOADS}x/", None)
        else:
            made = await listener(store).connections.add_keys(
                "n", theirs.bucket, REGION, KEYS, moto_endpoint()
            )
            yield Shelf(store, theirs, "music/", made.id)
        await buckets.pool.close()


async def test_an_unchanged_bucket_is_imported_without_a_write(shelf: Shelf) -> None:
    for n in range(7):
        await shelf.put(f"{n}.mp3", f"t{n}")
    assert await shelf.run() == {}
    before = await library_rows(shelf.store.table)
    assert await shelf.run() == {}
    assert await library_rows(shelf.store.table) == before


async def test_a_replaced_object_is_read_again_and_stays_the_same_track(shelf: Shelf) -> None:
    for name in ("1.mp3", "2.mp3"):
        await shelf.put(name, "old")
    await shelf.run()
    old = await shelf.tracks()
    await shelf.put("1.mp3", "new", 0.3, "B")
    assert await shelf.run() == {}
    new = await shelf.tracks()
    assert new["2.mp3"] == old["2.mp3"]
    track = new["1.mp3"]
    assert (track.id, track.title, track.artists) == (old["1.mp3"].id, "new", ("B",))
    assert (track.version, track.missing_since) == (2, None)
    stat = await shelf.files.stat(shelf.folder + "1.mp3")
    assert stat is not None
    assert (track.size, track.etag) == (stat.size, stat.etag)
    assert track.duration_ms > old["1.mp3"].duration_ms
    assert (await shelf.library.reading.totals()).count == 2


async def test_a_replaced_object_that_is_larger_than_the_room_left_is_reported(
    shelf: Shelf,
) -> None:
    await shelf.put("1.mp3", "old")
    await shelf.run()
    old = await shelf.tracks()
    rules = QuotaRules(per_user=Amounts(bytes=old["1.mp3"].size + 9))
    full = Shelf(
        replace(shelf.store, quotas=Quotas(rules)), shelf.files, shelf.folder, shelf.connection
    )
    await shelf.put("1.mp3", "new", 0.3, "B")
    assert await full.run() == {"1.mp3": "QUOTA_EXCEEDED"}
    assert await full.tracks() == old
    assert await shelf.run() == {}
    assert (await shelf.tracks())["1.mp3"].title == "new"


async def test_a_moved_file_keeps_its_track_with_stars_and_playlists(shelf: Shelf) -> None:
    for n in range(4):
        await shelf.put(f"{n}.mp3", f"t{n}")
    await shelf.run()
    old = await shelf.tracks()
    session = shelf.store.open_session(ANN)
    track = old["1.mp3"]
    await session.listening.favourites.mark((Kind.AUDIO, track.id))
    await shelf.library.editing.edit(track.id, {"title": "edited"})
    await shelf.move("1.mp3", "elsewhere/one.mp3")
    assert await shelf.run() == {}
    new = await shelf.tracks()
    assert new.keys() == {"0.mp3", "2.mp3", "3.mp3", "elsewhere/one.mp3"}
    moved = new["elsewhere/one.mp3"]
    assert (moved.id, moved.title, moved.file_name) == (track.id, "edited", "one.mp3")
    assert moved.missing_since is None
    annotation = await session.listening.annotations.one((Kind.AUDIO, track.id))
    assert annotation.favourite_at is not None
    await shelf.put("1.mp3", "another")
    assert await shelf.run() == {}
    assert (await shelf.library.reading.totals()).count == 5


async def test_a_file_that_moved_out_of_another_folder_is_found_there(shelf: Shelf) -> None:
    await shelf.put("a/1.mp3", "t1")
    await shelf.put("a/2.mp3", "t2")
    await shelf.run()
    old = await shelf.tracks()
    await shelf.move("a/1.mp3", "b/1.mp3")
    await shelf.delete("a/2.mp3")
    assert await shelf.run("b/") == {}
    new = await shelf.tracks()
    assert new["b/1.mp3"].id == old["a/1.mp3"].id
    assert new["a/2.mp3"] == old["a/2.mp3"], "the import did not look there"


async def test_a_copy_is_a_track_of_its_own(shelf: Shelf) -> None:
    await shelf.put("1.mp3", "t")
    await shelf.run()
    (old,) = (await shelf.tracks()).values()
    await shelf.files.copy(shelf.folder + "1.mp3", shelf.folder + "2.mp3")
    assert await shelf.run() == {}
    new = await shelf.tracks()
    assert new.keys() == {"1.mp3", "2.mp3"}
    assert new["1.mp3"] == old


async def test_two_missing_tracks_of_one_content_go_to_the_files_of_their_names(
    shelf: Shelf,
) -> None:
    await shelf.put("a/1.mp3", "t")
    await shelf.files.copy(shelf.folder + "a/1.mp3", shelf.folder + "a/2.mp3")
    await shelf.run()
    old = await shelf.tracks()
    await shelf.move("a/1.mp3", "b/1.mp3")
    await shelf.move("a/2.mp3", "b/2.mp3")
    await shelf.run()
    new = await shelf.tracks()
    assert {key: track.id for key, track in new.items()} == {
        "b/1.mp3": old["a/1.mp3"].id,
        "b/2.mp3": old["a/2.mp3"].id,
    }


async def test_a_deleted_object_is_said_each_time_and_its_track_stays(shelf: Shelf) -> None:
    for n in range(4):
        await shelf.put(f"{n}.mp3", f"t{n}")
    await shelf.run()
    await shelf.delete("1.mp3")
    await shelf.delete("2.mp3")
    told = {"1.mp3": "MISSING", "2.mp3": "MISSING"}
    assert await shelf.run() == told
    first = await shelf.tracks()
    missing = {key for key, track in first.items() if track.missing_since is not None}
    assert (missing, len(first)) == ({"1.mp3", "2.mp3"}, 4)
    assert await shelf.run() == told
    assert await shelf.tracks() == first
    await shelf.put("1.mp3", "t1")
    await shelf.put("2.mp3", "changed", 0.2)
    assert await shelf.run() == {}
    back = await shelf.tracks()
    assert all(track.missing_since is None for track in back.values())
    assert (back["1.mp3"].id, back["2.mp3"].id) == (first["1.mp3"].id, first["2.mp3"].id)
    assert (back["1.mp3"].title, back["2.mp3"].title) == ("t1", "changed")


async def test_a_replaced_object_that_is_no_audio_any_more_is_reported(shelf: Shelf) -> None:
    await shelf.put("1.mp3", "t")
    await shelf.run()
    before = await shelf.tracks()
    await shelf.files.write(
        shelf.folder + "1.mp3", single_chunk(b"no audio at all"), content_type="a/b"
    )
    assert await shelf.run() == {"1.mp3": "UNKNOWN_FORMAT"}
    assert await shelf.tracks() == before


async def test_concurrent_imports_of_a_changed_bucket_end_alike(shelf: Shelf) -> None:
    for n in range(8):
        await shelf.put(f"{n}.mp3", f"t{n}")
    await shelf.run()
    old = await shelf.tracks()
    await shelf.move("0.mp3", "moved.mp3")
    await shelf.delete("1.mp3")
    await shelf.put("2.mp3", "new", 0.3)
    await shelf.put("8.mp3", "added")
    for _ in range(3):
        await shelf.library.importing.begin(shelf.connection, shelf.folder)
    await asyncio.gather(*(shelf.store.run_jobs(f"worker {n}") for n in range(3)))
    new = await shelf.tracks()
    assert new.keys() == {"moved.mp3", "1.mp3", "8.mp3", *(f"{n}.mp3" for n in range(2, 8))}
    assert new["moved.mp3"].id == old["0.mp3"].id
    assert new["1.mp3"].missing_since is not None
    assert new["2.mp3"].title == "new"
    assert await drift(shelf.store.table) == []


async def test_a_worker_that_dies_at_any_write_leaves_what_the_next_one_finishes(
    shelf: Shelf,
) -> None:
    watch = Watch()
    shelf.store = replace(shelf.store, clock=Clock(watch))
    await shelf.put("stays.mp3", "s")
    await shelf.put("moves0.mp3", "m")
    await shelf.put("replaced.mp3", "r")
    await shelf.run()
    (id,) = [each.id for key, each in (await shelf.tracks()).items() if key == "moves0.mp3"]
    for writes in range(60):
        await shelf.move(f"moves{writes}.mp3", f"moves{writes + 1}.mp3")
        await shelf.put("replaced.mp3", f"r{writes}", 0.1 + writes / 100)
        await shelf.library.importing.begin(shelf.connection, shelf.folder)
        dying = replace(shelf.store, table=CutOffTable(shelf.store.table, writes))
        died = False
        try:
            await dying.run_jobs("one")
        except ProcessDied:
            died = True
            assert await drift(shelf.store.table) == []
            watch.move(LEASE_TIME + timedelta(milliseconds=1))
            assert await shelf.store.run_jobs("two") == 1
        found = await shelf.tracks()
        assert found[f"moves{writes + 1}.mp3"].id == id
        assert (found["replaced.mp3"].title, len(found)) == (f"r{writes}", 3)
        assert await drift(shelf.store.table) == []
        if not died:
            break
    assert 4 < writes < 59


async def test_a_big_bucket_gives_way_and_goes_on(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "MAX_TURN_SECONDS", 0)
    for n in range(7):
        await shelf.put(f"{n}.mp3", f"t{n}")
    job = await shelf.library.importing.begin(shelf.connection, shelf.folder)
    turns = 0
    while not await shelf.store.run_jobs("worker"):
        turns += 1
    for n in range(3):
        await shelf.delete(f"{n}.mp3")
    job = await shelf.library.importing.begin(shelf.connection, shelf.folder)
    while not await shelf.store.run_jobs("worker"):
        turns += 1
    found = await walk(lambda w: shelf.library.import_reports.page(job.id, w), 50)
    assert len(found) == 3
    assert sum(each.missing_since is not None for each in (await shelf.tracks()).values()) == 3
    assert turns >= 5


async def test_an_object_that_was_only_left_out_of_the_list_is_not_missing(shelf: Shelf) -> None:
    await shelf.put("1.mp3", "t")
    await shelf.run()
    (track,) = (await shelf.tracks()).values()
    scope = moved_tracks.ImportScope(track.bucket, track.connection_id, shelf.folder)
    search = moved_tracks.MissingObjects(shelf.library.reading.access, scope)
    async with shelf.library.registering.sources.open_source(shelf.connection) as source:
        await search.mark(source, track)
    assert await shelf.tracks() == {"1.mp3": track}


async def test_an_upload_of_a_missing_content_is_a_track_of_its_own(shelf: Shelf) -> None:
    """Its key can be written by a form, so no track may take it."""
    if shelf.connection is not None:
        return
    await shelf.put("1.mp3", "t")
    await shelf.run()
    (old,) = (await shelf.tracks()).values()
    content = b"".join([chunk async for chunk in shelf.files.read(shelf.folder + "1.mp3")])
    await shelf.delete("1.mp3")
    await put(shelf.library, "1.mp3", content)
    job = await shelf.library.importing.begin(None, UPLOADS)
    await shelf.store.run_jobs("worker")
    assert len(await walk(lambda w: shelf.library.import_reports.page(job.id, w))) == 1
    tracks = await shelf.tracks()
    assert len(tracks) == 2
    left = changed(tracks["1.mp3"], missing_since=None, version=1, updated_at=old.updated_at)
    assert left == old
