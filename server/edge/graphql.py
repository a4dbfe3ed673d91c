"""GraphQL over HTTP: the ASGI application between a request and the engine that runs it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

import msgspec
from graphql import OperationType
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.datastore.roles import Caller
from penstock.schema.engine.engine import Answer, Engine, Refused
from penstock.schema.engine.limits import Operation
from penstock.server.core.headers import MediaType
from penstock.server.edge.deadline import Within
from penstock.server.edge.request import ALLOWED, ClientGone, Exchange, check_method, read
from penstock.server.edge.response import (
    Malformed,
    Problem,
    Response,
    Statuses,
    cached,
    encode,
    graphql_response,
    headers_of,
    refusal,
    status_of,
    stopping,
    unexpected,
)
from penstock.server.telemetry.operation import MeasuredUnits


class Admission(msgspec.Struct, frozen=True):
    """The facts about an operation before it runs; `cost` is an upper bound in objects."""

    request_id: str
    operation: Operation
    cost: int


class MeteredContext(Protocol):
    """A context value that counts the units used through it."""

    @property
    def units(self) -> MeasuredUnits: ...


Authenticate: TypeAlias = Callable[[Headers], Awaitable[Caller]]
OpenContext: TypeAlias = Callable[[Caller, Admission], MeteredContext]

_ALLOW: Final = headers_of({"allow": ALLOWED})


class GraphQLApp:
    """Serves one engine at any path.

    `authenticate` returns the caller of a request or raises Unauthenticated. `open_context` opens
    the context value for the resolvers, and may refuse the operation with a PenstockError.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        authenticate: Authenticate,
        open_context: OpenContext,
        statuses: Statuses = "2025",
        introspection: bool = True,
    ) -> None:
        self._engine = engine
        self._seconds = engine.limits.deadline_seconds
        self._authenticate = authenticate
        self._open_context = open_context
        self._draft = statuses == "draft"
        self._introspection = introspection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the client gets a GraphQL answer for any failure inside."""
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        exchange = Exchange.of(scope, receive)
        try:
            response = await Within(self._seconds, self._response(exchange), self._late)
        except ClientGone:
            return
        except Problem as problem:
            response = self.refused(problem, exchange)
        except asyncio.CancelledError:
            # A stopping server cancels slow requests, and nothing else would answer them.
            response = self.refused(stopping(), exchange)
        except Exception as error:
            response = self.refused(unexpected(error, exchange.request_id), exchange)
        exchange.seen.answered(response.status)
        await response.send(send, exchange.request_id)

    async def _response(self, exchange: Exchange) -> Response:
        check_method(exchange.scope)
        if exchange.method == "OPTIONS":
            return Response(204, headers=_ALLOW)
        if exchange.media is None:
            raise Problem(ErrorCode.NOT_ACCEPTABLE, f"Answers are {' or '.join(MediaType)}.")
        try:
            answer = await self._answer(exchange)
        except Refused as error:
            answer = Answer({"errors": error.errors})
        except PenstockError as error:
            raise refusal(error, with_token="authorization" in exchange.headers) from None
        return self._answered(answer, exchange, exchange.media)

    async def _answer(self, exchange: Exchange) -> Answer:
        engine, seen = self._engine, exchange.seen
        caller = await self._authenticate(exchange.headers)
        request = await read(exchange, engine.limits)
        seen.asked(request)
        if engine.reads_aside(request):
            await engine.read(request)
        prepared = engine.prepare(request, introspection=self._introspection)
        seen.prepared(prepared)
        check_kind(prepared.operation, exchange)
        admission = Admission(exchange.request_id, prepared.operation, prepared.cost)
        context = self._open_context(caller, admission)
        seen.units = context.units
        answer = await engine.run(prepared, context, exchange.request_id)
        if exchange.wants_cost:
            answer.body["extensions"] = {"cost": self._cost(prepared.cost, context.units)}
        return answer

    def _late(self) -> Problem:
        message = f"The operation took longer than {self._seconds:g} s."
        return Problem(ErrorCode.TIMEOUT, message)

    def _cost(self, requested: int, units: MeasuredUnits) -> dict[str, object]:
        return {
            "requested": requested,
            "maximum": self._engine.limits.cost,
            "rcu": units.rcu,
            "wcu": units.wcu,
            "calls": units.calls,
        }

    def _answered(self, answer: Answer, exchange: Exchange, media: MediaType) -> Response:
        errors = answer.body.get("errors")
        exchange.seen.failed(errors or ())
        code = errors[0]["extensions"]["code"] if errors else None
        plain = media is MediaType.JSON
        status = status_of(answer.body, code, json=plain, draft=self._draft)
        media, body = self._type(media, status), encode(answer.body)
        if exchange.method == "GET" and not errors:
            return cached(body, media, exchange.headers.get("if-none-match"))
        headers = {} if answer.retry_after is None else {"retry-after": str(answer.retry_after)}
        return graphql_response(status, body, media, headers)

    def refused(self, problem: Problem, exchange: Exchange) -> Response:
        """Build the response for a problem."""
        exchange.seen.failed([problem.error])
        status = 422 if self._draft and isinstance(problem, Malformed) else problem.status
        media = self._type(exchange.media or MediaType.JSON, status)
        return graphql_response(status, encode({"errors": [problem.error]}), media, problem.headers)

    def _type(self, media: MediaType, status: int) -> MediaType:
        """Return the response's type: under the draft, only a success has the plain JSON type."""
        return MediaType.GRAPHQL if self._draft and status >= 300 else media


def check_kind(operation: Operation, exchange: Exchange) -> None:
    """Refuse operations that plain HTTP cannot run: mutations by GET, and subscriptions."""
    if operation.kind is OperationType.SUBSCRIPTION:
        raise Problem(ErrorCode.NOT_ACCEPTABLE, "Subscriptions are not answered over plain HTTP.")
    check_safe(operation, exchange)


def check_safe(operation: Operation, exchange: Exchange) -> None:
    """Refuse mutations by GET."""
    if operation.kind is OperationType.MUTATION and exchange.method == "GET":
        raise Problem(
            ErrorCode.METHOD_NOT_ALLOWED, "Mutations are sent by POST.", headers={"allow": "POST"}
        )
