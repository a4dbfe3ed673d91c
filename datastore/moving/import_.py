"""Imports an archive into a store: part by part, each noted in the table once it is written.

Writing a part again changes nothing, so an import that was killed goes on. One that was paused
while another process ended the same import writes no rows over what came since: in a file, each
transaction asks for the row of the import. At DynamoDB these would cost twice as much, and wait for
each other at that row: a look comes before the writes, and those that were behind it are written.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

import msgspec

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.clock import wall_clock
from penstock.datastore.errors import BadArgument
from penstock.datastore.moving.archive import Archive, DamagedArchive, Manifest
from penstock.datastore.moving.blobs import FileLine, read_blob
from penstock.datastore.moving.bucket_names import BucketNames, rename_buckets
from penstock.datastore.moving.export import FILES_AT_ONCE, MovableStore, Progress, wait_for_all
from penstock.datastore.moving.row_lines import decode_row, decode_sample
from penstock.datastore.moving.rows_of_samples import OF_SAMPLES
from penstock.datastore.moving.secrets_of_users import SecretCarrier
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.table.fenced_table import FencedTable
from penstock.datastore.table.items import load
from penstock.datastore.table.layout import IMPORT, SCHEMA_MARKER, SECRET
from penstock.datastore.table.limits import WRITE_OPERATIONS
from penstock.datastore.table.port import (
    Attributes,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Scan,
    Table,
    Update,
    key_of,
)
from penstock.datastore.table.schema_marker import SchemaMarker, raise_minimums
from penstock.datastore.unreadable_json import JSON_ERRORS, describe_unreadable

WRITES_AT_ONCE: Final = 32
"""The writes of 25 items that are sent together; the embedded store commits them together."""

LOOK_INTERVAL = timedelta(seconds=1)
"""The time after which the next write is preceded by a look whether the import was ended."""

_PARTS, _BEGUN, _LOST = "parts", "begun", "lostSecrets"
"""The attributes of an import: the parts that are written, a mark from its beginning on, and the
number of secrets in these parts that the archive's key does not open."""

_MARKER: Final = SCHEMA_MARKER.pk.fill({})
_ROOM: Final = IMPORT.pk.fill({}), f"{SECRET.pk.leader}:", _MARKER
"""The rows that an empty table may have: an import's own, and those of a first start."""

T = TypeVar("T")
logger = logging.getLogger("penstock.moving")


class ImportResult(NamedTuple):
    """The numbers of rows, samples and files in the store now that came from the archive."""

    rows: int
    samples: int
    files: int


class NotEmpty(BadArgument):
    """The table has rows that are not of this import."""


class EndedElsewhere(BadArgument):
    """Another process has ended the import of this archive, or abandoned it."""


@dataclass(slots=True)
class Import:
    """One import, or the rest of one.

    Without `into_existing`, a table with rows is refused, unless they are of this import. With it,
    those that tell of samples are removed. `lost_secrets` counts the secrets of users that the
    archive's key does not open, also those of the part of the import that was done before.
    """

    store: MovableStore
    archive: Archive
    progress: Progress
    into_existing: bool = False
    lost_secrets: int = field(default=0, init=False)
    _key: Key = field(default=Key("", ""), init=False)
    _looked_at: datetime = field(default_factory=wall_clock, init=False)

    async def run(self) -> ImportResult:
        """Write what the store lacks; may be repeated until `end`.

        Raises DamagedArchive, NotEmpty, EndedElsewhere or Unavailable.
        """
        manifest = self._read_manifest()
        # Before anything is written: a damaged key loses secrets.
        vault = LocalVault(self.archive.vault_key(manifest))
        done = await self._begin(manifest)
        carrier = SecretCarrier(vault, self.store.vault, self.lost_secrets)
        writers: tuple[tuple[str, Callable[[Sequence[bytes]], Awaitable[None]]], ...] = (
            # Files come first: a row that names a file finds it.
            ("files", self._write_files),
            ("samples", self._write_samples),
            ("rows", lambda lines: self._write_rows(lines, manifest.buckets, carrier)),
        )
        for kind, write in writers:
            for part in manifest.parts_of(kind):
                if part.name not in done:
                    await write(await asyncio.to_thread(self.archive.read_part, part))
                    done.append(part.name)
                    self.lost_secrets = carrier.lost
                    await self._note(done)
                self.progress(part.lines)
        return ImportResult(*(manifest.count(kind) for kind in ("rows", "samples", "files")))

    async def end(self) -> None:
        """Forget what was written: from now on the table counts as one with rows."""
        manifest = self._read_manifest()
        await self.store.table.write([Delete(IMPORT.key(archive=manifest.id))])

    def _read_manifest(self) -> Manifest:
        manifest = self.archive.read_manifest()
        if manifest is None:
            raise DamagedArchive(f"{self.archive.folder} is no archive.")
        if not manifest.complete:
            raise DamagedArchive("The export is not complete: repeat `penstock export` first.")
        if lost := [*self.archive.missing_parts(manifest)]:
            raise DamagedArchive(f"The archive has lost {', '.join(lost[:3])}.")
        if manifest.count("files") and self.store.files is NO_FILES:
            words = "The archive has files, and this store has no place for them: set a bucket."
            raise BadArgument(words)
        return manifest

    async def _begin(self, manifest: Manifest) -> list[str]:
        """The parts that are already written. Raises NotEmpty."""
        self._key = IMPORT.key(archive=manifest.id)
        found = (await self.store.table.get([self._key], consistent=True)).items.get(self._key)
        if found is None or _PARTS not in found:
            # Before the rows are looked at: what another process ends from now on is seen.
            await self.store.table.transact([Update(key=self._key, default={_BEGUN: True})])
            await self._make_room()
            await self._note([])
            return []
        self.lost_secrets = int(str(found.get(_LOST, 0)))
        return [str(name) for name in _list_of(found[_PARTS])]

    async def _make_room(self) -> None:
        """Remove rows that tell of samples; without `into_existing`, raise NotEmpty for any."""
        if self.into_existing:
            await self._remove_rows_of_samples()
        elif await self._has_rows():
            with suppress(ConditionFailed):
                unused = Delete(self._key, condition=Missing(_PARTS))
                await self.store.table.transact([unused])
            raise NotEmpty("The table has rows. Choose an empty one, or give --into-existing.")

    async def _has_rows(self) -> bool:
        async for items in self._scan_pages():
            if any(not str(item["pk"]).startswith(_ROOM) for item in items):
                return True
        return False

    async def _remove_rows_of_samples(self) -> None:
        """Remove what rows tell of samples, which need not hold with those of the archive."""
        async for items in self._scan_pages():
            old = [key_of(item) for item in items if str(item["pk"]).startswith(OF_SAMPLES)]
            await self._write_each(self._remove_rows, _batches(old))

    async def _remove_rows(self, keys: Sequence[Key]) -> None:
        await self._rows.write([*map(Delete, keys)])

    async def _scan_pages(self) -> AsyncIterator[Sequence[Attributes]]:
        after = None
        while True:
            page = await self.store.table.scan(Scan(after=after))
            yield page.items
            if page.last is None:
                return
            after = page.last

    async def _note(self, done: Sequence[str]) -> None:
        """Note the parts that are done, unless the import was ended elsewhere."""
        facts: Item = {_PARTS: [*done], _LOST: self.lost_secrets}
        noted = Update(key=self._key, set=facts, condition=Exists())
        try:
            await self.store.table.transact([noted])
        except ConditionFailed:
            raise _ended_elsewhere() from None
        if done:
            logger.info("imported %s", done[-1])

    @property
    def _fenced(self) -> FencedTable:
        """The table, to which nothing is written once the import was ended elsewhere."""
        fence = Update(key=self._key, default={_BEGUN: True})
        return FencedTable(self.store.table, fence, Exists(), _ended_elsewhere)

    @property
    def _rows(self) -> Table:
        """The table for many rows."""
        return self._fenced if self.store.segments == 1 else self.store.table

    async def _write_each(
        self,
        write: Callable[[T], Awaitable[object]],
        things: Sequence[T],
        at_once: int = WRITES_AT_ONCE,
    ) -> None:
        """Write things, some at once, while no other process has ended the import."""

        async def look_and_write(thing: T) -> None:
            await self._look()
            await write(thing)

        await _in_turns(look_and_write, things, at_once)

    async def _look(self) -> None:
        """Look, if it was not done within the second, whether the import was ended elsewhere."""
        # By the clock on the wall, which a machine that sleeps does not stop.
        now = wall_clock()
        if abs(now - self._looked_at) > LOOK_INTERVAL:
            if self._key not in (await self.store.table.get([self._key], consistent=True)).items:
                raise _ended_elsewhere()
            self._looked_at = now

    async def _write_rows(
        self, lines: Sequence[bytes], old: BucketNames, carrier: SecretCarrier
    ) -> None:
        new = self.store.buckets

        async def write(batch: Sequence[bytes]) -> None:
            items = _decode_lines(batch, decode_row)
            for marker in [item for item in items if item["pk"] == _MARKER]:
                await self._take_marker(load(SchemaMarker, marker))
                items.remove(marker)
            if old != new:
                items = [rename_buckets(item, old, new) for item in items]
            for place, item in enumerate(items):
                if carrier.concerns(*key_of(item)):
                    items[place] = await carrier.carry(item)
            if items:
                await self._rows.write([Put(item) for item in items])

        await self._write_each(write, _batches(lines))

    async def _take_marker(self, marker: SchemaMarker) -> None:
        """Take the marker of the archive's store: its rows need what they needed there, or more."""
        table = self._fenced
        await raise_minimums(table, reader=marker.minimum_reader, writer=marker.minimum_writer)
        form = Update(key=SCHEMA_MARKER.key(), set={"schema": marker.schema})
        await table.transact([form])

    async def _write_samples(self, lines: Sequence[bytes]) -> None:
        samples = _decode_lines(lines, decode_sample)
        for table in {sample.table for sample in samples}:
            await self.store.destinations.create(table)
        await self._write_each(self.store.destinations.write, _batches(samples))

    async def _write_files(self, lines: Sequence[bytes]) -> None:
        files = _decode_lines(lines, msgspec.json.Decoder(FileLine).decode)
        await self._write_each(self._write_file, files, FILES_AT_ONCE)

    async def _write_file(self, line: FileLine) -> None:
        chunks = read_blob(self.archive, line)
        await self.store.files.write(line.key, chunks, content_type=line.type)


def _ended_elsewhere() -> EndedElsewhere:
    return EndedElsewhere("Another process has ended this import: the store may be in use.")


def _decode_lines(lines: Sequence[bytes], decode: Callable[[bytes], T]) -> list[T]:
    try:
        return [decode(line) for line in lines]
    except JSON_ERRORS as error:
        words = f"A line of the archive is damaged: {describe_unreadable(error)}."
        raise DamagedArchive(words) from None


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _batches(things: Sequence[T]) -> list[Sequence[T]]:
    starts = range(0, len(things), WRITE_OPERATIONS)
    return [things[start : start + WRITE_OPERATIONS] for start in starts]


async def _in_turns(
    work: Callable[[T], Awaitable[object]], things: Sequence[T], at_once: int = WRITES_AT_ONCE
) -> None:
    """Do the work for each thing, some at once. After a failure nothing more is begun.

    While the store works on some, the next ones are prepared.
    """
    before: asyncio.Task[None] | None = None
    for start in range(0, len(things), at_once):
        begun = asyncio.create_task(wait_for_all(map(work, things[start : start + at_once])))
        if before is not None:
            try:
                await before
            except BaseException:
                await asyncio.wait([begun])
                retrieve_failure(begun)
                raise
        before = begun
    if before is not None:
        await before
