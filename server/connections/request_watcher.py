"""The application in front of all others: it knows each request that is served, and its end."""

from asyncio import CancelledError, sleep
from contextvars import ContextVar
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.datastore.periodic import is_cancelled
from penstock.server.connections.connection import STATE_KEY, GuardedConnection

ADMIN_PATHS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that the listener for administration serves."""


class ServedRequest:
    """A request, or a WebSocket, that is served on a connection.

    `caller` is the user once a token has told them, and until the end: what goes on in the context
    of the request after that is nobody's.
    """

    __slots__ = ("caller", "connection")

    def __init__(self, connection: GuardedConnection) -> None:
        self.connection = connection
        self.caller: str | None = None

    def take_place(self, caller: str) -> bool:
        """Serve this caller from now on; False if they use too many connections."""
        self.caller = caller
        return self.connection.take_place(caller)


current_request: Final[ContextVar[ServedRequest | None]] = ContextVar("request", default=None)
"""The request that is served; each has a task, and so a context, of its own."""


class RequestWatcher:
    """Passes requests to `app`, and reports each end to the request's guarded connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = scope["state"][STATE_KEY]
        request = ServedRequest(connection)
        current_request.set(request)
        app = self._app
        if connection.serves_admin_only and scope["path"] not in ADMIN_PATHS:
            app = PlainTextResponse("Not Found", 404)
        try:
            await app(scope, receive, send)
        except CancelledError:
            if not is_cancelled():
                raise
            # A stopping server cuts off an answer that nobody takes; uvicorn would log a failure.
            connection.abort()
            await sleep(0)
        finally:
            request.caller = None
            if scope["type"] == "http":
                connection.finish_request()
