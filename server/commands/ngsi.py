"""`penstock ngsi`: takes over tables that other programs filled with samples."""

import asyncio
from typing import Annotated

from cyclopts import App, Parameter

from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.adoption.adopt import TableAdopter
from penstock.datastore.ngsi.adoption.notes import AdoptionResult
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.name_encoding import Encoding, decode_components
from penstock.datastore.ngsi.notification import check_service
from penstock.datastore.text import say_count
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.sample_tables import open_sample_tables
from penstock.server.runtime.stores import open_files, open_whole_table
from penstock.server.settings.settings import Settings

MOST_LISTED = 20
"""The most unreadable items in the text; `--json` lists a hundred."""

_TABLE = "DynamoDB table of Cygnus, or of a program that writes the same fields."
_SERVICE = "FIWARE service of its samples. By default the first part of the table's name."
_AGAIN = "Copy what the copy lacks, though the adoption is complete; also what was deleted since."

ngsi = App(name="ngsi", help="Take over tables that other programs filled with samples.")


@ngsi.command
def adopt(
    table: Annotated[str, Parameter(help=_TABLE)],
    /,
    *,
    service: Annotated[str | None, Parameter(help=_SERVICE)] = None,
    dry_run: Annotated[bool, Parameter(help="Only show what would happen.")] = False,
    again: Annotated[bool, Parameter(help=_AGAIN)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Copy the samples of another program's table to a table of ours, and store new ones there.

    The other table stays as it is. The command may be repeated: after an interruption it goes on,
    and after its end it copies nothing. Items that cannot be copied are listed, and the exit code
    is then 1.
    """
    settings = options.settings()
    if settings.store != "dynamodb":
        words = "Only tables of DynamoDB can be adopted: give --store dynamodb."
        raise CommandFailed(words, code=ExitCode.USAGE)
    named = service or _first_part(table)
    found = asyncio.run(_adopt(settings, table, check_service(named), dry_run=dry_run, again=again))
    return _adoption_output(table, found, dry_run=dry_run)


def _first_part(table: str) -> str:
    try:
        return decode_components(table, Encoding.CYGNUS)[0]
    except BadArgument as error:
        words = f"{table} names no service; give --service."
        raise CommandFailed(words, code=ExitCode.USAGE) from error


async def _adopt(
    settings: Settings, table: str, service: str, *, dry_run: bool, again: bool
) -> AdoptionResult:
    async with open_whole_table(settings) as opened, open_files(settings) as files:
        destinations = await open_sample_tables(settings)
        try:
            adopter = TableAdopter(opened, destinations, LargeValues(files), Clock())
            with show_progress("Copying", None) as progress:
                return await adopter.adopt(
                    table, service, dry_run=dry_run, again=again, progress=progress
                )
        finally:
            await destinations.close()


def _adoption_output(table: str, found: AdoptionResult, *, dry_run: bool) -> CommandOutput:
    copied = "would be copied" if dry_run else "is copied" if found.copied == 1 else "are copied"
    words = [
        f"{say_count(found.copied, 'sample')} of {table} {copied} to {found.table}; "
        f"{say_count(found.unreadable, 'item is', 'items are')} left out."
    ]
    if found.ended_at:
        words.append(
            f"That was complete at {found.ended_at}: nothing was copied now. "
            "Give --again to copy what the copy lacks, also what was deleted from it."
        )
    words += found.reasons[:MOST_LISTED]
    if found.unreadable > MOST_LISTED:
        words.append(f"... and {found.unreadable - MOST_LISTED} more.")
    data = {
        "table": table,
        "copy": found.table,
        "copied": found.copied,
        "unreadable": found.unreadable,
        "reasons": found.reasons,
        "endedAt": found.ended_at,
    }
    code = ExitCode.FAILED if found.unreadable else ExitCode.OK
    return CommandOutput("\n".join(words), data, code)
