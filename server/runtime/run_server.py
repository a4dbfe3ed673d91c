"""Runs one serving process: opens everything it needs, serves a bound port, and shuts down."""

import asyncio
import atexit
import gc
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from math import ceil
from typing import Final

import uvicorn
from starlette.applications import Starlette

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.moving.unfinished_restore import require_restored
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.scratch_folders import remove_abandoned_folders
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.datastore.table.schema_marker import THIS_RELEASE, TooOld, check_release, read_marker
from penstock.datastore.table.unfinished_imports import require_ended_imports
from penstock.server.app import Runtime, open_app
from penstock.server.app_options import open_rate_limiter, streams_of
from penstock.server.auth.dev_identity import DevIdentity, dev_identity
from penstock.server.auth.dev_tokens import DEV_USER
from penstock.server.connections.body_budget import BodyBudget
from penstock.server.connections.descriptors import (
    MOST_CONNECTIONS,
    connections_for,
    raise_descriptor_limit,
)
from penstock.server.connections.gate import ConnectionGate, Gates, time_limits
from penstock.server.connections.request_watcher import RequestWatcher
from penstock.server.connections.uvicorn_class import connection_class
from penstock.server.connections.websocket_guard import WebSocketGuard
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.core.progress_bars import show_progress
from penstock.server.core.siblings import Siblings
from penstock.server.edge.public_path import serve_below_public_path
from penstock.server.lineage.lineage import deliver_lineage
from penstock.server.runtime.listeners import Listeners
from penstock.server.runtime.loop_sampler import sample_event_loop
from penstock.server.runtime.maintenance import (
    maintain_executions,
    run_jobs_in_background,
    sweep_files_periodically,
)
from penstock.server.runtime.ngsi_sink import open_destinations, run_sink, with_ingest
from penstock.server.runtime.stop_signals import StopSignals
from penstock.server.runtime.stores import (
    build_store,
    open_buckets,
    open_files,
    open_table,
    server_url,
)
from penstock.server.runtime.worker_pool import run_workers
from penstock.server.samples.audio import add_samples
from penstock.server.samples.catalogue import DEFAULT_SIZE
from penstock.server.samples.seeding import is_empty, seed
from penstock.server.settings.settings import Settings
from penstock.server.streams.registry import StreamRegistry
from penstock.server.telemetry.instrument import Instrumentation
from penstock.server.telemetry.span_export import export_spans

logger = logging.getLogger("penstock.server")

_LOOK_UP_SECONDS: Final = 0.1
_ADMIN_CONNECTIONS: Final = 16
_COLLECTIONS: Final = (10_000, 20, 250)
"""New objects between two collections of them, and how many of these lead to larger ones."""


class DrainingServer(uvicorn.Server):
    """A uvicorn server that ends the open streams first, which never end by themselves.

    Streams and connections have `seconds` together, and then one more for slow connections. A
    second signal ends the wait.
    """

    def __init__(self, config: uvicorn.Config, streams: StreamRegistry, seconds: float) -> None:
        super().__init__(config)
        self._streams = streams
        self._seconds = seconds

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to StopSignals: uvicorn hears none of start-up, and raises its own."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        self._streams.stop()
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        while len(self._streams) and clock() < until and not self.force_exit:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_UP_SECONDS):
                    await self._streams.wait_until_none()
        self.config.timeout_graceful_shutdown = max(1, ceil(until - clock()))
        await super().shutdown(sockets)


async def prepare_store(settings: Settings, url: str) -> DevIdentity | None:
    """Create the embedded table, with samples if it is empty; on DynamoDB check the table.

    Returns the identity of the server's page, if any. Raises CommandFailed if the DynamoDB table
    does not fit: a server does not create it.
    """
    async with open_table(settings) as table, open_files(settings, url) as files:
        await _check_store(table, files, settings)
        await require_ended_imports(table)
        store = build_store(table, settings, files)
        if settings.seed and settings.store == "sqlite" and await is_empty(store):
            await _load_samples(store)
        return await dev_identity(settings, store)


async def _load_samples(store: Store) -> None:
    """Fill an empty store, as far as its quotas allow."""
    try:
        with show_progress("Loading the sample data", DEFAULT_SIZE) as progress:
            await seed(store, DEFAULT_SIZE, progress)
            if store.files is not NO_FILES:
                await add_samples(store, DEV_USER)
    except* QuotaExceeded as refused:
        (first, *_) = refused.exceptions
        logger.warning("a part of the sample data is left out, because of a quota: %s", first)


async def serve_port(
    settings: Settings,
    listeners: Listeners,
    announce: Callable[[], None],
    stop: StopSignals,
    siblings: Siblings | None = None,
) -> None:
    """Serve the prepared store until it is stopped; `announce` is called when all is ready."""
    async with (
        export_spans(),
        open_table(settings) as table,
        open_files(settings, url_of(settings, listeners.public)) as files,
        open_buckets(settings) as buckets,
    ):
        instrumentation = Instrumentation.of(settings, siblings)
        store = instrumentation.watch_work(build_store(table, settings, files, buckets))
        await asyncio.to_thread(remove_abandoned_folders)
        await store.finish_deletes()
        identity = await dev_identity(settings, store)
        streams = streams_of(settings)
        gates = open_gates(settings, listeners)
        limiter = open_rate_limiter(settings, siblings)
        async with (
            # What ends at the end is told as well, so this comes first.
            deliver_lineage(instrumentation.lineage, store),
            watch_gates(gates),
            open_destinations(settings) as destinations,
            # Jobs delete samples, so they need the destinations.
            run_jobs_in_background(with_ingest(store, settings, destinations, None)) as store,
            run_workers(store, settings, instrumentation) as store,
            maintain_executions(store, settings, limiter.owe),
            sweep_files_periodically(store),
            run_sink(settings, store, destinations) as sink,
            open_app(
                settings,
                with_ingest(store, settings, destinations, sink),
                identity,
                Runtime(streams, sink, siblings, gates, instrumentation, limiter),
            ) as app,
        ):
            config = uvicorn_config(app, settings, gates)
            server = DrainingServer(config, streams, settings.shutdown_seconds)
            sampled = sample_event_loop(limiter.loop_times.note)
            # Without a limit nobody owes anything, and nothing looks at the samples.
            with sampled if limiter.is_limited else nullcontext():
                await _serve_until_stopped(server, listeners.sockets, announce, stop)


async def _serve_until_stopped(
    server: DrainingServer,
    sockets: list[socket.socket],
    announce: Callable[[], None],
    stop: StopSignals,
) -> None:
    announce()
    settle_garbage_collector()
    try:
        with stop.handled_by(partial(server.handle_exit, frame=None)):
            await server.serve(sockets)
    finally:
        # DuckDB prints a line for each object that the end of Python does not collect.
        gc.unfreeze()


def url_of(settings: Settings, listener: socket.socket) -> str:
    return server_url(settings, *listener.getsockname()[:2])


async def _check_store(table: Table, files: Files, settings: Settings) -> None:
    if settings.store == "sqlite":
        await table.create()
        # A restore that began since the table was opened has seen no file of it.
        require_restored(settings.data_dir)
        await _check_release(table)
        return
    if problems := await table.verify():
        raise CommandFailed(
            *problems, "`penstock table create` makes the table.", code=ExitCode.STORE
        )
    if problems := await files.verify():
        raise CommandFailed(*problems, code=ExitCode.STORE)
    await _check_release(table)


async def _check_release(table: Table) -> None:
    """Raise CommandFailed if this release is too old to write the rows."""
    try:
        check_release(await read_marker(table), THIS_RELEASE, writes=True)
    except TooOld as error:
        advice = "Start the release that upgraded the table, or a later one."
        raise CommandFailed(error.message, advice, code=ExitCode.STORE) from None


def settle_garbage_collector() -> None:
    """Exclude the objects of start-up from garbage collection, and collect new ones in few.

    Collecting either holds the event loop for tens of milliseconds: those of start-up, or 50,000
    new ones, which some dozens of documents leave behind that are checked for the first time.
    """
    gc.collect()
    gc.freeze()
    if "duckdb" in sys.modules:
        # It tells on standard error of each object of its own that is not collected at the end,
        # and has some from its import on. To collect all takes half a second.
        atexit.register(gc.unfreeze)
    gc.set_threshold(*_COLLECTIONS)


def open_gates(settings: Settings, listeners: Listeners) -> Gates:
    """Return the gates of the listeners, for as many connections as descriptors suffice for."""
    limits = time_limits(settings)
    wanted = settings.max_connections or MOST_CONNECTIONS
    bodies = BodyBudget(settings.max_bodies_bytes, settings.max_body_bytes)
    most = connections_for(raise_descriptor_limit(), wanted)
    main = ConnectionGate(most, limits, bodies=bodies)
    if listeners.admin is None:
        return Gates(main)
    port: int = listeners.admin.getsockname()[1]
    return Gates(main, ConnectionGate(_ADMIN_CONNECTIONS, limits, bodies=bodies), port)


@asynccontextmanager
async def watch_gates(gates: Gates) -> AsyncIterator[None]:
    """End the late connections of all gates until the block ends."""
    async with gates.main.watch(), nullcontext() if gates.admin is None else gates.admin.watch():
        yield


def uvicorn_config(app: Starlette, settings: Settings, gates: Gates) -> uvicorn.Config:
    return uvicorn.Config(
        RequestWatcher(serve_below_public_path(app, settings.public_url)),
        http=connection_class(gates),
        ws=WebSocketGuard,
        ws_max_size=settings.max_body_bytes,
        ws_per_message_deflate=False,
        # The gates end idle connections, also where uvicorn does not.
        timeout_keep_alive=ceil(settings.idle_seconds + settings.head_seconds) + 1,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
