"""A user's bucket may send anything: the server reads, keeps and waits for a bounded part of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock.datastore.audio import import_job, user_buckets
from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.aws import answers as aws_answers
from penstock.datastore.aws import framing as answer_framing
from penstock.datastore.aws import markup as aws_markup
from penstock.datastore.jobs.jobs import Job, JobState, find_jobs
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import library_rows, listener
from tests.datastore.audio.test_unusable_endpoints import (
    KEYS,
    ONE_FAILURE,
    failure_of,
    list_bucket,
    register,
    serve,
    store,
)
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request, content_range
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION

__all__ = ["store"]

Call = Callable[[AudioLibrary, str], Awaitable[object]]


def listing(entries: str) -> bytes:
    words = "<IsTruncated>false</IsTruncated>"
    return f"<ListBucketResult>{words}{entries}</ListBucketResult>".encode()


def entry(key: str, size: str = "5", time: str = "2026-01-01T00:00:00.000Z") -> str:
    facts = f'<ETag>"e"</ETag><Size>{size}</Size><LastModified>{time}</LastModified>'
    return f"<Contents><Key>{key}</Key>{facts}</Contents>"


HEAD = {
    "etag": '"e"',
    "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT",
    "content-type": "audio/mpeg",
}
MANY = aws_markup.MAX_MARKUP
LISTS = {
    "more keys than asked for": Answer(
        200, listing("".join(entry(f"{number:04}") for number in range(1_001)))
    ),
    "elements without end": Answer(200, listing("<a/>" * MANY)),
    "a deep tree": Answer(200, b"<a>" * MANY),
    "attributes without end": Answer(200, b"<ListBucketResult" + b' a=""' * MANY + b"/>"),
    "references without end": Answer(200, listing(entry("&amp;" * MANY))),
    "lines without end": Answer(200, listing("\n" * (aws_markup.MAX_PIECES + 1))),
    "a time of 1,000 letters": Answer(200, listing(entry("a", time="a" * 1_000))),
    "a deep error": Answer(400, b"<a>" * MANY),
    "many elements in an error": Answer(400, b"<a/>" * (aws_markup.MAX_ERROR_MARKUP + 1)),
    "a long namespace": Answer(200, b'<ListBucketResult xmlns="' + b"u" * 600 + b'"/>'),
    "a key that is longer than any": Answer(200, listing(entry("k" * 3_073))),
    "a long error": Answer(400, b" " * (aws_answers.MAX_ERROR_BYTES + 1)),
    "a size that is no number": Answer(200, listing(entry("a", "x"))),
    "a size of 5,000 digits": Answer(200, listing(entry("a", "9" * 5_000))),
}
FILES = {
    "a time that is none": Answer(200, b"", {**HEAD, "last-modified": "x"}),
    "a time beyond all times": Answer(200, b"", {**HEAD, "last-modified": "9" * 30}),
    "counts that are no numbers": Answer(
        200, b"", {**HEAD, "x-amz-mp-parts-count": "x", "x-amz-missing-meta": "y"}
    ),
}


@pytest.mark.parametrize(
    ("call", "answer"),
    [*((list_bucket, one) for one in LISTS.items()), *((register, one) for one in FILES.items())],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
async def test_an_answer_that_s3_never_gives_is_that_of_no_bucket(
    store: Store, call: Call, answer: tuple[str, Answer]
) -> None:
    library = listener(store)
    async with serve(answer[1]) as (service, url):
        connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
        before = await library_rows(store.table)
        assert await failure_of(call(library, connection.id)) == ONE_FAILURE
        assert 1 <= len(service.targets) <= 2
    assert await library_rows(store.table) == before


class EndlessService:
    """Sends a head, then blocks until the client leaves; counts the bytes of each answer."""

    def __init__(self, status: int, pause: float, block: bytes) -> None:
        self.sent: list[int] = []
        self._status = status
        self._pause = pause
        self._block = block

    async def __call__(self, request: Request, connection: Connection) -> None:
        writer: Any = vars(connection)["_writer"]
        fields = "".join(f"{name}: {value}\r\n" for name, value in HEAD.items())
        if request.method == "HEAD":
            writer.write(f"HTTP/1.1 200 OK\r\n{fields}content-length: 900000\r\n\r\n".encode())
            return
        writer.write(f"HTTP/1.1 {self._status} OK\r\n{fields}connection: close\r\n\r\n".encode())
        number = len(self.sent)
        self.sent.append(0)
        try:
            while True:
                writer.write(self._block)
                await writer.drain()
                self.sent[number] += len(self._block)
                await asyncio.sleep(self._pause)
        except ConnectionError:
            return


@asynccontextmanager
async def serve_endlessly(
    status: int, pause: float = 0.0, block: bytes = b" " * 65_536
) -> AsyncIterator[tuple[EndlessService, str]]:
    service = EndlessService(status, pause, block)
    server = LoopbackServer(service)
    yield service, await server.start()
    await server.stop()


IN_SOCKETS = 16 * 1024 * 1024
"""More than the buffers at both ends of a connection hold."""


@pytest.mark.parametrize(("status", "most"), [(200, "MAX_LIST_BYTES"), (400, "MAX_ERROR_BYTES")])
async def test_an_endless_answer_is_read_as_far_as_one_of_s3(
    store: Store, status: int, most: str
) -> None:
    library = listener(store)
    async with serve_endlessly(status) as (service, url):
        connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
        assert await failure_of(list_bucket(library, connection.id)) == ONE_FAILURE
        assert 1 <= len(service.sent) <= 2
        assert max(service.sent) <= getattr(aws_answers, most) + IN_SOCKETS


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class EndlessFraming:
    """Sends what stands around the content of an answer until the client leaves, and counts it."""

    def __init__(self, head: bytes, block: bytes) -> None:
        self.sent: list[int] = []
        self._head = head
        self._block = block

    async def __call__(self, request: Request, connection: Connection) -> None:
        writer: Any = vars(connection)["_writer"]
        number = len(self.sent)
        self.sent.append(0)
        writer.write(self._head)
        try:
            while True:
                writer.write(self._block)
                await writer.drain()
                self.sent[number] += len(self._block)
        except ConnectionError:
            return


@pytest.mark.parametrize(
    ("head", "block"),
    [
        (b"", b"\r\n" * 30_000),
        (CHUNKED, b"0" * 65_536),
        (CHUNKED + b"1;", b"x" * 65_536),
        (CHUNKED, b"1\r\n \r\n" * 10_000),
    ],
    ids=["empty lines", "zeros of a size", "words behind a size", "chunks of one byte"],
)
async def test_what_stands_around_an_answer_is_read_as_far_as_that_of_s3(
    store: Store, head: bytes, block: bytes
) -> None:
    library, service = listener(store), EndlessFraming(head, block)
    server = LoopbackServer(service)
    url = await server.start()
    connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
    assert await failure_of(list_bucket(library, connection.id)) == ONE_FAILURE
    assert 1 <= len(service.sent) <= 2
    assert max(service.sent) <= answer_framing.MAX_FRAMING_BYTES + IN_SOCKETS
    await server.stop()


class SmallChunks:
    """Answers a list in chunks of some bytes, on a connection that stays."""

    def __init__(self, body: bytes, size: int) -> None:
        self._body = body
        self._size = size

    async def __call__(self, request: Request, connection: Connection) -> None:
        writer: Any = vars(connection)["_writer"]
        pieces = [self._body[at : at + self._size] for at in range(0, len(self._body), self._size)]
        writer.write(CHUNKED)
        for piece in (*pieces, b""):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()


async def test_a_long_list_may_come_in_small_chunks(store: Store) -> None:
    keys = tuple(f"{number:04}" + "k" * 900 for number in range(1_000))
    service = SmallChunks(listing("".join(map(entry, keys))), 16)
    server = LoopbackServer(service)
    library = listener(store)
    url = await server.start()
    connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
    async with library.registering.sources.open_source(connection.id) as source:
        for _ in range(2):
            found = await source.list_entries("", "")
            assert tuple(each.key for each in found) == keys
    await server.stop()


class InterimService:
    """Answers by so many interim answers, and then as S3 does."""

    def __init__(self, count: int) -> None:
        self.asked = 0
        self._count = count

    async def __call__(self, request: Request, connection: Connection) -> None:
        self.asked += 1
        writer: Any = vars(connection)["_writer"]
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * self._count)
        body = listing("")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()


@pytest.mark.parametrize(("count", "is_read"), [(1, True), (3, True), (4, False), (5_000, False)])
async def test_few_interim_answers_are_read_before_an_answer(
    store: Store, count: int, is_read: bool
) -> None:
    library, service = listener(store), InterimService(count)
    server = LoopbackServer(service)
    url = await server.start()
    connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
    if is_read:
        assert await list_bucket(library, connection.id) == ()
        assert service.asked == 1
    else:
        assert await failure_of(list_bucket(library, connection.id)) == ONE_FAILURE
        assert 1 <= service.asked <= 2
    await server.stop()


async def test_a_file_that_comes_too_slowly_is_given_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_buckets, "READ_SECONDS", 0.1)
    library = listener(store)
    async with serve_endlessly(206, 0.02, b"x") as (service, url):
        connection = await library.connections.add_keys("n", "my-music", REGION, KEYS, url)
        assert await failure_of(register(library, connection.id)) == ONE_FAILURE
        assert service.sent[0] < 65_536


async def job_of(store: Store, job: Job) -> Job:
    (found,) = await find_jobs(store.table, [job.id])
    assert found is not None
    return found


class SilentObjects:
    """Lists 40 objects, and never sends a byte of one."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    async def __call__(self, request: Request, connection: Connection) -> None:
        if "list-type" in request.target:
            is_first = "start-after=k" not in request.target
            entries = "".join(entry(f"k{number:02}.mp3") for number in range(40 * is_first))
            await connection.answer(Answer(200, listing(entries)))
        elif request.method == "HEAD":
            await connection.answer(Answer(200, b"", {**HEAD, "Content-Length": "5"}))
        else:
            self.begun.append(request.target)
            await connection.fall_silent()


async def test_silent_objects_end_their_import_after_a_few_of_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jobs of others wait for one step: four objects, each for a bounded time."""
    monkeypatch.setattr(import_job, "MAX_OBJECT_SECONDS", 0.2)
    eve = listener(store, Caller("eve", {}))
    service = SilentObjects()
    server = LoopbackServer(service)
    connection = await eve.connections.add_keys("n", "bkt", REGION, KEYS, await server.start())
    job = await eve.importing.begin(connection.id, "")
    assert await store.run_jobs("worker") == 1
    ended = await job_of(store, job)
    assert (ended.state, ended.message) == (JobState.FAILED, ONE_FAILURE[0])
    # On a busy machine the time of an object can end before its request is sent.
    assert len(service.begun) <= import_job.CONCURRENT_READS
    await server.stop()


class GrowingBucket:
    """Lists one object until all are counted, then a new one behind the last, without an end."""

    def __init__(self) -> None:
        self.listed = 0

    async def __call__(self, request: Request, connection: Connection) -> None:
        if "list-type" in request.target:
            self.listed += 1
            is_counted = self.listed == 2
            found = "" if is_counted else entry(f"k{self.listed:06}.txt")
            await connection.answer(Answer(200, listing(found)))
        elif request.method == "HEAD":
            await connection.answer(Answer(200, b"", {**HEAD, "Content-Length": "5"}))
        else:
            told = {"Content-Range": content_range(request, 5)}
            await connection.answer(Answer(206, b"words", HEAD | told))


async def test_a_list_that_grows_behind_what_was_counted_ends_its_import(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "MAX_OBJECTS", 6)
    eve = listener(store, Caller("eve", {}))
    service = GrowingBucket()
    server = LoopbackServer(service)
    connection = await eve.connections.add_keys("n", "bkt", REGION, KEYS, await server.start())
    job = await eve.importing.begin(connection.id, "")
    async with asyncio.timeout(HUNG_SECONDS):
        assert await store.run_jobs("worker") == 1
    ended = await job_of(store, job)
    assert ended.state is JobState.FAILED
    assert "more than the maximum of 6" in str(ended.message)
    assert service.listed == 2 + 7
    await server.stop()


async def test_a_list_that_comes_too_slowly_ends_its_import(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "MAX_LISTING_SECONDS", -1)
    eve = listener(store, Caller("eve", {}))
    async with serve(Answer(200, listing(entry("a.mp3")))) as (service, url):
        connection = await eve.connections.add_keys("n", "bkt", REGION, KEYS, url)
        job = await eve.importing.begin(connection.id, "")
        assert await store.run_jobs("worker") == 1
        assert (await job_of(store, job)).state is JobState.FAILED
        assert len(service.targets) == 1
