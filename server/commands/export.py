"""`penstock export`: writes everything of a store to an archive."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.clock import Clock
from penstock.datastore.moving.archive import SNAPSHOT, Archive, Manifest
from penstock.datastore.moving.export import Export
from penstock.datastore.moving.held_folders import hold_folder
from penstock.datastore.text import say_count
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.movable_stores import open_snapshot
from penstock.server.runtime.stores import open_existing_table, require_usable
from penstock.server.settings.settings import Settings

_TARGET = "Folder of the archive. A folder with a part of this export is completed."


def export(
    target: Annotated[Path, Parameter(help=_TARGET)],
    /,
    *,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """Write rows, samples, files and keys of the store to an archive, for `penstock import`.

    Repeat the command after an interruption: it goes on. Rows of an embedded store are those of one
    moment; of a table at DynamoDB they are not, so stop its servers first.

    The archive contains users' secrets and the key that opens them. Only its owner can read it.
    """
    settings = options.settings()
    manifest = asyncio.run(_export(settings, target))
    counts = {kind: manifest.count(kind) for kind in ("rows", "samples", "files")}
    rows, samples, files = (say_count(n, kind.removesuffix("s")) for kind, n in counts.items())
    text = f"{rows}, {samples} and {files} are in {target}"
    left_out = manifest.count_left_out()
    if left_out:
        others = say_count(left_out, "object")
        text += f"\n{others} of other programs left out: no file of a store can have such a key."
    return CommandOutput(text, {"archive": str(target), **counts, "leftOut": left_out})


async def _export(settings: Settings, target: Path) -> Manifest:
    async with open_existing_table(settings) as table:
        await require_usable(table)
    archive = Archive(target)
    if archive.read_manifest() is None:
        archive.prepare()
    with hold_folder(target):
        found = archive.read_manifest()
        if found is not None and found.complete and not (target / SNAPSHOT).exists():
            raise CommandFailed(f"{target} has a complete archive already; choose another folder.")
        async with open_snapshot(settings, target) as store:
            with show_progress("Exporting", None) as progress:
                return await Export(store, archive, Clock(), progress).run()
