"""A machine reads its part of a file by ranges, also over broken connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from penstock.datastore.executions.workers.row_engine import STEP_BYTES
from penstock.server.runtime.dask import transport
from penstock.server.runtime.dask.transport import ATTEMPTS, PartFailed, SourceUrl, fetch_range
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request

DATA = bytes(range(256)) * (3 * STEP_BYTES // 256)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PAUSE", 0.0)


class Serving:
    """Serves ranges of the data; `cut` may shorten an answer, given its number."""

    def __init__(self, cut: Callable[[int, bytes], bytes | Answer]) -> None:
        self.ranges: list[str] = []
        self._cut = cut

    async def __call__(self, request: Request, connection: Connection) -> None:
        asked = request.headers["range"]
        self.ranges.append(asked)
        start, _, last = asked.removeprefix("bytes=").partition("-")
        whole = DATA[int(start) : int(last) + 1]
        told = self._cut(len(self.ranges), whole)
        if isinstance(told, Answer):
            await connection.answer(told)
        else:
            await connection.answer(Answer(206, told, {"Content-Length": str(len(whole))}))
        await connection.close()


@asynccontextmanager
async def serving(
    cut: Callable[[int, bytes], bytes | Answer],
) -> AsyncIterator[tuple[SourceUrl, Serving]]:
    behaviour = Serving(cut)
    server = LoopbackServer(behaviour)
    yield SourceUrl(await server.start()), behaviour
    await server.stop()


async def blocks_of(source: SourceUrl, start: int, end: int) -> list[bytes]:
    return await asyncio.to_thread(lambda: list(fetch_range(source, start, end)))


async def test_a_range_is_cut_where_the_whole_file_is_cut() -> None:
    async with serving(lambda _, data: data) as (source, behaviour):
        found = await blocks_of(source, 10, 2 * STEP_BYTES + 5)
    assert [len(block) for block in found] == [STEP_BYTES - 10, STEP_BYTES, 5]
    assert b"".join(found) == DATA[10 : 2 * STEP_BYTES + 5]
    assert behaviour.ranges == [f"bytes=10-{2 * STEP_BYTES + 4}"]


async def test_what_breaks_off_is_taken_up_where_it_did() -> None:
    def cut(count: int, data: bytes) -> bytes | Answer:
        return data[: STEP_BYTES + 7] if count == 1 else Answer(503, b"") if count == 2 else data

    async with serving(cut) as (source, behaviour):
        found = await blocks_of(source, 0, 2 * STEP_BYTES)
    assert b"".join(found) == DATA[: 2 * STEP_BYTES]
    again = f"bytes={STEP_BYTES}-{2 * STEP_BYTES - 1}"
    assert behaviour.ranges == [f"bytes=0-{2 * STEP_BYTES - 1}", again, again]


@pytest.mark.parametrize(
    ("answer", "tries", "message"),
    [
        (Answer(403, b""), 1, "HTTP 403"),
        (Answer(404, b""), 1, "HTTP 404"),
        (Answer(500, b""), ATTEMPTS, "HTTP 500"),
        (Answer(200, DATA), ATTEMPTS, "HTTP 200"),
        (Answer(302, b"", {"Location": "/elsewhere"}), 1, "HTTP 302"),
    ],
)
async def test_what_cannot_be_read_is_told_without_the_url(
    answer: Answer, tries: int, message: str
) -> None:
    async with serving(lambda _, __: answer) as (source, behaviour):
        with pytest.raises(PartFailed) as failed:
            await blocks_of(source, 0, 10)
    assert len(behaviour.ranges) == tries
    words = f"A machine of the cluster cannot read a file of the execution: {message}."
    assert failed.value.message == words
    tried = urlsplit(source.url)
    assert f"Tried http://{tried.netloc}: " in failed.value.detail
    assert (f"{tried.netloc}/" in str(failed.value), "http" in repr(source)) == (False, False)


async def test_where_nobody_answers_a_part_fails() -> None:
    with pytest.raises(PartFailed) as failed:
        await blocks_of(SourceUrl("http://127.0.0.1:9/secret"), 0, 10)
    words = "A machine of the cluster cannot read a file of the execution."
    assert failed.value.message == words
    assert "Tried http://127.0.0.1:9: ConnectError" in failed.value.detail
    assert "set PENSTOCK_PUBLIC_URL" in failed.value.detail
    assert "secret" not in str(failed.value)


HEAD = b"HTTP/1.1 206 X\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("endless", "words"),
    [
        (b"HTTP/1.1 100 X\r\n\r\n", "answers of status 1xx"),
        (HEAD + b"1;" + b"e" * 1_000 + b"\r\na\r\n", "sent more than"),
    ],
)
async def test_an_answer_without_end_ends_at_its_bytes(
    monkeypatch: pytest.MonkeyPatch, endless: bytes, words: str
) -> None:
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    head, _, rest = endless.partition(HEAD)

    async def send(_: Request, connection: Connection) -> None:
        await connection.send(endless)
        for _number in range(1_000):
            await connection.send(rest or head)
        await connection.close()

    with pytest.raises(PartFailed) as failed:
        await fetch_from(send)
    assert words in failed.value.detail


async def test_a_file_that_comes_too_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    monkeypatch.setattr(transport, "SPARE_SECONDS", 0.0)
    monkeypatch.setattr(transport, "LEAST_PACE", 10**12)

    async def send(_: Request, connection: Connection) -> None:
        await connection.send(b"HTTP/1.1 206 X\r\nContent-Length: 1000\r\n\r\n")
        await connection.send(b"a" * 1_000)
        await connection.close()

    with pytest.raises(PartFailed) as failed:
        await fetch_from(send)
    assert "bytes a second" in failed.value.detail


async def fetch_from(behaviour: Callable[[Request, Connection], Awaitable[None]]) -> list[bytes]:
    """Fetch a thousand bytes from a server that behaves so."""
    server = LoopbackServer(behaviour)
    try:
        return await blocks_of(SourceUrl(await server.start()), 0, 1_000)
    finally:
        await server.stop()
