"""`penstock import`: fills a store from an archive, or a server from an export of AWS SIF."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from penstock.datastore.moving.archive import Archive
from penstock.datastore.moving.import_ import Import, ImportResult
from penstock.datastore.table.unfinished_imports import abandon_imports
from penstock.datastore.text import say_count
from penstock.resolvers.findings import Severity
from penstock.server.commands.checks.recount import RecountReport, recount
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.commands.options import StoreOptions
from penstock.server.commands.sif.export_files import SifExport
from penstock.server.commands.sif.import_run import SifImport
from penstock.server.commands.sif.report import SifReport
from penstock.server.commands.sif.target import ImportTarget
from penstock.server.core.command_output import CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.movable_stores import open_movable_store
from penstock.server.runtime.stores import data_location, open_existing_table, require_fitting
from penstock.server.settings.settings import Settings

_SOURCE = "Folder of an archive that `penstock export` completed."
_INTO_EXISTING = (
    "Import into a table that has rows; rows of the archive replace those with the same keys."
)


import_ = App(name="import", help="Fill a store from an archive, or a server from another system.")


@import_.default
def import_archive(
    source: Annotated[Path, Parameter(help=_SOURCE)],
    /,
    *,
    into_existing: Annotated[bool, Parameter(help=_INTO_EXISTING)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Write everything of an archive to the store, which is empty and which no server uses.

    Repeat the command after an interruption: it goes on, and no server starts until it has ended.
    The table at DynamoDB and the bucket must exist; the embedded store is made. At the end all
    counts are compared with what they count; with --into-existing they are made to fit.
    """
    settings = options.settings()
    done, lost, report = asyncio.run(_import(settings, source, into_existing=into_existing))
    counts = say_count(done.rows, "row"), say_count(done.samples, "sample")
    text = f"{', '.join(counts)} and {say_count(done.files, 'file')} are in the store now."
    words = [finding.message for finding in report.findings]
    if lost:
        words.append(f"{say_count(lost, 'secret')} of users cannot be opened by the archive's key.")
    failed = any(finding.level is Severity.FAIL for finding in report.findings) or lost > 0
    data = {**done._asdict(), "lostSecrets": lost, "differences": report.differences}
    code = ExitCode.FAILED if failed else ExitCode.OK
    return CommandOutput("\n".join([text, *words]), data, code)


async def _import(
    settings: Settings, source: Path, *, into_existing: bool
) -> tuple[ImportResult, int, RecountReport]:
    archive = Archive(source)
    async with open_movable_store(settings) as store:
        if settings.store == "sqlite":
            await store.table.create()
        else:
            await require_fitting(store.table)
        with show_progress("Importing", archive.count_lines()) as progress:
            importing = Import(store, archive, progress, into_existing)
            done = await importing.run()
        with show_progress("Recounting", None) as progress:
            report = await recount(store.table, store.segments, progress, repair=into_existing)
        # Last: what is killed before, also while it recounts, goes on when it is repeated.
        await importing.end()
        return done, importing.lost_secrets, report


@import_.command
def abandon(*, options: StoreOptions = StoreOptions()) -> CommandOutput:  # noqa: B008 - frozen
    """Forget an import that will not be completed: servers use what the table has as it is.

    Prefer to repeat the import, which goes on, or to take another table. Ends with 0 also if there
    is no such import. `penstock doctor --recount` then tells of what does not fit.
    """
    settings = options.settings()
    abandoned = asyncio.run(_abandon(settings))
    words = say_count(abandoned, "import was", "imports were")
    where = data_location(settings)
    return CommandOutput(f"{words} abandoned: {where}", {"table": where, "abandoned": abandoned})


async def _abandon(settings: Settings) -> int:
    async with open_existing_table(settings) as table:
        await require_fitting(table)
        return await abandon_imports(table)


_SIF_SOURCE = "Folder of an export of AWS SIF, with the folders tables, files and activities."
_DRY_RUN = "Make nothing, and say what would be made and what cannot be."


@import_.command
def sif(
    source: Annotated[Path, Parameter(help=_SIF_SOURCE)],
    /,
    *,
    dry_run: Annotated[bool, Parameter(help=_DRY_RUN)] = False,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Make of an export of AWS SIF what a running server does not have yet, and report the rest.

    Repeat the command after an interruption, or with a later export: what is there stays.
    """
    export = SifExport(source)
    report = asyncio.run(_import_sif(server, export, is_dry=dry_run))
    return CommandOutput(report.text(is_dry=dry_run), report.data())


async def _import_sif(server: ServerOptions, export: SifExport, *, is_dry: bool) -> SifReport:
    async with server.client() as client:
        return await SifImport(ImportTarget(client), export, is_dry).run()
