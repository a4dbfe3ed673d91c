"""The transport to a Dask cluster: ranges of files by signed URLs, and calls and results as bytes.

Dask unpickles its arguments outside of any task: on a machine without Penstock that would end the
process, and the scheduler would need Penstock, too. Inside a task it is a failure of the task.
"""

import pickle
import time
import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import msgspec

from penstock.datastore.executions.row_engine import STEP_BYTES

ATTEMPTS: Final = 5
PAUSE: Final = 0.2
TIMEOUT: Final = 60.0

PARTIAL: Final = 206
SERVER_ERRORS: Final = 500


class PartFailed(Exception):
    """A part could not be read or transformed; the message holds no secret."""


class SourceUrl(msgspec.Struct, frozen=True):
    """A file by its signed URL, which `repr` hides from logs."""

    url: str

    def __repr__(self) -> str:
        return "SourceUrl()"


def fetch_range(source: SourceUrl, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `end`, cut at multiples of CHUNK as for a whole file.

    It resumes a broken download a few times; then raises PartFailed.
    """
    failures = 0
    while start < end:
        try:
            for block in _read_range(source, start, end):
                yield block
                start += len(block)
                failures = 0
        except (OSError, HTTPException) as error:
            failures += 1
            if failures == ATTEMPTS or _is_final(error):
                raise PartFailed(_describe_failure(source, error)) from None
            time.sleep(PAUSE * 2**failures)


def _read_range(source: SourceUrl, start: int, end: int) -> Iterator[bytes]:
    wanted = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
    request = Request(source.url, headers=wanted)  # noqa: S310 - a URL of our own files
    with _open_request(request) as response:
        if response.status != PARTIAL:
            raise HTTPException(f"{response.status} in place of a range")
        while start < end:
            yield _read_block(response, min(end, (start // STEP_BYTES + 1) * STEP_BYTES) - start)
            start = min(end, (start // STEP_BYTES + 1) * STEP_BYTES)


def _open_request(request: Request) -> HTTPResponse:
    try:
        answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310 - likewise
    except HTTPError as error:
        error.close()
        raise
    return answer


def _read_block(response: HTTPResponse, size: int) -> bytes:
    block = response.read(size)
    if len(block) < size:
        raise HTTPException("the connection broke off")
    return block


def _is_final(error: Exception) -> bool:
    return isinstance(error, HTTPError) and error.code < SERVER_ERRORS


def _describe_failure(source: SourceUrl, error: Exception) -> str:
    """Say which address was tried; the rest of the URL is a secret."""
    address = urlsplit(source.url)
    place = f"{address.scheme}://{address.netloc}"
    if isinstance(error, HTTPError):
        return f"A file cannot be read: HTTP {error.code} from {place}."
    advice = "If it is this server's, set PENSTOCK_PUBLIC_URL to a URL that the machines reach."
    return f"A file cannot be read at {place}: {type(error).__name__} {error}. {advice}"


open_call = pickle.loads
"""Makes the call from its bytes; every machine has this function of the standard library."""


def pack_call(function: Callable[..., object], *arguments: object) -> bytes:
    """Return the call of a module's function as bytes, so that no log shows a URL."""
    call = zlib.compress(pickle.dumps(_PickledCall(answer_call, function, arguments)))
    return pickle.dumps(_PickledCall(open_call, _PickledCall(zlib.decompress, call)))


def unpack_result(answer: bytes) -> Any:
    """Return the function's result; raises the PartFailed that it raised."""
    found = pickle.loads(answer)  # noqa: S301 - from the cluster, which is trusted with the plan
    if isinstance(found, PartFailed):
        raise found
    return found


def answer_call(function: Callable[..., object], arguments: tuple[object, ...]) -> bytes:
    """Return the result of a call as bytes; a PartFailed too, because Dask would log the call."""
    try:
        return pickle.dumps(function(*arguments))
    except PartFailed as failed:
        return pickle.dumps(failed)


class _PickledCall:
    """Unpickles as the result of a function call."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._call
