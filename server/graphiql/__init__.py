"""The GraphiQL page and its assets, served from the built bundle under a strict policy."""

from __future__ import annotations

import gzip
import json
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import BaseRoute, Route

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

    def asset(request: Request) -> Response:
        return serve_asset(request, config.dist / "assets")

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


def serve_asset(request: Request, folder: Path) -> Response:
    """Answer an asset, which the bundle holds compressed, in a coding that the client takes."""
    name: str = request.path_params["name"]
    packed = folder / f"{name}.gz"
    if not ASSET_NAME.fullmatch(name) or not packed.is_file():
        raise HTTPException(404)
    kind = media_type(name)
    if "gzip" in accepted_encodings(request.headers.get("accept-encoding", "")):
        headers = {**ASSET_HEADERS, "content-encoding": "gzip"}
        return FileResponse(packed, media_type=kind, headers=headers)
    return Response(gzip.decompress(packed.read_bytes()), media_type=kind, headers=ASSET_HEADERS)


def media_type(name: str) -> str:
    guessed = MEDIA_TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    return guessed or "application/octet-stream"


def accepted_encodings(header: str) -> set[str]:
    """Return the codings that a client accepts, without those of weight zero."""
    codings = (part.replace(" ", "").lower().partition(";") for part in header.split(","))
    return {name for name, _, weight in codings if not re.fullmatch(r"q=0(\.0*)?", weight)}
