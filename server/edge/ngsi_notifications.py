"""`POST /notify` and `/v2/notify`: NGSI notifications of context brokers, for the sink."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter, thread_time
from typing import Final

from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from penstock.datastore.access.work import WorkPayer, cpu_units, notification_units, storing_units
from penstock.datastore.errors import ErrorCode, NotFound, PenstockError, Unavailable
from penstock.datastore.ngsi.directory import require_role
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.intake.threads import run_in_notification_thread
from penstock.datastore.ngsi.linked_data.signs import MEDIA_TYPE
from penstock.datastore.ngsi.notification import (
    NotificationDefaults,
    read_headers,
    read_notification,
)
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.roles import Caller, Role
from penstock.schema.core.errors import FormattedError, add_details, format_error
from penstock.schema.core.scalars import encode_json
from penstock.schema.engine.limits import Limits
from penstock.server.core.headers import (
    IndexedHeaders,
    MediaType,
    is_json,
    request_headers,
    request_id_of,
)
from penstock.server.edge.content_encoding import Encoding, content_encoding, unpack_gzip
from penstock.server.edge.rate_limit import CallerAccount, CallerLimits
from penstock.server.edge.request import ClientGone, read_body
from penstock.server.edge.response import (
    HttpProblem,
    HttpResponse,
    cancelled_problem,
    encode_headers,
    internal_problem,
    refusal_problem,
)
from penstock.server.telemetry.work_log import NotificationLog

PATHS: Final = ("/notify", "/v2/notify")
ALLOWED_METHOD: Final = "POST"
MEDIA_TYPES: Final = (MediaType.JSON.value, MEDIA_TYPE)
THREADED_BYTES: Final = 64 * 1024
CORRELATOR: Final = "fiware-correlator"

_CORRELATOR: Final = re.compile(r"[ -~]{1,256}")
"""A correlator that answers and lines of log have."""

_HEADERS: Final = encode_headers({"cache-control": "no-store", "x-content-type-options": "nosniff"})
_JSON_HEADERS: Final = (*encode_headers({"content-type": MediaType.JSON.header}), *_HEADERS)


@dataclass(frozen=True, slots=True)
class NotifyApp:
    """Accepts notifications of callers with the role contributor in their service paths' groups."""

    sink: NotificationSink
    authenticate: Callable[[Headers], Awaitable[Caller]]
    callers: CallerLimits
    limits: Limits
    defaults: NotificationDefaults
    log: NotificationLog | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = request_headers(scope)
        request_id, began = request_id_of(headers), perf_counter()
        correlator = correlator_of(headers, request_id)
        try:
            response = await self._respond(str(scope["method"]), headers, receive, request_id)
        except ClientGone:
            return
        except HttpProblem as problem:
            response = _refusal_response(problem, request_id)
        except asyncio.CancelledError as error:
            response = _refusal_response(cancelled_problem(error, request_id), request_id)
        except Exception as error:
            response = _refusal_response(internal_problem(error, request_id), request_id)
        if self.log is not None:
            self.log.write(request_id, correlator, response.status, perf_counter() - began)
        named = (*response.headers, (CORRELATOR.encode(), correlator.encode()))
        await HttpResponse(response.status, response.body, named).send(send, request_id)

    async def _respond(
        self, method: str, headers: IndexedHeaders, receive: Receive, request_id: str
    ) -> HttpResponse:
        if method != ALLOWED_METHOD:
            words = "Notifications are sent by POST."
            raise HttpProblem(
                ErrorCode.METHOD_NOT_ALLOWED, words, headers={"allow": ALLOWED_METHOD}
            )
        try:
            async with asyncio.timeout(self.limits.deadline_seconds):
                accepted = await self._accept_notification(headers, receive)
                return _accepted_response(accepted, request_id)
        except PenstockError as error:
            raise _problem_of(error, headers) from None
        except TimeoutError:
            late = Unavailable("The notification could not be kept in time.")
            raise _problem_of(late, headers) from None

    async def _accept_notification(
        self, headers: IndexedHeaders, receive: Receive
    ) -> IntakeResult | None:
        caller = await self.authenticate(headers)
        self.callers.rate.spend(caller.user_id, 1)
        heading = read_headers(headers, self.defaults)
        for path in set(heading.paths):
            require_role(caller, Role.CONTRIBUTOR, heading.service, path)
        if not is_json(headers.get("content-type", ""), MEDIA_TYPES):
            words = f"A notification is {' or '.join(MEDIA_TYPES)} in UTF-8."
            raise HttpProblem(ErrorCode.UNSUPPORTED_MEDIA_TYPE, words)
        account = CallerAccount(self.callers, caller.user_id)
        body = await self._receive_body(headers, receive, account)
        if len(body) > THREADED_BYTES:
            read = partial(read_notification, heading, body)
            notification = await run_in_notification_thread(read)
        else:
            notification = read_notification(heading, body)
        account.owe(storing_units(notification.samples))
        payer = WorkPayer(caller.user_id, account)
        return await self.sink.accept_notification(notification, len(body), payer)

    async def _receive_body(
        self, headers: IndexedHeaders, receive: Receive, account: CallerAccount
    ) -> bytes:
        """Receive the body, unpacked and paid by its size: as received first, then as unpacked."""
        encoding = content_encoding(headers)
        body = await read_body(headers, receive, self.limits)
        account.spend_more(notification_units(len(body)))
        if encoding is Encoding.IDENTITY:
            return body
        seconds = 0.0

        def unpack() -> bytes:
            nonlocal seconds
            began = thread_time()
            try:
                return unpack_gzip(body, self.limits.body_bytes)
            finally:
                seconds = thread_time() - began

        try:
            unpacked = await run_in_notification_thread(unpack)
        finally:
            account.owe(cpu_units(seconds))
        account.spend_more(notification_units(max(len(unpacked) - len(body), 0)))
        return unpacked


def correlator_of(headers: Headers, request_id: str) -> str:
    """Return the sender's `Fiware-Correlator`, else the request's id, which names it as well."""
    given = headers.get(CORRELATOR, "")
    return given if _CORRELATOR.fullmatch(given) else request_id


def notify_routes(app: NotifyApp) -> list[Route]:
    return [Route(path, app) for path in PATHS]


def _accepted_response(accepted: IntakeResult | None, request_id: str) -> HttpResponse:
    """Return 202 for a queued notification, 200 for a stored one, 400 for one of dead letters only.

    The body lists the refused entities, and the number of accepted ones.
    """
    if accepted is None:
        return HttpResponse(202, b"", _HEADERS)
    errors = [
        format_error(each.reason, ErrorCode.BAD_USER_INPUT, {"index": each.position})
        for each in accepted.refused
    ]
    if not errors:
        return HttpResponse(200, b"", _HEADERS)
    return _error_response(200 if accepted.events else 400, errors, request_id, accepted.events)


def _error_response(
    status: int, errors: Sequence[FormattedError], request_id: str, events: int | None = None
) -> HttpResponse:
    body: dict[str, object] = {"errors": add_details(errors, request_id)}
    if events is not None:
        body["accepted"] = events
    return HttpResponse(status, encode_json(body), _JSON_HEADERS)


def _refusal_response(problem: HttpProblem, request_id: str) -> HttpResponse:
    response = _error_response(problem.status, [problem.error], request_id)
    headers = (*response.headers, *encode_headers(problem.headers))
    return HttpResponse(response.status, response.body, headers)


def _problem_of(error: PenstockError, headers: Headers) -> HttpProblem:
    problem = refusal_problem(error, with_token="authorization" in headers)
    if isinstance(error, NotFound):
        problem.status = 404
    return problem
