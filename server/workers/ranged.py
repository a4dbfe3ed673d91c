"""Ranges of files by URLs that open them, read on a machine that has no other access to them."""

import time
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from penstock.datastore.executions.engine import CHUNK

ATTEMPTS: Final = 5
PAUSE: Final = 0.2
TIMEOUT: Final = 60.0

PARTIAL: Final = 206
SERVER_ERRORS: Final = 500


class PartFailed(Exception):
    """A part could not be worked on; the message holds no secret."""


class Source(msgspec.Struct, frozen=True):
    """A file by a URL that opens it, which therefore is in no log."""

    url: str

    def __repr__(self) -> str:
        return "Source()"


def fetched(source: Source, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` up to `end`, cut where a file that is read whole is cut.

    What breaks off is taken up again where it did, a few times over; raises PartFailed then.
    """
    failures = 0
    while start < end:
        try:
            for block in _opened(source, start, end):
                yield block
                start += len(block)
                failures = 0
        except (OSError, HTTPException) as error:
            failures += 1
            if failures == ATTEMPTS or _is_final(error):
                raise PartFailed(f"A file cannot be read: {_told(error)}.") from None
            time.sleep(PAUSE * 2**failures)


def _opened(source: Source, start: int, end: int) -> Iterator[bytes]:
    wanted = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
    request = Request(source.url, headers=wanted)  # noqa: S310 - a URL of our own files
    with _answer(request) as response:
        if response.status != PARTIAL:
            raise HTTPException(f"{response.status} in place of a range")
        while start < end:
            yield _block(response, min(end, (start // CHUNK + 1) * CHUNK) - start)
            start = min(end, (start // CHUNK + 1) * CHUNK)


def _answer(request: Request) -> HTTPResponse:
    try:
        answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310 - likewise
    except HTTPError as error:
        error.close()
        raise
    return answer


def _block(response: HTTPResponse, size: int) -> bytes:
    block = response.read(size)
    if len(block) < size:
        raise HTTPException("the connection broke off")
    return block


def _is_final(error: Exception) -> bool:
    return isinstance(error, HTTPError) and error.code < SERVER_ERRORS


def _told(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"HTTP {error.code}"
    return f"{type(error).__name__} {error}"
