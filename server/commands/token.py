"""`penstock token`: a development token for trying the server out."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import GroupPath, Role
from penstock.server.auth.claims import default_group_from, roles_from, user_id_from
from penstock.server.auth.dev_tokens import sign_dev_token
from penstock.server.commands.options import parse_duration, setting_option
from penstock.server.commands.server_key import read_server_key
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.settings.settings import Settings

_ROLE_HELP = """A role of the user, as `/usa=admin`: `reader`, `contributor` or `admin` of a group
and of all groups below it. May be given many times."""
_GROUP_HELP = "Group of requests that name none. By default the topmost group of the roles."
_TTL_HELP = "Lifetime of the token: `90s`, `30m`, `12h`, `7d`; at most `366d`."


def token(
    *,
    user: Annotated[str, Parameter(help="Id of the user that the token stands for.")],
    role: Annotated[list[str], Parameter(help=_ROLE_HELP)],
    default_group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    ttl: Annotated[str, Parameter(help=_TTL_HELP)] = "12h",
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None,
) -> CommandOutput:
    """Print a token for development, to be sent as `Authorization: Bearer TOKEN`.

    It is signed with the key of the data directory, which a server without an issuer has made and
    accepts.
    """
    settings = Settings.load(data_dir=data_dir)
    if settings.issuer is not None:
        raise CommandFailed(
            "PENSTOCK_ISSUER is set: the server accepts that issuer's tokens only.",
            code=ExitCode.USAGE,
        )
    valid = parse_duration("ttl", ttl)
    name, roles, group = _parse_identity(user, role, default_group)
    key = read_server_key(settings.data_dir)
    expires = datetime.now(UTC).replace(microsecond=0) + valid
    signed = sign_dev_token(key, name, roles, group, valid)
    data = {
        "token": signed,
        "user": name,
        "roles": {path: held.name.lower() for path, held in roles.items()},
        "defaultGroup": group,
        "expiresAt": expires.isoformat().replace("+00:00", "Z"),
    }
    return CommandOutput(signed, data)


def _parse_identity(
    user: str, entries: list[str], default_group: str | None
) -> tuple[str, dict[GroupPath, Role], GroupPath | None]:
    try:
        roles = roles_from(entries)
        return user_id_from(user), roles, default_group_from(default_group, roles)
    except BadArgument as error:
        raise CommandFailed(error.message, code=ExitCode.USAGE) from error
