"""`penstock serve`: runs the server, by default over the embedded store."""

import logging
import os
import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from penstock.server.auth.dev_identity import DevIdentity, describe_roles
from penstock.server.commands.options import StoreOptions, setting_option
from penstock.server.commands.page_urls import page_url
from penstock.server.runtime.listeners import Listeners
from penstock.server.runtime.run_server import prepare_store, serve_port, url_of
from penstock.server.runtime.stop_signals import StopSignals, run_until_stopped
from penstock.server.runtime.stores import data_location, server_url
from penstock.server.runtime.supervisor import supervise_processes
from penstock.server.settings.settings import Settings
from penstock.server.settings.unknown_variables import describe_unknown_variables
from penstock.server.telemetry.logs import configure_logging

_NO_SEED_HELP = "Leave an empty store empty."
_PLAYERS_HELP = "Let music players in, by the OpenSubsonic API."
_NO_CONSOLE_HELP = "Do not serve the console."


def serve(
    *,
    host: Annotated[str | None, setting_option("host")] = None,
    port: Annotated[int | None, setting_option("port")] = None,
    admin_port: Annotated[int | None, setting_option("admin_port")] = None,
    workers: Annotated[int | None, setting_option("workers")] = None,
    opensubsonic: Annotated[bool, Parameter(help=_PLAYERS_HELP, negative=())] = False,
    no_seed: Annotated[bool, Parameter(help=_NO_SEED_HELP)] = False,
    no_console: Annotated[bool, Parameter(help=_NO_CONSOLE_HELP)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> None:
    """Start the server and run it until a signal stops it (Ctrl-C, SIGTERM).

    The embedded store is created if it is missing and, if empty, filled with a sample catalogue.
    """
    settings = options.settings(
        host=host,
        port=port,
        admin_port=admin_port,
        workers=workers,
        opensubsonic=True if opensubsonic else None,
        seed=False if no_seed else None,
        console=False if no_console else None,
    )
    configure_logging(settings.log_format)
    for sentence in describe_unknown_variables(os.environ):
        logging.getLogger("penstock").warning(sentence)
    # A busy port fails before all other work.
    with Listeners.bind(settings) as listeners:
        run_until_stopped(partial(_serve, listeners.note_port(settings), listeners))


async def _serve(settings: Settings, listeners: Listeners, stop: StopSignals) -> None:
    url = url_of(settings, listeners.public)
    identity = await prepare_store(settings, url)

    def announce() -> None:
        _announce(settings, url, identity, _admin_url(settings, listeners))

    if settings.workers == 1:
        await serve_port(settings, listeners, announce, stop)
        return
    async with supervise_processes(settings, listeners) as supervisor:
        await supervisor.start()
        announce()
        await supervisor.run()


def _admin_url(settings: Settings, listeners: Listeners) -> str | None:
    if listeners.admin is None:
        return None
    host, port = listeners.admin.getsockname()[:2]
    return server_url(settings.model_copy(update={"public_url": None}), host, port)


def _announce(
    settings: Settings, url: str, identity: DevIdentity | None, admin_url: str | None
) -> None:
    """Print the URLs and the data's location on standard error; standard output stays free."""
    lines = [f"GraphQL   {url}/graphql", f"Health    {url}/healthz  {url}/readyz"]
    signs_in = identity is not None and settings.log_format == "text"  # a log is kept and shared
    if settings.serves_graphiql:
        page = page_url(settings, url, "/graphiql") if signs_in else f"{url}/graphiql"
        lines.insert(0, f"GraphiQL  {page}")
    if settings.serves_console:
        page = page_url(settings, url, "/console/") if signs_in else f"{url}/console/"
        lines.insert(0, f"Console   {page}")
    if settings.takes_notifications:
        lines.append(f"NGSI      {url}/v2/notify")
    if settings.opensubsonic:
        lines.append(f"Players   {url}  (OpenSubsonic)")
    if admin_url is not None:
        lines.append(f"Admin     {admin_url}/healthz  {admin_url}/readyz  {admin_url}/metrics")
    if identity is not None:
        caller = identity.caller
        roles = describe_roles(caller)
        lines.append(f"Identity  {caller.user_id}, {roles}, default group {caller.default_group}")
        lines.append("          (the pages act as it; a URL signs in once, `penstock console-url`")
        lines.append("          prints another; `penstock token` makes tokens for other users)")
    lines.append(f"Data      {data_location(settings)}")
    if settings.log_format == "json":
        named = (line.split(None, 1) for line in lines if not line.startswith(" "))
        facts = {name.lower(): value for name, value in named}
        logging.getLogger("penstock").info("the server is ready", extra=facts)
        return
    lines.append("Ctrl-C stops the server.")
    sys.stderr.write("\n".join(("", *lines, "", "")))
    sys.stderr.flush()
