"""The application: the GraphQL endpoint, its page and its health over one store."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route

from datastore.access import Caller
from datastore.store import Store
from schema import schema
from schema.common import RequestContext
from schema.execution import Engine
from schema.limits import Limits
from server import graphiql
from server.auth import Authenticator, open_authenticator
from server.dev_identity import DevIdentity, is_loopback
from server.graphql import Admission, GraphQLApp
from server.health import health_routes
from server.hosts import KnownHosts
from server.opening import cursors_of
from server.settings import Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@asynccontextmanager
async def open_app(
    settings: Settings, store: Store, identity: DevIdentity | None
) -> AsyncIterator[Starlette]:
    """Make the application over an open store; its GraphiQL page acts as `identity`."""
    async with open_authenticator(settings) as authenticator:
        yield Starlette(
            routes=[
                *health_routes(store.ping),
                Route("/graphql", _endpoint(settings, store, authenticator)),
                *_page(settings, identity),
            ],
            middleware=list(_middleware(settings)),
        )


def limits_of(settings: Settings) -> Limits:
    return Limits(
        body_bytes=settings.max_body_bytes,
        body_seconds=settings.body_read_seconds,
        source_length=settings.max_document_chars,
        tokens=settings.max_tokens,
        comments=settings.max_comments,
        depth=settings.max_depth,
        aliases=settings.max_aliases,
        directives=settings.max_directives,
        fields=settings.max_fields,
        operations=settings.max_operations,
        mutation_fields=settings.max_mutation_fields,
        cost=settings.max_cost,
        errors=settings.max_errors,
        deadline_seconds=settings.deadline_seconds,
    )


def _endpoint(settings: Settings, store: Store, authenticator: Authenticator) -> GraphQLApp:
    cursors = cursors_of(settings)

    @contextmanager
    def open_context(caller: Caller, _admission: Admission) -> Iterator[RequestContext]:
        yield RequestContext.open(store, caller, cursors)

    return GraphQLApp(
        Engine(schema, limits_of(settings)),
        authenticate=authenticator.caller_of,
        open_context=open_context,
        statuses=settings.http_statuses,
        introspection=settings.introspection == "authenticated",
    )


def _page(settings: Settings, identity: DevIdentity | None) -> list[BaseRoute]:
    if not settings.serves_graphiql:
        return []
    if identity is None:
        return graphiql.routes(graphiql.PageConfig())
    return graphiql.routes(graphiql.PageConfig(dev_token=identity.token))


def _middleware(settings: Settings) -> Iterator[Middleware]:
    hosts = settings.allowed_hosts or (LOOPBACK_NAMES if is_loopback(settings.host) else ())
    if hosts:
        yield Middleware(KnownHosts, hosts=hosts)
    if settings.allowed_origins:
        yield Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-penstock-cost", "x-request-id"],
            expose_headers=["x-request-id", "retry-after", "etag"],
        )
