"""`penstock results`: shows the files of kept rows to other engines."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from penstock.datastore.kept_rows.external_table import ExternalEngine, write_statements
from penstock.datastore.kept_rows.part_files import copy_parts
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.text import is_id
from penstock.schema.core.relay import parse_global_id
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.runtime.stores import open_files, open_whole_table
from penstock.server.settings.settings import Settings

_PIPELINE = "The id of a pipeline that keeps rows."
_ENGINE = "The engine that reads the files."
_NAME = "The name of the table; the view has `_latest` behind it."
_COPY_TO = (
    "A folder to which the files are copied, for the statements to read them there. The embedded "
    "store needs it, because others cannot find its files. The default is to read the bucket."
)

results = App(name="results", help="Show the files of kept rows to other engines.")


@results.command
def ddl(
    pipeline: Annotated[str, Parameter(help=_PIPELINE)],
    /,
    *,
    engine: Annotated[Literal["athena", "trino", "spark", "duckdb"], Parameter(help=_ENGINE)],
    name: Annotated[str, Parameter(help=_NAME)] = "kept_rows",
    copy_to: Annotated[Path | None, Parameter(help=_COPY_TO)] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Print a table over the files of a pipeline's rows, and a view of the rows that stand.

    The view shows the commits of now. Print it again after others.
    """
    settings = options.settings()
    location = _bucket(settings) if copy_to is None else str(copy_to.absolute())
    id, parts = asyncio.run(_read_parts(settings, pipeline, copy_to))
    text = write_statements(ExternalEngine(engine), name, location, id, parts)
    return CommandOutput(text.rstrip("\n"), {"engine": engine, "sql": text})


async def _read_parts(
    settings: Settings, pipeline: str, copy_to: Path | None
) -> tuple[str, Sequence[RowsPart]]:
    """Return the key of a pipeline and the list of its parts, which are copied if that is asked."""
    given = parse_global_id(pipeline)
    id = given.key if given is not None and given.type == "Pipeline" else pipeline
    async with open_whole_table(settings) as table, open_files(settings) as files:
        parts = await read_parts(table, id) if is_id(id) else ()
        if not parts:
            raise CommandFailed(f"{pipeline}: there is no pipeline with this id that has rows")
        if copy_to is not None:
            await copy_parts(files, parts, copy_to)
    return id, parts


def _bucket(settings: Settings) -> str:
    """The location of the bucket that the settings choose."""
    if settings.store == "sqlite" or settings.bucket is None:
        words = "--copy-to: name a folder, because there is no bucket that others can read"
        raise CommandFailed(words, code=ExitCode.USAGE)
    return f"s3://{settings.bucket}"
