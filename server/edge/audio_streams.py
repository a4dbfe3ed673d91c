"""`GET /stream/<audio id>`: a redirect to a URL that plays the track, signed anew each time."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.datastore.errors import NotFound, PenstockError
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.server.core.headers import request_id_of
from penstock.server.edge.rate_limit import CallerAccount, RateLimiter
from penstock.server.edge.response import refusal_problem

Authenticate: TypeAlias = Callable[[Headers], Awaitable[Caller]]

_PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


def audio_stream_routes(
    store: Store, authenticate: Authenticate, limiter: RateLimiter
) -> list[Route]:
    """Return the route; it requires a token, and finds the caller's own audio only.

    Unlike the signed URL it redirects to, this URL does not expire, so players can use it again.
    """

    async def stream(request: Request) -> Response:
        try:
            caller = await authenticate(request.headers)
            limiter.spend(caller.user_id, 1)
            account = CallerAccount(limiter, caller.user_id)
            library = store.open_session(caller, account).audio
            track = await library.reading.get_audio_files_by_audio_id(request.path_params["id"])
            download = await library.streaming.sign_stream(track)
        except PenstockError as error:
            return _refusal_response(error, request.headers)
        return Response(status_code=307, headers={**_PRIVATE, "location": download.url})

    return [Route("/stream/{id}", stream)]


def _refusal_response(error: PenstockError, headers: Headers) -> Response:
    problem = refusal_problem(error, with_token="authorization" in headers)
    status = 404 if isinstance(error, NotFound) else problem.status
    body = problem.describe(request_id_of(headers))
    return JSONResponse(body, status, {**_PRIVATE, **problem.headers})
