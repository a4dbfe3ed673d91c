"""Runs one Python server in its own process: `python -m benchmarks.peers.serve PEER ...`."""

import argparse
import asyncio
from importlib import import_module
from pathlib import Path

import uvicorn
import uvloop
from starlette.types import ASGIApp

from benchmarks.peers.server_options import TABLE, PeerOptions
from penstock.server.connections.gate import ConnectionGate, Gates, time_limits
from penstock.server.connections.request_watcher import RequestWatcher
from penstock.server.connections.uvicorn_class import connection_class
from penstock.server.runtime.run_server import settle_garbage_collector
from penstock.server.settings.settings import Settings

PLACES = {
    "penstock": "benchmarks.peers.penstock_app",
    "penstock_quiet": "benchmarks.peers.penstock_app",
    "handwritten": "benchmarks.peers.handwritten",
    "handwritten_granian": "benchmarks.peers.handwritten",
    "strawberry_default": "benchmarks.peers.python_peers",
    "strawberry_cached": "benchmarks.peers.python_peers",
    "ariadne_cached": "benchmarks.peers.python_peers",
}
OURS = ("penstock", "penstock_quiet", "handwritten", "handwritten_granian")
_ON_GRANIAN = "_granian"
_MAX_CONNECTIONS = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers.serve", description=__doc__)
    parser.add_argument("peer", choices=PLACES)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--endpoint", help="URL of the store; without one, data is in memory")
    options = parser.parse_args()
    served = PeerOptions(options.endpoint, options.data_dir, TABLE)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options.peer, served, options.port))


async def _serve(peer: str, served: PeerOptions, port: int) -> None:
    opened = getattr(import_module(PLACES[peer]), peer.removesuffix(_ON_GRANIAN))
    async with opened(served) as app:
        if peer in OURS:
            settle_garbage_collector()
        if peer.endswith(_ON_GRANIAN):
            await _serve_on_granian(app, port)
            return
        guarded = peer.startswith("penstock")
        await uvicorn.Server(_config(app, port, guarded=guarded)).serve()


async def _serve_on_granian(app: ASGIApp, port: int) -> None:
    """Serve in this process, so that all its threads count."""
    # Only the environment of the peers has it.
    granian, embedded = import_module("granian.constants"), import_module("granian.server.embed")
    server = embedded.Server(app, port=port, interface=granian.Interfaces.ASGINL, log_enabled=False)
    await server.serve()


def _config(app: ASGIApp, port: int, *, guarded: bool) -> uvicorn.Config:
    """The uvicorn options of `penstock serve`, with its guard of connections or without."""
    gates = Gates(ConnectionGate(_MAX_CONNECTIONS, time_limits(Settings.load())))
    return uvicorn.Config(
        RequestWatcher(app) if guarded else app,
        host="127.0.0.1",
        port=port,
        http=connection_class(gates) if guarded else "httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


if __name__ == "__main__":
    main()
