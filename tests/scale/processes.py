"""The processes of a measurement: the proxy, and servers that begin their loads together."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import uvloop

from tests.scale.contention_proxy import ProxyLimits
from tests.scale.loads import LOADS, LoadResult, open_loaded_server, run_load
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import VERIFY_TLS, free_port
from tests.support.shared_clients import sharing_clients


@dataclass(frozen=True, slots=True)
class ServerOrder:
    """The load of one server of a measurement."""

    endpoint_url: str
    table: str
    kind: str
    names: tuple[str, ...]
    clients: int
    shared: str
    directory: Path
    deadline: float


@contextmanager
def running_proxy(upstream_url: str, limits: ProxyLimits) -> Iterator[str]:
    """Run the proxy as a process of its own, and end it; yields its URL."""
    port = free_port()
    command = [sys.executable, "-m", "tests.scale.contention_proxy"]
    chosen = {
        "upstream": upstream_url,
        "port": port,
        "window": limits.window,
        "wcu": limits.wcu,
        "lag": limits.lag,
        "hop": limits.hop,
    }
    arguments = [text for name, value in chosen.items() for text in (f"--{name}", str(value))]
    process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the proxy did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def take_counts(proxy_url: str) -> dict[str, Any]:
    """Return the counts of a proxy, which begins new ones."""
    counts: dict[str, Any] = httpx.get(proxy_url, timeout=HUNG_SECONDS, verify=VERIFY_TLS).json()
    return counts


def run_servers(orders: Sequence[ServerOrder]) -> LoadResult:
    """Run a process for each server; all begin when all are ready. Return what all did."""
    spawning = get_context("spawn")
    running = []
    for order in orders:
        ours, theirs = spawning.Pipe()
        process = spawning.Process(target=serve_load, args=(order, theirs))
        process.start()
        # So that reading from a server that died is an error.
        theirs.close()
        running.append((process, ours))
    for _, pipe in running:
        pipe.recv()
    for _, pipe in running:
        pipe.send(True)
    whole = LoadResult()
    for process, pipe in running:
        whole.add(pipe.recv())
        process.join()
    return whole


def serve_load(order: ServerOrder, pipe: "Connection[Any, Any]") -> None:
    """Open the server, say that it is ready, run the load when told to, and send its result."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve_load(order, pipe))


async def _serve_load(order: ServerOrder, pipe: "Connection[Any, Any]") -> None:
    load = LOADS[order.kind]
    async with (
        sharing_clients(),
        open_loaded_server(
            order.endpoint_url, order.table, order.directory, order.deadline, sinks=load.sinks
        ) as server,
    ):
        pipe.send(True)
        pipe.recv()
        pipe.send(await run_load(load, server, order.names, order.clients, order.shared))
