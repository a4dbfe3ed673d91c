"""The application: the GraphQL endpoint, its page and its health over one store."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from penstock.datastore.access import Caller
from penstock.datastore.changes import Changes, polled
from penstock.datastore.local_files import LocalFiles
from penstock.datastore.ngsi.notification import Defaults
from penstock.datastore.ngsi.sink import Sink
from penstock.datastore.store import Store
from penstock.schema import schema
from penstock.schema.execution import Engine
from penstock.schema.executors import CompiledExecutor, Interpreter
from penstock.schema.limits import Limits
from penstock.schema.subscriptions import StreamContext
from penstock.server import files, graphiql, notify
from penstock.server.api_keys import ApiKeyAuthenticator
from penstock.server.audio_streams import stream_routes
from penstock.server.auth import Authenticator, open_authenticator
from penstock.server.dev_identity import DevIdentity, is_loopback
from penstock.server.front import Front
from penstock.server.graphql import Admission, GraphQLApp, OpenContext
from penstock.server.health import health_routes
from penstock.server.hosts import KnownHosts
from penstock.server.notify import NotifyApp
from penstock.server.persisted import persisted_of
from penstock.server.processes.siblings import Siblings
from penstock.server.rate_limit import RateLimiter
from penstock.server.s3_events import S3Events
from penstock.server.seal import cursors_of
from penstock.server.settings import Settings
from penstock.server.streams.events import EventStreams
from penstock.server.streams.limits import StreamLimits
from penstock.server.streams.operations import Runner
from penstock.server.streams.registry import Streams
from penstock.server.streams.service import StreamService
from penstock.server.streams.websocket import WebSocketApp
from penstock.server.watching import Watching

GRAPHQL = "/graphql"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Beside:
    """What runs beside the application.

    Whoever stops the server stops `streams` first, or waits for clients to leave. Without a `sink`
    it takes no notifications. `siblings` are the other processes that serve the same port.
    """

    streams: Streams
    sink: Sink | None = None
    siblings: Siblings | None = None


@asynccontextmanager
async def open_app(
    settings: Settings,
    store: Store,
    identity: DevIdentity | None,
    beside: Beside | None = None,
) -> AsyncIterator[Starlette]:
    """Make the application over an open store; its GraphiQL page acts as `identity`."""
    beside = Beside(streams_of(settings)) if beside is None else beside
    watching = Watching.of(settings, beside.siblings)
    own_files = store.files if isinstance(store.files, LocalFiles) else None
    store = watching.store(store)
    async with (
        open_authenticator(settings) as tokens,
        polled(store.table, settings.change_poll_seconds) as changes,
        watching.share_with_workers(),
    ):
        seconds = settings.api_key_cache_seconds
        authenticator = ApiKeyAuthenticator(tokens, store.credential, seconds, now=store.clock.now)
        limiter = _limiter(settings, beside.siblings)
        open_context = _contexts(settings, store, changes, limiter)
        events = S3Events(store, authenticator, limits_of(settings), limiter)
        graphql, over_socket = _graphql(
            settings, authenticator, open_context, beside.streams, watching
        )
        yield Front(
            GRAPHQL,
            graphql,
            routes=[
                *health_routes(store.ping),
                *watching.routes(),
                events.route(),
                *(files.routes(own_files) if own_files else ()),
                *stream_routes(store, authenticator.caller_of, limiter),
                WebSocketRoute(GRAPHQL, over_socket),
                *_notify(settings, authenticator, limiter, beside.sink),
                *_page(settings, identity),
            ],
            middleware=list(_middleware(settings)),
        )


def streams_of(settings: Settings) -> Streams:
    return Streams(settings.max_streams_per_caller, settings.max_unproven_streams)


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
        input_values=settings.max_input_values,
        cost=settings.max_cost,
        errors=settings.max_errors,
        deadline_seconds=settings.deadline_seconds,
    )


def executor_of(settings: Settings, limits: Limits) -> CompiledExecutor | Interpreter:
    if settings.executor == "reference":
        return Interpreter(schema, limits)
    return CompiledExecutor(schema, limits, interpreted_runs=1, written=True)


def _limiter(settings: Settings, siblings: Siblings | None) -> RateLimiter:
    buckets = None if siblings is None else siblings.buckets
    return RateLimiter(settings.rate_limit_per_second, settings.rate_limit_burst, buckets)


def stream_limits_of(settings: Settings) -> StreamLimits:
    return StreamLimits(
        operations=settings.max_stream_operations,
        messages_per_second=settings.stream_messages_per_second,
        queue=settings.stream_queue,
        init_seconds=settings.stream_init_seconds,
    )


def _contexts(
    settings: Settings, store: Store, changes: Changes, limiter: RateLimiter
) -> OpenContext:
    cursors = cursors_of(settings)

    def open_context(caller: Caller, admission: Admission) -> StreamContext:
        limiter.spend(caller.user_id, admission.cost)
        return StreamContext.over(store, caller, cursors, changes)

    return open_context


def _graphql(
    settings: Settings,
    authenticator: Authenticator,
    open_context: OpenContext,
    streams: Streams,
    watching: Watching,
) -> tuple[ASGIApp, ASGIApp]:
    """Serve one engine over plain HTTP, over events and over WebSocket."""
    limits = limits_of(settings)
    executor = executor_of(settings, limits)
    engine = Engine(schema, limits, persisted=persisted_of(settings), executor=executor)
    watching.count(engine, streams)
    if isinstance(executor, CompiledExecutor):
        watching.count_fallbacks(executor.fallbacks)
    introspection = settings.introspection == "authenticated"
    plain = GraphQLApp(
        engine,
        authenticate=authenticator.caller_of,
        open_context=open_context,
        statuses=settings.http_statuses,
        introspection=introspection,
    )
    service = StreamService(
        Runner(engine, open_context, introspection),
        authenticator.session_of,
        streams,
        stream_limits_of(settings),
        watching.operations,
    )
    return (
        watching.app(EventStreams(service, plain)),
        WebSocketApp(service, origins=settings.allowed_origins),
    )


def _notify(
    settings: Settings, authenticator: Authenticator, limiter: RateLimiter, sink: Sink | None
) -> list[Route]:
    if sink is None:
        return []
    defaults = Defaults(settings.ngsi_default_service, settings.ngsi_default_service_path)
    app = NotifyApp(sink, authenticator.caller_of, limiter, limits_of(settings), defaults)
    return notify.routes(app)


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
