"""`POST /notify` and `/v2/notify`: NGSI notifications of context brokers, for the sink."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import ErrorCode, NotFound, PenstockError, Unavailable
from penstock.datastore.ngsi.directory import require
from penstock.datastore.ngsi.inbox import Accepted
from penstock.datastore.ngsi.notification import Defaults, read_heading, read_notification
from penstock.datastore.ngsi.sink import Sink
from penstock.datastore.roles import Caller, Role
from penstock.schema.core.errors import FormattedError, formatted
from penstock.schema.engine.limits import Limits
from penstock.server.core.headers import Fields, MediaType, fields_of, is_json, request_id_of
from penstock.server.edge.rate_limit import RateLimiter
from penstock.server.edge.request import ClientGone, body_of
from penstock.server.edge.response import (
    Problem,
    Response,
    encode,
    headers_of,
    refusal,
    stopping,
    unexpected,
)

PATHS: Final = ("/notify", "/v2/notify")
ALLOWED: Final = "POST"
THREADED_BYTES: Final = 64 * 1024

_HEADERS: Final = headers_of({"cache-control": "no-store", "x-content-type-options": "nosniff"})
_TYPED: Final = (*headers_of({"content-type": MediaType.JSON.header}), *_HEADERS)


@dataclass(frozen=True, slots=True)
class NotifyApp:
    """Accepts notifications of callers with the role contributor in their service paths' groups."""

    sink: Sink
    authenticate: Callable[[Headers], Awaitable[Caller]]
    limiter: RateLimiter
    limits: Limits
    defaults: Defaults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = fields_of(scope)
        request_id = request_id_of(headers)
        try:
            response = await self._answered(str(scope["method"]), headers, receive)
        except ClientGone:
            return
        except Problem as problem:
            response = _refused(problem)
        except asyncio.CancelledError:
            response = _refused(stopping())
        except Exception as error:
            response = _refused(unexpected(error, request_id))
        await response.send(send, request_id)

    async def _answered(self, method: str, headers: Fields, receive: Receive) -> Response:
        if method != ALLOWED:
            words = "Notifications are sent by POST."
            raise Problem(ErrorCode.METHOD_NOT_ALLOWED, words, headers={"allow": ALLOWED})
        try:
            async with asyncio.timeout(self.limits.deadline_seconds):
                return _answer(await self._taken(headers, receive))
        except PenstockError as error:
            raise _problem(error, headers) from None
        except TimeoutError:
            late = Unavailable("The notification could not be kept in time.")
            raise _problem(late, headers) from None

    async def _taken(self, headers: Fields, receive: Receive) -> Accepted | None:
        caller = await self.authenticate(headers)
        self.limiter.spend(caller.user_id, 1)
        heading = read_heading(headers, self.defaults)
        for path in heading.paths:
            require(caller, Role.CONTRIBUTOR, heading.service, path)
        if not is_json(headers.get("content-type", "")):
            words = "A notification is application/json in UTF-8."
            raise Problem(ErrorCode.UNSUPPORTED_MEDIA_TYPE, words)
        body = await body_of(headers, receive, self.limits)
        if len(body) > THREADED_BYTES:
            notification = await asyncio.to_thread(read_notification, heading, body)
        else:
            notification = read_notification(heading, body)
        return await self.sink.accept(notification, len(body))


def routes(app: NotifyApp) -> list[Route]:
    return [Route(path, app) for path in PATHS]


def _answer(accepted: Accepted | None) -> Response:
    """Return 202 for a queued notification, 200 for a stored one, 400 for one of dead letters only.

    The body lists the refused entities, and the number of accepted ones.
    """
    if accepted is None:
        return Response(202, b"", _HEADERS)
    errors = [
        formatted(each.reason, ErrorCode.BAD_USER_INPUT, {"index": each.position})
        for each in accepted.refused
    ]
    if not errors:
        return Response(200, b"", _HEADERS)
    return _told(200 if accepted.events else 400, errors, accepted.events)


def _told(status: int, errors: Sequence[FormattedError], events: int | None = None) -> Response:
    body: dict[str, object] = {"errors": errors}
    if events is not None:
        body["accepted"] = events
    return Response(status, encode(body), _TYPED)


def _refused(problem: Problem) -> Response:
    told = _told(problem.status, [problem.error])
    return Response(told.status, told.body, (*told.headers, *headers_of(problem.headers)))


def _problem(error: PenstockError, headers: Headers) -> Problem:
    problem = refusal(error, with_token="authorization" in headers)
    if isinstance(error, NotFound):
        problem.status = 404
    return problem
