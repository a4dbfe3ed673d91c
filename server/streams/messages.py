"""The messages and close codes of the graphql-transport-ws protocol, and a text WebSocket."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from starlette.types import Receive, Send

from penstock.datastore.unreadable_json import JSON_ERRORS
from penstock.schema.core.errors import FormattedError
from penstock.schema.core.scalars import encode_json

PROTOCOL: Final = "graphql-transport-ws"
ACK: Final = b'{"type":"connection_ack"}'
PONG: Final = b'{"type":"pong"}'
_MAX_REASON: Final = 123  # bytes, by the WebSocket protocol


class CloseCode(IntEnum):
    """The close codes of the protocol, and four of WebSocket itself."""

    MESSAGE_TOO_BIG = 1009
    INTERNAL_ERROR = 1011
    SERVICE_RESTART = 1012
    TRY_AGAIN_LATER = 1013
    BAD_REQUEST = 4400
    UNAUTHORIZED = 4401
    FORBIDDEN = 4403
    SUBPROTOCOL_NOT_ACCEPTABLE = 4406
    INITIALISATION_TIMEOUT = 4408
    SUBSCRIBER_EXISTS = 4409
    TOO_MANY_INITIALISATIONS = 4429


class CloseRequest(Exception):
    """The connection must be closed, with this code and reason."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason.encode(errors="replace")[:_MAX_REASON].decode(errors="ignore")


class _Message(msgspec.Struct, frozen=True, tag_field="type"):
    """The base of all messages; unknown fields are ignored."""


class ConnectionInit(_Message, frozen=True, tag="connection_init"):
    payload: dict[str, Any] | None = None


class Ping(_Message, frozen=True, tag="ping"):
    payload: dict[str, Any] | None = None


class Pong(_Message, frozen=True, tag="pong"):
    payload: dict[str, Any] | None = None


OperationId: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class Subscribe(_Message, frozen=True, tag="subscribe"):
    id: OperationId
    payload: msgspec.Raw


class Complete(_Message, frozen=True, tag="complete"):
    id: str


ClientMessage: TypeAlias = ConnectionInit | Ping | Pong | Subscribe | Complete

_decoder: Final[msgspec.json.Decoder[ClientMessage]] = msgspec.json.Decoder(ClientMessage)


def parse_message(text: str, most: int) -> ClientMessage:
    """Parse a message of at most `most` bytes; raises CloseRequest for an invalid one."""
    try:
        raw = text.encode()
        if len(raw) > most:
            raise CloseRequest(CloseCode.MESSAGE_TOO_BIG, f"A message has at most {most} bytes.")
        return _decoder.decode(raw)
    except JSON_ERRORS:
        raise CloseRequest(CloseCode.BAD_REQUEST, "Invalid message") from None


def next_message(id: str, body: Mapping[str, Any]) -> bytes:
    """Encode an answer; TypeError for a value without a JSON form."""
    return encode_json({"id": id, "type": "next", "payload": body})


def error_message(id: str, errors: list[FormattedError]) -> bytes:
    return encode_json({"id": id, "type": "error", "payload": errors})


def complete_message(id: str) -> bytes:
    return encode_json({"id": id, "type": "complete"})


class ClientLeft(Exception):
    """The client closed the socket, or lost its connection."""


class TextSocket:
    """An accepted WebSocket that carries texts only."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def read(self) -> str:
        """Wait for a text; raises ClientLeft at the end, and CloseRequest for other messages."""
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise ClientLeft
        text = message.get("text")
        if not isinstance(text, str):
            raise CloseRequest(CloseCode.BAD_REQUEST, "Messages are text")
        return text

    async def write(self, message: bytes) -> None:
        await self._send({"type": "websocket.send", "text": message.decode()})

    async def close(self, closing: CloseRequest) -> None:
        code, reason = int(closing.code), closing.reason
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
