"""Receives the uploads and serves the downloads of the directory store, at signed URLs.

Uploads are forms as on S3; downloads may request a byte range.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from email.utils import format_datetime

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import Headers, URLPath
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects.directory import LocalFiles, OpenFile, UploadRefused
from penstock.datastore.objects.download_names import content_disposition
from penstock.datastore.objects.port import Chunks, Stat
from penstock.datastore.objects.signed_links import SignedLink
from penstock.server.connections.connection import connection_of
from penstock.server.connections.file_transfers import (
    FileTransfers,
    TooManyTransfers,
    Transfer,
    begin_transfer,
)
from penstock.server.edge.request import route_path

PREFIX = "/files/"
METHODS = "GET, HEAD, POST"
END_OF_HEAD = b"\r\n\r\n"
FORM_BYTES = 32 * 1024
FIELD_BYTES = 4 * 1024
FIELDS = 16
EMPTY_LINES = 4 * FIELDS
RETRY_AFTER = "5"

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII | re.IGNORECASE)
_INLINE = re.compile(r"(audio|video)/.*|image/(?!svg).*|text/plain.*|application/json", re.I)


def file_routes(files: LocalFiles, most: int) -> list[BaseRoute]:
    """Return the route, which sends and receives at most so many files at once."""
    return [FilesRoute(files, most)]


class RefusedFileRequest(Exception):
    """The request gets this status, text and headers."""

    def __init__(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.headers = headers or {}


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


class MultipartForm:
    """A multipart/form-data body, read in one pass with one chunk in memory at a time.

    The fields come first and the file last. Raises RefusedFileRequest for any other body. The
    parser reads what is in front of the file's content; the end of the content is searched here,
    because the parser takes a hundred times as long where much looks like the boundary.
    """

    def __init__(self, boundary: bytes, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._fields: dict[str, str] = {}
        self._header = self._value = b""
        self._name = ""
        self._content: list[bytes] = []
        self._overhead = self._empty_lines = 0
        self._in_file = self._is_over = self._is_malformed = self._is_behind_file = False
        self._delimiter = b"\r\n--" + boundary
        self._last = self._held = b""
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._add_header,
                "on_header_value": self._add_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_head,
                "on_part_data": self._add_data,
                "on_part_end": self._end_part,
            },
            max_header_size=FIELD_BYTES,
        )

    async def fields(self) -> dict[str, str]:
        """Read the fields, up to the content of the part named `file`."""
        while not self._in_file:
            await self._feed()
        return self._fields

    async def content(self) -> Chunks:
        """Yield the file's content, and check that the form ends after it."""
        while True:
            content, self._content = self._content, []
            for chunk in content:
                yield chunk
            if self._is_over:
                return
            await self._feed()

    async def _feed(self) -> None:
        chunk = b"" if self._is_malformed else await anext(self._stream, b"")
        if not chunk:
            raise _malformed_form()
        content = chunk if self._in_file else self._parse_fields(chunk)
        if self._in_file:
            self._read_content(content)

    def _parse_fields(self, chunk: bytes) -> bytes:
        """Let the parser read up to the content of the file; return what belongs to it."""
        at = 0
        while at < len(chunk) and not (self._in_file or self._is_malformed):
            end = self._end_of_head(chunk, at)
            self._overhead += end - at
            if self._overhead > FORM_BYTES or self._empty_lines > EMPTY_LINES:
                self._is_malformed = True
                break
            try:
                self._parser.write(chunk[at:end])
            except MultipartParseError:
                # The fields before the error are checked first: unsigned fields get a 403.
                self._is_malformed = True
            self._last = (self._last + chunk[at:end])[1 - len(END_OF_HEAD) :]
            at = end
        return chunk[at:]

    def _end_of_head(self, chunk: bytes, start: int) -> int:
        """The end of the next empty line, which may end the head of a part; else of the chunk."""
        before = len(self._last)
        across = self._last + chunk[start : start + len(END_OF_HEAD) - 1]
        found = across.find(END_OF_HEAD)
        at = chunk.find(END_OF_HEAD, start) if found < 0 else start + found - before
        if found < 0 and at < 0:
            return len(chunk)
        self._empty_lines += 1
        return at + len(END_OF_HEAD)

    def _read_content(self, data: bytes) -> None:
        """Take bytes of the file, or of what follows it: the end of the form."""
        self._held += data
        if not self._is_behind_file:
            end = self._held.find(self._delimiter)
            # Of a delimiter that has begun, all but one byte may be here.
            size = max(0, len(self._held) - len(self._delimiter) + 1) if end < 0 else end
            if size:
                self._content.append(self._held[:size])
            self._is_behind_file = end >= 0
            self._held = self._held[size:]
            if self._is_behind_file:
                self._held = self._held[len(self._delimiter) :]
        if self._is_behind_file:
            self._is_over = self._held.startswith(b"--")
            self._is_malformed = not b"--".startswith(self._held[:2])

    def _begin_part(self) -> None:
        self._header = self._value = b""
        self._name = ""

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        if len(self._value) + end - start > FIELD_BYTES:
            raise MultipartParseError("The value is too long.")
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            name = parse_options_header(self._value)[1].get(b"name", b"")
            self._name = name.decode(errors="replace")
        self._header = self._value = b""

    def _end_head(self) -> None:
        self._in_file = self._name == "file"
        if self._name in self._fields or (len(self._fields) == FIELDS and not self._in_file):
            raise MultipartParseError("The field is there twice, or one too many.")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._add_value(data, start, end)

    def _end_part(self) -> None:
        self._fields[self._name] = self._value.decode(errors="replace")


def _boundary(headers: Headers) -> bytes:
    kind, options = parse_options_header(headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise RefusedFileRequest(415, "The body is a form: multipart/form-data.")
    if len(boundary) > 70 or not boundary.isascii():
        raise _malformed_form()
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


def _malformed_form() -> RefusedFileRequest:
    return RefusedFileRequest(
        400, "The form has the fields first, the file last and nothing behind it."
    )


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
