"""`penstock seed`: adds the sample catalogue, or removes it."""

import asyncio
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.datastore.text import say_count
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandOutput
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.stores import (
    build_store,
    data_location,
    open_files,
    open_table,
    open_whole_table,
    require_usable,
)
from penstock.server.samples import seeding
from penstock.server.samples.audio import AudioSeedCounts, add_samples, remove_samples
from penstock.server.samples.catalogue import DEFAULT_SIZE
from penstock.server.samples.seeding import SeedCounts
from penstock.server.settings.settings import Settings

_SIZE_HELP = "Number of sample pipelines; a higher number adds the missing ones."
_PURGE_HELP = "Delete the sample pipelines, and the sample groups that are then empty."
_AUDIO_HELP = "Id of a user: adds sample tracks to their library, or with --purge deletes them."


def seed(
    *,
    size: Annotated[int, Parameter(help=_SIZE_HELP, validator=Number(gte=1, lte=10_000_000))] = (
        DEFAULT_SIZE
    ),
    purge: Annotated[bool, Parameter(help=_PURGE_HELP)] = False,
    audio: Annotated[str | None, Parameter(help=_AUDIO_HELP)] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Fill the store with a sample catalogue of groups and pipelines; existing data stays."""
    settings = options.settings()
    if purge:
        deleted, unshelved = asyncio.run(_purge(settings, audio))
        words = say_count(deleted, "sample pipeline was", "sample pipelines were")
        text, gone = f"{words} deleted.", {"deleted": deleted}
        if audio is not None:
            text += f" {say_count(unshelved, 'sample track was', 'sample tracks were')}."
            gone["tracksDeleted"] = unshelved
        return CommandOutput(text, gone)
    seeded, shelved = asyncio.run(_seed(settings, size, audio))
    text = f"{_say_made('pipeline', seeded)}: {data_location(settings)}"
    made: dict[str, Any] = {"created": seeded.created, "found": seeded.found}
    if audio is not None:
        text += f"\n{_say_made('track', shelved)}, of {audio}"
        made["tracks"] = {"created": shelved.created, "found": shelved.found}
    return CommandOutput(text, made)


def _say_made(noun: str, counts: SeedCounts | AudioSeedCounts) -> str:
    made = say_count(counts.created, f"{noun} was made", f"{noun}s were made")
    return f"{made}, {say_count(counts.found, 'was', 'were')} there"


async def _seed(
    settings: Settings, size: int, user: str | None
) -> tuple[SeedCounts, AudioSeedCounts]:
    async with open_table(settings) as table, open_files(settings) as files:
        if settings.store == "sqlite":
            await table.create()
        await require_usable(table)
        store = build_store(table, settings, files)
        with show_progress("Seeding", size) as progress:
            seeded = await seeding.seed(store, size, progress)
        return seeded, AudioSeedCounts() if user is None else await add_samples(store, user)


async def _purge(settings: Settings, user: str | None) -> tuple[int, int]:
    async with open_whole_table(settings) as table, open_files(settings) as files:
        store = build_store(table, settings, files)
        with show_progress("Deleting", None) as progress:
            deleted = await seeding.purge(store, progress)
        return deleted, 0 if user is None else await remove_samples(store, user)
