"""Imports add every object once, report each failure, and survive the death of a worker."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio import import_job
from penstock.datastore.audio.endpoint_rules import EndpointRules, unusable_endpoint
from penstock.datastore.audio.imports import open_imports
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.audio.object_keys import artwork_key
from penstock.datastore.audio.records import ImportFailureCode, Tags
from penstock.datastore.clock import Clock
from penstock.datastore.dynamodb import retry
from penstock.datastore.errors import Invalid, NotFound, Unavailable
from penstock.datastore.jobs.jobs import Job, JobState, find_jobs, unfinished_jobs
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.objects.port import Credentials
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import sum_user
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.server.samples.sounds.tags import png
from tests.datastore.audio.sample_library import BOB, drift, library_rows, listener
from tests.datastore.audio.sample_uploads import COVER, content_of, open_files, single_chunk, sound
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, walk
from tests.support.stores import REGION, moto_endpoint, open_table
from tests.support.table_interceptors import CutOffTable, ProcessDied

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG")
ALL = Window(size=1000)


def song(n: int) -> bytes:
    tags = Tags(title=f"t{n}", artists=(f"Artist {n % 3}",), album=f"Album {n % 2}", track=n + 1)
    return sound("mp3", 0.1, tags)


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with open_table("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
async def store(table: Table, tmp_path: Path) -> AsyncIterator[Store]:
    buckets = BucketAccess(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
    async with open_files("local", tmp_path) as files:
        yield Store(table, files=files, user_buckets=buckets)
        await buckets.pool.close()


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_job, "SECONDS_PER_TRACK", 0)


async def uploads(store: Store, count: int) -> None:
    for n in range(count):
        key = f"audio/ann/uploads/{n:03}/{n}.mp3"
        await store.files.write(key, single_chunk(song(n)), content_type="audio/mpeg")


async def job_of(store: Store, job: Job) -> Job:
    (found,) = await find_jobs(store.table, [job.id])
    assert found is not None
    return found


async def test_every_object_below_a_prefix_is_taken_in_once(store: Store) -> None:
    await uploads(store, 25)
    await store.files.write("audio/ann/artwork/x", single_chunk(b"x"), content_type="image/png")
    begun = asyncio.Event()
    library = listener(replace(store, on_job_created=begun.set))
    job = await library.importing.begin(None, "")
    assert begun.is_set()
    assert await store.run_jobs("worker") == 1
    ended = await job_of(store, job)
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, 25, 25)
    titles = [track.title for track in await walk(library.lists.audios, 100)]
    assert sorted(titles) == sorted(f"t{n}" for n in range(25))
    assert await walk(lambda w: library.import_reports.page(job.id, w)) == []
    assert await drift(store.table) == []
    before = await library_rows(store.table)
    again = await library.importing.begin(None, "")
    assert await store.run_jobs("worker") == 1
    assert (await job_of(store, again)).state is JobState.DONE
    assert await library_rows(store.table) == before


async def test_what_cannot_be_taken_in_is_told_and_the_rest_is(store: Store) -> None:
    await uploads(store, 2)
    for name, content in (
        ("cover.jpg", b"\xff\xd8\xff"),
        ("empty.mp3", b""),
        ("broken.flac", b"fLaC" + bytes(300)),
    ):
        key = f"audio/ann/uploads/x/{name}"
        await store.files.write(key, single_chunk(content), content_type="a/b")
    library = listener(store)
    job = await library.importing.begin(None, "audio/ann/uploads/")
    await store.run_jobs("worker")
    ended = await job_of(store, job)
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, 5, 5)
    failures = await walk(lambda w: library.import_reports.page(job.id, w))
    told = {failure.object_key.rpartition("/")[2]: failure for failure in failures}
    assert told.keys() == {"cover.jpg", "empty.mp3", "broken.flac"}
    assert {name: failure.code.value for name, failure in told.items()} == {
        "cover.jpg": "UNKNOWN_FORMAT",
        "empty.mp3": "EMPTY",
        "broken.flac": "UNREADABLE",
    }
    assert "format" in told["cover.jpg"].message
    assert (await library.reading.totals()).count == 2
    assert await walk(lambda w: listener(store, BOB).import_reports.page(job.id, w)) == []


async def test_a_bucket_of_the_user_is_imported_by_its_connection(
    store: Store, tmp_path: Path
) -> None:
    async with open_files("s3", tmp_path) as theirs:
        for n in range(3):
            await theirs.write(f"music/{n}.mp3", single_chunk(song(n)), content_type="a/b")
        await theirs.write("other/4.mp3", single_chunk(song(4)), content_type="a/b")
        library = listener(store)
        connection = await library.connections.add_keys(
            "n", theirs.bucket, REGION, KEYS, moto_endpoint()
        )
        job = await library.importing.begin(connection.id, "music/")
        await store.run_jobs("worker")
    assert (await job_of(store, job)).done == 3
    tracks = await walk(library.lists.audios, 100)
    assert {track.connection_id for track in tracks} == {connection.id}
    assert sorted(track.object_key for track in tracks) == [f"music/{n}.mp3" for n in range(3)]


async def test_objects_whose_keys_have_control_characters_are_told_and_others_taken_in(
    store: Store, tmp_path: Path
) -> None:
    """Systems write such files beside others: `Icon\\r` is one of macOS."""
    strange = ["music/\x01", "music/Icon\r", "music/z\x7f/Icon\r"]
    async with open_files("s3", tmp_path) as theirs:
        for n in range(2):
            await theirs.write(f"music/{n}.mp3", single_chunk(song(n)), content_type="a/b")
        bucket: Any = theirs
        for key in strange:
            await bucket._client.put_object(Bucket=theirs.bucket, Key=key, Body=b"")
        library = listener(store)
        connection = await library.connections.add_keys(
            "n", theirs.bucket, REGION, KEYS, moto_endpoint()
        )
        job = await library.importing.begin(connection.id, "music/")
        await store.run_jobs("worker")
    assert (await job_of(store, job)).state is JobState.DONE
    failures = await walk(lambda w: library.import_reports.page(job.id, w))
    assert sorted(failure.object_key for failure in failures) == strange
    tracks = await walk(library.lists.audios, 100)
    assert sorted(track.object_key for track in tracks) == ["music/0.mp3", "music/1.mp3"]


@pytest.mark.parametrize(
    ("pictures", "chosen"),
    [
        ({"Folder.JPG": 2, "cover.png": 1, "back.png": 3}, 1),
        ({"Front.jpeg": 2, "deeper/cover.png": 1}, 2),
        ({"coverart.png": 1, "cover.txt": 2, "cover": 3}, None),
        ({"cover.png": None}, None),
    ],
)
async def test_a_picture_beside_tracks_is_the_cover_of_those_without_one(
    store: Store, tmp_path: Path, pictures: dict[str, int | None], chosen: int | None
) -> None:
    async with open_files("s3", tmp_path) as theirs:
        for n in range(2):
            await theirs.write(f"music/a/{n}.mp3", single_chunk(song(n)), content_type="a/b")
        own = sound("mp3", 0.1, Tags(title="own"), COVER)
        await theirs.write("music/a/own.mp3", single_chunk(own), content_type="a/b")
        await theirs.write("music/b/2.mp3", single_chunk(song(2)), content_type="a/b")
        for name, colour in pictures.items():
            content = b"no picture" if colour is None else png(colour, 0, 0)
            await theirs.write(f"music/a/{name}", single_chunk(content), content_type="a/b")
        library = listener(store)
        connection = await library.connections.add_keys(
            "n", theirs.bucket, REGION, KEYS, moto_endpoint()
        )
        job = await library.importing.begin(connection.id, "music/")
        await store.run_jobs("worker")
        await theirs.write("music/a/added.mp3", single_chunk(song(7)), content_type="a/b")
        added = await library.registering.register("music/a/added.mp3", connection.id)
    tracks = {track.title: track.artwork for track in await walk(library.lists.audios, 100)}
    assert len(tracks) == 5
    assert tracks["t2"] is None
    assert tracks["t0"] == tracks["t1"] == added.artwork != tracks["own"]
    if chosen is None:
        assert tracks["t0"] is None
    else:
        key = artwork_key("ann", str(tracks["t0"]))
        assert await content_of(store.files, key) == png(chosen, 0, 0)
    assert await content_of(store.files, artwork_key("ann", str(tracks["own"]))) == COVER
    failures = await walk(lambda w: library.import_reports.page(job.id, w))
    unknown = {"back.png", "coverart.png", "cover.txt", "cover"} & pictures.keys()
    assert {failure.object_key.rpartition("/")[2] for failure in failures} == unknown


async def test_an_import_whose_bucket_is_gone_or_silent_is_given_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would delay other jobs until the user's bucket answers again."""
    monkeypatch.setattr(retry.Attempts, "send", _silent)
    library = listener(store)
    silent, gone = [
        await library.connections.add_keys("n", "my-music", REGION, KEYS, "http://127.0.0.1:9")
        for _ in range(2)
    ]
    jobs = [await library.importing.begin(each.id, "") for each in (silent, gone)]
    await library.connections.delete(gone.id)
    assert await store.run_jobs("worker") == 2
    ended = [await job_of(store, job) for job in jobs]
    assert [(job.state, job.message) for job in ended] == [
        (JobState.FAILED, unusable_endpoint().message),
        (JobState.FAILED, "There is no connection with this id."),
    ]


async def _silent(*_: object) -> None:
    raise Unavailable("The store did not answer within 30 seconds.")


@pytest.mark.parametrize("prefix", ["audio/bob/uploads/", "audio/ann", "x" * 2000, "a\x00"])
async def test_an_import_looks_among_the_callers_own_uploads_only(
    store: Store, prefix: str
) -> None:
    with pytest.raises(Invalid):
        await listener(store).importing.begin(None, prefix)
    with pytest.raises(NotFound):
        await listener(store).importing.begin("018f3b6e-0000-7000-8000-000000000001", "")
    assert await store.run_jobs("worker") == 0


async def test_a_worker_that_dies_at_any_step_leaves_what_the_next_one_finishes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "STEP", 2)
    await uploads(store, 7)
    watch = Watch()
    for writes in range(100):
        library = listener(replace(store, clock=Clock(watch)))
        job = await library.importing.begin(None, "")
        try:
            await replace(
                store, table=CutOffTable(store.table, writes), clock=Clock(watch)
            ).run_jobs("one")
        except ProcessDied:
            assert await drift(store.table) == []
        else:
            break
        watch.move(LEASE_TIME + timedelta(milliseconds=1))
        assert await replace(store, clock=Clock(watch)).run_jobs("two") == 1
        ended = await job_of(store, job)
        assert (ended.state, ended.total) == (JobState.DONE, 7)
        assert (await library.reading.totals()).count == 7
        assert await drift(store.table) == []
        for track in await walk(library.lists.audios, 100):
            await library.editing.delete(track.id)
    assert writes > 4


async def test_an_import_lets_others_have_their_turn_and_goes_on_where_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "STEP", 2)
    monkeypatch.setattr(import_job, "MAX_TURN_SECONDS", 0)
    await uploads(store, 7)
    library = listener(store)
    job = await library.importing.begin(None, "")
    done = []
    while not (await job_of(store, job)).is_over:
        await store.run_jobs("worker")
        done.append((await job_of(store, job)).done)
    assert done == [2, 4, 6, 7, 7]
    assert (await library.reading.totals()).count == 7


async def test_an_equal_import_that_has_not_ended_is_the_same_job(store: Store) -> None:
    library = listener(store)
    first = await library.importing.begin(None, "")
    assert (await library.importing.begin(None, "")).id == first.id
    assert (await library.importing.begin(None, "audio/ann/uploads/")).id == first.id
    other = await library.importing.begin(None, "audio/ann/uploads/x")
    assert other.id != first.id


async def test_imports_that_begin_at_one_moment_are_one_and_only_some(store: Store) -> None:
    begun = await asyncio.gather(*(listener(store).importing.begin(None, "") for _ in range(12)))
    assert len({job.id for job in begun}) == 1
    places = [f"audio/ann/uploads/{n}" for n in range(12)]
    outcomes = await asyncio.gather(
        *(listener(store).importing.begin(None, place) for place in places), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(each, Invalid) for each in refused)
    assert len(outcomes) - len(refused) == open_imports.MAX_JOBS - 1
    assert len(await unfinished_jobs(store.table)) == open_imports.MAX_JOBS


async def test_an_import_that_ended_makes_room(store: Store) -> None:
    library = listener(store)
    for n in range(2 * open_imports.MAX_JOBS):
        job = await library.importing.begin(None, f"audio/ann/uploads/{n}")
        assert await store.run_jobs("worker") == 1
        assert (await job_of(store, job)).is_over


async def test_an_import_adds_no_more_than_the_quota_of_its_user_allows(store: Store) -> None:
    rules = QuotaRules(per_user=Amounts(files=8))
    limited = replace(store, quotas=Quotas(rules))
    await uploads(store, 12)
    library = listener(limited)
    job = await library.importing.begin(None, "")
    assert await limited.run_jobs("worker") == 1
    assert (await library.reading.totals()).count == 8
    assert (await sum_user(store.table, "ann")).files == 8
    failures = [each for _, each in (await library.import_reports.page(job.id, ALL)).entries]
    assert [each.code for each in failures] == [ImportFailureCode.QUOTA_EXCEEDED] * 4
    assert await drift(store.table) == []


async def test_a_user_has_only_some_imports_that_have_not_ended(store: Store) -> None:
    library = listener(store)
    for n in range(open_imports.MAX_JOBS):
        await library.importing.begin(None, f"audio/ann/uploads/{n}")
    before = await contents(store.table)
    with pytest.raises(Invalid) as refused:
        await library.importing.begin(None, "audio/ann/uploads/more")
    assert refused.value.problems[0].code == "TOO_MANY_IMPORTS"
    assert await contents(store.table) == before
    again = await library.importing.begin(None, "audio/ann/uploads/0")
    assert again.prefix == "audio/ann/uploads/0"
