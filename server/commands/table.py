"""`penstock table`: creates the table, or checks it."""

import asyncio

from cyclopts import App

from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.runtime.stores import data_location, open_table
from penstock.server.settings.settings import Settings

table = App(name="table", help="Create or check the table that holds all data.")


@table.command
def create(*, options: StoreOptions = StoreOptions()) -> CommandOutput:  # noqa: B008 - frozen
    """Create the table, its index and its expiry where they are missing; existing parts stay."""
    settings = options.settings()
    asyncio.run(_create(settings))
    where = data_location(settings)
    return CommandOutput(f"The table is there: {where}", {"table": where})


@table.command
def verify(*, options: StoreOptions = StoreOptions()) -> CommandOutput:  # noqa: B008 - frozen
    """Check keys, index and expiry of the table; exit with 3 if they do not fit."""
    settings = options.settings()
    problems = asyncio.run(_verify(settings))
    where = data_location(settings)
    if problems:
        raise CommandFailed(*(f"{where}: {problem}" for problem in problems), code=ExitCode.STORE)
    return CommandOutput(f"The table fits: {where}", {"table": where})


async def _create(settings: Settings) -> None:
    async with open_table(settings) as opened:
        await opened.create()


async def _verify(settings: Settings) -> list[str]:
    async with open_table(settings) as opened:
        return await opened.verify()
