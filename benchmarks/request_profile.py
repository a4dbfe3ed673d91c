"""Measures the parts of a request's processor time: `python -m benchmarks.request_profile`.

The whole application answers the traffic of the peers' benchmark from memory, over connections
without a network. A timer of processor time records the running function 1,000 times a second; time
in C counts for the function that called it.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, redirect_stderr
from itertools import cycle
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias

import uvicorn
import uvloop
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from benchmarks.page_tables import add_write_option, show_tables
from benchmarks.peers import handwritten, penstock_app
from benchmarks.peers.query_shapes import SHAPES, Shape
from benchmarks.peers.rounds import sign_tokens
from benchmarks.peers.server_options import PeerOptions
from benchmarks.peers.traffic import CALLERS, Destination, draw_calls, encode
from penstock.server.connections.gate import ConnectionGate, Gates, time_limits
from penstock.server.connections.request_watcher import RequestWatcher
from penstock.server.connections.uvicorn_class import connection_class
from penstock.server.runtime.run_server import settle_garbage_collector
from penstock.server.settings.settings import Settings

Ask: TypeAlias = Callable[[], Awaitable[None]]

MARK: Final = "request profile"
CONNECTIONS: Final = 16
_REQUESTS: Final = 4_000
_EVERY: Final = 0.001
_HERE: Final = str(Path(__file__).parents[1]) + "/"
_AREAS: Final = (
    ("log and metrics", ("server/telemetry/", "structlog/", "prometheus_client")),
    ("caller", ("server/auth/",)),
    ("limits and rates", ("schema/engine/limits", "schema/engine/cost", "cachetools/",
                          "schema/engine/document_walk", "server/edge/rate_limit",
                          "server/core/deadline")),
    ("execution", ("graphql_jit/", "<plan>", "graphql/", "schema/engine/engine")),
    ("connection, answers as JSON", ("uvicorn/", "asyncio/", "server/connections/",
                                     "server/edge/response")),
    ("edge", ("server/", "schema/", "resolvers/", "datastore/", "starlette/")),
    ("records", ("benchmarks/",)),
)  # fmt: skip


class Wire(asyncio.Transport):
    """A connection that drops answers."""

    def write(self, data: Any) -> None:
        """Drop the data."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


class Samples:
    """Counts of the functions that were running at the timer's ticks."""

    def __init__(self) -> None:
        self.functions: Counter[tuple[str, str]] = Counter()

    def take(self, _signal: int, frame: FrameType | None) -> None:
        if frame is not None:
            self.functions[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    def areas(self) -> dict[str, float]:
        found: Counter[str] = Counter()
        for (file, _), count in self.functions.items():
            found[area_of(file)] += count
        return {area: count / self.functions.total() for area, count in found.items()}


def area_of(file: str) -> str:
    inside = file.removeprefix(_HERE) if "site-packages" not in file else file
    for area, parts in _AREAS:
        if any(part in inside for part in parts):
            return area
    return "other"


@asynccontextmanager
async def open_connections(shape: Shape, *, quiet: bool) -> AsyncIterator[Ask]:
    """Give a function that sends the next request on each connection and waits for the answers."""
    with tempfile.TemporaryDirectory() as folder, drop_log():
        data_dir = Path(folder)
        to = Destination(8000, False, False, sign_tokens(data_dir))
        opened = penstock_app.penstock_quiet if quiet else penstock_app.penstock
        async with opened(PeerOptions(None, data_dir)) as app:
            gates = Gates(ConnectionGate(CONNECTIONS, time_limits(Settings.load())))
            with connect(RequestWatcher(app), connection_class(gates), shape, to) as ask:
                yield ask


@asynccontextmanager
async def open_handwritten(shape: Shape) -> AsyncIterator[Ask]:
    """The same for the endpoint by hand, on connections of uvicorn alone."""
    to = Destination(8000, True, False, [""] * CALLERS)
    async with handwritten.handwritten(PeerOptions(None, Path())) as app:
        with connect(app, "httptools", shape, to) as ask:
            yield ask


@contextmanager
def drop_log() -> Iterator[None]:
    """Let the log be written where it is dropped, as the benchmark of peers does."""
    with Path(os.devnull).open("w") as log, redirect_stderr(log):
        yield


@contextmanager
def connect(app: ASGIApp, protocol: Any, shape: Shape, to: Destination) -> Iterator[Ask]:
    """Open connections to an application, without a network."""
    requests = cycle([encode(call, to) for call in draw_calls(shape.name, _REQUESTS)])
    state = ServerState()
    connections = [_open_connection(app, protocol, state) for _ in range(CONNECTIONS)]
    settle_garbage_collector()

    async def ask() -> None:
        for connection in connections:
            connection.data_received(next(requests))
        while state.tasks:
            await asyncio.wait(state.tasks)

    yield ask
    for connection in connections:
        connection.connection_lost(None)


def _open_connection(app: ASGIApp, protocol: Any, state: ServerState) -> asyncio.Protocol:
    config = uvicorn.Config(
        app,
        http=protocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    config.load()
    connect_one: Callable[..., asyncio.Protocol] = config.http_protocol_class
    connection = connect_one(config=config, server_state=state, app_state={})
    connection.connection_made(Wire())
    return connection


async def profile_shape(shape: Shape, seconds: float, *, quiet: bool) -> Samples:
    samples, clock = Samples(), asyncio.get_running_loop().time
    async with open_connections(shape, quiet=quiet) as ask:
        for _ in range(20):
            await ask()
        signal.signal(signal.SIGPROF, samples.take)
        signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)
        until = clock() + seconds
        while clock() < until:
            await ask()
        signal.setitimer(signal.ITIMER_PROF, 0)
    return samples


def table(found: dict[str, Samples]) -> str:
    shares = {title: samples.areas() for title, samples in found.items()}
    areas = [area for area, _ in _AREAS] + ["other"]
    lines = ["| % of processor time | " + " | ".join(shares) + " |", "|---|" + "--:|" * len(shares)]
    for area in areas:
        cells = [f"{share.get(area, 0.0):.0%}".removesuffix("%") for share in shares.values()]
        lines.append(f"| {area} | {' | '.join(cells)} |")
    return "\n".join(lines)


def largest_functions(samples: Samples, most: int) -> str:
    total = samples.functions.total()
    lines = []
    for (file, name), count in samples.functions.most_common(most):
        short = file.removeprefix(_HERE).rpartition("site-packages/")[2]
        lines.append(f"  {count / total:6.1%}  {name}  ({short})")
    return "\n".join(lines)


async def _profile_all(options: argparse.Namespace) -> dict[str, Samples]:
    found = {}
    for shape in SHAPES:
        found[shape.title] = await profile_shape(shape, options.seconds, quiet=options.quiet)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.request_profile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each shape")
    parser.add_argument("--quiet", action="store_true", help="without the log and the metrics")
    parser.add_argument("--functions", type=int, default=10, help="told of each shape")
    add_write_option(parser)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(_profile_all(options))
    show_tables({MARK: table(found)}, options.write)
    for title, samples in found.items():
        sys.stdout.write(f"\n{title}\n{largest_functions(samples, options.functions)}\n")


if __name__ == "__main__":
    main()
