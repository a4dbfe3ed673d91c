"""The ASGI application: GraphQL over HTTP and WebSocket, its page, health, metrics and file routes.

It also reads the trusted documents and the key that seals cursors.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.datastore.ngsi.linked_data.tenants import Tenants
from penstock.datastore.ngsi.notification import NotificationDefaults
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.resources.changes import RowChanges, open_changes
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.resolvers.context import Context
from penstock.resolvers.cursors import Cursors
from penstock.schema import schema
from penstock.schema.engine.documents import PersistedDocuments, PersistedMode
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine, Interpreter
from penstock.schema.engine.limits import Limits
from penstock.server.auth.api_keys import ApiKeyAuthenticator
from penstock.server.auth.dev_identity import DevIdentity, is_loopback
from penstock.server.auth.tokens import Authenticator, open_authenticator
from penstock.server.connections.descriptors import MOST_CONNECTIONS, transfers_for
from penstock.server.connections.gate import Gates
from penstock.server.console import read_documents
from penstock.server.core.headers import request_headers
from penstock.server.core.siblings import Siblings
from penstock.server.edge import local_files, ngsi_notifications
from penstock.server.edge.audio_streams import audio_stream_routes
from penstock.server.edge.graphql import AdmittedOperation, GraphQLApp, OpenContext, OperationReader
from penstock.server.edge.health import health_routes
from penstock.server.edge.ngsi_notifications import NotifyApp
from penstock.server.edge.rate_limit import (
    CallerAccount,
    CallerLimits,
    PlaceTaker,
    RateLimiter,
    shared_buckets,
)
from penstock.server.edge.request import (
    CONSISTENCY_HEADER,
    HostCheck,
    TrustedProxies,
    client_address,
    current_scope,
    route_path,
)
from penstock.server.edge.s3_events import S3Events
from penstock.server.edge.schema_document import schema_route
from penstock.server.edge.sensor_charts import SensorCharts
from penstock.server.error_pages import error_page_routes
from penstock.server.front_pages import find_file_origins, page_routes
from penstock.server.opensubsonic.app import OpenSubsonicApp
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings
from penstock.server.settings.shown_settings import show_settings
from penstock.server.streams.backpressure import StreamLimits
from penstock.server.streams.operations import OperationRunner, StreamService
from penstock.server.streams.registry import StreamRegistry
from penstock.server.streams.sse import EventStreamApp
from penstock.server.streams.websocket import WebSocketApp
from penstock.server.telemetry.instrument import Instrumentation
from penstock.server.telemetry.work_log import NotificationLog


def read_persisted(settings: Settings) -> PersistedDocuments:
    """Read the trusted documents if the settings name a file; InvalidSettings for a bad one.

    Those of the console run too, if it is served.
    """
    mode = PersistedMode(settings.persisted_queries)
    own = read_documents() if settings.serves_console else {}
    if settings.trusted_documents is None:
        return PersistedDocuments(mode, own=own)
    try:
        texts = settings.trusted_documents.read_bytes()
        return PersistedDocuments(mode, msgspec.json.decode(texts, type=dict[str, str]), own=own)
    except OSError as error:
        reason = error.strerror or "cannot be read"
    except msgspec.DecodeError as error:
        reason = f"is no JSON object from ids to texts: {error}"
    problem = f"PENSTOCK_TRUSTED_DOCUMENTS: {settings.trusted_documents}: {reason}"
    raise InvalidSettings((problem,))


def _lacks_host(scope: Scope) -> bool:
    """Tell whether a request has no Host field, which HTTP/1.1 demands (RFC 9112, 3.2)."""
    return (
        scope["type"] == "http"
        and scope["http_version"] == "1.1"
        and "host" not in request_headers(scope)
    )


class FastRouteApp(Starlette):
    """Starlette's application, with a direct way to `app` for HTTP requests of `path`.

    Such requests pass the middleware but skip the routing. `app` answers every failure itself.
    Only a browser that opens `path` as a page is routed, if there is a `page` to lead it to.
    """

    def __init__(
        self,
        path: str,
        app: ASGIApp,
        routes: Sequence[BaseRoute],
        middleware: Sequence[Middleware],
        page: bool = False,
    ) -> None:
        super().__init__(routes=routes, middleware=middleware)
        # Starlette's own redirects repeat the query, which may hold a key, and the scheme http.
        self.router.redirect_slashes = False
        self._path = path
        self._page = page
        self._direct = app
        for one in reversed(middleware):
            self._direct = one.cls(self._direct, *one.args, **one.kwargs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        current_scope.set(scope)
        if _lacks_host(scope):
            await PlainTextResponse("Invalid host header", 400)(scope, receive, send)
        elif (
            scope["type"] == "http"
            and route_path(scope) == self._path
            and not (self._page and _opens_page(scope))
        ):
            await self._direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def _opens_page(scope: Scope) -> bool:
    """Whether a browser opens the path itself: it asks for HTML first, and sends no operation."""
    if scope["method"] != "GET" or scope["query_string"]:
        return False
    return request_headers(scope).get("accept", "").startswith("text/html")


REQUEST_HEADERS = (
    "authorization",
    "content-type",
    "if-none-match",
    "if-range",
    CONSISTENCY_HEADER,
    "range",
    "x-penstock-cost",
    "x-request-id",
)
RESPONSE_HEADERS = (
    "accept-ranges",
    "allow",
    "content-disposition",
    "content-range",
    "etag",
    CONSISTENCY_HEADER,
    "retry-after",
    "www-authenticate",
    "x-request-id",
)
"""The headers that pages of other origins may send and read; browsers allow a few others anyway."""

GRAPHQL_PATH = "/graphql"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


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
        runner = OperationRunner(
            _operation_reader(settings, limiter, instrumentation),
            _context_opener(store, cursors, changes, limiter, settings.trusted_proxies),
        )
        events = S3Events(store, authenticator, limits_of(settings), limiter)
        graphql, over_socket = _graphql_apps(
            settings, authenticator, runner, runtime.streams, instrumentation
        )
        yield FastRouteApp(
            GRAPHQL_PATH,
            graphql,
            routes=[
                *health_routes(partial(_check_stores, store, runtime.sink)),
                *instrumentation.routes(),
                events.route(),
                *error_page_routes(),
                schema_route(
                    authenticator.caller_of,
                    runner.reader.limits,
                    introspection=runner.reader.introspection,
                ),
                *(local_files.file_routes(own_files, runtime.transfers) if own_files else ()),
                *audio_stream_routes(store, authenticator.caller_of, limiter),
                WebSocketRoute(GRAPHQL_PATH, over_socket),
                *_notify_routes(settings, authenticator, limiter, runtime.sink),
                *_player_routes(settings, store, authenticator, runner.reader.limits),
                SensorCharts(
                    store, authenticator.caller_of, runner.reader.limits, limits_of(settings)
                ).route(),
                *page_routes(settings, identity, limits_of(settings), file_origins),
            ],
            middleware=list(_middleware(settings)),
            page=settings.serves_graphiql,
        )


async def _check_stores(store: Store, sink: NotificationSink | None) -> None:
    """Raise Unavailable if the store does not answer, or the sink can take nothing."""
    await store.ping()
    if sink is not None:
        sink.require_writable()


def _authenticator_of(settings: Settings, store: Store, tokens: Authenticator) -> Authenticator:
    """Accept API keys too, and count the connections of each caller."""
    seconds = settings.api_key_cache_seconds
    keys = ApiKeyAuthenticator(tokens, store.find_credential, seconds, now=store.clock.now)
    return PlaceTaker(keys)


def streams_of(settings: Settings) -> StreamRegistry:
    return StreamRegistry(settings.max_streams_per_caller, settings.max_unproven_streams)


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
        answer_values=settings.max_answer_values,
        answer_bytes=settings.max_answer_bytes,
        errors=settings.max_errors,
        suggestions=1 if settings.introspection == "authenticated" else 0,
        deadline_seconds=settings.deadline_seconds,
    )


def executor_of(settings: Settings, limits: Limits) -> CompiledExecutor | Interpreter:
    if settings.executor == "reference":
        return Interpreter(schema, limits)
    return CompiledExecutor(schema, limits, interpreted_runs=1, written=True)


def open_rate_limiter(settings: Settings, siblings: Siblings | None) -> RateLimiter:
    """Open the limiter of the rate of callers, which a process shares with its siblings."""
    buckets = None if siblings is None else shared_buckets(siblings)
    return RateLimiter(settings.rate_limit_per_second, settings.rate_limit_burst, buckets)


def stream_limits_of(settings: Settings) -> StreamLimits:
    return StreamLimits(
        operations=settings.max_stream_operations,
        messages_per_second=settings.stream_messages_per_second,
        queue=settings.stream_queue,
        init_seconds=settings.stream_init_seconds,
    )


def _context_opener(
    store: Store,
    cursors: Cursors,
    changes: RowChanges,
    limiter: RateLimiter,
    proxies: TrustedProxies,
) -> OpenContext:
    def open_context(caller: Caller, admission: AdmittedOperation) -> Context:
        limiter.spend(caller.user_id, admission.cost)
        work = CallerAccount(limiter, caller.user_id, admission.cost)
        return Context.open(
            store,
            caller,
            cursors,
            changes,
            work,
            consistent=admission.operation.reads_consistently,
            token=admission.consistency_token,
            address=client_address(proxies),
        )

    return open_context


def _operation_reader(
    settings: Settings, limiter: RateLimiter, instrumentation: Instrumentation
) -> OperationReader:
    """Build the engine, and the reader of the operations that it runs."""
    limits = limits_of(settings)
    executor = executor_of(settings, limits)
    engine = GraphQLEngine(schema, limits, persisted=read_persisted(settings), executor=executor)
    if isinstance(executor, CompiledExecutor):
        instrumentation.count_fallbacks(executor.fallbacks)
    callers = CallerLimits.of(limiter, settings.max_running_operations)
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
    limiter: RateLimiter,
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
    app = NotifyApp(sink, authenticator.caller_of, limiter, limits_of(settings), defaults, log)
    return ngsi_notifications.notify_routes(app)


def _player_routes(
    settings: Settings, store: Store, authenticator: Authenticator, callers: CallerLimits
) -> list[Route]:
    if not settings.opensubsonic:
        return []
    return OpenSubsonicApp(store, authenticator, limits_of(settings), callers).routes()


def _middleware(settings: Settings) -> Iterator[Middleware]:
    hosts = settings.allowed_hosts or (LOOPBACK_NAMES if is_loopback(settings.host) else ())
    if hosts:
        yield Middleware(HostCheck, hosts=hosts)
    if settings.allowed_origins:
        yield Middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=REQUEST_HEADERS,
            expose_headers=RESPONSE_HEADERS,
        )
