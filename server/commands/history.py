"""`penstock history`: prints the history of all groups and resources as JSON lines."""

import asyncio
import sys
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.history.export import read_all_entries
from penstock.datastore.text import say_count
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, escape_controls
from penstock.server.runtime.stores import open_whole_table
from penstock.server.settings.settings import Settings

_TO = "File to write. The default is standard output."
_SINCE = "Only entries from this time on (ISO 8601, in UTC without another zone)."
_GROUP = "Only entries about this group, what it owned, and what was granted to it."


def history(
    *,
    to: Annotated[Path | None, Parameter(help=_TO)] = None,
    since: Annotated[datetime | None, Parameter(help=_SINCE)] = None,
    group: Annotated[str | None, Parameter(help=_GROUP)] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput | None:
    """Print who granted, revoked and deleted, and changed states and keys: a JSON object a line.

    The lines are in the order of their ids, group by group. The whole table is read, so that on AWS
    it costs its size in read units.
    """
    settings = options.settings()
    try:
        with nullcontext(sys.stdout) if to is None else to.open("w") as file:
            count = asyncio.run(_write(settings, file, since, group))
    except OSError as error:
        raise CommandFailed(f"{to}: {error.strerror}") from None
    if to is None:
        return None
    words = say_count(count, "entry is", "entries are")
    return CommandOutput(f"{words} in {to}", {"entries": count})


async def _write(settings: Settings, file: Any, since: datetime | None, group: str | None) -> int:
    count = 0
    async with open_whole_table(settings) as table:
        earliest = "" if since is None else iso_timestamp(since)
        async for entry in read_all_entries(table, group):
            if entry.at >= earliest:
                file.write(escape_controls(msgspec.json.encode(entry).decode()) + "\n")
                count += 1
    return count
