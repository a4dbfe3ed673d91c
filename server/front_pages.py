"""The routes of the pages that browsers open, and what leads to them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from penstock.datastore.errors import PenstockError
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Files
from penstock.schema.engine.limits import Limits
from penstock.server import graphiql
from penstock.server.auth.dev_identity import DevIdentity
from penstock.server.auth.dev_sessions import DevSessions
from penstock.server.console import PATH as CONSOLE_PATH
from penstock.server.console import ConsoleConfig, Issuer, console_routes, origin_of
from penstock.server.edge import dev_session
from penstock.server.pages.bundle import leading_route
from penstock.server.settings.settings import Settings

GRAPHQL_PATH: Final = "/graphql"
NO_PAGE: Final = f"Penstock answers GraphQL at {GRAPHQL_PATH}; its pages are off.\n"


def page_routes(
    settings: Settings, identity: DevIdentity | None, limits: Limits, file_origins: Sequence[str]
) -> list[BaseRoute]:
    """Return the pages and what leads to them; without any, `/` says in a line what is served.

    With an `identity` the pages exchange one-time codes for sessions that act as it.
    """
    session_url = None if identity is None else dev_session.PATH
    routes: list[BaseRoute] = []
    if settings.serves_console:
        routes += console_routes(_console_config(settings, session_url, file_origins))
    if settings.serves_graphiql:
        page = graphiql.PageConfig(session_url=session_url)
        others = (GRAPHQL_PATH, f"{GRAPHQL_PATH}/", f"{page.path}/")
        routes += [leading_route(path, page.path) for path in others]
        routes += graphiql.routes(page)
    if not routes:
        return [Route("/", lambda request: PlainTextResponse(NO_PAGE))]
    first = f"{CONSOLE_PATH}/" if settings.serves_console else graphiql.PATH
    routes.insert(0, leading_route("/", first))
    if identity is not None:
        sessions = DevSessions(identity, settings.data_dir)
        routes.append(dev_session.session_route(sessions, limits))
    return routes


async def find_file_origins(files: Files) -> tuple[str, ...]:
    """Return the origins of the URLs of files, none if the server sends the files itself."""
    if isinstance(files, LocalFiles):
        return ()
    with suppress(PenstockError):
        sample = await files.presign_download("console", expires_in=60)
        return (origin_of(sample.url),)
    return ()


def _console_config(
    settings: Settings, session_url: str | None, file_origins: Sequence[str]
) -> ConsoleConfig:
    issuer = None
    if settings.issuer and settings.console_client_id and settings.audience:
        issuer = Issuer(settings.issuer, settings.console_client_id, settings.audience)
    return ConsoleConfig(
        endpoint=GRAPHQL_PATH,
        session_url=session_url,
        issuer=issuer,
        graphiql=graphiql.PATH if settings.serves_graphiql else None,
        file_origins=file_origins,
    )
