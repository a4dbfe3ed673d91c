"""A connection without a network: what a protocol writes to it, and an application that echoes."""

import asyncio
import json
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

_TURNS = 80
DATE = (b"date", b"Sat, 21 Nov 2026 17:00:00 GMT")


class Wire(asyncio.Transport):
    """Keeps what is written, one entry for each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def pause_reading(self) -> None:
        """What was sent is at hand already."""

    def resume_reading(self) -> None:
        """What was sent is at hand already."""


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the request; its path tells in which form."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    path = scope["path"]
    if path == "/crash":
        raise RuntimeError("secret")
    for _ in range(3 if path == "/slow" else 0):
        await asyncio.sleep(0)
    headers = [[name.decode(), value.decode()] for name, value in scope["headers"]]
    told = [scope["method"], path, scope["query_string"].decode(), headers, body.decode("latin-1")]
    await _answer(path, json.dumps(told).encode(), send)


async def _answer(path: str, body: bytes, send: Send) -> None:
    if path == "/empty":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        return
    headers = [(b"content-type", b"application/json")]
    if path != "/parts":
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if path == "/parts":
        await send({"type": "http.response.body", "body": body[:5], "more_body": True})
        body = body[5:]
    await send({"type": "http.response.body", "body": body})


class Talk:
    """One connection to an application, over a protocol of uvicorn's or ours."""

    def __init__(self, kind: type[HttpToolsProtocol], app: Any = echo) -> None:
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        config.load()
        self.state = ServerState()
        self.state.default_headers = [DATE]
        self.wire = Wire()
        loop = asyncio.get_running_loop()
        self.protocol = kind(config=config, server_state=self.state, app_state={}, _loop=loop)
        self.protocol.connection_made(self.wire)

    async def say(self, *parts: bytes) -> bytes:
        """Send parts, each when what came before is answered as far as it can be."""
        for part in parts:
            if self.wire.closed:
                break
            self.protocol.data_received(part)
            await self.settled()
        return self.said

    async def settled(self) -> None:
        """Let everything happen that waits for nothing more to be sent."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    @property
    def said(self) -> bytes:
        return b"".join(self.wire.writes)


def request(path: str = "/", body: bytes = b"", *lines: str, method: str = "POST") -> bytes:
    head = [f"{method} {path} HTTP/1.1", "host: here", *lines]
    if body or method == "POST":
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body
