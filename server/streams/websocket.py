"""GraphQL over WebSocket: the handshake."""

from collections.abc import Collection

from starlette.types import Receive, Scope, Send

from penstock.server.fields import fields_of
from penstock.server.streams.connection import Connection
from penstock.server.streams.messages import PROTOCOL, CloseCode, Closing
from penstock.server.streams.origin import is_allowed
from penstock.server.streams.service import StreamService
from penstock.server.streams.socket import Socket


class WebSocketApp:
    """Serves graphql-transport-ws, and no other protocol, at whatever path it is mounted on.

    `origins` are those of other sites whose pages may connect.
    """

    def __init__(self, service: StreamService, *, origins: Collection[str] = ()) -> None:
        self._service = service
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection from its handshake to its end."""
        headers = fields_of(scope)
        await receive()
        if not is_allowed(headers, self._origins):
            await send({"type": "websocket.close"})  # answers the handshake with 403
            return
        socket = Socket(receive, send)
        if PROTOCOL not in scope.get("subprotocols", ()):
            await send({"type": "websocket.accept"})
            code = CloseCode.SUBPROTOCOL_NOT_ACCEPTABLE
            await socket.close(Closing(code, "Subprotocol not acceptable"))
            return
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
        await Connection(self._service, socket, headers).serve()
