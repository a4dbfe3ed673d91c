"""A store with a fixed latency: `... delayed_store --port 1 --store 2 --ms 5`.

A DynamoDB emulator answers each distinct request once; after that its answer is replayed byte for
byte. So all servers wait equally long, and the emulator does not limit them.
"""

import argparse
import asyncio
from typing import Final, cast

import httptools
import uvloop

_DROPPED: Final = (b"connection", b"transfer-encoding", b"content-length", b"keep-alive", b"date")


class Replay:
    """The emulator's answers at a port, by operation and body."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._answers: dict[tuple[bytes, bytes], bytes] = {}

    def stored_answer(self, target: bytes, body: bytes) -> bytes | None:
        return self._answers.get((target, body))

    async def fetch_answer(self, target: bytes, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(b"POST / HTTP/1.1\r\n" + head + b"Connection: close\r\n\r\n" + body)
        answer = Answer()
        parser = httptools.HttpResponseParser(answer)
        while not answer.is_complete:
            parser.feed_data(await reader.read(65536))
        writer.close()
        kept = self._answers[target, body] = answer.to_bytes(parser.get_status_code())
        return kept


class Answer:
    """An answer while it is being read."""

    def __init__(self) -> None:
        self._headers: list[bytes] = []
        self._body = bytearray()
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() not in _DROPPED:
            self._headers.append(b"%b: %b\r\n" % (name, value))

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.is_complete = True

    def to_bytes(self, status: int) -> bytes:
        head = b"HTTP/1.1 %d OK\r\n%bContent-Length: %d\r\n\r\n"
        return head % (status, b"".join(self._headers), len(self._body)) + bytes(self._body)


class DelayedConnection(asyncio.Protocol):
    """A connection that answers each request after the latency."""

    def __init__(self, replay: Replay, seconds: float, tasks: "set[asyncio.Task[None]]") -> None:
        self._replay = replay
        self._seconds = seconds
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._target, self._head, self._body = b"", b"", b""

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower == b"x-amz-target":
            self._target = value
        if lower == b"expect":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif lower != b"connection":
            self._head += b"%b: %b\r\n" % (name, value)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        kept = self._replay.stored_answer(self._target, self._body)
        if kept is not None:
            self._loop.call_later(self._seconds, self._send, kept)
            return
        task = self._loop.create_task(self._fetch_and_send(self._target, self._head, self._body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fetch_and_send(self, target: bytes, head: bytes, body: bytes) -> None:
        answer = await self._replay.fetch_answer(target, head, body)
        await asyncio.sleep(self._seconds)
        self._send(answer)

    def _send(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


async def serve(port: int, store: int, seconds: float) -> None:
    replay, tasks = Replay(store), set[asyncio.Task[None]]()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: DelayedConnection(replay, seconds, tasks), "127.0.0.1", port
    )
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers.delayed_store", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", type=int, required=True, help="port of the emulator")
    parser.add_argument("--ms", type=float, required=True, help="latency of each answer")
    options = parser.parse_args()
    uvloop.run(serve(options.port, options.store, options.ms / 1_000))


if __name__ == "__main__":
    main()
