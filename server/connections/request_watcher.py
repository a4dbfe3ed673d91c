"""The application in front of all others: it knows each request that is served, and its end."""

from asyncio import CancelledError, Task, current_task, sleep
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.datastore.periodic import is_cancelled
from penstock.server.connections.connection import STATE_KEY, GuardedConnection

ADMIN_PATHS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that the listener for administration serves."""


class ServedRequest:
    """A request, or a WebSocket, that is served on a connection in a task.

    `caller` is the user once a token has told them, and until the end: what goes on in the context
    of the request after that is nobody's. `has_left` says that its client is gone. A request that
    changes nothing `ends_with_client`.
    """

    __slots__ = ("_task", "caller", "connection", "ends_with_client", "has_left")

    def __init__(
        self, connection: GuardedConnection | None = None, task: "Task[Any] | None" = None
    ) -> None:
        self.connection = connection
        self._task = task
        self.caller: str | None = None
        self.ends_with_client = False
        self.has_left = False

    @contextmanager
    def ending_with_client(self) -> Iterator[None]:
        """Let the request end when its client leaves within the block, where it only waits.

        The operations of a socket have tasks of their own, which the socket ends.
        """
        before = self.ends_with_client
        self.ends_with_client = before or current_task() is self._task
        try:
            yield
        finally:
            self.ends_with_client = before

    def close(self) -> None:
        """Forget what was served: what goes on in its context, or a timer of it, holds nothing."""
        self.caller = self._task = self.connection = None

    def lose_client(self) -> None:
        """End what only reads, or waits, for the client, who has left."""
        self.has_left = True
        if self.ends_with_client and self._task is not None:
            self._task.cancel()


_NO_REQUEST: Final = ServedRequest()
"""Where no request is served: without a connection and a task it has no caller and never ends."""

current_request: Final = ContextVar("request", default=_NO_REQUEST)
"""The request that is served; each has a task, and so a context, of its own."""


class RequestWatcher:
    """Passes requests to `app`, and reports each end to the request's guarded connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = scope["state"][STATE_KEY]
        request = ServedRequest(connection, current_task())
        current_request.set(request)
        connection.on_lost = request.lose_client
        app = self._app
        if connection.serves_admin_only and scope["path"] not in ADMIN_PATHS:
            app = PlainTextResponse("Not Found", 404)
        try:
            await app(scope, receive, send)
        except CancelledError:
            if not is_cancelled():
                raise
            # The client has left, or a stopping server cuts off an answer that nobody takes.
            # uvicorn would log a failure.
            connection.on_lost = None
            connection.abort()
            await sleep(0)
        finally:
            connection.on_lost = None
            request.close()
            if scope["type"] == "http":
                connection.finish_request()
