"""`POST /events/s3`: upload events of S3, from bucket notifications or EventBridge.

From an event the server takes only the names of files. It then looks these up in the store, with
the caller's own permissions.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.datastore.errors import ErrorCode, ExpectedFailure, PenstockError, Unavailable
from penstock.datastore.objects.port import KEY_BYTES
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.schema.engine.cost import BODY_BYTES
from penstock.schema.engine.limits import Limits
from penstock.server.auth.tokens import Authenticator
from penstock.server.core.deadline import Deadline
from penstock.server.core.headers import request_headers, request_id_of
from penstock.server.edge.caller_turn import CallerTurn
from penstock.server.edge.rate_limit import CallerAccount, CallerLimits
from penstock.server.edge.request import ClientGone, read_body
from penstock.server.edge.response import HttpProblem, internal_problem, refusal_problem

PATH: Final = "/events/s3"
MAX_FILES: Final = 100
COST: Final = 3
"""The cost of each file in an event: one lookup, one read and one write of an execution."""

LONGEST_KEY: Final = 3 * KEY_BYTES
"""Characters of a key in an event, where each byte may be written as `%` and two digits."""


@dataclass(frozen=True, slots=True)
class S3Events:
    """Takes events and makes the executions ready whose inputs they name."""

    store: Store
    authenticator: Authenticator
    limits: Limits
    callers: CallerLimits

    def route(self) -> Route:
        return Route(PATH, self._answer, methods=["POST"])

    async def _answer(self, request: Request) -> Response:
        try:
            return JSONResponse(await self._start_executions(request))
        except ClientGone:
            return Response(status_code=400)
        except PenstockError as error:
            problem = refusal_problem(error, with_token="authorization" in request.headers)
        except HttpProblem as found:
            problem = found.with_traceback(None)
        except Exception as error:
            problem = internal_problem(error, request_id_of(request_headers(request.scope)))
        body = problem.describe(request_id_of(request_headers(request.scope)))
        return JSONResponse(body, problem.status, dict(problem.headers))

    async def _start_executions(self, request: Request) -> dict[str, int]:
        headers = request_headers(request.scope)
        caller = await self.authenticator.caller_of(headers)
        body = await read_body(headers, request.receive, self.limits)
        self.callers.rate.spend(caller.user_id, COST + len(body) // BODY_BYTES)
        keys = _read_keys(body)
        paid = COST * max(1, len(keys))
        account = CallerAccount(self.callers, caller.user_id, paid)
        account.spend_more(paid - COST)
        session = self.store.open_session(caller, account)
        started = await Deadline(
            self.limits.deadline_seconds, self._confirm_uploads(session, keys), _too_late
        )
        return {"started": started, "ignored": len(keys) - started}

    async def _confirm_uploads(self, session: Session, keys: Sequence[str]) -> int:
        """Return the number of executions that were made ready, at a turn of the caller."""
        async with CallerTurn(self.callers.running, session.caller.user_id):
            return sum([await _confirm_upload(session, key) for key in keys])


async def _confirm_upload(session: Session, key: str) -> bool:
    """Tell whether the file is the input of an execution that the caller may start."""
    with suppress(ExpectedFailure):
        return await session.executions.uploads.confirm_key(key) is not None
    return False


def _read_keys(body: bytes) -> list[str]:
    """Return the distinct names of the files in an event."""
    try:
        found = dict.fromkeys(_object_keys(orjson.loads(body)))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = "The body is neither a notification of S3 nor an event of EventBridge."
        raise HttpProblem(ErrorCode.BAD_REQUEST, message) from None
    if len(found) > MAX_FILES:
        raise HttpProblem(ErrorCode.BAD_REQUEST, f"An event lists at most {MAX_FILES} files.")
    return list(found)


def _object_keys(event: Mapping[str, Any]) -> Iterator[str]:
    if "Records" in event:
        for record in event["Records"]:
            yield unquote_plus(_require_key(record["s3"]["object"]["key"]))
    else:
        yield _require_key(event["detail"]["object"]["key"])


def _require_key(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_KEY:
        raise TypeError("a key is a text")
    return value


def _too_late() -> Exception:
    return Unavailable("The files of the event could not be looked up in time.")
