"""One process that serves: all that it takes, opened over a port that is taken already."""

import gc
import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from penstock.datastore.files import Files
from penstock.datastore.table import Table
from penstock.server.app import Beside, open_app, streams_of
from penstock.server.commands.seed import DEFAULT_SIZE
from penstock.server.dev_identity import DevIdentity, dev_identity
from penstock.server.jobs import running_jobs
from penstock.server.opening import open_buckets, open_files, open_table, store_over, url_at
from penstock.server.outcome import CommandFailed, ExitCode
from penstock.server.processes.siblings import Siblings
from penstock.server.progress import shown
from penstock.server.samples.seeding import is_empty, seed
from penstock.server.settings import Settings
from penstock.server.sink import open_destinations, running_sink, with_ingest
from penstock.server.streams.draining import DrainingServer
from penstock.server.sweeping import sweeping
from penstock.server.trace_export import exporting
from penstock.server.upkeep import upkept
from penstock.server.workers.pool import running_workers


async def prepare(settings: Settings, url: str) -> DevIdentity | None:
    """Make the embedded table, with samples where it is empty; on DynamoDB, see that one is there.

    Gives who a page of this server acts as, if anybody. Raises CommandFailed: a server does not
    make tables of AWS, it asks for them.
    """
    async with open_table(settings) as table, open_files(settings, url) as files:
        await _check(table, files, settings)
        store = store_over(table, settings, files)
        if settings.seed and settings.store == "sqlite" and await is_empty(store):
            with shown("Loading the sample data", DEFAULT_SIZE) as progress:
                await seed(store, DEFAULT_SIZE, progress)
        return await dev_identity(settings, store)


async def serve_port(
    settings: Settings,
    listener: socket.socket,
    announce: Callable[[], None],
    siblings: Siblings | None = None,
) -> None:
    """Serve what was prepared until told to stop; `announce` is called when all is ready."""
    async with (
        exporting(),
        open_table(settings) as table,
        open_files(settings, url_of(settings, listener)) as files,
        open_buckets(settings) as buckets,
    ):
        store = store_over(table, settings, files, buckets)
        await store.finish_deletes()
        identity = await dev_identity(settings, store)
        streams = streams_of(settings)
        async with (
            running_jobs(store) as store,
            running_workers(store, settings) as store,
            upkept(store, settings),
            sweeping(store),
            open_destinations(settings) as destinations,
            running_sink(settings, store, destinations) as sink,
            open_app(
                settings,
                with_ingest(store, settings, destinations, sink),
                identity,
                Beside(streams, sink, siblings),
            ) as app,
        ):
            announce()
            settle_garbage_collector()
            server = DrainingServer(config_of(app, settings), streams, settings.shutdown_seconds)
            await server.serve([listener])


def url_of(settings: Settings, listener: socket.socket) -> str:
    return url_at(settings, *listener.getsockname()[:2])


async def _check(table: Table, files: Files, settings: Settings) -> None:
    if settings.store == "sqlite":
        await table.create()
        return
    if problems := await table.verify():
        raise CommandFailed(
            *problems, "`penstock table create` makes the table.", code=ExitCode.STORE
        )
    if problems := await files.verify():
        raise CommandFailed(*problems, code=ExitCode.STORE)


def settle_garbage_collector() -> None:
    """Never look again at what start-up made, which holds the event loop for tens of ms."""
    gc.collect()
    gc.freeze()


def config_of(app: Starlette, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=settings.max_body_bytes,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
