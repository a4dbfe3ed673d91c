"""`penstock console-url` and `graphiql-url`: one-time URLs that open a page signed in."""

from pathlib import Path
from typing import Annotated, Literal

from penstock.server.auth.dev_identity import has_dev_identity
from penstock.server.auth.dev_sessions import issue_code
from penstock.server.commands.options import setting_option
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.runtime.stores import server_url
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
    settings = Settings.load(host=host, port=port, data_dir=data_dir)
    return _one_time_url(settings, "/console/", served=settings.serves_console)


def graphiql_url(
    *,
    host: Annotated[str | None, HOST] = None,
    port: Annotated[int | None, PORT] = None,
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None,
) -> CommandOutput:
    """Print a URL that opens the GraphiQL page of a development server, signed in.

    It works once, within 12 hours, on a server with the same data directory and no issuer.
    """
    settings = Settings.load(host=host, port=port, data_dir=data_dir)
    return _one_time_url(settings, "/graphiql", served=settings.serves_graphiql)


def page_url(settings: Settings, url: str, path: PagePath) -> str:
    """Return a one-time URL of a page of the server at this URL."""
    return f"{url}{path}?code={issue_code(settings.data_dir)}"


def _one_time_url(settings: Settings, path: PagePath, *, served: bool) -> CommandOutput:
    if not served or not has_dev_identity(settings):
        raise CommandFailed(
            "Only a server with this page, without an issuer and on a loopback address, "
            "signs its page in.",
            code=ExitCode.USAGE,
        )
    url = page_url(settings, server_url(settings, settings.host, settings.port), path)
    return CommandOutput(url, {"url": url})
