"""The application with a direct way to the path of GraphQL, past the routing."""

import re
from asyncio import CancelledError
from collections.abc import Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.datastore.periodic import is_cancelled
from penstock.server.core.headers import request_headers
from penstock.server.edge.request import current_scope, route_path
from penstock.server.edge.response import stopping_problem


def _lacks_host(scope: Scope) -> bool:
    """Tell whether a request has no Host field, which HTTP/1.1 demands (RFC 9112, 3.2)."""
    return (
        scope["type"] == "http"
        and scope["http_version"] == "1.1"
        and "host" not in request_headers(scope)
    )


_WITH_NAMES: Final = re.compile(rb"/(?:console/(?!assets/)[^/%]++|files)/")
"""The paths below which names follow, of which characters may be encoded."""


def _is_spelled_out(scope: Scope) -> bool:
    """Tell whether no character of a path is encoded, but for names.

    A proxy with a rule for a path may not know another spelling of it, such as `/metrics%0a`.
    """
    raw: bytes = scope.get("raw_path", b"")
    if b"%" not in raw:
        return True
    below_root = raw.removeprefix(scope.get("root_path", "").encode())
    return _WITH_NAMES.match(below_root) is not None


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
        self.router.default = self._answer_elsewhere
        self._path = path
        self._page = page
        self._direct = app
        for one in reversed(middleware):
            self._direct = one.cls(self._direct, *one.args, **one.kwargs)

    async def _answer_elsewhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer at a path that has nothing, by the path of GraphQL."""
        if scope["type"] == "http":
            place = f"{scope.get('root_path', '')}{self._path}"
            text = f"There is nothing at this path; GraphQL is at {place}.\n"
            await PlainTextResponse(text, 404)(scope, receive, send)
        else:
            await self.router.not_found(scope, receive, send)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        current_scope.set(scope)
        if _lacks_host(scope):
            await PlainTextResponse("Invalid host header", 400)(scope, receive, send)
        elif not _is_spelled_out(scope):
            await self._answer_elsewhere(scope, receive, send)
        elif (
            scope["type"] == "http"
            and route_path(scope) == self._path
            and not (self._page and _opens_page(scope))
        ):
            await self._direct(scope, receive, send)
        else:
            await self._route(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route a request; one that a stopping server cancels before its answer is told so."""
        has_begun = False

        async def note_begin(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await super().__call__(scope, receive, note_begin)
        except CancelledError:
            if scope["type"] != "http" or has_begun or not is_cancelled():
                raise
            problem = stopping_problem()
            answer = PlainTextResponse(str(problem), problem.status, problem.headers)
            await answer(scope, receive, send)


def _opens_page(scope: Scope) -> bool:
    """Whether a browser opens the path itself: it asks for HTML first, and sends no operation."""
    if scope["method"] != "GET" or scope["query_string"]:
        return False
    return request_headers(scope).get("accept", "").startswith("text/html")
