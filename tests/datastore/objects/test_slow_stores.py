"""A store that sends byte by byte is given up, and a list rests behind each of its pages."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any, Self

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.objects import s3
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.s3_client import Patience
from tests.support.loop_clock import LONG, let_tasks_run, pass_time


class SlowBody:
    """The content of an answer, of which each piece comes after so many seconds."""

    def __init__(self, pieces: int, size: int, seconds: float) -> None:
        self.left = pieces
        self.total = pieces * size
        self._size = size
        self._seconds = seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def read(self, _most: int) -> bytes:
        if not self.left:
            return b""
        self.left -= 1
        await pass_time(self._seconds)
        return b"x" * self._size


class SlowClient:
    """A client of S3 that gives one body."""

    def __init__(self, body: SlowBody) -> None:
        self._body = body

    async def get_object(self, **_: object) -> dict[str, Any]:
        return {"ETag": '"e"', "Body": self._body, "ContentLength": self._body.total}


def open_slow(body: SlowBody) -> S3Files:
    return S3Files("b", SlowClient(body), AsyncExitStack(), Patience(30.0, 10.0))


async def test_a_file_that_comes_byte_by_byte_is_given_up() -> None:
    await pass_time(0)
    body = SlowBody(100, 2, 9.0)
    with pytest.raises(Unavailable, match="too slowly"):
        async for _ in open_slow(body).read("a"):
            pass
    assert body.left == 96


async def test_a_file_may_come_slowly_and_be_read_more_slowly() -> None:
    await pass_time(0)
    size, total = s3.LEAST_SPEED, 0
    async for chunk in open_slow(SlowBody(40, size, 1.0)).read("a"):
        await pass_time(1_000.0)
        total += len(chunk)
    assert total == 40 * size


class ShortPages:
    """A client of S3 whose bucket has four files, of which each page lists one."""

    def __init__(self) -> None:
        self.began = list[float]()

    async def list_objects_v2(self, **_: object) -> dict[str, Any]:
        self.began.append(asyncio.get_running_loop().time())
        number = len(self.began)
        file = {"Key": str(number), "Size": 1, "ETag": "e"}
        return {"IsTruncated": number < 4, "Contents": [file]}


async def test_a_list_rests_behind_each_page_that_goes_on() -> None:
    client = ShortPages()
    patience = Patience(LONG, LONG, page_rest=LONG)
    await pass_time(0)
    began = asyncio.get_running_loop().time()
    listing = asyncio.create_task(S3Files("b", client, AsyncExitStack(), patience).list(""))
    for pages in (1, 2, 3):
        await let_tasks_run()
        assert len(client.began) == pages
        await pass_time(LONG)
    assert await listing == ("1", "2", "3", "4")
    assert client.began[-1] - began >= 3 * LONG
