"""Local copies of the files of kept rows, because the engine reads files of this machine only."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.objects.local_copies import write_local
from penstock.datastore.objects.port import Files, require_size

MOST_BYTES: Final = 4 * 2**30
"""Bytes of copies that are kept beyond those in use."""

READERS: Final = 8


@dataclass(slots=True)
class PartFiles:
    """Copies of the most recently read files; what is being read is never removed.

    A file never changes under its key, so that a copy never goes stale.
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

        Raises NotFound if a file is gone, and Unavailable.
        """
        copies = {file: self._copy_of(file) for file in {one.file for one in parts}}
        self._in_use.update(copies.values())
        try:
            await asyncio.gather(*(self._load(files, *each) for each in copies.items()))
            yield [copies[one.file] for one in parts]
        finally:
            self._in_use.subtract(copies.values())
            self._remove_oldest()

    def _copy_of(self, file: str) -> Path:
        return self.engine.folder / f"{sha256(file.encode()).hexdigest()}.parquet"

    async def _load(self, files: Files, key: str, path: Path) -> None:
        async with self._loading.setdefault(path, asyncio.Lock()), self._readers:
            if path not in self._sizes:
                await copy_to_disk(files, key, path)
                # Of a merged file, the parts that are read may have a small share only.
                self._sizes[path] = (await asyncio.to_thread(path.stat)).st_size
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
    """Copy the files of parts below a local folder, under their keys; what is there stays."""
    for key in dict.fromkeys(part.file for part in parts):
        path = folder / key
        if not await asyncio.to_thread(path.exists):
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
            await copy_to_disk(files, key, path)


async def copy_to_disk(files: Files, key: str, path: Path, size: int | None = None) -> None:
    """Copy a stored file, of a size if it is known, to a local one, which appears as a whole."""
    draft = path.with_suffix(".draft")
    content = files.read(key) if size is None else require_size(files.read(key), size)
    try:
        await write_local(content, draft)
        await asyncio.to_thread(draft.replace, path)
    finally:
        draft.unlink(missing_ok=True)
