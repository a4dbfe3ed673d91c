"""Checks of DynamoDB: credentials, endpoint, clock, and each part of the table."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from penstock.datastore.dynamodb.create_table import TableDifferences
from penstock.datastore.dynamodb.diagnose import (
    NO_SUCH_TABLE,
    TableDiagnosis,
    diagnose_table,
    table_differences,
    table_safeguards,
)
from penstock.datastore.dynamodb.safeguards import Safeguards
from penstock.datastore.errors import PenstockError, RequestRefused
from penstock.resolvers.findings import Finding, Findings, fail, ok, warn
from penstock.schema.system.rows import check_rows
from penstock.schema.system.unfinished_work import check_unfinished_work
from penstock.server.commands.checks.sample_tables import check_sample_tables
from penstock.server.runtime.stores import build_store, open_table
from penstock.server.settings.secure_urls import hide_credentials
from penstock.server.settings.settings import Settings

SKEW_SECONDS = 30
MOST_SKEW_SECONDS = 240
"""AWS refuses signatures that are five minutes off."""

_CREATE = "`penstock table create` makes what is missing; what is there it does not change."
_PERMIT = "`penstock iam` prints the permissions that are needed."
_CREDENTIALS = (
    "Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile in AWS_PROFILE, or a role."
)
_BAD_CREDENTIALS = frozenset(
    (
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    )
)


async def check_dynamodb(settings: Settings) -> Findings:
    """Check the connection to DynamoDB, and the table if the connection works."""
    found = await diagnose_table(settings.table, settings.region, settings.endpoint_url)
    for finding in judge_connection(found):
        yield finding
    if found.date is not None:
        yield judge_clock(found.date, datetime.now(UTC))
    if (
        found.no_answer
        or found.no_credentials
        or found.credentials is None
        or found.refusal not in {None, NO_SUCH_TABLE}
    ):
        return
    try:
        parts = await table_differences(settings.table, settings.region, settings.endpoint_url)
    except (PenstockError, RequestRefused) as error:
        yield fail("table", str(error), _PERMIT)
        return
    if parts.table:
        yield fail("table", " ".join(parts.table), _CREATE)
        return
    async for finding in _check_table(settings, parts):
        yield finding


async def _check_table(settings: Settings, parts: TableDifferences) -> Findings:
    """Check a table that exists: its parts, its safeguards, and unfinished work."""
    for finding in _judge_parts(settings.table, parts):
        yield finding
    async for finding in _check_safeguards(settings):
        yield finding
    if not parts.index:
        async for finding in _check_items(settings):
            yield finding


def _judge_parts(table: str, parts: TableDifferences) -> Iterator[Finding]:
    yield ok("table", f"The table {table} is there.")
    yield _judge_part("table keys", parts.keys, "Choose another table: keys cannot be changed.")
    yield _judge_part(
        "index", parts.index, f"{_CREATE} An index that differs must be deleted first."
    )
    yield _judge_part("ttl", parts.ttl, _CREATE)


def judge_connection(found: TableDiagnosis) -> Iterator[Finding]:
    """Judge the endpoint, the credentials, and any refusal."""
    endpoint = None if found.endpoint is None else hide_credentials(found.endpoint)
    if found.no_credentials is not None:
        yield fail("credentials", found.no_credentials, _CREDENTIALS)
        return
    if found.no_answer is not None:
        advice = "Check PENSTOCK_REGION, PENSTOCK_ENDPOINT_URL, the network and its proxies."
        place = "" if endpoint is None else f"{endpoint}: "
        yield fail("endpoint", f"{place}{found.no_answer}", advice)
        return
    yield ok("endpoint", str(endpoint))
    if found.credentials is None:
        yield fail("credentials", "There are none.", _CREDENTIALS)
    elif found.refusal in _BAD_CREDENTIALS:
        where = f"Those of {found.credentials} are refused with {found.refusal}."
        yield fail("credentials", where, f"{_CREDENTIALS} A wrong clock has the same effect.")
    else:
        yield ok("credentials", f"Those of {found.credentials} are accepted.")
        if found.refusal not in {None, NO_SUCH_TABLE}:
            yield fail("table", f"DescribeTable is refused with {found.refusal}.", _PERMIT)


def judge_clock(theirs: datetime, ours: datetime) -> Finding:
    """Judge the difference between the clocks."""
    seconds = round((theirs - ours).total_seconds())
    if abs(seconds) < SKEW_SECONDS:
        return ok("clock", "It agrees with the store's.")
    message = f"It is {abs(seconds)} s {'behind' if seconds > 0 else 'ahead of'} the store's."
    advice = "Set it by NTP: AWS refuses requests that are five minutes off, and tokens expire."
    return (warn if abs(seconds) < MOST_SKEW_SECONDS else fail)("clock", message, advice)


def _judge_part(check: str, problems: Sequence[str], advice: str) -> Finding:
    return fail(check, " ".join(problems), advice) if problems else ok(check, "As it must be.")


async def _check_safeguards(settings: Settings) -> Findings:
    try:
        found = await table_safeguards(settings.table, settings.region, settings.endpoint_url)
    except (PenstockError, RequestRefused) as error:
        advice = "`penstock iam --setup` prints the permission to read it; the server needs none."
        yield warn("recovery", str(error), advice)
        return
    for finding in judge_safeguards(settings.table, found):
        yield finding


def judge_safeguards(table: str, found: Safeguards) -> Iterator[Finding]:
    """Judge point-in-time recovery and deletion protection."""
    if found.recovery is None:
        yield ok("recovery", "This store has no point-in-time recovery.")
    elif found.recovery:
        yield ok("recovery", "Every moment of the last days can be restored.")
    else:
        command = (
            f"`aws dynamodb update-continuous-backups --table-name {table} "
            "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`"
        )
        yield warn("recovery", "Point-in-time recovery is off.", f"{command} switches it on.")
    if found.protection:
        yield ok("protection", "The table cannot be deleted by mistake.")
    else:
        command = f"`aws dynamodb update-table --table-name {table} --deletion-protection-enabled`"
        yield warn("protection", "Deletion protection is off.", f"{command} switches it on.")


async def _check_items(settings: Settings) -> Findings:
    """Check unfinished work, which needs the permissions to read items."""
    try:
        async with open_table(settings) as table:
            for check in (check_rows, check_unfinished_work):
                async for finding in check(build_store(table, settings)):
                    yield finding
            if settings.takes_notifications:
                async for finding in check_sample_tables(settings, table):
                    yield finding
    except (PenstockError, RequestRefused) as error:
        yield fail("items", str(error), _PERMIT)
