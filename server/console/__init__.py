"""The console: the page for people, which uses nothing but the public API.

Every path below `/console/` that is no asset is the page, which shows the screen of its address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from penstock.server.pages.bundle import Bundle, Page, asset_route, join_path, leading_route

PATH: Final = "/console"
DIST: Final = Path(__file__).parent / "dist"


@dataclass(frozen=True, slots=True)
class Issuer:
    """The issuer at which the console signs its users in, and the id it has there."""

    url: str
    client_id: str
    audience: str


@dataclass(frozen=True, slots=True)
class ConsoleConfig:
    """The URLs that the console uses; it holds no secret.

    `session_url` is where the page exchanges the code in its address for a token. `issuer` is where
    it signs in otherwise; with neither, the page has to be given a token. `file_origins` are those
    of the URLs of files, if they are not the server's.
    """

    endpoint: str = "/graphql"
    session_url: str | None = None
    issuer: Issuer | None = None
    graphiql: str | None = None
    file_origins: Sequence[str] = ()
    dist: Path = DIST


def console_routes(config: ConsoleConfig) -> list[BaseRoute]:
    bundle = Bundle("console", PATH, config.dist, content_security_policy(config))
    page = Page(bundle, lambda root: page_settings(root, config))
    return [
        leading_route(PATH, f"{PATH}/"),
        asset_route(bundle),
        Route(f"{PATH}/assets/{{rest:path}}", _refuse_file, name="console-no-file"),
        Route(f"{PATH}/{{screen:path}}", page.answer, name="console"),
    ]


async def _refuse_file(request: Request) -> Response:
    raise HTTPException(404)


def content_security_policy(config: ConsoleConfig) -> str:
    """Return the policy: nothing but the server's own, the files' origins, and the issuer's."""
    files = " ".join(("'self'", *config.file_origins))
    issuers = () if config.issuer is None else (origin_of(config.issuer.url),)
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            f"img-src {files} data:",
            f"media-src {files}",
            f"connect-src {' '.join((files, *issuers))}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def page_settings(root: str, config: ConsoleConfig) -> dict[str, object]:
    issuer = config.issuer
    return {
        "base": join_path(root, PATH),
        "endpoint": join_path(root, config.endpoint),
        "sessionUrl": config.session_url and join_path(root, config.session_url),
        "graphiqlUrl": config.graphiql and join_path(root, config.graphiql),
        "issuer": issuer
        and {"url": issuer.url, "clientId": issuer.client_id, "audience": issuer.audience},
    }


def read_documents(dist: Path = DIST) -> Mapping[str, str]:
    """Return the operations of the built console by their digests; none before it is built."""
    try:
        return msgspec.json.decode((dist / "documents.json").read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
