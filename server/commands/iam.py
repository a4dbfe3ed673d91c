"""`penstock iam`: the minimal AWS permissions of the server."""

import json
import re
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.iam_policy import (
    server_policy,
    user_bucket_statements,
    with_destinations,
    with_moves,
)
from penstock.server.commands.options import setting_option
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.settings.settings import Settings

_ACCOUNT = re.compile(r"\d{12}", re.ASCII)

_ACCOUNT_HELP = "Number of the AWS account, 12 digits. By default the policy names none."
_SETUP_HELP = (
    "Permit also what `penstock table create`, `penstock doctor` and `penstock ngsi adopt` do."
)
_MOVE_HELP = (
    "Permit also what `penstock export`, `penstock import` and `penstock doctor --recount` do: to "
    "read the whole table. Give it to who moves data, not to servers."
)


def iam(
    *,
    table: Annotated[str | None, setting_option("table")] = None,
    bucket: Annotated[str | None, setting_option("bucket")] = None,
    region: Annotated[str | None, setting_option("region")] = None,
    account: Annotated[str | None, Parameter(help=_ACCOUNT_HELP)] = None,
    setup: Annotated[bool, Parameter(help=_SETUP_HELP)] = False,
    move: Annotated[bool, Parameter(help=_MOVE_HELP)] = False,
) -> CommandOutput:
    """Print an IAM policy that permits what the server does, and nothing else.

    It names the table and the bucket of the settings for any kind of store. It sends no request to
    AWS.
    """
    settings = Settings.load(table=table, bucket=bucket, region=region)
    if account is not None and not _ACCOUNT.fullmatch(account):
        raise CommandFailed(f"--account {account}: must be 12 digits.", code=ExitCode.USAGE)
    found = server_policy(
        settings.table, settings.bucket, region=settings.region, account=account, setup=setup
    )
    found["Statement"] += user_bucket_statements(
        [key for key in (settings.kms_key, settings.previous_kms_key) if key is not None],
        roles=settings.assume_roles,
        region=settings.region,
        account=account,
    )
    if settings.bucket is not None and settings.ngsi is not False:
        found = with_destinations(found, settings.ngsi_region, account, setup=setup)
    if move:
        found = with_moves(found, settings.table, settings.region, account)
    return CommandOutput(json.dumps(found, indent=2), found)
