"""GraphQL over HTTP: the ASGI application between a request and the engine that runs it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec
from graphql import OperationType
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key
from penstock.datastore.table.unreadable_rows import UnreadableRow, unreadable_of_operation
from penstock.resolvers.context import Context
from penstock.resolvers.cursors import Cursors
from penstock.schema.core.errors import add_details
from penstock.schema.core.scalars import encode_json
from penstock.schema.engine.cost import BODY_BYTES, document_cost
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.limits import MeasuredOperation
from penstock.schema.engine.operations import (
    OperationRequest,
    OperationResult,
    PreparedOperation,
    RequestRejected,
)
from penstock.server.core.deadline import Deadline
from penstock.server.core.headers import MediaType
from penstock.server.edge.caller_turn import CallerTurn
from penstock.server.edge.rate_limit import RESTED_UNITS, CallerAccount, CallerLimits
from penstock.server.edge.request import (
    ALLOWED_METHODS,
    CONSISTENCY_EXTENSION,
    CONSISTENCY_HEADER,
    ClientGone,
    IncomingRequest,
    TrustedProxies,
    check_method,
    client_address,
    parse_request,
    receive_text,
)
from penstock.server.edge.response import (
    LARGE_BYTES,
    HttpProblem,
    HttpResponse,
    MalformedRequest,
    Statuses,
    cacheable_response,
    cancelled_problem,
    encode_headers,
    graphql_response,
    internal_problem,
    refusal_problem,
    status_of,
)
from penstock.server.telemetry.operation import MeasuredUnits, OperationRecord


class AdmittedOperation(msgspec.Struct, frozen=True):
    """An operation that may run; `cost` is an upper bound in objects."""

    request_id: str
    operation: MeasuredOperation
    cost: int
    consistency_token: str | None = None

    @classmethod
    def of(cls, request_id: str, prepared: PreparedOperation) -> "AdmittedOperation":
        return cls(request_id, prepared.operation, prepared.cost, prepared.consistency_token)


class RequestContext(Protocol):
    """A context value that counts the units used through it, and knows what was written."""

    @property
    def units(self) -> MeasuredUnits: ...

    @property
    def consistency_token(self) -> str | None: ...


Authenticate: TypeAlias = Callable[[Headers], Awaitable[Caller]]
OpenContext: TypeAlias = Callable[[Caller, AdmittedOperation], RequestContext]


def context_opener(
    store: Store,
    cursors: Cursors,
    changes: RowChanges,
    callers: CallerLimits,
    proxies: TrustedProxies,
) -> OpenContext:
    """Return the function that opens the context of an operation, for which its caller pays."""

    def open_context(caller: Caller, admission: AdmittedOperation) -> Context:
        callers.rate.spend(caller.user_id, admission.cost)
        work = CallerAccount(callers, caller.user_id, admission.cost)
        return Context.open(
            store,
            caller,
            cursors,
            changes,
            work,
            consistent=admission.operation.reads_consistently,
            token=admission.consistency_token,
            address=client_address(proxies),
        )

    return open_context


class RequestSource(NamedTuple):
    """The form of a request: `parse` reads its text, `check` refuses operations it cannot run.

    Both raise HttpProblem. With `is_paid` the caller has paid for the bytes of the text already.
    """

    parse: Callable[[bytes], OperationRequest]
    check: Callable[[MeasuredOperation], None]
    is_paid: bool = False


class OperationReader(NamedTuple):
    """Reads the operations of callers, who pay for the reading, also of what is refused."""

    engine: GraphQLEngine
    limits: CallerLimits
    introspection: bool = True

    async def read(
        self, caller: Caller, text: bytes, source: RequestSource, record: OperationRecord
    ) -> PreparedOperation:
        """Parse a request and prepare its operation.

        Raises HttpProblem, RequestRejected, and RateLimited before work that the caller cannot pay.
        """
        rate, user_id = self.limits.rate, caller.user_id
        if len(text) >= BODY_BYTES and not source.is_paid:
            rate.spend(user_id, len(text) // BODY_BYTES)
        try:
            return await self._prepare(user_id, text, source, record)
        except (HttpProblem, RequestRejected):
            rate.spend(user_id, 1)
            raise
        finally:
            record.forget_text()

    async def _prepare(
        self, user_id: str, text: bytes, source: RequestSource, record: OperationRecord
    ) -> PreparedOperation:
        request = await self._parse(user_id, text, source)
        record.note_request(request)
        unread = self.engine.unread_text(request)
        if unread is not None:
            await self._read_document(user_id, unread)
        prepared = self.engine.prepare(request, introspection=self.introspection)
        source.check(prepared.operation)
        record.note_prepared(prepared)
        return prepared

    async def _parse(self, user_id: str, text: bytes, source: RequestSource) -> OperationRequest:
        """Parse a request; of large ones each caller has one at a time, and others go on between.

        All connections of a caller may have received theirs at the same moment.
        """
        units = len(text) // BODY_BYTES
        if units < RESTED_UNITS:
            return source.parse(text)
        async with CallerTurn(self.limits.reading, user_id):
            try:
                return source.parse(text)
            finally:
                self.limits.rest(user_id, units)

    async def _read_document(self, user_id: str, text: str) -> None:
        """Read a document that is not in the cache, one at a time for each caller."""
        async with CallerTurn(self.limits.reading, user_id):
            self.limits.spend(user_id, document_cost(len(text)))
            await self.engine.read(text)

    def owe_answer(self, caller: Caller, cost: int, answer: OperationResult) -> None:
        """Take the units of an answer beyond those that the operation has paid."""
        units = answer.units - max(cost, _FREE_UNITS)
        if units > 0:
            CallerAccount(self.limits, caller.user_id).owe(units)


async def name_unreadable(answer: Awaitable[OperationResult], caller: Caller) -> OperationResult:
    """Await an answer, and name in it the rows that could not be read for it.

    `extensions.unreadable` has the keys of at most 100 rows that the caller administers.
    """
    found: dict[Key, UnreadableRow] = {}
    token = unreadable_of_operation.set(found)
    try:
        result = await answer
    finally:
        unreadable_of_operation.reset(token)
    named = [
        {"pk": row.key.pk, "sk": row.key.sk, "problem": row.problem}
        for row in found.values()
        if row.is_administered_by(caller)
    ]
    if named:
        result.body.setdefault("extensions", {})["unreadable"] = named
    return result


_FREE_UNITS: Final = 5
"""Units of an answer that are free, so that small operations pay their own cost only."""

_ALLOW: Final = encode_headers({"allow": ALLOWED_METHODS})


class GraphQLApp:
    """Serves GraphQL over HTTP with the engine of a reader; the path does not matter.

    `authenticate` returns the caller of a request or raises NotAuthenticated. `open_context` opens
    the context value for the resolvers, and may refuse the operation with a PenstockError.
    """

    def __init__(
        self,
        reader: OperationReader,
        *,
        authenticate: Authenticate,
        open_context: OpenContext,
        statuses: Statuses = "2025",
    ) -> None:
        self._reader = reader
        self._engine = reader.engine
        self._turns = reader.limits.running
        self._seconds = reader.engine.limits.deadline_seconds
        self._authenticate = authenticate
        self._open_context = open_context
        self._draft = statuses == "draft"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the client gets a GraphQL answer for any failure inside."""
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        incoming = IncomingRequest.of(scope, receive)
        incoming.served.ends_with_client = True
        try:
            response = await Deadline(
                self._seconds, self._response(incoming), self._timeout_problem
            )
        except ClientGone:
            return
        except HttpProblem as problem:
            response = self.refusal_response(problem, incoming)
        except asyncio.CancelledError as error:
            # A stopping server cancels slow requests, and nothing else would answer them.
            ending = cancelled_problem(error, incoming.request_id)
            response = self.refusal_response(ending, incoming)
        except Exception as error:
            response = self.refusal_response(internal_problem(error, incoming.request_id), incoming)
        incoming.note_answer(response.status)
        try:
            await response.send(send, incoming.request_id)
        finally:
            if response.turn_of is not None:
                self._turns.leave(response.turn_of)

    async def _response(self, incoming: IncomingRequest) -> HttpResponse:
        check_method(incoming.scope)
        if incoming.method == "OPTIONS":
            return HttpResponse(204, headers=_ALLOW)
        if incoming.media is None:
            raise HttpProblem(
                ErrorCode.NOT_ACCEPTABLE,
                f"The Accept header allows none of: {', '.join(MediaType)}.",
            )
        try:
            return await self._run_operation(incoming, incoming.media)
        except RequestRejected as error:
            answer = OperationResult({"errors": error.errors})
        except PenstockError as error:
            raise refusal_problem(error, with_token="authorization" in incoming.headers) from None
        return self._result_response(answer, incoming, incoming.media)

    async def _run_operation(self, incoming: IncomingRequest, media: MediaType) -> HttpResponse:
        """Run the operation in a turn of its caller, who keeps it while a large answer is sent."""
        caller = await self._authenticate(incoming.headers)
        text = await receive_text(incoming, self._engine.limits)
        await self._turns.enter(caller.user_id)
        is_large = False
        try:
            answer = await self._answer_caller(incoming, caller, text)
            response = self._result_response(answer, incoming, media)
            is_large = len(response.body) > LARGE_BYTES
            return replace(response, turn_of=caller.user_id) if is_large else response
        finally:
            if not is_large:
                self._turns.leave(caller.user_id)

    async def _answer_caller(
        self, incoming: IncomingRequest, caller: Caller, text: bytes
    ) -> OperationResult:
        record = incoming.record
        check = partial(check_operation_kind, incoming=incoming)
        source = RequestSource(partial(parse_request, incoming), check)
        prepared = await self._reader.read(caller, text, source, record)
        if prepared.operation.kind is OperationType.MUTATION:
            incoming.served.ends_with_client = False
        admission = AdmittedOperation.of(incoming.request_id, prepared)
        context = self._open_context(caller, admission)
        record.units = context.units
        running = self._engine.run(prepared, context, incoming.request_id)
        answer = await name_unreadable(running, caller)
        self._reader.owe_answer(caller, prepared.cost, answer)
        add_consistency_token(answer, context)
        if incoming.wants_cost:
            cost = self._cost_extension(prepared.cost, caller, context.units)
            answer.body.setdefault("extensions", {})["cost"] = cost
        return answer

    def _timeout_problem(self) -> HttpProblem:
        message = f"The operation took longer than {self._seconds:g} s."
        return HttpProblem(ErrorCode.TIMEOUT, message)

    def _cost_extension(
        self, requested: int, caller: Caller, units: MeasuredUnits
    ) -> dict[str, object]:
        """Show what an operation may read and, to who reads all groups, what it used.

        Units tell whether something out of sight is there, and its size.
        """
        cost: dict[str, object] = {"requested": requested, "maximum": self._engine.limits.cost}
        if caller.has_role(Role.READER, ROOT):
            cost |= {"rcu": units.rcu, "wcu": units.wcu, "calls": units.calls}
        return cost

    def _result_response(
        self, answer: OperationResult, incoming: IncomingRequest, media: MediaType
    ) -> HttpResponse:
        errors = answer.body.get("errors")
        incoming.record.note_errors(errors or ())
        if errors:
            answer.body["errors"] = add_details(errors, incoming.request_id)
        code = errors[0]["extensions"]["code"] if errors else None
        plain = media is MediaType.JSON
        status = status_of(answer.body, code, json=plain, draft=self._draft)
        media, body = self._media_type(media, status), encode_json(answer.body)
        if incoming.method == "GET" and not errors:
            return cacheable_response(body, media, incoming.headers.get("if-none-match"))
        headers = {} if answer.retry_after is None else {"retry-after": str(answer.retry_after)}
        if (token := answer.body.get("extensions", {}).get(CONSISTENCY_EXTENSION)) is not None:
            headers[CONSISTENCY_HEADER] = token
        return graphql_response(status, body, media, headers)

    def refusal_response(self, problem: HttpProblem, incoming: IncomingRequest) -> HttpResponse:
        """Build the response for a problem."""
        incoming.record.note_errors([problem.error])
        status = 422 if self._draft and isinstance(problem, MalformedRequest) else problem.status
        media = self._media_type(incoming.media or MediaType.JSON, status)
        body = encode_json(problem.describe(incoming.request_id))
        return graphql_response(status, body, media, problem.headers)

    def _media_type(self, media: MediaType, status: int) -> MediaType:
        """Return the response's type: under the draft, only a success has the plain JSON type."""
        return MediaType.GRAPHQL if self._draft and status >= 300 else media


def add_consistency_token(answer: OperationResult, context: RequestContext) -> None:
    """Add the token of what the operation wrote to its answer, if it wrote anything."""
    token = context.consistency_token
    if token is not None:
        answer.body["extensions"] = {CONSISTENCY_EXTENSION: token}


def check_operation_kind(operation: MeasuredOperation, incoming: IncomingRequest) -> None:
    """Refuse operations that plain HTTP cannot run: mutations by GET, and subscriptions."""
    if operation.kind is OperationType.SUBSCRIPTION:
        raise HttpProblem(
            ErrorCode.NOT_ACCEPTABLE, "Subscriptions need server-sent events or WebSocket."
        )
    check_no_mutation_by_get(operation, incoming)


def check_no_mutation_by_get(operation: MeasuredOperation, incoming: IncomingRequest) -> None:
    """Refuse mutations by GET."""
    if operation.kind is OperationType.MUTATION and incoming.method == "GET":
        raise HttpProblem(
            ErrorCode.METHOD_NOT_ALLOWED, "Mutations are sent by POST.", headers={"allow": "POST"}
        )
