"""The ASGI application: GraphQL over HTTP and WebSocket, with all other routes of the server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from penstock.datastore.ngsi.linked_data.tenants import Tenants
from penstock.datastore.ngsi.notification import NotificationDefaults
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.resources.changes import open_changes
from penstock.datastore.store import Store
from penstock.resolvers.cursors import Cursors
from penstock.schema import schema
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.server.app_options import (
    executor_of,
    limits_of,
    middleware_of,
    open_rate_limiter,
    read_persisted,
    stream_limits_of,
    streams_of,
)
from penstock.server.auth.api_keys import ApiKeyAuthenticator
from penstock.server.auth.dev_identity import DevIdentity
from penstock.server.auth.player_passwords import PlayerAuthenticator
from penstock.server.auth.shared_reads import LookUpTimes
from penstock.server.auth.tokens import Authenticator, open_authenticator
from penstock.server.connections.descriptors import MOST_CONNECTIONS, transfers_for
from penstock.server.connections.gate import Gates
from penstock.server.core.siblings import Siblings
from penstock.server.edge import local_files, ngsi_notifications
from penstock.server.edge.audio_streams import audio_stream_routes
from penstock.server.edge.fast_routes import FastRouteApp
from penstock.server.edge.graphql import GraphQLApp, OperationReader, context_opener
from penstock.server.edge.health import health_routes
from penstock.server.edge.ngsi_notifications import NotifyApp
from penstock.server.edge.rate_limit import CallerLimits, PlaceTaker, RateLimiter
from penstock.server.edge.s3_events import S3Events
from penstock.server.edge.schema_document import schema_route
from penstock.server.edge.sensor_charts import SensorCharts
from penstock.server.error_pages import error_page_routes
from penstock.server.front_pages import find_file_origins, page_routes
from penstock.server.opensubsonic.app import OpenSubsonicApp
from penstock.server.opensubsonic.authentication import PlayerSignIn
from penstock.server.settings.settings import Settings
from penstock.server.settings.shown_settings import show_settings
from penstock.server.streams.operations import OperationRunner, StreamService
from penstock.server.streams.registry import StreamRegistry
from penstock.server.streams.sse import EventStreamApp
from penstock.server.streams.standing_requests import StandingRequests
from penstock.server.streams.websocket import WebSocketApp
from penstock.server.telemetry.instrument import Instrumentation
from penstock.server.telemetry.work_log import NotificationLog

GRAPHQL_PATH = "/graphql"


@dataclass(frozen=True, slots=True)
class Runtime:
    """The services that an application uses and its starter owns.

    A caller that stops the server stops `streams` first, or waits for clients to leave. Without a
    `sink` the application takes no notifications. `siblings` are the other processes that serve the
    same port. `gates` count the connections, which the metrics report and files may use half of.
    `instrumentation` and `limiter` are those of the background work; without them the application
    makes its own.
    """

    streams: StreamRegistry
    sink: NotificationSink | None = None
    siblings: Siblings | None = None
    gates: Gates | None = None
    instrumentation: Instrumentation | None = None
    limiter: RateLimiter | None = None

    @property
    def transfers(self) -> int:
        """The most transfers of files at once."""
        return transfers_for(MOST_CONNECTIONS if self.gates is None else self.gates.main.most)


@asynccontextmanager
async def open_app(
    settings: Settings, store: Store, identity: DevIdentity | None, runtime: Runtime | None = None
) -> AsyncIterator[Starlette]:
    """Build the application over an open store; its pages can act as `identity`."""
    runtime = Runtime(streams_of(settings)) if runtime is None else runtime
    instrumentation = runtime.instrumentation or Instrumentation.of(settings, runtime.siblings)
    instrumentation.count_connections(runtime.gates)
    own_files = store.files if isinstance(store.files, LocalFiles) else None
    file_origins = await find_file_origins(store.files)
    cursors = Cursors(await store.cursor_key())
    store = instrumentation.instrument_store(instrumentation.watch_work(store))
    store = replace(store, settings=show_settings(settings))
    instrumentation.report_work(store, runtime.sink)
    async with (
        open_authenticator(settings) as tokens,
        open_changes(store.table, settings.change_poll_seconds, store.clock) as changes,
        instrumentation.share_with_siblings(),
    ):
        authenticator = _authenticator_of(settings, store, tokens)
        limiter = runtime.limiter or open_rate_limiter(settings, runtime.siblings)
        instrumentation.count_unpaid(lambda: limiter.loop_times.unpaid)
        callers = CallerLimits.of(limiter, settings.max_running_operations)
        runner = OperationRunner(
            _operation_reader(settings, callers, instrumentation),
            context_opener(store, cursors, changes, callers, settings.trusted_proxies),
            StandingRequests(),
        )
        graphql, over_socket = _graphql_apps(
            settings, authenticator, runner, runtime.streams, instrumentation
        )
        yield FastRouteApp(
            GRAPHQL_PATH,
            graphql,
            routes=[
                *health_routes(partial(_check_stores, store, runtime.sink)),
                *instrumentation.routes(),
                *error_page_routes(),
                *(local_files.file_routes(own_files, runtime.transfers) if own_files else ()),
                WebSocketRoute(GRAPHQL_PATH, over_socket),
                *_notify_routes(settings, authenticator, callers, runtime.sink),
                *_caller_routes(settings, store, authenticator, runner.reader),
                *page_routes(settings, identity, limits_of(settings), file_origins),
            ],
            middleware=list(middleware_of(settings)),
            page=settings.serves_graphiql,
        )


async def _check_stores(store: Store, sink: NotificationSink | None) -> None:
    """Raise Unavailable if the store does not answer, or the sink can take nothing."""
    await store.ping()
    if sink is not None:
        sink.require_writable()


def _authenticator_of(settings: Settings, store: Store, tokens: Authenticator) -> Authenticator:
    """Accept API keys too, and count the connections of each caller."""
    times = _look_up_times(settings)
    keys = ApiKeyAuthenticator(tokens, store.find_credential, times, now=store.clock.now)
    return PlaceTaker(keys)


def _look_up_times(settings: Settings) -> LookUpTimes:
    return LookUpTimes(settings.api_key_cache_seconds, settings.deadline_seconds)


def _operation_reader(
    settings: Settings, callers: CallerLimits, instrumentation: Instrumentation
) -> OperationReader:
    """Build the engine, and the reader of the operations that it runs."""
    limits = limits_of(settings)
    executor = executor_of(settings, limits)
    engine = GraphQLEngine(schema, limits, persisted=read_persisted(settings), executor=executor)
    if isinstance(executor, CompiledExecutor):
        instrumentation.count_fallbacks(executor.fallbacks)
    return OperationReader(engine, callers, settings.introspection == "authenticated")


def _graphql_apps(
    settings: Settings,
    authenticator: Authenticator,
    runner: OperationRunner,
    streams: StreamRegistry,
    instrumentation: Instrumentation,
) -> tuple[ASGIApp, ASGIApp]:
    """Build the apps that serve one engine: HTTP with server-sent events, and WebSocket."""
    instrumentation.report_gauges(runner.engine, streams)
    plain = GraphQLApp(
        runner.reader,
        authenticate=authenticator.caller_of,
        open_context=runner.open_context,
        statuses=settings.http_statuses,
    )
    service = StreamService(
        runner,
        authenticator.authenticate,
        streams,
        stream_limits_of(settings),
        instrumentation.operation_watchers,
    )
    return (
        instrumentation.instrument_app(EventStreamApp(service, plain)),
        WebSocketApp(service, origins=settings.allowed_origins),
    )


def _notify_routes(
    settings: Settings,
    authenticator: Authenticator,
    callers: CallerLimits,
    sink: NotificationSink | None,
) -> list[Route]:
    if sink is None:
        return []
    defaults = NotificationDefaults(
        settings.ngsi_default_service,
        settings.ngsi_default_service_path,
        Tenants(settings.ngsi_ld_tenants),
    )
    log = NotificationLog(settings.log_format) if settings.access_log else None
    app = NotifyApp(sink, authenticator.caller_of, callers, limits_of(settings), defaults, log)
    return ngsi_notifications.notify_routes(app)


def _caller_routes(
    settings: Settings,
    store: Store,
    authenticator: Authenticator,
    reader: OperationReader,
) -> Iterator[BaseRoute]:
    """The routes beside GraphQL whose callers read and write the store."""
    limits = limits_of(settings)
    yield S3Events(store, authenticator, limits, reader.limits).route()
    introspection = reader.introspection
    yield schema_route(authenticator.caller_of, reader.limits, limits, introspection=introspection)
    yield from audio_stream_routes(store, authenticator.caller_of, reader.limits, limits)
    if settings.opensubsonic:
        passwords = PlayerAuthenticator(store, _look_up_times(settings))
        sign_in = PlayerSignIn(authenticator, passwords)
        yield from OpenSubsonicApp(store, sign_in, limits, reader.limits).routes()
    yield SensorCharts(store, authenticator.caller_of, reader.limits, limits).route()
