"""GraphQL over WebSocket: the handshake, and the connection of graphql-transport-ws."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, NoReturn

from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import NotAuthenticated, PenstockError, RequestRefused
from penstock.datastore.roles import Caller
from penstock.schema.core.errors import REFUSED
from penstock.schema.engine.limits import MeasuredOperation
from penstock.server.auth.tokens import Authentication
from penstock.server.connections.websocket_guard import WebSocketGuard, guard_of
from penstock.server.core.headers import request_headers
from penstock.server.edge.graphql import RequestSource
from penstock.server.edge.request import request_from_json
from penstock.server.edge.response import LARGE_BYTES
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
    parse_message,
)
from penstock.server.streams.operations import StreamService
from penstock.server.streams.origins import is_origin_allowed
from penstock.server.streams.registry import EndReason, StreamLifetime, TooManyStreams
from penstock.server.streams.socket_operations import RunningOperations

logger = logging.getLogger("penstock.streams")

_AUTHORIZATION: Final = "authorization"


def _check_nothing(_: MeasuredOperation) -> None:
    """Refuse nothing: a WebSocket runs operations of every kind."""


_UNPAID: Final = RequestSource(request_from_json, _check_nothing)
_PAID: Final = RequestSource(request_from_json, _check_nothing, is_paid=True)


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
            case EndReason.UNVERIFIED:
                return CloseRequest(CloseCode.TRY_AGAIN_LATER, "The token cannot be verified now")
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
            if isinstance(error, RequestRefused) and not error.is_fault:
                return CloseRequest(CloseCode.TRY_AGAIN_LATER, REFUSED)
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
