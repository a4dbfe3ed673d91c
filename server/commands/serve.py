"""`penstock serve`: runs the server, by default over the embedded store."""

import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter
from uvloop import new_event_loop

from penstock.server.auth.dev_identity import DevIdentity
from penstock.server.commands.options import StoreOptions, setting_option
from penstock.server.core.command_output import CommandFailed
from penstock.server.runtime.run_server import prepare_store, serve_port, url_of
from penstock.server.runtime.stores import data_location
from penstock.server.runtime.supervisor import supervise_processes
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.logs import configure_logging

_NO_SEED_HELP = "Leave an empty store empty."


def serve(
    *,
    host: Annotated[str | None, setting_option("host")] = None,
    port: Annotated[int | None, setting_option("port")] = None,
    workers: Annotated[int | None, setting_option("workers")] = None,
    no_seed: Annotated[bool, Parameter(help=_NO_SEED_HELP)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> None:
    """Start the server and run it until a signal stops it (Ctrl-C, SIGTERM).

    The embedded store is created if it is missing and, if empty, filled with a sample catalogue.
    """
    settings = options.settings(
        host=host, port=port, workers=workers, seed=False if no_seed else None
    )
    configure_logging(settings.log_format)
    listener = _listen(settings)
    # uvicorn raises the signal again after it stops, and the open resources must still close.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with listener, suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=new_event_loop) as loop:
        loop.run(_serve(settings, listener))


def _listen(settings: Settings) -> socket.socket:
    """Bind the port before all other work, so that a busy port fails at once."""
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
    url = url_of(settings, listener)

    identity = await prepare_store(settings, url)

    def announce() -> None:
        _announce(settings, url, identity)

    if settings.workers == 1:
        await serve_port(settings, listener, announce)
        return
    async with supervise_processes(settings, listener) as supervisor:
        await supervisor.start()
        announce()
        await supervisor.run()


def _announce(settings: Settings, url: str, identity: DevIdentity | None) -> None:
    """Print the URLs and the data's location on standard error; standard output stays free."""
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
    lines.append(f"Data      {data_location(settings)}")
    if settings.log_format == "json":
        named = (line.split(None, 1) for line in lines if not line.startswith(" "))
        facts = {name.lower(): value for name, value in named}
        logging.getLogger("penstock").info("the server is ready", extra=facts)
        return
    lines.append("Ctrl-C stops the server.")
    sys.stderr.write("\n".join(("", *lines, "", "")))
    sys.stderr.flush()
