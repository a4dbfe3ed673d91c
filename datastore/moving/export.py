"""Exports a store to an archive: rows, samples and files, each as streams of parts.

A part is written whole before the manifest names it and the position behind it. An export that was
killed goes on behind its last parts.
"""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import msgspec

from penstock.datastore.access.vault import KEY_BYTES, LocalVault, Vault
from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument, NotFound, Unavailable
from penstock.datastore.moving.archive import KEY, Archive, DamagedArchive, Manifest, Stream
from penstock.datastore.moving.blobs import FileLine, write_blob
from penstock.datastore.moving.bucket_names import BucketNames
from penstock.datastore.moving.row_lines import encode_row, encode_sample
from penstock.datastore.moving.rows_of_samples import OF_SAMPLES
from penstock.datastore.moving.secrets_of_users import SecretCarrier
from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.ngsi.naming.table_names import list_every_table
from penstock.datastore.objects.checks import is_key
from penstock.datastore.objects.chunks import WrongSize, require_size
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import FileReplaced, Files
from penstock.datastore.table.layout import IMPORT
from penstock.datastore.table.port import Attributes, Key, Scan, Table, key_of

PART_LINES: Final = 20_000
PART_BYTES: Final = 32 * 1024 * 1024
FILES_AT_ONCE: Final = 8
FILES_PAGE: Final = 64
COPY_ATTEMPTS: Final = 3

_IMPORTS: Final = IMPORT.pk.fill({})

Position: TypeAlias = "list[str] | None"
Progress: TypeAlias = Callable[[int], None]

logger = logging.getLogger("penstock.moving")


async def wait_for_all(work: Iterable[Awaitable[object]]) -> None:
    """Wait until each of the works has ended, and raise the first failure."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


class LinePage(NamedTuple):
    """Lines of a stream, and the position behind them; None at the end.

    `left_out` counts the objects of others between them.
    """

    lines: list[bytes]
    position: Position
    left_out: int = 0


Pages: TypeAlias = AsyncIterator[LinePage]


@dataclass(frozen=True, slots=True)
class MovableStore:
    """The parts of a store that an export reads and an import writes.

    `segments` are the parts of the table that are read at once: one for a file, several at
    DynamoDB. `source` names the store for people. `folder_bucket` is the name of the bucket in the
    folders of runs.
    """

    table: Table
    destinations: Destinations
    files: Files
    vault: Vault
    source: str
    folder_bucket: str = ""
    segments: int = 1

    @property
    def buckets(self) -> BucketNames:
        return BucketNames(self.files.bucket, self.folder_bucket)


@dataclass(slots=True)
class Export:
    """One export, or the rest of one."""

    store: MovableStore
    archive: Archive
    clock: Clock
    progress: Progress
    _saving: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> Manifest:
        """Write what the archive lacks. Raises BadArgument if it belongs to another store."""
        manifest = self._open_manifest()
        if manifest.complete:
            return manifest
        carrier = SecretCarrier(self.store.vault, LocalVault(self.archive.vault_key(manifest)))
        segments = [
            self._write_stream(manifest, name, self._rows(segment, stream.position, carrier))
            for segment, (name, stream) in enumerate(manifest.numbered_streams("rows"))
            if not stream.done
        ]
        await wait_for_all(segments)
        # What rows name is copied behind them: a sample or a file that comes later is surplus.
        for name, read in (("samples-0", self._samples), ("files-0", self._files)):
            stream = manifest.streams[name]
            if not stream.done:
                await self._write_stream(manifest, name, read(stream.position))
        if lost := [*self.archive.missing_parts(manifest)]:
            raise DamagedArchive(f"The archive has lost {', '.join(lost[:3])}.")
        manifest.complete = True
        self.archive.write_manifest(manifest)
        return manifest

    def _open_manifest(self) -> Manifest:
        found = self.archive.read_manifest()
        if found is not None:
            if found.source != self.store.source:
                raise BadArgument(f"The archive is of another store: {found.source}.")
            self._count_done(found)
            return found
        self.archive.prepare()
        key = secrets.token_bytes(KEY_BYTES)
        names = [f"rows-{segment}" for segment in range(self.store.segments)]
        manifest = Manifest(
            id=self.clock.new_id(),
            created_at=self.clock.timestamp(),
            source=self.store.source,
            buckets=self.store.buckets,
            vault_key_sha256=hashlib.sha256(key).hexdigest(),
            streams={name: Stream() for name in (*names, "samples-0", "files-0")},
        )
        self.archive.write(KEY, [key])
        self.archive.write_manifest(manifest)
        return manifest

    def _count_done(self, manifest: Manifest) -> None:
        self.progress(sum(stream.lines for stream in manifest.streams.values()))

    async def _write_stream(self, manifest: Manifest, name: str, pages: Pages) -> None:
        lines: list[bytes] = []
        size = 0
        async for page in pages:
            lines += page.lines
            size += sum(map(len, page.lines))
            manifest.streams[name].left_out += page.left_out
            self.progress(len(page.lines))
            if page.position is None or len(lines) >= PART_LINES or size >= PART_BYTES:
                await self._end_part(manifest, name, lines, page.position)
                lines, size = [], 0

    async def _end_part(
        self, manifest: Manifest, name: str, lines: Sequence[bytes], position: Position
    ) -> None:
        stream = manifest.streams[name]
        if lines:
            file = f"{name.split('-', maxsplit=1)[0]}/{name}-{len(stream.parts):06}.jsonl"
            part = await asyncio.to_thread(self.archive.write_part, file, lines)
            stream.parts.append(part)
            logger.info("exported %s with %s lines", part.name, part.lines)
        stream.position, stream.done = position, position is None
        async with self._saving:
            await asyncio.to_thread(self.archive.write_manifest, manifest)

    async def _rows(self, segment: int, position: Position, carrier: SecretCarrier) -> Pages:
        after = None if position is None else Key(*position)
        while True:
            scan = Scan(segment=segment, segments=self.store.segments, after=after)
            page = await self.store.table.scan(scan)
            lines = [await _row_line(item, carrier) for item in page.items if _is_moved(item)]
            after = page.last
            yield LinePage(lines, None if after is None else [*after])
            if after is None:
                return

    async def _samples(self, position: Position) -> Pages:
        """The samples of each table; a position is a table that is done, or a key in one."""
        reached = position or [""]
        names = [name async for name in list_every_table(self.store.table)]
        for name in [name for name in names if [name, ""] > reached]:
            after = Key(*reached[1:]) if [name] == reached[:1] else None
            table = self.store.destinations.table(name)
            while True:
                page = await table.scan(Scan(after=after))
                lines = [encode_sample(name, item) for item in page.items]
                after = page.last
                yield LinePage(lines, [name] if after is None else [name, *after])
                if after is None:
                    break
        yield LinePage([], None)

    async def _files(self, position: Position) -> Pages:
        if self.store.files is NO_FILES:
            yield LinePage([], None)
            return
        after = "" if position is None else position[0]
        while True:
            entries = await self.store.files.list_entries("", after, FILES_PAGE)
            room = asyncio.Semaphore(FILES_AT_ONCE)
            ours = [entry.key for entry in entries if is_key(entry.key)]
            found = await asyncio.gather(*(self._copy_file(key, room) for key in ours))
            lines = [msgspec.json.encode(line) for line in found if line is not None]
            more = len(entries) == FILES_PAGE
            after = entries[-1].key if more else ""
            yield LinePage(lines, [after] if more else None, len(entries) - len(ours))
            if not more:
                return

    async def _copy_file(self, key: str, room: asyncio.Semaphore) -> FileLine | None:
        """Copy a file to the archive; None if it was deleted meanwhile."""
        async with room:
            for _ in range(COPY_ATTEMPTS):
                stat = await self.store.files.stat(key)
                if stat is None:
                    return None
                content = require_size(self.store.files.read(key), stat.size)
                try:
                    blob = await write_blob(self.archive, key, content)
                except NotFound:
                    return None
                except (WrongSize, FileReplaced):
                    continue
                return FileLine(key, blob.size, stat.content_type, blob.sha256)
            raise Unavailable(f"The file {key} is being replaced again and again.")


def _is_moved(item: Attributes) -> bool:
    return not str(item["pk"]).startswith((_IMPORTS, *OF_SAMPLES))


async def _row_line(item: Attributes, carrier: SecretCarrier) -> bytes:
    key = key_of(item)
    if carrier.concerns(*key):
        item = await carrier.carry(dict(item))
    return encode_row(item)
