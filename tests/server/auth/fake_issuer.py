"""An issuer on a loopback port, served by the test itself."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from joserfc.jwk import Key

DISCOVERY = "/.well-known/openid-configuration"


class Issuer:
    """Serves its configuration and its keys, which the test can change at any time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[str] = []
        self.keys: Sequence[Key] = ()
        self.more_keys: list[Any] = []
        self.jwks_headers: dict[str, str] = {}
        self.jwks_status = 200
        self.jwks_body: bytes | None = None
        self.configuration: dict[str, Any] = {"issuer": url, "jwks_uri": f"{url}/jwks"}
        self.endless: tuple[bytes, bytes] | None = None
        self.jwks_raw: bytes | None = None
        self.down = False
        self.seconds = 0.0

    @property
    def fetches(self) -> int:
        """The number of requests for the keys."""
        return self.requests.count("/jwks")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        self.requests.append(path)
        await asyncio.sleep(self.seconds)
        if self.endless is not None and path != DISCOVERY:
            await self._send_without_end(writer, *self.endless)
        elif not self.down:
            writer.write(self._answer(path))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _send_without_end(
        self, writer: asyncio.StreamWriter, first: bytes, again: bytes
    ) -> None:
        """Send the first bytes, and then the others again and again until the client leaves."""
        piece = first
        with suppress(ConnectionError):
            while True:
                writer.write(piece)
                await writer.drain()
                piece = again

    def _answer(self, path: str) -> bytes:
        if path == DISCOVERY:
            return _http(200, json.dumps(self.configuration).encode(), {})
        if self.jwks_raw is not None:
            return self.jwks_raw
        keys = [*(key.as_dict(private=False) for key in self.keys), *self.more_keys]
        body = json.dumps({"keys": keys}).encode() if self.jwks_body is None else self.jwks_body
        return _http(self.jwks_status, body, self.jwks_headers)


@asynccontextmanager
async def open_issuer() -> AsyncIterator[Issuer]:
    listener = socket.create_server(("127.0.0.1", 0))
    issuer = Issuer(f"http://127.0.0.1:{listener.getsockname()[1]}")
    async with await asyncio.start_server(issuer.serve, sock=listener):
        yield issuer


def _http(status: int, body: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
