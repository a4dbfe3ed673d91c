"""`penstock table`: creates the table, checks it, or upgrades its rows."""

import asyncio
from collections import Counter

from cyclopts import App

from penstock.datastore.access.reseal import ResealOutcome, reseal_secrets
from penstock.datastore.access.vault import RenewedVault
from penstock.datastore.text import say_count
from penstock.datastore.upgrades.upgrade import Page, Step
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.stores import (
    build_store,
    data_location,
    open_buckets,
    open_existing_table,
    open_files,
    open_table,
    open_whole_table,
)
from penstock.server.settings.settings import Settings

table = App(name="table", help="Create, check or upgrade the table that holds all data.")


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


@table.command
def upgrade(*, options: StoreOptions = StoreOptions()) -> CommandOutput:  # noqa: B008 - frozen
    """Bring all rows to the form of this release; a stopped upgrade goes on where it was.

    Servers go on meanwhile. Do it when all of them are of this release.
    """
    settings = options.settings()
    number, changed = asyncio.run(_upgrade(settings))
    where = data_location(settings)
    words = f"The rows have the form of number {number}, {changed} were changed: {where}"
    return CommandOutput(words, {"table": where, "schema": number, "changed": changed})


@table.command
def reseal(*, options: StoreOptions = StoreOptions()) -> CommandOutput:  # noqa: B008 - frozen
    """Encrypt users' keys of their buckets by the new key, after the key was changed.

    Servers go on meanwhile. The key before must still be known; a stopped run can be repeated.
    """
    settings = options.settings()
    found = asyncio.run(_reseal(settings))
    resealed, unchanged, lost = (found[outcome] for outcome in ResealOutcome)
    words = say_count(resealed, "secret was encrypted anew", "secrets were encrypted anew")
    words = f"{words}, {unchanged} had the new key"
    if lost:
        words = f"{words}, {say_count(lost, 'opens', 'open')} with neither key"
        raise CommandFailed(f"{words}.", code=ExitCode.STORE)
    where = data_location(settings)
    return CommandOutput(f"{words}: {where}", {"resealed": resealed, "unchanged": unchanged})


async def _reseal(settings: Settings) -> Counter[ResealOutcome]:
    async with open_whole_table(settings) as opened, open_buckets(settings) as buckets:
        vault = buckets.vault
        if not isinstance(vault, RenewedVault):
            words = (
                "There is no key before: name it in PENSTOCK_PREVIOUS_KMS_KEY, or rename vault-key "
                "to vault-key-previous."
            )
            raise CommandFailed(words, code=ExitCode.USAGE)
        return Counter([outcome async for outcome in reseal_secrets(opened, vault)])


async def _upgrade(settings: Settings) -> tuple[int, int]:
    """Upgrade the rows; return the number of their form and of the rows that changed."""
    changed = 0
    async with open_whole_table(settings) as opened, open_files(settings) as files:
        with show_progress("Upgrading the rows", None) as advance:

            def report(_step: Step, page: Page) -> None:
                nonlocal changed
                changed += page.changed
                for _ in range(page.examined):
                    advance()

            marker = await build_store(opened, settings, files).upgrade_rows(report)
    return marker.schema, changed


async def _create(settings: Settings) -> None:
    async with open_table(settings) as opened:
        await opened.create()


async def _verify(settings: Settings) -> list[str]:
    async with open_existing_table(settings) as opened:
        return await opened.verify()
