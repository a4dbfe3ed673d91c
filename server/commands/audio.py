"""`penstock audio`: audio of other layouts, brought into the libraries of its owners."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from datastore.audio.legacy import Legacy, read_legacy
from datastore.audio.legacy_import import Imported, import_legacy
from datastore.dynamodb.scan import scanned
from datastore.dynamodb.wire import decode
from server.opening import open_buckets, open_files, open_table, store_over
from server.outcome import Answer, CommandFailed, ExitCode
from server.settings import Settings
from server.store_options import StoreOptions

audio = App(name="audio")

_SOURCE_HELP = (
    "A file of one JSON object a line, plain or as DynamoDB exports items; or, with --from-table, "
    "the name of a table."
)
_TABLE_HELP = "Read a DynamoDB table in place of a file; in the region and at the endpoint set."
SHOWN = 20


@audio.command(name="import-legacy")
def import_legacy_layout(
    source: Annotated[str, Parameter(help=_SOURCE_HELP)],
    /,
    *,
    from_table: Annotated[bool, Parameter(help=_TABLE_HELP)] = False,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> Answer:
    """Import audio of the layout with one item for each attribute; may be done again.

    Rows whose prefix is not their owner are set aside. Access keys are dropped: owners connect
    their buckets first.
    """
    settings = options.settings()
    legacy, imported = asyncio.run(_import(settings, source, from_table))
    return Answer(_told(legacy, imported), _data(legacy, imported))


async def _import(settings: Settings, source: str, from_table: bool) -> tuple[Legacy, Imported]:
    legacy = await _read(settings, source, from_table)
    async with (
        open_table(settings) as table,
        open_files(settings) as files,
        open_buckets(settings) as buckets,
    ):
        if problems := await table.verify():
            raise CommandFailed(*problems, code=ExitCode.STORE)
        store = store_over(table, settings, files, buckets)
        return legacy, await import_legacy(store, legacy)


async def _read(settings: Settings, source: str, from_table: bool) -> Legacy:
    if not from_table:
        return read_legacy(_lines(Path(source)))
    found = scanned(source, settings.region, settings.endpoint_url)
    return read_legacy([row async for row in found])


def _lines(path: Path) -> Iterator[Mapping[str, object]]:
    """The rows of a file; an export of DynamoDB has each below `Item`, its values typed."""
    try:
        text = path.read_text()
    except (OSError, UnicodeError) as error:
        raise CommandFailed(f"{path}: {error}", code=ExitCode.USAGE) from error
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield _row(line, f"{path}:{number}")


def _row(line: str, place: str) -> Mapping[str, object]:
    try:
        row: Any = json.loads(line)
        row = row.get("Item", row)
        return {
            name: decode(value) if isinstance(value, dict) else value for name, value in row.items()
        }
    except (ValueError, AttributeError) as error:
        raise CommandFailed(f"{place}: is no row: {error}", code=ExitCode.USAGE) from error


def _told(legacy: Legacy, imported: Imported) -> str:
    lines = [f"{imported.added} tracks were added, {imported.found} were there."]
    if legacy.secrets:
        lines.append(
            f"{legacy.secrets} rows of access keys were dropped. They stand in clear in the old "
            "table and its indexes: revoke the keys."
        )
    if legacy.playlists:
        lines.append(f"{legacy.playlists} rows of playlists were left.")
    if imported.quarantined:
        lines.append(f"{len(imported.quarantined)} were set aside:")
        reasons = Counter(each.reason for each in imported.quarantined)
        lines += [f"  {count} x {reason}" for reason, count in reasons.most_common(SHOWN)]
    return "\n".join(lines)


def _data(legacy: Legacy, imported: Imported) -> dict[str, object]:
    return {
        "added": imported.added,
        "found": imported.found,
        "secretsDropped": legacy.secrets,
        "playlistRows": legacy.playlists,
        "quarantined": [each._asdict() for each in imported.quarantined],
    }
