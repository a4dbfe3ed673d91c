"""`penstock import`: fills a store from an archive."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.moving.archive import Archive
from penstock.datastore.moving.import_ import Import, ImportResult
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import (
    CommandFailed,
    CommandOutput,
    ExitCode,
    show_progress,
)
from penstock.server.runtime.movable_stores import open_movable_store
from penstock.server.settings.settings import Settings

_SOURCE = "Folder of an archive that `penstock export` completed."
_INTO_EXISTING = (
    "Import into a table that has rows; rows of the archive replace those with the same keys."
)


def import_(
    source: Annotated[Path, Parameter(help=_SOURCE)],
    /,
    *,
    into_existing: Annotated[bool, Parameter(help=_INTO_EXISTING)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Write everything of an archive to the store, which is empty and which no server uses.

    Repeat the command after an interruption: it goes on. The table at DynamoDB and the bucket must
    exist; the embedded store is made.
    """
    settings = options.settings()
    done = asyncio.run(_import(settings, source, into_existing=into_existing))
    text = f"{done.rows} rows, {done.samples} samples and {done.files} files are in the store now."
    return CommandOutput(text, done._asdict())


async def _import(settings: Settings, source: Path, *, into_existing: bool) -> ImportResult:
    archive = Archive(source)
    async with open_movable_store(settings) as store:
        if settings.store == "sqlite":
            await store.table.create()
        elif problems := await store.table.verify():
            raise CommandFailed(*problems, code=ExitCode.STORE)
        with show_progress("Importing", archive.count_lines()) as progress:
            return await Import(store, archive, progress, into_existing).run()
