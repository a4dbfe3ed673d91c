"""`POST /dev/session`: a page of a development server exchanges a one-time code for a token.

The answer is no cookie, so a page of another site cannot use it.
"""

from dataclasses import replace
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.datastore.errors import ErrorCode, NotAuthenticated, PenstockError
from penstock.datastore.unreadable_json import JSON_ERRORS
from penstock.schema.engine.limits import Limits
from penstock.server.auth.dev_identity import DevIdentity, describe_roles
from penstock.server.auth.dev_sessions import RENEW_AFTER, DevSession, DevSessions
from penstock.server.connections.connection import connection_of
from penstock.server.core.headers import is_json, request_headers, request_id_of
from penstock.server.edge.request import ClientGone, read_body
from penstock.server.edge.response import HttpProblem, refusal_problem

PATH: Final = "/dev/session"
MAX_BODY_BYTES: Final = 16 * 1024
_HEADERS: Final = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The proof that a page sends: a code, or the renewal of a session.

    With a renewal, `actAs` names another of the callers that the page can act as.
    """

    code: str | None = None
    renewal: str | None = None
    act_as: str | None = msgspec.field(default=None, name="actAs")


def session_route(sessions: DevSessions, limits: Limits) -> Route:
    limits = replace(limits, body_bytes=min(limits.body_bytes, MAX_BODY_BYTES))

    async def answer(request: Request) -> Response:
        connection = connection_of(request.scope)
        if connection is not None:
            connection.distrust()
        try:
            session = await _exchange(sessions, await _read_proof(request, limits))
        except ClientGone:
            return Response(status_code=400)
        except PenstockError as error:
            problem = refusal_problem(error, with_token=False)
        except HttpProblem as found:
            problem = found.with_traceback(None)
        else:
            return JSONResponse(_describe(session, sessions.identity), headers=_HEADERS)
        body = problem.describe(request_id_of(request_headers(request.scope)))
        return JSONResponse(body, problem.status, {**_HEADERS, **problem.headers})

    return Route(PATH, answer, methods=["POST"], name="dev-session")


def _describe(session: DevSession, identity: DevIdentity) -> dict[str, object]:
    """Return the answer: the session, and the callers that the page can act as."""
    return {
        "token": session.token,
        "renewal": session.renewal,
        "renewAfter": int(RENEW_AFTER.total_seconds()),
        "actsAs": session.caller.user_id,
        "callers": [
            {"userId": caller.user_id, "roles": describe_roles(caller)}
            for caller in identity.callers
        ],
    }


async def _read_proof(request: Request, limits: Limits) -> Proof:
    """Read the body; raises HttpProblem for one that a form of another site could send."""
    headers = request_headers(request.scope)
    if not is_json(headers.get("content-type", "")):
        raise HttpProblem(ErrorCode.UNSUPPORTED_MEDIA_TYPE, "The body must be application/json.")
    body = await read_body(headers, request.receive, limits)
    try:
        return msgspec.json.decode(body, type=Proof)
    except JSON_ERRORS:
        message = "The body must be an object with a `code` or a `renewal`."
        raise HttpProblem(ErrorCode.BAD_REQUEST, message) from None


async def _exchange(sessions: DevSessions, proof: Proof) -> DevSession:
    """Return the session; the failure of a wrong proof comes late."""
    try:
        return await _find_session(sessions, proof)
    except NotAuthenticated:
        await sessions.brake.delay()
        raise


async def _find_session(sessions: DevSessions, proof: Proof) -> DevSession:
    match proof:
        case Proof(code=str(code), renewal=None, act_as=None):
            return sessions.open(code)
        case Proof(code=None, renewal=str(renewal), act_as=act_as):
            return await sessions.renew(renewal, act_as)
    raise HttpProblem(ErrorCode.BAD_REQUEST, "Send either a `code` or a `renewal`.")
