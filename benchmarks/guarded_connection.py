"""Measures the processor time of a request through the guard of connections, and without it.

Heads differ from one request to the next, as those of real clients do. The ways take turns, and the
least of all turns counts: whatever else a machine does only adds to it.
"""

import argparse
import asyncio
import gc
import time
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, Final

import uvicorn
import uvloop
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.server.connections.gate import ConnectionGate, Gates, Stage
from penstock.server.connections.request_head import END, parse_head
from penstock.server.connections.request_watcher import RequestWatcher
from penstock.server.connections.uvicorn_class import connection_class

MARK: Final = "guarded connection"
BODY: Final = b'{"query": "{ pipelines(first: 10) { edges { node { id name } } } }"}'
HEAD: Final = (
    b"POST /graphql HTTP/1.1\r\n"
    b"host: penstock.example.org\r\n"
    b"user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
    b"accept: application/graphql-response+json, application/json\r\n"
    b"accept-encoding: gzip, deflate, br\r\n"
    b"content-type: application/json\r\n"
    b"authorization: Bearer " + b"a1b2c3d4" * 60 + b"\r\n"
    b"content-length: %d\r\n\r\n" % len(BODY)
)
HEADS: Final = [
    HEAD[: -len(END)] + b"\r\ntraceparent: 00-%032x-%016x-01\r\n\r\n" % (n, n)
    for n in range(1, 1_001)
]
ANSWER: Final = b'{"data": null}'
WAYS: Final = ("plain", "guarded", "head only")


class Sink(asyncio.Transport):
    """A transport without a network, which counts answers."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = 0
        self.was_answered = asyncio.Event()

    def write(self, data: Any) -> None:
        if bytes(data).startswith(b"HTTP/1.1 200"):
            self.answers += 1
            self.was_answered.set()

    def close(self) -> None:
        """Do nothing: there is no network."""

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 8000) if name in ("sockname", "peername") else default


async def answer_request(_scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"%d" % len(ANSWER))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.guarded_connection", description=__doc__)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=15)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    times = measure_ways(options.requests, options.rounds)
    rows = [(name, f"{seconds * 1e6:.1f}") for name, seconds in times.items()]
    table = format_table("way | µs of processor time for a request", rows)
    show_tables({MARK: below_machine(table)}, options.write)


def measure_ways(requests: int, rounds: int) -> dict[str, float]:
    """Measure the least time of one request in each way, on the event loop that serves."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_take_turns(requests, rounds))


async def _take_turns(requests: int, rounds: int) -> dict[str, float]:
    gc.disable()
    least = dict.fromkeys(WAYS, float("inf"))
    for _ in range(rounds):
        for name, guarded in (("plain", False), ("guarded", True)):
            begin = time.process_time()
            await send_requests(requests, guarded=guarded)
            least[name] = min(least[name], (time.process_time() - begin) / requests)
        begin = time.process_time()
        for head in islice(cycle(HEADS), requests):
            parse_head(head)
        least["head only"] = min(least["head only"], (time.process_time() - begin) / requests)
        gc.collect()
    gc.enable()
    return least


async def send_requests(count: int, *, guarded: bool) -> int:
    """Send requests one after another over one connection; returns the number of answers."""
    connection, transport = _open_connection(guarded=guarded), Sink()
    connection.connection_made(transport)
    for head in islice(cycle(HEADS), count):
        transport.was_answered.clear()
        connection.data_received(head + BODY)
        await transport.was_answered.wait()
        # The watcher ends the request behind the answer.
        await asyncio.sleep(0)
    connection.connection_lost(None)
    return transport.answers


def _open_connection(*, guarded: bool) -> asyncio.Protocol:
    make: type[asyncio.Protocol] = HttpToolsProtocol
    app: Any = answer_request
    if guarded:
        limits = dict.fromkeys(Stage, 60.0)
        make, app = connection_class(Gates(ConnectionGate(100, limits))), RequestWatcher(app)
    config = uvicorn.Config(app, http=make, lifespan="off", log_config=None, access_log=False)
    config.load()
    arguments: dict[str, Any] = {"config": config, "server_state": ServerState(), "app_state": {}}
    return make(**arguments)


if __name__ == "__main__":
    main()
