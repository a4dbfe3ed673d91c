"""The GraphiQL page and its assets, served from the built bundle under a strict policy."""

from __future__ import annotations

import gzip
import json
import mimetypes
import re
from collections.abc import AsyncIterator, Iterator
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

HERE = Path(__file__).parent

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self' data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
PAGE_HEADERS = {**SECURITY_HEADERS, "cache-control": "no-store"}
ASSET_HEADERS = {
    **SECURITY_HEADERS,
    "cache-control": "public, max-age=31536000, immutable",
    "vary": "accept-encoding",
}
NOT_BUILT = "The GraphiQL page has not been built. Run `make` in Penstock's source folder.\n"

# The form of the bundle's file names; requests never name the compressed form.
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(?:js|css|ttf|txt)")
MEDIA_TYPES = {".js": "text/javascript", ".ttf": "font/ttf"}

# Letters that could end the data block or begin markup inside it.
UNSAFE_IN_HTML = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&"})


@dataclass(frozen=True, slots=True)
class PageConfig:
    """The paths and URLs of the page; it holds no secret.

    `session_url` is where the page exchanges the code in its address for a token; without it the
    page has to be given one.
    """

    path: str = "/graphiql"
    endpoint: str = "/graphql"
    subscription_url: str = "/graphql"
    session_url: str | None = None
    dist: Path = HERE / "dist"
    examples: Path = HERE / "examples"


def routes(config: PageConfig) -> list[BaseRoute]:
    examples = list(read_examples(config.examples))

    def page(request: Request) -> Response:
        return serve_page(request, config, examples)

    transfers = FileTransfers(MOST_TRANSFERS)

    async def asset(request: Request) -> Response:
        return serve_asset(request, config.dist / "assets", transfers)

    return [
        Route(config.path, page, name="graphiql"),
        Route(f"{config.path}/assets/{{name}}", asset, name="graphiql-asset"),
    ]


def leading_route(path: str, config: PageConfig) -> BaseRoute:
    """Return the route of a path that leads a browser to the page."""

    def lead(request: Request) -> Response:
        target = join_path(request.scope.get("root_path", ""), config.path)
        headers = {"cache-control": "no-store", "vary": "accept"}
        return RedirectResponse(target, status_code=302, headers=headers)

    return Route(path, lead)


def read_examples(folder: Path) -> Iterator[dict[str, str | None]]:
    """Yield a tab for each `*.graphql` in order of name.

    The files of the same name with `.json` and `.headers.json` are its variables and headers. In
    the variables, `@pipeline GROUP NAME` stands for an id, which the page looks up.
    """
    for query in sorted(folder.glob("*.graphql")):
        yield {
            "query": read_text(query),
            "variables": read_text(query.with_suffix(".json")),
            "headers": read_text(query.with_suffix(".headers.json")),
        }


def read_text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8").rstrip() if path.is_file() else None


def serve_page(
    request: Request, config: PageConfig, examples: list[dict[str, str | None]]
) -> Response:
    try:
        template = (config.dist / "index.html").read_text(encoding="utf-8")
    except FileNotFoundError:
        return PlainTextResponse(NOT_BUILT, status_code=503, headers=PAGE_HEADERS)
    # An application mounted below a prefix has its own root besides the root of the whole server.
    own_root: str = request.scope.get("root_path", "")
    server_root: str = request.scope.get("app_root_path", own_root)
    settings: dict[str, object] = {
        "endpoint": join_path(server_root, config.endpoint),
        "subscriptionUrl": join_path(server_root, config.subscription_url),
        "sessionUrl": config.session_url and join_path(server_root, config.session_url),
        "examples": examples,
    }
    assets = escape(join_path(own_root, f"{config.path}/assets"))
    html = template.replace("{{assets}}", assets).replace("{{settings}}", json_for_html(settings))
    return HTMLResponse(html, headers=PAGE_HEADERS)


def join_path(root: str, path: str) -> str:
    return f"{root}{path}" if path.startswith("/") else path


def json_for_html(settings: dict[str, object]) -> str:
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


def serve_asset(request: Request, folder: Path, transfers: FileTransfers) -> Response:
    """Answer an asset, which the bundle holds compressed, in a coding that the client takes."""
    name: str = request.path_params["name"]
    packed = folder / f"{name}.gz"
    if not ASSET_NAME.fullmatch(name) or not packed.is_file():
        raise HTTPException(404)
    headers, is_packed = ASSET_HEADERS, False
    if "gzip" in accepted_encodings(request.headers.get("accept-encoding", "")):
        headers, is_packed = {**ASSET_HEADERS, "content-encoding": "gzip"}, True
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
