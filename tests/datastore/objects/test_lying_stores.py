"""A store, or a gateway before it, that answers 200 to what it has not done: it does not count."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Self

import pytest

from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.errors import RequestRefused, Unavailable
from penstock.datastore.objects.port import OBJECT_BYTES, FileReplaced
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.s3_client import Patience
from penstock.datastore.objects.s3_multipart import PART_BYTES
from tests.datastore.objects.conftest import DIGITS, breaking, stream, whole
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.stores import REGION, aws_environment

XML: Final = {"Content-Type": "application/xml"}
TAG: Final = {"ETag": '"e"'}
ERROR: Final = b"<?xml version='1.0'?>\n   <Error><Code>InternalError</Code></Error>"
COPIED: Final = b"<CopyObjectResult><ETag>&quot;e&quot;</ETag></CopyObjectResult>"
BEGUN: Final = b"<R><Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId></R>"
COMPLETE: Final = b"<R><ETag>&quot;e&quot;</ETag></R>"
NONE_OF_S3: Final = "answers that are none of S3"

Call = Callable[[S3Files], Awaitable[Any]]


@asynccontextmanager
async def answering(*answers: Answer) -> AsyncIterator[S3Files]:
    """A store that gives these answers one after the other, and the last one again and again."""
    left = list(answers)

    async def serve(_request: Request, connection: Connection) -> None:
        await connection.answer(left.pop(0) if len(left) > 1 else left[0])

    async with serving(serve) as files:
        yield files


@asynccontextmanager
async def serving(
    serve: Callable[[Request, Connection], Awaitable[None]],
) -> AsyncIterator[S3Files]:
    server = LoopbackServer(serve)
    with aws_environment():
        files = await S3Files.open("bucket", region=REGION, endpoint_url=await server.start())
    yield files
    await files.close()
    await server.stop()


def answer(body: bytes = b"", headers: Mapping[str, str] = XML, status: int = 200) -> Answer:
    return Answer(status, body, dict(headers))


def copy(files: S3Files) -> Awaitable[None]:
    return files.copy("a", "b", '"e"')


def write_small(files: S3Files) -> Awaitable[str]:
    return files.write("k", stream(b"1"), content_type="text/csv")


def write_large(files: S3Files) -> Awaitable[str]:
    return files.write("k", stream(bytes(PART_BYTES), b"1"), content_type="text/csv")


def read_all(files: S3Files) -> Awaitable[bytes]:
    return whole(files.read("k"))


def read_middle(files: S3Files) -> Awaitable[bytes]:
    return whole(files.read("k", start=4, end=6))


def read_rest(files: S3Files) -> Awaitable[bytes]:
    return whole(files.read("k", start=4))


@pytest.mark.parametrize(
    ("call", "answers"),
    [
        (copy, [answer()]),
        (copy, [answer(b"<html>welcome</html>")]),
        (write_small, [answer()]),
        (write_large, [answer(BEGUN), answer(headers=TAG), answer(headers=TAG), answer()]),
        (write_large, [answer(BEGUN), answer()]),
        (write_large, [answer()]),
        (lambda files: files.list("a"), [answer()]),
        (lambda files: files.list("a"), [answer(b"<html>welcome</html>")]),
        (lambda files: files.list_folders("a/"), [answer(b"<html>welcome</html>")]),
        (read_middle, [answer(DIGITS, TAG)]),
        (read_middle, [answer(b"01", TAG | {"Content-Range": "bytes 0-1/10"}, 206)]),
        (read_middle, [answer(b"4", TAG | {"Content-Range": "bytes 4-4/10"}, 206)]),
        (read_middle, [answer(b"45", TAG | {"Content-Range": "pages 4-5/10"}, 206)]),
        (read_rest, [answer(b"45", TAG | {"Content-Range": "bytes 4-5/10"}, 206)]),
        (read_middle, [answer(b"456", TAG | {"Content-Range": "bytes 4-5/10"}, 206)]),
        (read_all, [answer(b"", TAG | {"Content-Length": str(OBJECT_BYTES + 1)})]),
        (read_all, [answer(b"<R><Error/></R>", status=403)]),
        (write_small, [answer(b"<R><Error/></R>", status=403)]),
    ],
)
async def test_an_answer_that_does_not_say_what_was_done_is_a_failure(
    call: Call, answers: Sequence[Answer]
) -> None:
    async with answering(*answers) as files:
        with pytest.raises(Unavailable, match=NONE_OF_S3):
            await call(files)


@pytest.mark.parametrize(
    ("call", "answers", "result"),
    [
        (copy, [answer(ERROR), answer(COPIED)], None),
        (write_small, [answer(ERROR), answer(headers=TAG)], '"e"'),
        (
            write_large,
            [answer(BEGUN), *[answer(headers=TAG)] * 2, answer(ERROR), answer(COMPLETE)],
            '"e"',
        ),
        (read_middle, [answer(b"45", TAG | {"Content-Range": "bytes 4-5/10"}, 206)], b"45"),
        (read_rest, [answer(DIGITS[4:], TAG | {"Content-Range": "bytes 4-9/10"}, 206)], DIGITS[4:]),
    ],
)
async def test_an_error_in_an_answer_of_status_200_is_one_and_is_tried_again(
    call: Call, answers: Sequence[Answer], result: object
) -> None:
    async with answering(*answers) as files:
        assert await call(files) == result


@pytest.mark.parametrize(
    ("then", "failure"),
    [
        (answer(DIGITS, TAG), Unavailable),
        (answer(b"56789", {"ETag": '"f"', "Content-Range": "bytes 5-9/10"}, 206), FileReplaced),
    ],
    ids=["the whole file again", "another file"],
)
async def test_what_follows_a_broken_answer_continues_the_same_file(
    then: Answer, failure: type[Exception]
) -> None:
    async with breaking(then) as (files, behaviour):
        with pytest.raises(failure):
            await whole(files.read("a"))
    assert behaviour.seen == [(None, None), ("bytes=5-", '"e"')]


@pytest.mark.parametrize(
    "head",
    [
        'HTTP/1.1 200 OK\r\nETag: "e"\r\n\r\n',
        'HTTP/1.1 200 OK\r\nETag: "e"\r\nTransfer-Encoding: chunked\r\n\r\n',
        'HTTP/1.0 200 OK\r\nETag: "e"\r\nConnection: close\r\n\r\n',
    ],
)
async def test_a_file_whose_size_is_not_said_is_not_read(head: str) -> None:
    async def serve(_request: Request, connection: Connection) -> None:
        await connection.send(head.encode() + b"5\r\n01234\r\n" * 3)
        await connection.fall_silent()

    async with serving(serve) as files:
        with pytest.raises(Unavailable, match=NONE_OF_S3):
            await anext(files.read("k"))


class LongBody:
    """The content of an answer that has more bytes than the answer says."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def read(self, _most: int) -> bytes:
        return b"0123"


class LongClient:
    """A client of S3 that gives such an answer."""

    async def get_object(self, **_: object) -> dict[str, Any]:
        return {"ETag": '"e"', "ContentLength": 6, "Body": LongBody()}


async def test_a_file_ends_where_its_answer_says() -> None:
    files = S3Files("b", LongClient(), AsyncExitStack(), Patience(30.0, 10.0))
    chunks = files.read("k")
    assert await anext(chunks) == b"0123"
    with pytest.raises(Unavailable, match=NONE_OF_S3):
        await anext(chunks)


@pytest.mark.parametrize(
    "odd",
    [
        *(answer(status=status) for status in (300, 302, 303, 304, 307, 308, 412, 416)),
        answer(b"<Error/>", status=403),
    ],
    ids=lambda odd: str(odd.status),
)
async def test_a_refusal_that_was_not_asked_for_is_no_answer_of_s3(
    odd: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(odd, answer(DIGITS, TAG)) as files:
        assert await read_all(files) == DIGITS
    monkeypatch.setattr("penstock.datastore.objects.s3.Attempts", lambda *_, **__: Attempts(0.01))
    async with answering(odd) as files:
        for call in (read_all, write_small):
            with pytest.raises(Unavailable, match="The store did not answer"):
                await call(files)


async def test_a_bucket_that_is_elsewhere_is_refused_with_its_region_at_once() -> None:
    moved = b"<Error><Code>PermanentRedirect</Code><Message>Use eu-west-1.</Message></Error>"
    async with answering(answer(moved, status=301)) as files:
        with pytest.raises(RequestRefused, match="PermanentRedirect: Use eu-west-1"):
            await read_all(files)


async def test_the_statuses_of_conditions_are_answers_where_these_were_sent() -> None:
    async with answering(answer(status=412)) as files:
        for start, end in ((5, 5), (5, 9), (0, None)):
            with pytest.raises(FileReplaced):
                await files._begin_read("k", start, end, '"e"')
        with pytest.raises(FileReplaced):
            await copy(files)
    past = b"<Error><Code>InvalidRange</Code><Message>It is.</Message></Error>"
    async with answering(answer(past, status=416)) as files:
        assert await read_rest(files) == b""
