"""The rows that find things by words of their names, for those that releases before wrote."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio.derived_rows import row_changes, track_rows
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.tracks import audio_of, still_as_read
from penstock.datastore.errors import NotFound
from penstock.datastore.resources.writing.writer import ResourceWriter
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import read_or_report, read_rows, resource_id
from penstock.datastore.table.layout import AUDIO, KINDS, KindDefinition
from penstock.datastore.table.port import Attributes, Key, Scan, Table, Update, key_of
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.upgrades.resource_pages import change_resources

PAGE_SIZE: Final = 100
_SCANNED: Final = "["
"""Begins the places that the scan for tracks reaches, which are lists in JSON."""


async def find_by_words(access: Access, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    """Write the words of the names of all resources and tracks; yield each page that is done.

    A page is its last resource (letter and id) or the key at which a scan of the table is, and the
    numbers of things examined and changed.
    """
    scanned = after is not None and after.startswith(_SCANNED)
    if not scanned:
        async for page in change_resources(access, KINDS, after, _find_resource):
            yield page
    async for page in _find_tracks(access.table, after if scanned else None):
        yield page


async def _find_resource(access: Access, kind: KindDefinition[Any], row: Attributes) -> bool:
    if row.get("named") or not is_alive(row):
        return False
    # Who deletes it meanwhile needs no words.
    with suppress(NotFound):
        return await ResourceWriter(kind, access).write_missing_rows(resource_id(row))
    return False


async def _find_tracks(table: Table, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    last = None if after is None else Key(*json.loads(after))
    while True:
        page = await table.scan(Scan(prefix=AUDIO.pk.prefix({}), after=last, limit=PAGE_SIZE))
        rows = [item for item in page.items if AUDIO.holds(key_of(item))]
        changed = [await _find_track(table, row) for row in rows]
        if reached := page.last or (key_of(rows[-1]) if rows else None):
            yield json.dumps(reached), len(rows), sum(changed)
        if (last := page.last) is None:
            return


async def _find_track(table: Table, row: Attributes) -> bool:
    """Write the words of one title; return whether there were none."""
    key, found = key_of(row), row
    async for _ in Attempts():
        track = read_or_report(audio_of, found)
        if not isinstance(track, Audio) or track.named:
            return False
        with suppress(StaleRead):
            await commit(table, _track_writes(track))
            return True
        rows = await read_rows(table, [key], consistent=True)
        if key not in rows:
            return False
        found = rows[key]
    return False


def _track_writes(track: Audio) -> list[Write]:
    marked = Update(
        key=AUDIO.key(user=track.owner, audio=track.id),
        set={"named": True},
        condition=still_as_read(track),
    )
    named = replace(track, named=True)
    return [Write(marked), *row_changes(track_rows(track), track_rows(named))]
