"""`penstock doctor`: checks everything the server depends on, one line each."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias, TypeVar

from cyclopts import Parameter

from penstock.datastore.logged_errors import describe_error
from penstock.resolvers.findings import Finding, Findings, Severity, fail
from penstock.server.commands.checks.bucket import check_bucket
from penstock.server.commands.checks.cluster import check_cluster
from penstock.server.commands.checks.dynamodb import check_dynamodb
from penstock.server.commands.checks.embedded_store import check_embedded_store
from penstock.server.commands.checks.issuer import check_issuer
from penstock.server.commands.checks.latest_samples import check_latest_samples
from penstock.server.commands.checks.recount import RecountReport
from penstock.server.commands.checks.recount import recount as recount_table
from penstock.server.commands.checks.running_server import RunningServer, check_running_server
from penstock.server.commands.checks.variables import check_variables
from penstock.server.commands.client.graphql_client import check_address
from penstock.server.commands.client.server_options import ServerOptions
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.movable_stores import SEGMENTS, open_movable_store
from penstock.server.runtime.ngsi_sink import has_samples
from penstock.server.runtime.stores import build_store, open_whole_table
from penstock.server.settings.settings import Settings

T = TypeVar("T")
Check: TypeAlias = Callable[[Settings], Findings]

_STORE_CHECKS: Final[Mapping[str, tuple[str, Check]]] = MappingProxyType(
    {"sqlite": ("embedded", check_embedded_store), "dynamodb": ("dynamodb", check_dynamodb)}
)


_RUNNING_CHECKS = (("variables", check_variables), ("server", check_running_server))

_URL_HELP = "Check the running server at this URL instead of the settings."
_PROOF_HELP = "A token or an API key for it. By default one for development. Also PENSTOCK_TOKEN."
_ORIGIN_HELP = "Origin of a page that shall use the running server, such as http://localhost:5173."
_RECOUNT_HELP = (
    "Read the whole table instead, and compare lists, names and counts with what they are made of."
)
_REPAIR_HELP = "Recount, and make what differs as it should be. A server may run meanwhile."


def doctor(
    *,
    recount: Annotated[bool, Parameter(help=_RECOUNT_HELP)] = False,
    repair: Annotated[bool, Parameter(help=_REPAIR_HELP)] = False,
    url: Annotated[str | None, Parameter(help=_URL_HELP)] = None,
    token: Annotated[str | None, Parameter(help=_PROOF_HELP)] = None,
    origin: Annotated[str | None, Parameter(help=_ORIGIN_HELP)] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Check the store, the bucket and the issuer of the settings; exit with 3 if a check fails.

    With `--url` it checks a running server as a client does: clock, token, CORS and an upload.
    Nothing is changed without `--repair`. Each check prints one line: `ok`, `warn` or `fail`, and
    advice.
    """
    if url is not None:
        proof = ServerOptions(url=url, token=token, data_dir=options.data_dir).read_profile().token
        server = RunningServer(check_address(url.rstrip("/")), proof or "", origin)
        return _report(asyncio.run(_run_checks(server, _RUNNING_CHECKS)), {})
    settings = options.settings()
    if recount or repair:
        report = asyncio.run(_recount(settings, repair=repair))
        return _report(report.findings, {"differences": report.differences})
    checks = (
        ("variables", check_variables),
        _STORE_CHECKS[settings.store],
        ("bucket", check_bucket),
        ("issuer", check_issuer),
        ("cluster", check_cluster),
    )
    return _report(asyncio.run(_run_checks(settings, checks)), {})


async def _recount(settings: Settings, *, repair: bool) -> RecountReport:
    async with open_whole_table(settings) as table:
        with show_progress("Reading rows", None) as progress:
            if repair:
                # What a write in steps has still to add must not be added by the repair as well.
                await build_store(table, settings).finish_writes()
            segments = 1 if settings.store == "sqlite" else SEGMENTS
            rows = await recount_table(table, segments, progress, repair=repair)
    if not has_samples(settings):
        return rows
    async with open_movable_store(settings) as store:
        with show_progress("Reading samples", None) as progress:
            latest = await check_latest_samples(store, progress, repair=repair)
    return RecountReport(
        [*rows.findings, *latest.findings], [*rows.differences, *latest.differences]
    )


def _report(found: Sequence[Finding], more: Mapping[str, object]) -> CommandOutput:
    failed = any(finding.level is Severity.FAIL for finding in found)
    data = {
        "ok": not failed,
        "checks": [
            {
                "check": finding.check,
                "level": finding.level.value,
                "message": finding.message,
                "advice": finding.advice,
            }
            for finding in found
        ],
        **more,
    }
    code = ExitCode.STORE if failed else ExitCode.OK
    return CommandOutput("\n".join(map(_format_finding, found)), data, code)


async def _run_checks(
    examined: T, checks: Sequence[tuple[str, Callable[[T], Findings]]]
) -> list[Finding]:
    found: list[Finding] = []
    with show_progress("Checking", len(checks)) as progress:
        for name, check in checks:
            try:
                async for finding in check(examined):
                    found.append(finding)  # noqa: PERF401 - what came before a failure counts
            except Exception as error:  # the next check may still find more
                found.append(
                    fail(name, describe_error(error), "Nobody foresaw this; please report it.")
                )
            progress()
    return found


def _format_finding(finding: Finding) -> str:
    words = " ".join(f"{finding.message} {finding.advice or ''}".split())
    return f"{finding.level:4}  {finding.check:18}  {words}"
