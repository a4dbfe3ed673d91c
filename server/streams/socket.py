"""An accepted WebSocket, as texts."""

from starlette.types import Receive, Send

from penstock.server.streams.messages import CloseCode, Closing


class ClientLeft(Exception):
    """The client closed the socket, or was cut off."""


class Socket:
    """Carries texts, and refuses to read anything else."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def read(self) -> str:
        """Wait for a text; ClientLeft at the end, Closing where something else comes."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise ClientLeft
        text = message.get("text")
        if not isinstance(text, str):
            raise Closing(CloseCode.BAD_REQUEST, "Messages are text")
        return text

    async def write(self, message: bytes) -> None:
        await self._send({"type": "websocket.send", "text": message.decode()})

    async def close(self, closing: Closing) -> None:
        code, reason = int(closing.code), closing.reason
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
