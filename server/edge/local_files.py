"""Receives the uploads and serves the downloads of the directory store, at signed URLs.

Uploads are forms as on S3; downloads may request a byte range.
"""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from email.utils import format_datetime

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, URLPath
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects.directory import (
    FORM_USES,
    FormUsedUp,
    LocalFiles,
    OpenFile,
    UploadRefused,
)
from penstock.datastore.objects.port import Chunks, Stat, content_disposition
from penstock.datastore.objects.signed_links import SignedLink
from penstock.server.connections.connection import connection_of
from penstock.server.connections.file_transfers import (
    FileTransfers,
    TooManyTransfers,
    Transfer,
    begin_transfer,
)
from penstock.server.edge.multipart_form import (
    FORM_BYTES,
    MultipartForm,
    RefusedFileRequest,
    malformed_form,
)
from penstock.server.edge.request import route_path

PREFIX = "/files/"
METHODS = "GET, HEAD, POST"
RETRY_AFTER = "5"

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII | re.IGNORECASE)
_INLINE = re.compile(r"(audio|video)/.*|image/(?!svg).*|text/plain.*|application/json", re.I)


def file_routes(files: LocalFiles, most: int) -> list[BaseRoute]:
    """Return the route, which sends and receives at most so many files at once."""
    return [FilesRoute(files, most)]


class FilesRoute(BaseRoute):
    """The route for all paths below `/files/`; each access needs a valid signature."""

    def __init__(self, files: LocalFiles, most: int) -> None:
        self._files = files
        self._transfers = FileTransfers(most)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and route_path(scope).startswith(PREFIX):
            return Match.FULL, {}
        return Match.NONE, {}

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with AsyncExitStack() as held:
            try:
                response = await self._answer(request, held)
            except RefusedFileRequest as refusal:
                response = PlainTextResponse(refusal.words, refusal.status, refusal.headers)
                if "expect" in request.headers:
                    # Whether the client still sends its body, nobody knows.
                    response.headers["Connection"] = "close"
            except NotFound as error:
                response = PlainTextResponse(error.message, 404)
            except Unavailable as error:
                retry = {"Retry-After": str(error.retry_after)}
                response = PlainTextResponse(error.message, 503, retry)
            except ClientDisconnect:
                return
            response.headers["X-Content-Type-Options"] = "nosniff"
            await response(scope, receive, send)

    async def _answer(self, request: Request, held: AsyncExitStack) -> Response:
        if request.method in {"GET", "HEAD"}:
            link = self._signed_link(request, "GET")
            transfer = held.enter_context(self._begin_transfer(request.scope))
            opened = await held.enter_async_context(self._files.open_file(link.key))
            return _download(request, link, opened, transfer)
        if request.method == "POST":
            return await self._upload(request)
        raise RefusedFileRequest(405, f"Allowed are {METHODS}.", {"Allow": METHODS})

    def _signed_link(self, request: Request, method: str) -> SignedLink:
        signed = route_path(request.scope).removeprefix(PREFIX)
        link = self._files.signer.check(method, signed.encode())
        if link is None or request.scope["query_string"]:
            raise RefusedFileRequest(403, "The URL is not valid, or no longer.")
        return link

    @contextmanager
    def _begin_transfer(self, scope: Scope) -> Iterator[Transfer]:
        """Count a transfer until the block ends; RefusedFileRequest if there are too many."""
        try:
            with begin_transfer(self._transfers, scope) as transfer:
                yield transfer
        except TooManyTransfers:
            words = "Too many files are sent and received; try again later."
            raise RefusedFileRequest(503, words, {"Retry-After": RETRY_AFTER}) from None

    async def _upload(self, request: Request) -> Response:
        link, headers = self._signed_link(request, "POST"), request.headers
        if int(headers.get("content-length", "0")) > link.max_bytes + FORM_BYTES:
            raise _too_large(link)
        form = MultipartForm(_boundary(headers), _pass_on_body(request))
        if await form.fields() != {"key": link.key, "Content-Type": link.content_type}:
            raise RefusedFileRequest(
                403, "The fields of the form are not the ones that were signed."
            )
        try:
            with self._begin_transfer(request.scope) as transfer:
                content = _limit_size(form.content(), link, transfer)
                etag = await self._files.write_upload(link, content)
        except FormUsedUp:
            raise RefusedFileRequest(
                409, f"The form was used {FORM_USES} times; take another one."
            ) from None
        except UploadRefused:
            raise RefusedFileRequest(
                409, "The file was confirmed and cannot be replaced any more."
            ) from None
        return Response(status_code=204, headers={"ETag": etag})


async def _pass_on_body(request: Request) -> AsyncIterator[bytes]:
    """Yield the pieces of a body, each of which is held until the next one is wanted."""
    connection = connection_of(request.scope)
    async for piece in request.stream():
        yield piece
        if connection is not None:
            connection.release_body(len(piece))


def _boundary(headers: Headers) -> bytes:
    kind, options = parse_options_header(headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise RefusedFileRequest(415, "The body is a form: multipart/form-data.")
    if len(boundary) > 70 or not boundary.isascii():
        raise malformed_form()
    return boundary


async def _limit_size(chunks: Chunks, link: SignedLink, transfer: Transfer) -> Chunks:
    async for chunk in chunks:
        transfer.size += len(chunk)
        if transfer.size > link.max_bytes:
            raise _too_large(link)
        yield chunk


async def _count_size(chunks: Chunks, transfer: Transfer) -> Chunks:
    async for chunk in chunks:
        yield chunk
        transfer.size += len(chunk)


def _too_large(link: SignedLink) -> RefusedFileRequest:
    return RefusedFileRequest(413, f"The file may have at most {link.max_bytes} bytes.")


def _download(request: Request, link: SignedLink, opened: OpenFile, transfer: Transfer) -> Response:
    stat = opened.stat
    headers = _file_headers(link, stat)
    if stat.etag in _etags(request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    wanted = _requested_range(request, stat)
    start, end = wanted or (0, stat.size)
    headers["Content-Length"] = str(end - start)
    if request.method == "HEAD":
        return Response(headers=headers)
    content = _count_size(opened.read(start, end), transfer)
    if wanted is None:
        return StreamingResponse(content, headers=headers)
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{stat.size}"
    return StreamingResponse(content, 206, headers)


def _file_headers(link: SignedLink, stat: Stat) -> dict[str, str]:
    """Return headers that describe the file, so that no browser runs it as a page of this site."""
    kind = link.content_type or stat.content_type
    shown = "inline" if _INLINE.fullmatch(kind) else "attachment"
    return {
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": content_disposition(link.filename) if link.filename else shown,
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Type": kind,
        "ETag": stat.etag,
        "Last-Modified": format_datetime(stat.modified, usegmt=True),
        "Referrer-Policy": "no-referrer",
    }


def _etags(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}


def _requested_range(request: Request, stat: Stat) -> tuple[int, int] | None:
    """Return the requested byte range, its end excluded; None for the whole file."""
    found = _RANGE.fullmatch(request.headers.get("range", ""))
    condition = request.headers.get("if-range", stat.etag)
    if not found or request.method == "HEAD" or condition != stat.etag:
        return None
    first, last = found.groups()
    if first and last and int(last) < int(first):
        return None
    if first:
        start, end = int(first), min(int(last or stat.size) + 1, stat.size)
    elif last:
        start, end = max(stat.size - int(last), 0), stat.size
    else:
        return None
    if start >= end:
        raise RefusedFileRequest(416, "No such bytes.", {"Content-Range": f"bytes */{stat.size}"})
    return start, end
