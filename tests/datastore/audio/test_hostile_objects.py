"""A user's bucket may name, describe and change its objects as it likes."""

import asyncio
import logging
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from html import escape
from typing import Any
from urllib.parse import parse_qs

import pytest

from penstock.datastore.audio.imports.moved_tracks import MissingObjects
from penstock.datastore.audio.records import ImportFailureCode
from penstock.datastore.jobs.jobs import Job, JobState
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.audio.sample_library import listener
from tests.datastore.audio.test_hostile_buckets import HEAD, entry, job_of, listing
from tests.datastore.audio.test_unusable_endpoints import KEYS, ONE_FAILURE, store
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request, content_range
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION

__all__ = ["store"]

WORDS = Answer(206, b"words", HEAD)
EVE = Caller("eve", {})


class Bucket:
    """Lists these keys, and answers each request for an object alike."""

    def __init__(self, keys: Sequence[str], head: Answer | None = None, content: Answer = WORDS):
        self.cookies: list[str | None] = []
        self.targets: list[str] = []
        self._keys = keys
        self._head = head or Answer(200, b"", {**HEAD, "Content-Length": "5"})
        self._content = content

    async def __call__(self, request: Request, connection: Connection) -> None:
        self.cookies.append(request.headers.get("cookie"))
        self.targets.append(request.target)
        if "list-type" in request.target:
            await connection.answer(Answer(200, self._list(request.target).encode()))
        elif request.method == "HEAD":
            await connection.answer(self._head)
        else:
            told = content_range(request, int(self._head.headers["Content-Length"]))
            first, last = map(int, told.removeprefix("bytes ").partition("/")[0].split("-"))
            headers = {"Content-Range": told, **self._content.headers}
            body = self._content.body.ljust(last + 1 - first, b"\0")
            await connection.answer(replace(self._content, headers=headers, body=body))

    def _list(self, target: str) -> str:
        (after,) = parse_qs(target.partition("?")[2]).get("start-after", [""])
        later = sorted(key for key in self._keys if key > after)
        shown = "".join(entry(escape(key)) for key in later[:1000])
        return listing(shown.replace("\n", "&#10;").replace("\t", "&#9;")).decode()


async def import_from(store: Store, bucket: Bucket, host: str = "127.0.0.1") -> Job:
    """Import all of a bucket; return the job, which ended."""
    server = LoopbackServer(bucket)
    url = (await server.start()).replace("127.0.0.1", host)
    library = listener(store, EVE)
    connection = await library.connections.add_keys("n", "bkt", REGION, KEYS, url)
    job = await library.importing.begin(connection.id, "")
    async with asyncio.timeout(HUNG_SECONDS):
        assert await store.run_jobs("worker") == 1
    await server.stop()
    return await job_of(store, job)


async def read_report(store: Store, job: Job) -> dict[str, ImportFailureCode]:
    """The keys that the import reported, each with its code."""
    page = await listener(store, EVE).import_reports.page(job.id, Window(size=100))
    return {failure.object_key: failure.code for _, failure in page.entries}


async def test_keys_that_lead_elsewhere_or_hold_control_characters_are_reported(
    store: Store,
) -> None:
    unusable = ["..", "../x", "a/../b", "a//b", "a\tb", "a\nb", "a\x85b", "${filename}"]
    odd = ["a b ", "a\u202eb.mp3", "a\u200b", "%00", "%2e%2e%2fx", "a\\b", "e\u0301", "x" * 1024]
    bucket = Bucket([*unusable, *odd, "folder/"])
    job = await import_from(store, bucket)
    assert (job.state, job.done) == (JobState.DONE, 17)
    assert await read_report(store, job) == {
        **dict.fromkeys(unusable, ImportFailureCode.INVALID_KEY),
        **dict.fromkeys(odd, ImportFailureCode.UNKNOWN_FORMAT),
    }
    # What is no key is asked for nowhere.
    assert not [target for target in bucket.targets if "/../" in target or "//" in target]


async def test_cookies_of_a_bucket_are_neither_kept_nor_sent(store: Store) -> None:
    fields = {**HEAD, "Set-Cookie": "kept=" + "x" * 4000}
    head = Answer(200, b"", {**fields, "Content-Length": "5"})
    bucket = Bucket(["a.mp3", "b.mp3"], head, Answer(206, b"words", fields))
    # A jar takes cookies of hosts with a name only.
    assert (await import_from(store, bucket, "localhost")).state is JobState.DONE
    assert len(bucket.cookies) >= 6
    assert set(bucket.cookies) == {None}


@pytest.mark.parametrize("etag", ["e" * 300, "\xe9\xff"], ids=["a long one", "one that is no text"])
async def test_an_entity_tag_that_s3_never_sends_ends_the_import(
    store: Store, caplog: pytest.LogCaptureFixture, etag: str
) -> None:
    head = Answer(200, b"", {**HEAD, "etag": f'"{etag}"', "Content-Length": "5"})
    bucket = Bucket(["a.mp3"], head)
    with caplog.at_level(logging.WARNING, "penstock"):
        job = await import_from(store, bucket)
    assert (job.state, job.message) == (JobState.FAILED, ONE_FAILURE[0])
    assert [record for record in caplog.records if record.exc_info] == []
    assert await read_report(store, job) == {}


@pytest.mark.parametrize("size", [2**63 - 1, 10**18])
async def test_a_size_beyond_all_objects_is_that_of_no_audio(store: Store, size: int) -> None:
    head = Answer(200, b"", {**HEAD, "Content-Length": str(size)})
    job = await import_from(store, Bucket(["a.mp3"], head))
    assert job.state is JobState.DONE
    assert await read_report(store, job) == {"a.mp3": ImportFailureCode.UNKNOWN_FORMAT}


async def test_a_key_longer_than_those_of_s3_is_never_sent_back(store: Store) -> None:
    bucket = Bucket(["k" * 1_025])
    job = await import_from(store, bucket)
    assert (job.state, job.message) == (JobState.FAILED, ONE_FAILURE[0])
    assert max(map(len, bucket.targets)) < 1_000


async def test_an_import_keeps_short_digests_of_the_keys_that_it_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = list[str]()
    find = MissingObjects.candidates

    def watch(search: MissingObjects, keys: Collection[str], contents: Collection[str]) -> Any:
        kept.extend(keys)
        return find(search, keys, contents)

    monkeypatch.setattr(MissingObjects, "candidates", watch)
    # With one wide letter each letter takes four bytes of memory.
    long = [f"{number:02}\U0001d11e{'k' * 1_000}" for number in range(3)]
    assert (await import_from(store, Bucket(long))).state is JobState.DONE
    assert len(kept) == 3
    assert max(map(sys.getsizeof, kept)) < 120
