"""`GET /stream/<audio id>`: a redirect to a URL that plays the track, signed anew each time."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.datastore.errors import NotFound, PenstockError, Unavailable
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema.engine.limits import Limits
from penstock.server.core.deadline import Deadline
from penstock.server.core.headers import request_id_of
from penstock.server.edge.caller_turn import CallerTurn
from penstock.server.edge.rate_limit import CallerAccount, CallerLimits
from penstock.server.edge.response import internal_problem, refusal_problem

Authenticate: TypeAlias = Callable[[Headers], Awaitable[Caller]]

_PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}


def audio_stream_routes(
    store: Store, authenticate: Authenticate, callers: CallerLimits, limits: Limits
) -> list[Route]:
    """Return the route; it requires a token, and finds the caller's own audio only.

    Unlike the signed URL it redirects to, this URL does not expire, so players can use it again.
    """

    async def find_url(request: Request) -> str:
        caller = await authenticate(request.headers)
        callers.rate.spend(caller.user_id, 1)
        async with CallerTurn(callers.running, caller.user_id):
            account = CallerAccount(callers, caller.user_id)
            library = store.open_session(caller, account).audio
            track = await library.reading.get_audio_files_by_audio_id(request.path_params["id"])
            return (await library.streaming.sign_stream(track)).url

    async def stream(request: Request) -> Response:
        try:
            url = await Deadline(limits.deadline_seconds, find_url(request), _too_late)
        except PenstockError as error:
            problem = refusal_problem(error, with_token="authorization" in request.headers)
            problem.status = 404 if isinstance(error, NotFound) else problem.status
        except Exception as error:
            problem = internal_problem(error, request_id_of(request.headers))
        else:
            return Response(status_code=307, headers={**_PRIVATE, "location": url})
        body = problem.describe(request_id_of(request.headers))
        return JSONResponse(body, problem.status, {**_PRIVATE, **problem.headers})

    return [Route("/stream/{id}", stream)]


def _too_late() -> Exception:
    return Unavailable("The track could not be found in time.")
