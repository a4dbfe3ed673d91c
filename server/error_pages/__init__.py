"""`/errors/CODE`: the page of each error code, which `docUrl` of an error names.

The pages are those of `docs/errors`, which lie in the package too, so they fit the release that
answered, and need no network but that of the server.
"""

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from penstock.datastore.errors import ErrorCode
from penstock.schema.core.errors import ERROR_PAGES

_HERE: Final = Path(__file__).parent
_PAGES: Final = _HERE / "pages"
_OVERVIEW: Final = "README"

_STYLE: Final = (_HERE / "page.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "cache-control": "public, max-age=3600",
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Penstock</title>
<style>{style}</style>
</head>
<body>
<main>
<nav>{navigation}</nav>
{text}</main>
</body>
</html>
"""


def error_page_routes() -> list[BaseRoute]:
    """Return the routes of the pages, which everybody may read, and of the list of all codes."""
    return [
        Route(ERROR_PAGES, _answer_overview, name="error-codes"),
        Route(f"{ERROR_PAGES}/{{code}}", _answer_code, name="error-code"),
    ]


async def _answer_overview(_: Request) -> Response:
    return _answer(_OVERVIEW)


async def _answer_code(request: Request) -> Response:
    code = request.path_params["code"]
    if code not in ErrorCode.__members__:
        raise HTTPException(404)
    return _answer(code)


def _answer(name: str) -> Response:
    return HTMLResponse(_render_page(name), headers=_HEADERS)


@cache
def _render_page(name: str) -> bytes:
    """Return a page in HTML; links to pages that the server does not have become their text."""
    markdown = MarkdownIt()
    text = (_PAGES / f"{name}.md").read_text(encoding="utf-8")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.children is not None:
            token.children = list(_served_links(token.children, name))
    page = _PAGE.format(
        title="Error codes" if name == _OVERVIEW else escape(name),
        style=_STYLE,
        navigation="Penstock" if name == _OVERVIEW else '<a href="../errors">All error codes</a>',
        text=markdown.renderer.render(tokens, markdown.options, {}),
    )
    return page.encode()


def _served_links(tokens: list[Token], page: str) -> Iterator[Token]:
    is_served = True
    for token in tokens:
        if token.type == "link_open":
            target = str(token.attrs["href"]).removesuffix(".md")
            is_served = target in ErrorCode.__members__
            # The list has a shorter path than the pages below it.
            token.attrs["href"] = f"errors/{target}" if page == _OVERVIEW else target
        if is_served or token.type not in ("link_open", "link_close"):
            yield token
        if token.type == "link_close":
            is_served = True
