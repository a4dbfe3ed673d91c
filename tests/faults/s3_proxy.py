"""A proxy for an S3 endpoint that refuses, delays and breaks off requests by script."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from enum import StrEnum
from io import BytesIO
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

import aiohttp
from yarl import URL

from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request

SLOW_SECONDS = 0.2
KEPT = ("Content-Type", "ETag", "Last-Modified", "Content-Length", "Content-Range")


class S3Fault(StrEnum):
    """One fault of one request."""

    SLOW_DOWN = "503 SlowDown, nothing done"
    UNKNOWN_UPLOAD = "404 NoSuchUpload, nothing done"
    DENIED = "403 AccessDenied, nothing done"
    RESET_BEFORE = "the connection is reset, nothing done"
    RESET_AFTER = "done, then the connection is reset before the answer"
    CUT_OFF = "half of the answer's body, then the connection is reset"
    SLOW = "done and answered after 200 ms"
    STALLED = "half of the answer's body, then nothing more"


_REFUSALS: Mapping[S3Fault, tuple[int, str]] = {
    S3Fault.SLOW_DOWN: (503, "SlowDown"),
    S3Fault.UNKNOWN_UPLOAD: (404, "NoSuchUpload"),
    S3Fault.DENIED: (403, "AccessDenied"),
}


class S3Proxy:
    """Passes requests on to `upstream_url`; `done` counts the forwarded ones by operation."""

    def __init__(self, upstream_url: str) -> None:
        self.url = ""
        self.done: Counter[str] = Counter()
        self._upstream_url = upstream_url
        self._server = LoopbackServer(self._serve)
        self._scripts: dict[str, deque[S3Fault]] = defaultdict(deque)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(auto_decompress=False)
        self.url = await self._server.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._server.stop()
        await self._session.close()

    def script(self, operation: str, *faults: S3Fault) -> None:
        """Give the next requests of the operation these faults in turn."""
        self._scripts[operation].extend(faults)

    @property
    def left(self) -> int:
        """Return the number of scripted faults that no request has met."""
        return sum(map(len, self._scripts.values()))

    async def _serve(self, request: Request, connection: Connection) -> None:
        operation = operation_of(request)
        script = self._scripts[operation]
        fault = script.popleft() if script else None
        match fault:
            case S3Fault.RESET_BEFORE:
                connection.reset()
                return
            case S3Fault.SLOW_DOWN | S3Fault.UNKNOWN_UPLOAD | S3Fault.DENIED:
                await connection.answer(_error(*_REFUSALS[fault]))
                return
            case S3Fault.SLOW:
                await asyncio.sleep(SLOW_SECONDS)
        answer = await self._pass_on(operation, request)
        if fault in (S3Fault.CUT_OFF, S3Fault.STALLED):
            half = Answer(answer.status, answer.body[: len(answer.body) // 2], answer.headers)
            await connection.answer(half)
        if fault in (S3Fault.RESET_AFTER, S3Fault.CUT_OFF):
            connection.reset()
        elif fault is not S3Fault.STALLED:
            await connection.answer(answer)

    async def _pass_on(self, operation: str, request: Request) -> Answer:
        self.done[operation] += 1
        headers = {
            name: value
            for name, value in request.headers.items()
            if name not in ("host", "expect", "connection", "transfer-encoding")
        }
        async with self._session.request(
            request.method,
            URL(self._upstream_url + request.target, encoded=True),
            data=BytesIO(request.body) if request.body else None,
            headers=headers,
        ) as answer:
            kept = {name: answer.headers[name] for name in KEPT if name in answer.headers}
            return Answer(answer.status, await answer.read(), kept)


def operation_of(request: Request) -> str:
    """Return S3's name of the requested operation."""
    parts = urlsplit(request.target)
    query = parse_qs(parts.query, keep_blank_values=True)
    is_object = parts.path.strip("/").count("/") > 0
    match request.method:
        case "POST":
            return "CreateMultipartUpload" if "uploads" in query else "CompleteMultipartUpload"
        case "DELETE":
            return "AbortMultipartUpload" if "uploadId" in query else "DeleteObject"
        case "HEAD":
            return "HeadObject" if is_object else "HeadBucket"
        case "PUT" if "partNumber" in query:
            return "UploadPart"
        case "PUT":
            return "CopyObject" if "x-amz-copy-source" in request.headers else "PutObject"
        case _:
            return "GetObject" if is_object else "List"


def _error(status: int, code: str) -> Answer:
    body = f"<Error><Code>{code}</Code><Message>planned</Message></Error>"
    return Answer(status, body.encode(), {"Content-Type": "application/xml"})
