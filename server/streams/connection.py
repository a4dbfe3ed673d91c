"""One connection of graphql-transport-ws, from its `connection_init` to its close."""

import asyncio
import logging
from contextlib import ExitStack, suppress
from typing import Final, NoReturn

from penstock.datastore.access import Caller
from penstock.datastore.errors import PenstockError, Unauthenticated
from penstock.server.auth import Session
from penstock.server.fields import Fields
from penstock.server.streams.lifetime import Ending, Lifetime
from penstock.server.streams.messages import (
    ACK,
    PONG,
    ClientMessage,
    CloseCode,
    Closing,
    Complete,
    ConnectionInit,
    Ping,
    Subscribe,
    parsed,
)
from penstock.server.streams.outbox import Outbox
from penstock.server.streams.pace import Pace
from penstock.server.streams.registry import TooManyStreams, TooManyUnproven
from penstock.server.streams.running import Running
from penstock.server.streams.service import StreamService
from penstock.server.streams.socket import ClientLeft, Socket

logger = logging.getLogger("penstock.streams")

_AUTHORIZATION: Final = "authorization"


class Connection:
    """Serves one accepted socket; `headers` are those of its handshake."""

    def __init__(self, service: StreamService, socket: Socket, headers: Fields) -> None:
        self._service = service
        self._socket = socket
        self._headers = headers
        self._lifetime = Lifetime()
        self._outbox = Outbox(socket.write, self._lifetime, service.limits)
        self._pace = Pace(service.limits.messages_per_second)

    async def serve(self) -> None:
        """Converse until either side ends it, then close the socket if it is still open.

        Returns when the last mutation that was begun is through.
        """
        with self._service.streams.enrolled(self._lifetime), ExitStack() as held:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._outbox.run())
                running = Running(self._service, self._outbox, tasks, self._headers)
                closing = await self._until_closing(running, held)
                if self._lifetime.ending is Ending.STOPPING:
                    await running.finish()
                    await self._outbox.flushed()
                running.stop()
                writing.cancel()
                if closing is not None:
                    await self._close(closing)

    async def _until_closing(self, running: Running, held: ExitStack) -> Closing | None:
        """Converse; how to close the socket in the end, None where nobody is there any more."""
        try:
            async with self._lifetime:
                with self._service.streams.unproven():
                    session = await self._session()
                held.enter_context(self._service.streams.held_by(session.caller))
                self._lifetime.until(session.expires_at)
                await self._outbox.put(ACK)
                await self._converse(running, session.caller)
        except ClientLeft:
            return None
        except Closing as closing:
            return closing
        except Exception as error:
            return _closing_for(error)
        return self._closing_at_end()

    def _closing_at_end(self) -> Closing | None:
        """Close so that clients connect again by themselves, with the token they then have."""
        match self._lifetime.ending:
            case Ending.STOPPING:
                return Closing(CloseCode.SERVICE_RESTART, "The server is stopping")
            case Ending.EXPIRED:
                return Closing(CloseCode.FORBIDDEN, "The token has expired")
            case _:
                return None

    async def _session(self) -> Session:
        """Wait for `connection_init`, and tell by its payload or the handshake who connects."""
        try:
            async with asyncio.timeout(self._service.limits.init_seconds):
                message = await self._initialisation()
        except TimeoutError:
            code = CloseCode.INITIALISATION_TIMEOUT
            raise Closing(code, "Connection initialisation timeout") from None
        sent = {
            name: value
            for name, value in (message.payload or {}).items()
            if name.lower() == _AUTHORIZATION and value is not None
        }
        return await self._service.authenticate(sent or self._headers)

    async def _initialisation(self) -> ConnectionInit:
        while True:
            match await self._next():
                case ConnectionInit() as message:
                    return message
                case Subscribe():
                    raise Closing(CloseCode.UNAUTHORIZED, "Unauthorized")
                case Ping():
                    await self._outbox.put(PONG)

    async def _converse(self, running: Running, caller: Caller) -> NoReturn:
        while True:
            match await self._next():
                case Subscribe() as message:
                    await running.begin(message, caller)
                case Complete(id=id):
                    running.complete(id)
                case Ping():
                    await self._outbox.put(PONG)
                case ConnectionInit():
                    code = CloseCode.TOO_MANY_INITIALISATIONS
                    raise Closing(code, "Too many initialisation requests")

    async def _next(self) -> ClientMessage:
        await self._pace.wait()
        text = await self._socket.read()
        return parsed(text, self._service.runner.engine.limits.body_bytes)

    async def _close(self, closing: Closing) -> None:
        # The client may be gone, or about to go, or not take even this.
        with suppress(OSError, RuntimeError):
            async with asyncio.timeout(self._service.limits.stall_seconds):
                await self._socket.close(closing)


def _closing_for(error: Exception) -> Closing:
    match error:
        case TooManyUnproven():
            return Closing(CloseCode.TRY_AGAIN_LATER, "Too many clients are connecting")
        case TooManyStreams():
            return Closing(CloseCode.FORBIDDEN, str(error))
        case Unauthenticated():
            return Closing(CloseCode.UNAUTHORIZED, error.message)
        case PenstockError():
            return Closing(CloseCode.TRY_AGAIN_LATER, error.message)
        case _:
            logger.error("unexpected exception in a connection", exc_info=error)
            return Closing(CloseCode.INTERNAL_ERROR, "Internal error")
