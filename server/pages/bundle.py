"""Serves a built page: its HTML with the settings inside, and its assets, under a strict policy."""

from __future__ import annotations

import gzip
import json
import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from penstock.server.connections.file_transfers import (
    FileTransfers,
    TooManyTransfers,
    Transfer,
    begin_transfer,
)

# The form of the bundle's file names; requests never name the compressed form.
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(?:js|css|ttf|txt)")
MEDIA_TYPES = {".js": "text/javascript", ".ttf": "font/ttf"}

# Letters that could end the data block or begin markup inside it.
UNSAFE_IN_HTML = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&"})


@dataclass(frozen=True, slots=True)
class Bundle:
    """A built page: its name for people, its path, its folder, and the policy of its content."""

    name: str
    path: str
    dist: Path
    policy: str

    @property
    def template(self) -> Path:
        """The file of the page's HTML."""
        return self.dist / "index.html"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the page and of its assets."""
        return {
            "content-security-policy": self.policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }

    @property
    def page_headers(self) -> dict[str, str]:
        return {**self.headers, "cache-control": "no-store"}

    @property
    def asset_headers(self) -> dict[str, str]:
        return {
            **self.headers,
            "cache-control": "public, max-age=31536000, immutable",
            "vary": "accept-encoding",
        }


def asset_route(bundle: Bundle) -> BaseRoute:
    """Return the route of the assets; all clients together have so many transfers."""
    transfers = FileTransfers(MOST_TRANSFERS)

    async def asset(request: Request) -> Response:
        return serve_asset(request, bundle, transfers)

    return Route(f"{bundle.path}/assets/{{name}}", asset, name=f"{bundle.path[1:]}-asset")


def leading_route(path: str, target: str) -> BaseRoute:
    """Return the route of a path that leads a browser to the target, a path of the server."""

    async def lead(request: Request) -> Response:
        url = join_path(request.scope.get("root_path", ""), target)
        headers = {"cache-control": "no-store", "vary": "accept"}
        return RedirectResponse(url, status_code=302, headers=headers)

    return Route(path, lead)


def server_root(scope: Scope) -> str:
    """Return the path below which the server lies, of which an application has a part."""
    root: str = scope.get("app_root_path", scope.get("root_path", ""))
    return root


_ROOTS = 16
"""The roots below which a page is kept."""


class Page:
    """A built page with its settings as JSON inside, which all its answers share.

    `settings_below` returns the settings of a page whose server lies below a root. Until the page
    is built it answers 503.
    """

    def __init__(
        self, bundle: Bundle, settings_below: Callable[[str], Mapping[str, object]]
    ) -> None:
        self._bundle = bundle
        self._settings_below = settings_below
        self._render_once = lru_cache(maxsize=_ROOTS)(self._render)

    async def answer(self, request: Request) -> Response:
        """Answer with the page."""
        bundle, scope = self._bundle, request.scope
        try:
            modified = bundle.template.stat().st_mtime_ns
            html = self._render_once(modified, scope.get("root_path", ""), server_root(scope))
        except FileNotFoundError:
            words = f"The {bundle.name} has not been built. Run `make` in Penstock's source folder."
            return PlainTextResponse(f"{words}\n", status_code=503, headers=bundle.page_headers)
        return HTMLResponse(html, headers=bundle.page_headers)

    def _render(self, _modified: int, own_root: str, root: str) -> bytes:
        template = self._bundle.template.read_text(encoding="utf-8")
        assets = escape(join_path(own_root, f"{self._bundle.path}/assets"))
        settings = json_for_html(self._settings_below(root))
        return template.replace("{{assets}}", assets).replace("{{settings}}", settings).encode()


def join_path(root: str, path: str) -> str:
    return f"{root}{path}" if path.startswith("/") else path


def json_for_html(settings: Mapping[str, object]) -> str:
    return json.dumps(settings).translate(UNSAFE_IN_HTML)


MOST_TRANSFERS = 256
"""The assets that are sent at once; slow ones give way."""

_PIECE = 64 * 1024


class AssetResponse(Response):
    """An asset, sent piece by piece as the client takes it, in a place among the transfers."""

    def __init__(
        self, content: bytes, kind: str, headers: dict[str, str], transfers: FileTransfers
    ) -> None:
        super().__init__(media_type=kind, headers={**headers, "content-length": str(len(content))})
        self._content = content
        self._transfers = transfers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with begin_transfer(self._transfers, scope) as transfer:
                headers = dict(self.headers)
                sent = StreamingResponse(_send_pieces(self._content, transfer), headers=headers)
                await sent(scope, receive, send)
        except TooManyTransfers:
            words = "Too many files are sent; try again later."
            await PlainTextResponse(words, 503, {"retry-after": "1"})(scope, receive, send)


async def _send_pieces(content: bytes, transfer: Transfer) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PIECE):
        piece = content[start : start + _PIECE]
        yield piece
        transfer.size += len(piece)


def serve_asset(request: Request, bundle: Bundle, transfers: FileTransfers) -> Response:
    """Answer an asset, which the bundle holds compressed, in a coding that the client takes."""
    name: str = request.path_params["name"]
    packed = bundle.dist / "assets" / f"{name}.gz"
    if not ASSET_NAME.fullmatch(name) or not packed.is_file():
        raise HTTPException(404)
    headers, is_packed = bundle.asset_headers, False
    if "gzip" in accepted_encodings(request.headers.get("accept-encoding", "")):
        headers, is_packed = {**headers, "content-encoding": "gzip"}, True
    content = read_asset(packed, packed.stat().st_mtime_ns, is_packed=is_packed)
    return AssetResponse(content, media_type(name), headers, transfers)


@lru_cache(maxsize=256)
def read_asset(packed: Path, _modified: int, *, is_packed: bool) -> bytes:
    """Read an asset once, in the one form or the other; all answers share the bytes."""
    content = packed.read_bytes()
    return content if is_packed else gzip.decompress(content)


def media_type(name: str) -> str:
    guessed = MEDIA_TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    return guessed or "application/octet-stream"


def accepted_encodings(header: str) -> set[str]:
    """Return the codings that a client accepts, without those of weight zero."""
    codings = (part.replace(" ", "").lower().partition(";") for part in header.split(","))
    return {name for name, _, weight in codings if not re.fullmatch(r"q=0(\.0*)?", weight)}
