"""`penstock serve`: the server, over the embedded store unless told otherwise."""

import asyncio
import gc
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Annotated

import uvicorn
from cyclopts import Parameter
from starlette.applications import Starlette
from uvloop import new_event_loop

from datastore.files import Files
from datastore.table import Table
from server.app import open_app, streams_of
from server.commands.seed import DEFAULT_SIZE
from server.dev_identity import DevIdentity, dev_identity
from server.jobs import running_jobs
from server.logs import configure
from server.opening import location, open_buckets, open_files, open_table, store_over, url_at
from server.options import option
from server.outcome import CommandFailed, ExitCode
from server.progress import shown
from server.samples.seeding import is_empty, seed
from server.settings import Settings
from server.sink import open_destinations, running_sink, with_ingest
from server.store_options import StoreOptions
from server.streams.draining import DrainingServer
from server.sweeping import sweeping
from server.trace_export import exporting
from server.upkeep import upkept
from server.workers.pool import running_workers

_NO_SEED_HELP = "Leave an empty store empty."


def serve(
    *,
    host: Annotated[str | None, option("host")] = None,
    port: Annotated[int | None, option("port")] = None,
    no_seed: Annotated[bool, Parameter(help=_NO_SEED_HELP)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> None:
    """Start the server and run it until it is told to stop (Ctrl-C, SIGTERM).

    The embedded store is made when missing and, when empty, filled with a sample catalogue.
    """
    settings = options.settings(host=host, port=port, seed=False if no_seed else None)
    configure(settings.log_format)
    listener = _listen(settings)
    # uvicorn raises the signal that stopped it once more, and what is open is still to be closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listener, suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=new_event_loop) as loop:
        loop.run(_serve(settings, listener))


def _listen(settings: Settings) -> socket.socket:
    """Take the port before anything else is done, so that a busy one is told at once."""
    try:
        family, *_, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        # Python's own text of the error repeats the address.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise CommandFailed(
            f"Cannot listen on {settings.host}:{settings.port}: {reason}."
        ) from error


async def _serve(settings: Settings, listener: socket.socket) -> None:
    url = url_at(settings, *listener.getsockname()[:2])
    async with (
        exporting(),
        open_table(settings) as table,
        open_files(settings, url) as files,
        open_buckets(settings) as buckets,
    ):
        await _prepare(table, files, settings)
        store = store_over(table, settings, files, buckets)
        if settings.seed and settings.store == "sqlite" and await is_empty(store):
            with shown("Loading the sample data", DEFAULT_SIZE) as progress:
                await seed(store, DEFAULT_SIZE, progress)
        await store.finish_deletes()
        identity = await dev_identity(settings, store)
        streams = streams_of(settings)
        async with (
            running_jobs(store) as store,
            running_workers(store, settings) as store,
            upkept(store),
            sweeping(store),
            open_destinations(settings) as destinations,
            running_sink(settings, store, destinations) as sink,
            open_app(
                settings,
                with_ingest(store, settings, destinations, sink),
                identity,
                streams,
                sink,
            ) as app,
        ):
            _announce(settings, url, identity)
            settle_garbage_collector()
            server = DrainingServer(config_of(app, settings), streams, settings.shutdown_seconds)
            await server.serve([listener])


async def _prepare(table: Table, files: Files, settings: Settings) -> None:
    """Make the embedded table; on DynamoDB a server does not make tables, it asks for them."""
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
    gc.set_threshold(50_000, 20, 50)


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
    )


def _announce(settings: Settings, url: str, identity: DevIdentity | None) -> None:
    """Say where everything is, on standard error: the answer of a server is what it serves."""
    lines = [f"GraphQL   {url}/graphql", f"Health    {url}/healthz  {url}/readyz"]
    if settings.serves_graphiql:
        lines.insert(0, f"GraphiQL  {url}/graphiql")
    if settings.takes_notifications:
        lines.append(f"NGSI      {url}/v2/notify")
    if identity is not None:
        caller = identity.caller
        roles = ", ".join(f"{role.name.lower()} of {group}" for group, role in caller.roles.items())
        lines.append(f"Identity  {caller.user_id}, {roles}, default group {caller.default_group}")
        lines.append("          (GraphiQL acts as it; `penstock token` makes tokens for others)")
    lines.append(f"Data      {location(settings)}")
    lines.append("Ctrl-C stops the server.")
    sys.stderr.write("\n".join(("", *lines, "", "")))
    sys.stderr.flush()
