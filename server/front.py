"""The application, in which what is asked for most is found without looking through the routes."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send


class Front(Starlette):
    """Starlette's application, whose `path` is answered over HTTP by `app` behind the middleware.

    `app` answers every failure of its own, so that nobody needs to catch them.
    """

    def __init__(
        self,
        path: str,
        app: ASGIApp,
        routes: Sequence[BaseRoute],
        middleware: Sequence[Middleware],
    ) -> None:
        super().__init__(routes=routes, middleware=middleware)
        self._path = path
        self._direct = app
        for one in reversed(middleware):
            self._direct = one.cls(self._direct, *one.args, **one.kwargs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") == self._path and scope["type"] == "http":
            await self._direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)
