"""The options of the parts of an application, as the settings give them."""

from collections.abc import Iterator

import msgspec
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from penstock.datastore.unreadable_json import JSON_ERRORS
from penstock.schema import schema
from penstock.schema.engine.documents import PersistedDocuments, PersistedMode
from penstock.schema.engine.engine import CompiledExecutor
from penstock.schema.engine.interpreter import Interpreter
from penstock.schema.engine.limits import Limits
from penstock.server.auth.dev_identity import is_loopback
from penstock.server.console import read_documents
from penstock.server.core.siblings import Siblings
from penstock.server.edge.rate_limit import RateLimiter
from penstock.server.edge.request import CONSISTENCY_HEADER, HostCheck
from penstock.server.edge.shared_buckets import shared_buckets
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings
from penstock.server.streams.backpressure import StreamLimits
from penstock.server.streams.registry import StreamRegistry

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
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
    except JSON_ERRORS as error:
        reason = f"is no JSON object from ids to texts: {error}"
    problem = f"PENSTOCK_TRUSTED_DOCUMENTS: {settings.trusted_documents}: {reason}"
    raise InvalidSettings((problem,))


def streams_of(settings: Settings) -> StreamRegistry:
    """Make the registry of the streams that one process serves."""
    return StreamRegistry(settings.max_streams_per_caller, settings.max_unproven_streams)


def limits_of(settings: Settings) -> Limits:
    """Return the limits of requests, of documents and of answers."""
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
    """Make the executor of operations: the compiled one, or the reference."""
    if settings.executor == "reference":
        return Interpreter(schema, limits)
    return CompiledExecutor(schema, limits, interpreted_runs=1, written=True)


def open_rate_limiter(settings: Settings, siblings: Siblings | None) -> RateLimiter:
    """Open the limiter of the rate of callers, which a process shares with its siblings."""
    buckets = None if siblings is None else shared_buckets(siblings)
    return RateLimiter(settings.rate_limit_per_second, settings.rate_limit_burst, buckets)


def stream_limits_of(settings: Settings) -> StreamLimits:
    """Return the limits of a WebSocket or a stream of events."""
    return StreamLimits(
        operations=settings.max_stream_operations,
        messages_per_second=settings.stream_messages_per_second,
        queue=settings.stream_queue,
        init_seconds=settings.stream_init_seconds,
    )


def middleware_of(settings: Settings) -> Iterator[Middleware]:
    """Check the host of a request, and answer the checks of pages of other origins."""
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
