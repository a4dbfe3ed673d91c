"""The application in front of all others: it tells a connection when its request is answered."""

from contextvars import ContextVar
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.server.connections.connection import STATE_KEY, GuardedConnection

ADMIN_PATHS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that the listener for administration serves."""

current_connection: Final[ContextVar[GuardedConnection | None]] = ContextVar(
    "connection of the request", default=None
)
"""The connection whose request is served; each request has a task, and so a context, of its own."""


class RequestWatcher:
    """Passes requests to `app`, and reports each end to the request's guarded connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = scope["state"][STATE_KEY]
        current_connection.set(connection)
        app = self._app
        if connection.serves_admin_only and scope["path"] not in ADMIN_PATHS:
            app = PlainTextResponse("Not Found", 404)
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        try:
            await app(scope, receive, send)
        finally:
            connection.finish_request()
