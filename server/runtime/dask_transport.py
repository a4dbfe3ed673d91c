"""Ranges of files by URLs that open them, read on a machine that has no other access to them.

Calls and answers as bytes, which is all that a cluster ever sees of them.

Dask unpickles what it is given outside of any task: on a machine without Penstock that would end
the machine's process, and the scheduler would need Penstock, too. In a task it is a failure.
"""

import pickle
import time
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from penstock.datastore.executions.row_engine import CHUNK

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


open_call = pickle.loads
"""Makes the call that bytes hold; known to every machine, whatever is installed on it."""


def packed(function: Callable[..., object], *arguments: object) -> bytes:
    """The call of a function of a module as bytes, from which no log shows a URL."""
    call = zlib.compress(pickle.dumps(_Reduced(answered, function, arguments)))
    return pickle.dumps(_Reduced(open_call, _Reduced(zlib.decompress, call)))


def unpacked(answer: bytes) -> Any:
    """What the function returned; raises the PartFailed that it raised."""
    found = pickle.loads(answer)  # noqa: S301 - from the cluster, which is trusted with the plan
    if isinstance(found, PartFailed):
        raise found
    return found


def answered(function: Callable[..., object], arguments: tuple[object, ...]) -> bytes:
    """The answer to a call, as bytes; a failure is one, too, lest Dask logs it with its call."""
    try:
        return pickle.dumps(function(*arguments))
    except PartFailed as failed:
        return pickle.dumps(failed)


class _Reduced:
    """Stands for what a function makes of arguments, where it is unpickled."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._made = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._made
