"""`penstock console-url` and `graphiql-url`: one-time URLs that open a page signed in."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from penstock.server.auth.dev_identity import has_dev_identity, is_loopback
from penstock.server.auth.dev_sessions import issue_code
from penstock.server.commands.client.graphql_client import server_address
from penstock.server.commands.client.profiles import option_or_variable, read_profile
from penstock.server.commands.options import setting_option
from penstock.server.commands.server_key import read_server_key
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.runtime.stores import server_url
from penstock.server.settings.secure_urls import show_url
from penstock.server.settings.settings import Settings

HOST = setting_option("host", "Host of the server.")
PORT = setting_option("port", "Port of the server.")

PagePath = Literal["/console/", "/graphiql"]


def console_url(
    *,
    host: Annotated[str | None, HOST] = None,
    port: Annotated[int | None, PORT] = None,
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None,
) -> CommandOutput:
    """Print a URL that opens the console of a development server, signed in.

    It works once, within 12 hours, on a server with the same data directory and no issuer.
    """
    return _one_time_url("/console/", host, port, data_dir)


def graphiql_url(
    *,
    host: Annotated[str | None, HOST] = None,
    port: Annotated[int | None, PORT] = None,
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None,
) -> CommandOutput:
    """Print a URL that opens the GraphiQL page of a development server, signed in.

    It works once, within 12 hours, on a server with the same data directory and no issuer.
    """
    return _one_time_url("/graphiql", host, port, data_dir)


def page_url(settings: Settings, url: str, path: PagePath) -> str:
    """Return a one-time URL of a page of the server at this URL."""
    return f"{url}{path}?code={issue_code(settings.data_dir)}"


def _one_time_url(
    path: PagePath, host: str | None, port: int | None, data_dir: Path | None
) -> CommandOutput:
    settings = Settings.load(host=host, port=port, data_dir=data_dir)
    is_served = settings.serves_console if path == "/console/" else settings.serves_graphiql
    if not is_served or not has_dev_identity(settings):
        raise CommandFailed(
            "Only a server with this page, without an issuer and on a loopback address, "
            "signs its page in.",
            code=ExitCode.USAGE,
        )
    address = _server_of_page(settings, is_typed=host is not None or port is not None)
    read_server_key(settings.data_dir)
    url = page_url(settings, address, path)
    return CommandOutput(url, {"url": url})


def _server_of_page(settings: Settings, *, is_typed: bool) -> str:
    """Return the address that was typed or is public, else that of clients, else the default."""
    named = None
    if not is_typed and settings.public_url is None:
        named = option_or_variable("url", None) or read_profile().url
    if named is None:
        return server_url(settings, settings.host, settings.port)
    address = server_address(named)
    if not is_loopback(urlsplit(address).hostname or ""):
        words = "is not on a loopback address: name the server by --host and --port."
        raise CommandFailed(f"{show_url(address)} {words}", code=ExitCode.USAGE)
    return address
