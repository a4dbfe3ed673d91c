"""The ways to a catalogue: a request for each event, or a line of a file."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from errno import ENOSPC
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx

from penstock.server.core.http_client import BoundedReading, open_http_client
from penstock.server.lineage.delivery import Sender, Sending

TIMEOUT_SECONDS: Final = 5.0
"""The longest silence of a catalogue."""

ANSWER_SECONDS: Final = 15.0
"""The time for a request and its whole answer, with whatever stands before it."""

MAX_ANSWER: Final = 65_536
"""The bytes of an answer beyond which its connection is closed and not used again."""

MAX_PIECES: Final = 2_048
"""The most chunks of such an answer."""

MAX_NETWORK_BYTES: Final = MAX_ANSWER + 64 * 1024
"""The most bytes that are read for an answer, with all that stands around its own."""

_TRY_AGAIN: Final = frozenset((408, 425, 429, 502, 503, 504))
"""The answers of a catalogue that is not there, or has too much to do."""

logger = logging.getLogger("penstock.lineage")


class HttpSender:
    """Posts events to one URL."""

    def __init__(self, client: httpx.AsyncClient, url: str, key: str | None = None) -> None:
        self._client = client
        self._url = url
        self._reading = BoundedReading(MAX_NETWORK_BYTES)
        self._headers = {"content-type": "application/json"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"

    async def send(self, event: bytes) -> Sending:
        self._reading.begin()
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._post(event) as answer:
                await _read_some(answer)
                return self._judge(answer.status_code)
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL) as error:
            logger.warning("the catalogue of data is not reached: %s", type(error).__name__)
            return Sending.TRY_AGAIN

    def _post(self, event: bytes) -> AbstractAsyncContextManager[httpx.Response]:
        return self._client.stream(
            "POST",
            self._url,
            content=event,
            headers=self._headers,
            extensions=self._reading.extensions,
        )

    def _judge(self, status: int) -> Sending:
        if 200 <= status < 300:
            return Sending.SENT
        if status in _TRY_AGAIN:
            logger.warning("the catalogue of data asks to wait (%d)", status)
            return Sending.TRY_AGAIN
        if status >= 500:
            logger.warning("the catalogue of data failed (%d)", status)
            return Sending.FAILED
        logger.warning("the catalogue of data refused an event (%d)", status)
        return Sending.REFUSED


async def _read_some(answer: httpx.Response) -> None:
    """Read a short answer, so that its connection can be used again."""
    size = pieces = 0
    async for chunk in answer.aiter_raw():
        size += len(chunk)
        pieces += 1
        if size > MAX_ANSWER or pieces > MAX_PIECES:
            return


class FileSender:
    """Appends events to a file, a whole line each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def send(self, event: bytes) -> Sending:
        try:
            await asyncio.to_thread(self._append, event + b"\n")
        except OSError as error:
            logger.warning("%s cannot be written: %s", self._path, error.strerror)
            return Sending.TRY_AGAIN
        return Sending.SENT

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # Several processes append to the file: nobody writes behind a part of a line.
            flock(descriptor, LOCK_EX)
            size = os.fstat(descriptor).st_size
            if os.write(descriptor, line) < len(line):
                os.ftruncate(descriptor, size)
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        finally:
            os.close(descriptor)


@asynccontextmanager
async def open_sender(url: str, key: str | None) -> AsyncIterator[Sender]:
    """Open the way to a URL of the settings: `https:`, `http:` or `file:`."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        yield FileSender(Path(unquote(parts.path)))
        return
    async with open_http_client(timeout=TIMEOUT_SECONDS) as client:
        yield HttpSender(client, url, key)
