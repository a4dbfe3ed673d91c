"""`penstock manifest import`: imports the runs of another system's manifest."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.dynamodb.client import scan
from penstock.datastore.errors import RequestRefused
from penstock.datastore.manifest.import_runs import (
    RunImportResult,
    SourceItem,
    read_lines,
    read_typed,
)
from penstock.datastore.session import Session
from penstock.datastore.text import say_count
from penstock.server.commands.manifest.context import ManifestOptions, run_with_session
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode, put_in_line
from penstock.server.core.progress_bars import show_progress

BATCH_SIZE = 100
MOST_LISTED = 20
"""The most invalid items in the text; `--json` lists all."""

_FILE = "File with an item on each line, as JSON: plain, or as DynamoDB writes or exports items."


def import_runs(
    file: Annotated[Path | None, Parameter(help=_FILE)] = None,
    /,
    *,
    manifest: ManifestOptions,
    from_table: Annotated[
        str | None, Parameter(help="DynamoDB table to read, in place of a file.")
    ] = None,
    from_region: Annotated[str | None, Parameter(help="AWS region of that table.")] = None,
    from_endpoint_url: Annotated[str | None, Parameter(help="Endpoint of that table.")] = None,
    dry_run: Annotated[bool, Parameter(help="Only show what would happen.")] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Import the runs of another system's manifest; existing runs stay as they are.

    Invalid items are listed with their problems, and the others are still imported; the exit code
    is then 1.
    """
    if (file is None) is (from_table is None):
        words = "Name one source: a file, or a table with --from-table."
        raise CommandFailed(words, code=ExitCode.USAGE)
    source = (
        _read_file(file) if file else _read_table(from_table or "", from_region, from_endpoint_url)
    )

    async def work(session: Session) -> RunImportResult:
        total = RunImportResult()
        with show_progress("Importing", None) as progress:
            async for items in source:
                part = await session.run_importer.batch(manifest.name, items, dry_run=dry_run)
                total = total.plus(part)
                for _ in items:
                    progress()
        return total

    return _import_answer(run_with_session(options, manifest.user, work), dry_run=dry_run)


async def _read_file(file: Path) -> AsyncIterator[Sequence[SourceItem]]:
    try:
        with file.open("rb") as opened:
            for part in _batches(read_lines(opened)):
                yield part
    except OSError as error:
        raise CommandFailed(f"{file}: {error.strerror}", code=ExitCode.USAGE) from error


def _batches(found: Iterable[SourceItem]) -> Iterator[list[SourceItem]]:
    rest = iter(found)
    while part := list(islice(rest, BATCH_SIZE)):
        yield part


async def _read_table(
    table: str, region: str | None, endpoint_url: str | None
) -> AsyncIterator[Sequence[SourceItem]]:
    pages = scan(table, region=region, endpoint_url=endpoint_url, page=BATCH_SIZE)
    try:
        async for page in pages:
            yield [read_typed(table, raw) for raw in page]
    except RequestRefused as error:
        raise CommandFailed(str(error), code=ExitCode.STORE) from error


def _import_answer(imported: RunImportResult, *, dry_run: bool) -> CommandOutput:
    entered = "would enter" if dry_run else "entered"
    words = [
        f"{say_count(imported.entered, 'run')} {entered}, "
        f"{say_count(imported.standing, 'was', 'were')} there, "
        f"{say_count(len(imported.invalid), 'is', 'are')} invalid."
    ]
    words += [
        put_in_line(
            f"{item.place}{f' ({item.run_id})' if item.run_id else ''}: {'; '.join(item.reasons)}"
        )
        for item in imported.invalid[:MOST_LISTED]
    ]
    if len(imported.invalid) > MOST_LISTED:
        words.append(f"... and {len(imported.invalid) - MOST_LISTED} more; --json tells all.")
    data = {
        "entered": imported.entered,
        "standing": imported.standing,
        "invalid": [
            {"place": item.place, "runId": item.run_id, "reasons": list(item.reasons)}
            for item in imported.invalid
        ],
    }
    code = ExitCode.FAILED if imported.invalid else ExitCode.OK
    return CommandOutput("\n".join(words), data, code)
