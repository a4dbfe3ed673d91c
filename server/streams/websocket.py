"""GraphQL over WebSocket: the handshake, the connection of graphql-transport-ws, its operations."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import ErrorCode, NotAuthenticated, PenstockError
from penstock.datastore.roles import Caller
from penstock.schema.core.errors import FormattedError, add_details, format_error
from penstock.schema.engine.limits import MeasuredOperation
from penstock.schema.engine.operations import PreparedOperation, RequestRejected
from penstock.server.auth.tokens import Authentication
from penstock.server.connections.websocket_guard import WebSocketGuard, guard_of
from penstock.server.core.headers import IndexedHeaders, request_headers, request_id_of
from penstock.server.edge.graphql import RequestSource
from penstock.server.edge.request import request_from_json
from penstock.server.edge.response import LARGE_BYTES, HttpProblem
from penstock.server.streams.backpressure import MessagePacer, Outbox
from penstock.server.streams.messages import (
    ACK,
    PONG,
    PROTOCOL,
    ClientLeft,
    ClientMessage,
    CloseCode,
    CloseRequest,
    Complete,
    ConnectionInit,
    Ping,
    Subscribe,
    TextSocket,
    complete_message,
    error_message,
    next_message,
    parse_message,
)
from penstock.server.streams.operations import StreamedOperation, StreamService
from penstock.server.streams.registry import EndReason, StreamLifetime, TooManyStreams
from penstock.server.telemetry.operation import OperationRecord

_USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_origin_allowed(headers: Headers, allowed: Collection[str]) -> bool:
    """Tell whether the handshake comes from our own page, an allowed origin, or no page.

    Browsers let any page open a WebSocket, and only report its origin.
    """
    origins = headers.getlist("origin")
    if not origins:
        return True
    origin = origins[0].lower()
    return len(origins) == 1 and (origin in allowed or _is_own(origin, headers.get("host", "")))


def _is_own(origin: str, host: str) -> bool:
    """Compare the origin to the host without the scheme, which a proxy for TLS changes."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    usual = _USUAL_PORTS.get(parts.scheme)
    if usual is None or not parts.netloc:
        return False
    return parts.netloc.removesuffix(usual) == host.lower().removesuffix(usual)


class _SocketSink:
    """Sends answers under one operation id."""

    def __init__(self, id: str, outbox: Outbox) -> None:
        self._id = id
        self._outbox = outbox

    async def next(self, body: dict[str, Any]) -> None:
        await self._outbox.put(next_message(self._id, body))

    async def error(self, errors: list[FormattedError]) -> None:
        await self._outbox.put(error_message(self._id, errors))

    async def complete(self) -> None:
        await self._outbox.put(complete_message(self._id))


def _check_nothing(_: MeasuredOperation) -> None:
    """Refuse nothing: a WebSocket runs operations of every kind."""


_UNPAID: Final = RequestSource(request_from_json, _check_nothing)
_PAID: Final = RequestSource(request_from_json, _check_nothing, is_paid=True)


class RunningOperations:
    """The operations of one connection by id; at most `service.limits.operations` run at once.

    A mutation that its client has completed counts until its result. `headers` are those of the
    handshake.
    """

    def __init__(
        self,
        service: StreamService,
        outbox: Outbox,
        tasks: asyncio.TaskGroup,
        headers: IndexedHeaders,
    ) -> None:
        self._runner = service.runner
        self._watchers = service.watchers
        self._most = service.limits.operations
        self._outbox = outbox
        self._tasks = tasks
        self._headers = headers
        self._request_id = request_id_of(headers)
        self._begun = 0
        self._by_id: dict[str, StreamedOperation] = {}
        self._running: dict[StreamedOperation, asyncio.Task[None]] = {}

    async def begin(self, message: Subscribe, caller: Caller, source: RequestSource) -> None:
        """Run the operation of the message; raises CloseRequest for a used id or a bad payload."""
        if message.id in self._by_id:
            reason = f"Subscriber for {message.id} already exists"
            raise CloseRequest(CloseCode.SUBSCRIBER_EXISTS, reason)
        sink = _SocketSink(message.id, self._outbox)
        if len(self._running) >= self._most:
            text = f"This connection runs {self._most} operations already; that is the most."
            error = format_error(text, ErrorCode.LIMIT_EXCEEDED)
            await sink.error(add_details([error], self._request_id))
            return
        self._begun += 1
        seen = OperationRecord.of(f"{self._request_id}.{self._begun}", "websocket", self._headers)
        prepared = await self._prepare(message, caller, source, seen)
        operation = StreamedOperation(self._runner, caller, prepared, seen, self._watchers)
        self._start(operation, message.id, sink)

    async def _prepare(
        self, message: Subscribe, caller: Caller, source: RequestSource, seen: OperationRecord
    ) -> PreparedOperation | RequestRejected:
        """Prepare the operation of a message; each socket reads one in a turn of the loop."""
        await asyncio.sleep(0)
        try:
            return await self._runner.prepare(caller, bytes(message.payload), source, seen)
        except HttpProblem as problem:
            raise CloseRequest(CloseCode.BAD_REQUEST, str(problem)) from None

    def complete(self, id: str) -> None:
        """Stop an operation at its client's request, if it still runs."""
        operation = self._by_id.pop(id, None)
        if operation is not None and operation.stop():
            self._running.pop(operation, None)

    def stop(self) -> None:
        """Stop every operation."""
        for id in tuple(self._by_id):
            self.complete(id)

    async def finish(self) -> None:
        """End the subscriptions, and wait for the answers of the others."""
        for operation in tuple(self._running):
            if not operation.has_one_answer:
                operation.stop()
        if self._running:
            await asyncio.wait(tuple(self._running.values()))

    def _start(self, operation: StreamedOperation, id: str, sink: _SocketSink) -> None:
        task = operation.start(sink, self._tasks)
        self._by_id[id] = operation
        self._running[operation] = task
        task.add_done_callback(partial(self._forget_operation, operation, id))

    def _forget_operation(
        self, operation: StreamedOperation, id: str, _task: asyncio.Task[None]
    ) -> None:
        self._running.pop(operation, None)
        if self._by_id.get(id) is operation:
            del self._by_id[id]


logger = logging.getLogger("penstock.streams")

_AUTHORIZATION: Final = "authorization"


class WebSocketConnection:
    """Serves one accepted socket; `scope` is that of its handshake."""

    def __init__(self, service: StreamService, socket: TextSocket, scope: Scope) -> None:
        self._service = service
        self._socket = socket
        self._headers = request_headers(scope)
        self._credentials: Mapping[str, object] = self._headers
        self._address = str((scope.get("client") or ("",))[0])
        self._guard: WebSocketGuard | None = guard_of(scope)
        self._lifetime = StreamLifetime()
        self._outbox = Outbox(self._write, self._lifetime, service.limits)
        self._pace = MessagePacer(service.limits.messages_per_second)

    async def serve(self) -> None:
        """Exchange messages until either side ends it, then close the socket if it is open.

        It returns after the last started mutation.
        """
        with self._service.streams.register(self._lifetime), ExitStack() as held:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._outbox.run())
                running = RunningOperations(self._service, self._outbox, tasks, self._headers)
                closing = await self._until_closing(running, held, tasks)
                if self._lifetime.ending is EndReason.STOPPING:
                    await running.finish()
                    await self._outbox.wait_until_sent()
                running.stop()
                writing.cancel()
                self._outbox.give_up()
                if closing is not None:
                    await self._close(closing)

    async def _until_closing(
        self, running: RunningOperations, held: ExitStack, tasks: asyncio.TaskGroup
    ) -> CloseRequest | None:
        """Exchange messages; returns how to close the socket, None if the client left."""
        try:
            async with self._lifetime:
                authentication = await self._authenticate(held)
                self._lifetime.expire_at(authentication.expires_at)
                await self._outbox.put(ACK)
                authenticate = partial(self._service.authenticate, self._credentials)
                caller = authentication.caller
                watching = tasks.create_task(self._lifetime.watch_session(caller, authenticate))
                try:
                    await self._converse(running, caller)
                finally:
                    watching.cancel()
        except ClientLeft:
            return None
        except CloseRequest as closing:
            # This one holds its frames, and they the message, while the client takes the answer.
            return CloseRequest(closing.code, closing.reason)
        except Exception as error:
            return _closing_for(error)
        return self._closing_at_end()

    def _closing_at_end(self) -> CloseRequest | None:
        """Return the close request for the end, so that clients reconnect by themselves."""
        match self._lifetime.ending:
            case EndReason.STOPPING:
                return CloseRequest(CloseCode.SERVICE_RESTART, "The server is stopping")
            case EndReason.EXPIRED:
                return CloseRequest(CloseCode.FORBIDDEN, "The token has expired")
            case EndReason.UNREAD:
                return CloseRequest(CloseCode.TRY_AGAIN_LATER, "Too many answers wait to be read")
            case EndReason.CROWDED_OUT:
                return CloseRequest(CloseCode.TRY_AGAIN_LATER, "Too many clients are connecting")
            case _:
                return None

    async def _authenticate(self, held: ExitStack) -> Authentication:
        """Count the stream as its caller's as soon as there is a valid token.

        Until then it counts as unproven. The payload of `connection_init` wins over the handshake.
        """
        streams = self._service.streams
        with ExitStack() as counted:
            counted.enter_context(streams.hold_unproven(self._lifetime, self._address))
            proven = await self._proven_by_handshake()
            if proven is not None:
                counted.close()
                counted.enter_context(streams.hold_for(proven.caller))
                self._admit(proven.caller)
            elif self._guard is not None:
                self._guard.distrust()
            sent = await self._sent_authorization()
            if proven is None or sent:
                self._credentials = sent or self._headers
                proven = await self._service.authenticate(self._credentials)
        held.enter_context(streams.hold_for(proven.caller))
        held.enter_context(self._service.unread.watch(proven.caller.user_id, self._outbox))
        self._admit(proven.caller)
        return proven

    async def _proven_by_handshake(self) -> Authentication | None:
        """Return the session of a token in the handshake, None without a valid one."""
        if _AUTHORIZATION not in self._headers:
            return None
        with suppress(PenstockError, TimeoutError):
            async with asyncio.timeout(self._service.limits.init_seconds):
                return await self._service.authenticate(self._headers)
        return None

    async def _write(self, message: bytes) -> None:
        """Send a message; a large one until the client has taken it from the server."""
        await self._socket.write(message)
        if self._guard is not None and len(message) > LARGE_BYTES:
            await self._guard.wait_until_drained()

    def _admit(self, caller: Caller) -> None:
        """Let the client send messages of full size, which the caller pays for."""
        if self._guard is not None:
            rate = self._service.runner.reader.limits.rate
            self._guard.admit(partial(rate.spend, caller.user_id))

    async def _sent_authorization(self) -> dict[str, Any]:
        """Wait for `connection_init`; returns what its payload says of the caller."""
        try:
            async with asyncio.timeout(self._service.limits.init_seconds):
                message = await self._wait_for_init()
        except TimeoutError:
            code = CloseCode.INITIALISATION_TIMEOUT
            raise CloseRequest(code, "Connection initialisation timeout") from None
        return {
            name: value
            for name, value in (message.payload or {}).items()
            if name.lower() == _AUTHORIZATION and value is not None
        }

    async def _wait_for_init(self) -> ConnectionInit:
        while True:
            match await self._next_message():
                case ConnectionInit() as message:
                    return message
                case Subscribe():
                    raise CloseRequest(CloseCode.UNAUTHORIZED, "Unauthorized")
                case Ping():
                    await self._outbox.put(PONG)

    async def _converse(self, running: RunningOperations, caller: Caller) -> NoReturn:
        while True:
            await self._answer_message(running, caller)

    async def _answer_message(self, running: RunningOperations, caller: Caller) -> None:
        """Wait for a message and do as it says; none is kept while the next one is waited for."""
        match await self._next_message():
            case Subscribe() as message:
                is_paid = self._guard is not None and self._guard.has_paid
                await running.begin(message, caller, _PAID if is_paid else _UNPAID)
            case Complete(id=id):
                running.complete(id)
            case Ping():
                await self._outbox.put(PONG)
            case ConnectionInit():
                code = CloseCode.TOO_MANY_INITIALISATIONS
                raise CloseRequest(code, "Too many initialisation requests")

    async def _next_message(self) -> ClientMessage:
        await self._pace.wait()
        text = await self._socket.read()
        return parse_message(text, self._service.runner.engine.limits.body_bytes)

    async def _close(self, closing: CloseRequest) -> None:
        # The client may have left, or may not read even this message.
        with suppress(OSError, RuntimeError):
            async with asyncio.timeout(self._service.limits.stall_seconds):
                await self._socket.close(closing)
        if self._lifetime.ending is EndReason.CROWDED_OUT and self._guard is not None:
            self._guard.close()  # a silent client would keep the connection for seconds more


def _closing_for(error: Exception) -> CloseRequest:
    match error:
        case TooManyStreams():
            return CloseRequest(CloseCode.FORBIDDEN, str(error))
        case NotAuthenticated():
            return CloseRequest(CloseCode.UNAUTHORIZED, error.message)
        case PenstockError():
            return CloseRequest(CloseCode.TRY_AGAIN_LATER, error.message)
        case _:
            logger.error("unexpected exception in a connection", exc_info=error)
            return CloseRequest(CloseCode.INTERNAL_ERROR, "Internal error")


def _distrust(scope: Scope) -> None:
    guard = guard_of(scope)
    if guard is not None:
        guard.distrust()


class WebSocketApp:
    """Serves graphql-transport-ws and no other protocol, at any path.

    `origins` are the other sites whose pages may connect.
    """

    def __init__(self, service: StreamService, *, origins: Collection[str] = ()) -> None:
        self._service = service
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection from its handshake to its end."""
        headers = request_headers(scope)
        await receive()
        if not is_origin_allowed(headers, self._origins):
            _distrust(scope)
            await send({"type": "websocket.close"})  # answers the handshake with 403
            return
        socket = TextSocket(receive, send)
        if PROTOCOL not in scope.get("subprotocols", ()):
            _distrust(scope)
            await send({"type": "websocket.accept"})
            code = CloseCode.SUBPROTOCOL_NOT_ACCEPTABLE
            await socket.close(CloseRequest(code, "Subprotocol not acceptable"))
            return
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
        await WebSocketConnection(self._service, socket, scope).serve()
