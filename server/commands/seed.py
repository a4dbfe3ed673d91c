"""`penstock seed`: the sample catalogue, in or out."""

import asyncio
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from server.opening import location, open_files, open_table, store_over
from server.outcome import Answer, CommandFailed, ExitCode
from server.progress import shown
from server.samples import seeding
from server.samples.seeding import Seeded
from server.settings import Settings
from server.store_options import StoreOptions

DEFAULT_SIZE = 150

_SIZE_HELP = "How many pipelines the catalogue has; more of them are made as it is raised."
_PURGE_HELP = "Take the sample pipelines and the sample groups that are then empty out again."


def seed(
    *,
    size: Annotated[int, Parameter(help=_SIZE_HELP, validator=Number(gte=1, lte=10_000_000))] = (
        DEFAULT_SIZE
    ),
    purge: Annotated[bool, Parameter(help=_PURGE_HELP)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Fill the store with a sample catalogue of groups and pipelines; what is there stays."""
    settings = options.settings()
    if purge:
        deleted = asyncio.run(_purge(settings))
        return Answer(f"{deleted} sample pipelines were deleted.", {"deleted": deleted})
    seeded = asyncio.run(_seed(settings, size))
    text = f"{seeded.created} pipelines were made, {seeded.found} were there: {location(settings)}"
    return Answer(text, {"created": seeded.created, "found": seeded.found})


async def _seed(settings: Settings, size: int) -> Seeded:
    async with open_table(settings) as table, open_files(settings) as files:
        if settings.store == "sqlite":
            await table.create()
        elif problems := await table.verify():
            raise CommandFailed(*problems, code=ExitCode.STORE)
        with shown("Seeding", size) as progress:
            return await seeding.seed(store_over(table, settings, files), size, progress)


async def _purge(settings: Settings) -> int:
    async with open_table(settings) as table, open_files(settings) as files:
        if problems := await table.verify():
            raise CommandFailed(*problems, code=ExitCode.STORE)
        with shown("Deleting", None) as progress:
            return await seeding.purge(store_over(table, settings, files), progress)
