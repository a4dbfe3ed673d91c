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
    of the request after that is nobody's. `has_left` says that its client is gone.
    """

    __slots__ = ("_connection", "_ends_with_client", "_task", "caller", "has_left")

    def __init__(self, connection: GuardedConnection, task: "Task[Any] | None") -> None:
        self._connection: GuardedConnection | None = connection
        self.caller: str | None = None
        self.has_left = False
        self._task = task
        self._ends_with_client = False

    def end_with_client(self) -> None:
        """End the request when its client leaves: it changes nothing."""
        self._ends_with_client = True

    def outlive_client(self) -> None:
        """Run the request to its end, whoever leaves: it may change something."""
        self._ends_with_client = False

    @contextmanager
    def ending_with_client(self) -> Iterator[None]:
        """Let the request end when its client leaves within the block, where it only waits.

        The operations of a socket have tasks of their own, which the socket ends.
        """
        before = self._ends_with_client
        self._ends_with_client = before or current_task() is self._task
        try:
            yield
        finally:
            self._ends_with_client = before

    def close(self) -> None:
        """Forget what was served: what goes on in its context, or a timer of it, holds nothing."""
        self.caller = self._task = self._connection = None

    def lose_client(self) -> None:
        """End what only reads, or waits, for the client, who has left."""
        self.has_left = True
        if self._ends_with_client and self._task is not None:
            self._task.cancel()

    def take_place(self, caller: str) -> bool:
        """Serve this caller from now on; False if they use too many connections."""
        self.caller = caller
        return self._connection is None or self._connection.take_place(caller)


current_request: Final[ContextVar[ServedRequest | None]] = ContextVar("request", default=None)
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
            # A stopping server cuts off an answer that nobody takes; uvicorn would log a failure.
            connection.on_lost = None
            connection.abort()
            await sleep(0)
        finally:
            connection.on_lost = None
            request.close()
            if scope["type"] == "http":
                connection.finish_request()
