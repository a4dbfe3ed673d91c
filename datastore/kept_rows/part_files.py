"""Local copies of the files of kept rows, because the engine reads files of this machine only."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from penstock.datastore.errors import IllegalState
from penstock.datastore.kept_rows.engine import UNREADABLE, RowsEngine
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.objects.chunks import WrongSize, require_size
from penstock.datastore.objects.local_copies import note_nothing, write_local
from penstock.datastore.objects.port import Files

MOST_BYTES: Final = 4 * 2**30
"""Bytes of copies that are kept beyond those in use."""

READERS: Final = 8

logger = logging.getLogger("penstock.rows")


class DamagedRows(IllegalState):
    """The store gives another file than the one with the rows; it may give the right one later."""

    def __init__(self) -> None:
        super().__init__(*UNREADABLE)


@dataclass(slots=True)
class PartFiles:
    """Copies of the most recently read files; what is being read is never removed.

    A file never changes under its key, so that a copy never goes stale. When it is copied, it is
    compared with the digest that the list of parts has; files of older releases have none.
    """

    engine: RowsEngine
    most_bytes: int = MOST_BYTES
    _sizes: OrderedDict[Path, int] = field(default_factory=OrderedDict)
    _in_use: Counter[Path] = field(default_factory=Counter)
    _loading: dict[Path, asyncio.Lock] = field(default_factory=dict)
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))

    @asynccontextmanager
    async def open(self, files: Files, parts: Sequence[RowsPart]) -> AsyncIterator[list[Path]]:
        """The paths of copies of the parts, which stay until the end of the block.

        Raises NotFound if a file is gone, DamagedRows if it is another one, and Unavailable.
        """
        wanted = {one.file: one for one in parts}
        copies = {file: self._copy_of(file) for file in wanted}
        self._in_use.update(copies.values())
        try:
            await asyncio.gather(
                *(self._load(files, wanted[key], path) for key, path in copies.items())
            )
            yield [copies[one.file] for one in parts]
        finally:
            self._in_use.subtract(copies.values())
            self._remove_oldest()

    def _copy_of(self, file: str) -> Path:
        return self.engine.folder / f"{sha256(file.encode()).hexdigest()}.parquet"

    async def _load(self, files: Files, part: RowsPart, path: Path) -> None:
        async with self._loading.setdefault(path, asyncio.Lock()), self._readers:
            if path not in self._sizes:
                await _copy_part(files, part, path)
                self._sizes[path] = part.file_size
            self._sizes.move_to_end(path)

    def _remove_oldest(self) -> None:
        total = sum(self._sizes.values())
        for path in [one for one in self._sizes if not self._in_use[one]]:
            if total <= self.most_bytes:
                return
            total -= self._sizes.pop(path)
            self._loading.pop(path, None)
            path.unlink(missing_ok=True)


async def copy_parts(files: Files, parts: Sequence[RowsPart], folder: Path) -> None:
    """Copy the files of parts below a local folder, under their keys; what is there stays.

    Raises DamagedRows for one that is not the file that was written.
    """
    for key, part in {part.file: part for part in parts}.items():
        path = folder / key
        if not await asyncio.to_thread(path.exists):
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
            await _copy_part(files, part, path)


async def _copy_part(files: Files, part: RowsPart, path: Path) -> None:
    try:
        await copy_to_disk(files, part.file, path, part.file_size, part.digest)
    except WrongSize:
        raise _damage_error() from None


async def copy_to_disk(
    files: Files, key: str, path: Path, size: int, digest: str | None = None
) -> None:
    """Copy a stored file of so many bytes to a local one, which appears as a whole.

    Raises WrongSize where the store gives another size, and DamagedRows for rows of another digest.
    """
    draft, found = path.with_suffix(".draft"), sha256()
    content = require_size(files.read(key), size)
    try:
        await write_local(content, draft, note_nothing if digest is None else found.update)
        if digest is not None and found.hexdigest() != digest:
            raise _damage_error()
        await asyncio.to_thread(draft.replace, path)
    finally:
        draft.unlink(missing_ok=True)


def _damage_error() -> DamagedRows:
    logger.error("a file of rows is damaged: it is not the one that was written")
    return DamagedRows()
