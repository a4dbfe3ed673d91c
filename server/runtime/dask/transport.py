"""The transport to a Dask cluster: ranges of files by signed URLs, and calls and results as bytes.

Dask unpickles its arguments outside of any task: on a machine without Penstock that would end the
process, and the scheduler would need Penstock, too. Inside a task it is a failure of the task.
"""

import pickle
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec

from penstock.datastore.executions.workers.row_engine import STEP_BYTES
from penstock.datastore.logged_errors import describe_error
from penstock.server.core.http_client import PacedReading, open_blocking_client

ATTEMPTS: Final = 5
PAUSE: Final = 0.2
TIMEOUT: Final = 30.0
"""The seconds for which a machine waits for a connection, and for the next bytes."""

LEAST_PACE: Final = 16 * 1024
"""The bytes of a file that come in a second, at least, after SPARE_SECONDS."""

SPARE_SECONDS: Final = 30.0

AROUND: Final = 256 * 1024
"""The bytes around a range: the head of the answer, and the sizes of chunks."""

_WANTED: Final = {"accept-encoding": "identity", "connection": "close"}


class PartFailed(Exception):
    """A part could not be read or transformed.

    The message is for everybody who sees the execution, the detail for the log of the worker;
    neither holds a secret.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message, detail)
        self.message = message
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.message} {self.detail}".rstrip()


class SourceUrl(msgspec.Struct, frozen=True):
    """A file by its signed URL, which `repr` hides from logs."""

    url: str

    def __repr__(self) -> str:
        return "SourceUrl()"


class UnwantedStatus(Exception):
    """The store of files answered with this status in place of what was asked."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


NETWORK_FAILURES: Final = (httpx.HTTPError, httpx.InvalidURL, OSError, UnwantedStatus)


def is_final(error: Exception) -> bool:
    """Whether the store would answer so again; a redirect leads nowhere."""
    return (
        isinstance(error, UnwantedStatus)
        and not httpx.codes.is_success(error.status)
        and not httpx.codes.is_server_error(error.status)
    )


def part_failure(url: str, what: str, error: Exception) -> PartFailed:
    """Tell the log which address was tried; the rest of the URL is a secret."""
    status = f": HTTP {error.status}" if isinstance(error, UnwantedStatus) else ""
    address = urlsplit(url)
    place = f"{address.scheme}://{address.netloc}"
    advice = "If it is this server's, set PENSTOCK_PUBLIC_URL to a URL that the machines reach."
    return PartFailed(
        f"A machine of the cluster cannot {what} a file of the execution{status}.",
        f"Tried {place}: {describe_error(error)}. {advice}",
    )


def fetch_range(source: SourceUrl, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `end`, cut at multiples of STEP_BYTES as for a whole file.

    It resumes a broken download a few times; then raises PartFailed.
    """
    failures = 0
    while start < end:
        try:
            for block in _read_range(source, start, end):
                yield block
                start += len(block)
                failures = 0
        except NETWORK_FAILURES as error:
            failures += 1
            if failures == ATTEMPTS or is_final(error):
                raise part_failure(source.url, "read", error) from None
            time.sleep(PAUSE * 2**failures)


def _read_range(source: SourceUrl, start: int, end: int) -> Iterator[bytes]:
    wanted = {"range": f"bytes={start}-{end - 1}", **_WANTED}
    bounds = PacedReading(end - start + AROUND, LEAST_PACE, SPARE_SECONDS).extensions
    with (
        open_blocking_client(timeout=TIMEOUT) as client,
        client.stream("GET", source.url, headers=wanted, extensions=bounds) as response,
    ):
        if response.status_code != httpx.codes.PARTIAL_CONTENT:
            raise UnwantedStatus(response.status_code)
        held, at = bytearray(), start
        for piece in response.iter_raw():
            held += piece
            while at < end and len(held) >= (size := _next_cut(at, end) - at):
                yield bytes(held[:size])
                del held[:size]
                at += size
            if at == end:
                return
        raise httpx.ReadError("the connection broke off")


def _next_cut(at: int, end: int) -> int:
    return min(end, (at // STEP_BYTES + 1) * STEP_BYTES)


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
