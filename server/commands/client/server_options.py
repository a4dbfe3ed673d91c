"""The options of all commands that are clients of a running server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from penstock.datastore.roles import ROOT, Role
from penstock.server.commands.client.graphql_client import GraphQLClient
from penstock.server.commands.client.profiles import (
    Profile,
    option_or_variable,
    read_profile,
)
from penstock.server.commands.options import setting_option
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.settings.settings import Settings

DEFAULT_URL = "http://127.0.0.1:8000"
SERVER = Group("Server", sort_key=2)

_URL_HELP = f"URL of the server. By default {DEFAULT_URL}. Also PENSTOCK_URL, or a profile."
_PROOF_HELP = (
    "A token or an API key. By default one for development, signed with the key of the data "
    "directory. Also PENSTOCK_TOKEN, or a profile."
)
_PROFILE_HELP = (
    "Profile of the configuration file, which names a server and a token. Also PENSTOCK_PROFILE."
)


@Parameter(name="*", group=SERVER)
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The server's URL, and the token for it.

    An option wins over its variable, and that over the profile.
    """

    url: Annotated[str | None, Parameter(help=_URL_HELP)] = None
    token: Annotated[str | None, Parameter(help=_PROOF_HELP)] = None
    profile: Annotated[str | None, Parameter(help=_PROFILE_HELP)] = None
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None

    def read_profile(self) -> Profile:
        """Return what options, variables and profile say together; raises CommandFailed."""
        profile = read_profile(self.profile)
        url = option_or_variable("url", self.url) or profile.url or DEFAULT_URL
        token = option_or_variable("token", self.token) or profile.token
        return Profile(url, token or _development_token(self.data_dir), profile.group)

    def client(self) -> GraphQLClient:
        profile = self.read_profile()
        return GraphQLClient(profile.url or DEFAULT_URL, profile.token or "")


LOCAL_SERVER = ServerOptions()
"""What holds without options: the server of this machine, or that of the chosen profile."""


def _development_token(data_dir: Path | None) -> str:
    # Loading what signs takes 80 ms of processor time, a sixth of all that a command loads.
    from penstock.server.auth.dev_tokens import (  # noqa: PLC0415
        DEV_TOKEN_LIFETIME,
        DEV_USER,
        PREFERRED_GROUP,
        sign_dev_token,
    )
    from penstock.server.commands.server_key import read_server_key  # noqa: PLC0415

    settings = Settings.load(data_dir=data_dir)
    if settings.issuer is not None:
        message = "PENSTOCK_ISSUER is set, so a development token does not work: pass --token."
        raise CommandFailed(message, code=ExitCode.USAGE)
    key = read_server_key(settings.data_dir, has_token_option=True)
    return sign_dev_token(key, DEV_USER, {ROOT: Role.ADMIN}, PREFERRED_GROUP, DEV_TOKEN_LIFETIME)
