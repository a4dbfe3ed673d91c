"""The GraphiQL page and its assets, served from the built bundle under a strict policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from starlette.routing import BaseRoute, Route

from penstock.server.pages.bundle import Bundle, Page, asset_route, join_path

HERE = Path(__file__).parent
PATH = "/graphiql"

EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""The digest of no content: the editor puts rules into empty style elements by script."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        f"style-src 'self' {EMPTY_STYLE}",
        "style-src-attr 'unsafe-inline'",
        "font-src 'self' data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass(frozen=True, slots=True)
class PageConfig:
    """The paths and URLs of the page; it holds no secret.

    `session_url` is where the page exchanges the code in its address for a token; without it the
    page has to be given one.
    """

    path: str = PATH
    endpoint: str = "/graphql"
    subscription_url: str = "/graphql"
    session_url: str | None = None
    dist: Path = HERE / "dist"
    examples: Path = HERE / "examples"


def routes(config: PageConfig) -> list[BaseRoute]:
    examples = list(read_examples(config.examples))
    bundle = Bundle("GraphiQL page", config.path, config.dist, CONTENT_SECURITY_POLICY)
    page = Page(bundle, lambda root: page_settings(root, config, examples))
    return [Route(config.path, page.answer, name="graphiql"), asset_route(bundle)]


def page_settings(
    root: str, config: PageConfig, examples: list[dict[str, str | None]]
) -> dict[str, object]:
    return {
        "endpoint": join_path(root, config.endpoint),
        "subscriptionUrl": join_path(root, config.subscription_url),
        "sessionUrl": config.session_url and join_path(root, config.session_url),
        "examples": examples,
    }


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
