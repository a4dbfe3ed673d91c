"""An object that a bucket refuses fails alone; a connection with lost keys says so."""

import logging
from collections.abc import Collection
from dataclasses import replace

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.imports.report import REFUSED_MESSAGE
from penstock.datastore.audio.records import ImportFailureCode
from penstock.datastore.audio.sources import LOST_KEYS
from penstock.datastore.jobs.jobs import JobState
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.audio.sample_library import add, library_rows, listener
from tests.datastore.audio.test_hostile_buckets import job_of
from tests.datastore.audio.test_hostile_objects import EVE, Bucket, import_from, read_report
from tests.datastore.audio.test_unusable_endpoints import KEYS, failure_of, register, store
from tests.support.loopback_server import Answer, Connection, Request
from tests.support.stores import REGION

__all__ = ["store"]

XML = {"Content-Type": "application/xml"}
ARCHIVED = Answer(403, b"<Error><Code>InvalidObjectState</Code></Error>", XML)
DENIED = Answer(403, b"<Error><Code>AccessDenied</Code></Error>", XML)
UNKNOWN = ImportFailureCode.UNKNOWN_FORMAT


class RefusingBucket(Bucket):
    """Refuses these objects by one answer; where `heads`, their heads too."""

    def __init__(
        self, keys: Collection[str], refused: Collection[str], answer: Answer, *, heads: bool
    ) -> None:
        super().__init__(sorted(keys))
        self._refused = refused
        self._answer = answer
        self._heads = heads

    async def __call__(self, request: Request, connection: Connection) -> None:
        name = request.target.partition("?")[0].rpartition("/")[2]
        if name not in self._refused or (request.method == "HEAD" and not self._heads):
            await super().__call__(request, connection)
        elif request.method == "HEAD":
            await connection.answer(Answer(self._answer.status, b""))
        else:
            await connection.answer(self._answer)


@pytest.mark.parametrize(
    ("answer", "heads"),
    [
        (ARCHIVED, False),
        (DENIED, False),
        (DENIED, True),
        (Answer(400, b""), False),
        (Answer(400, b""), True),
        (Answer(416, b""), False),
        (Answer(500, b""), False),
        (Answer(500, b""), True),
    ],
)
async def test_an_object_that_the_bucket_refuses_is_reported_and_the_others_are_read(
    store: Store, answer: Answer, heads: bool
) -> None:
    job = await import_from(store, RefusingBucket({"a", "b", "c"}, {"b"}, answer, heads=heads))
    assert (job.state, job.done) == (JobState.DONE, 3)
    assert await read_report(store, job) == {
        "a": UNKNOWN,
        "b": ImportFailureCode.REFUSED,
        "c": UNKNOWN,
    }
    page = await listener(store, EVE).import_reports.page(job.id, Window(size=9))
    assert REFUSED_MESSAGE in {failure.message for _, failure in page.entries}


@pytest.mark.parametrize(("count", "state"), [(19, JobState.DONE), (20, JobState.FAILED)])
async def test_a_bucket_that_refuses_many_objects_in_a_row_ends_the_import(
    store: Store, count: int, state: JobState
) -> None:
    refused = [f"k{number:02}" for number in range(count)]
    job = await import_from(store, RefusingBucket({*refused, "z"}, refused, DENIED, heads=True))
    assert job.state is state
    if state is JobState.FAILED:
        assert job.message == "The bucket does not let the server in."
    else:
        assert await read_report(store, job) == {
            **dict.fromkeys(refused, ImportFailureCode.REFUSED),
            "z": UNKNOWN,
        }


async def test_keys_that_say_the_bucket_lets_nobody_in_end_the_import(store: Store) -> None:
    answer = Answer(403, b"<Error><Code>InvalidAccessKeyId</Code></Error>", XML)
    job = await import_from(store, RefusingBucket({"a", "b"}, {"a"}, answer, heads=False))
    assert (job.state, job.message) == (JobState.FAILED, "The bucket does not let the server in.")
    assert await read_report(store, job) == {}


async def test_keys_that_do_not_open_are_told_without_a_traceback(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    library = listener(store, EVE)
    made = await library.connections.add_keys("n", "my-music", REGION, KEYS)
    track = await add(library, "a", connection_id=made.id)
    lost = replace(store, user_buckets=replace(store.user_buckets, vault=LocalVault(b"x" * 32)))
    before = await library_rows(store.table)
    with caplog.at_level(logging.INFO, "penstock"):
        assert await failure_of(register(listener(lost, EVE), made.id)) == (LOST_KEYS, "KEYS_LOST")
        assert len(caplog.records) == 1
        signed = await listener(lost, EVE).streaming.sign_streams([(track, False)] * 3)
        assert [vars(one)["state"] for one in signed] == ["KEYS_LOST"] * 3
        assert len(caplog.records) == 2
    assert await library_rows(store.table) == before
    job = await listener(lost, EVE).importing.begin(made.id, "")
    assert await lost.run_jobs("worker") == 1
    ended = await job_of(store, job)
    assert (ended.state, ended.message) == (JobState.FAILED, LOST_KEYS)
    assert [record for record in caplog.records if record.exc_info] == []
