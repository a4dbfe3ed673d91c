"""`GET /schema.graphql`: the schema as a document, for tools that make and check clients."""

from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import sha256
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from penstock.datastore.errors import ErrorCode, PenstockError, Unavailable
from penstock.datastore.roles import Caller
from penstock.schema import sdl
from penstock.schema.engine.limits import Limits
from penstock.server.core.deadline import Deadline
from penstock.server.core.headers import request_id_of
from penstock.server.edge.caller_turn import CallerTurn
from penstock.server.edge.rate_limit import CallerLimits
from penstock.server.edge.response import HttpProblem, refusal_problem

PATH: Final = "/schema.graphql"
COST: Final = 50
"""What a caller pays for the document, which is as large as the answers of some 50 objects."""


def schema_route(
    authenticate: Callable[[Headers], Awaitable[Caller]],
    callers: CallerLimits,
    limits: Limits,
    *,
    introspection: bool,
) -> Route:
    """Return the route; those may read the document who may read the schema by introspection."""

    async def send_document(request: Request) -> Response:
        caller = await authenticate(request.headers)
        if not introspection:
            message = "The server does not let callers read its schema."
            raise HttpProblem(ErrorCode.INTROSPECTION_DISABLED, message, status=403)
        callers.rate.spend(caller.user_id, COST)
        async with CallerTurn(callers.running, caller.user_id) as turn:
            held = request.headers.get("if-none-match", "")
            return turn.keep_for(_document_response(held))

    async def answer(request: Request) -> Response:
        try:
            return await Deadline(limits.deadline_seconds, send_document(request), _too_late)
        except PenstockError as error:
            problem = refusal_problem(error, with_token="authorization" in request.headers)
        except HttpProblem as found:
            problem = found.with_traceback(None)
        body = problem.describe(request_id_of(request.headers))
        refused = {"cache-control": "no-store", **problem.headers}
        return JSONResponse(body, problem.status, refused)

    return Route(PATH, answer, name="schema")


def _too_late() -> Exception:
    return Unavailable("The schema could not be sent in time.")


@cache
def _read_document() -> tuple[str, str]:
    """Return the document with its tag; printing it takes too long for each start of a server."""
    document = sdl()
    return document, f'"{sha256(document.encode()).hexdigest()[:24]}"'


def _document_response(held: str) -> Response:
    document, tag = _read_document()
    headers = {"cache-control": "private, no-cache", "etag": tag, "vary": "authorization"}
    if tag in held:
        return Response(status_code=304, headers=headers)
    return PlainTextResponse(document, headers=headers)
