"""Files in a directory: immutable contents, an SQLite index that publishes them, and signed URLs.

The path of a signed URL contains the rights it grants, under an HMAC. All blocking work runs in
threads, off the event loop.
"""

import asyncio
import fcntl
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, ParamSpec, Self, TypeVar
from uuid import uuid4

from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects import checks, port
from penstock.datastore.objects.chunks import WrongSize, regroup_blocks
from penstock.datastore.objects.port import (
    EXPIRY_SECONDS,
    LISTING,
    Chunks,
    Download,
    FileEntry,
    Sentences,
    Stat,
    UploadForm,
)
from penstock.datastore.objects.signed_links import SignedLink, UrlSigner
from penstock.datastore.private_files import (
    make_private_database,
    make_private_folder,
    sync_file,
    sync_folder,
)
from penstock.datastore.sqlite.write_ahead_log import switch_on_log

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run blocking work in a thread, to its end even if cancelled; its failure is Unavailable."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    work.add_done_callback(retrieve_failure)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise
    except (OSError, sqlite3.Error) as error:
        raise Unavailable("The file store could not read or write.") from error


BLOCK_BYTES = 256 * 1024

FORM_USES: Final = 20
"""The uploads of one form: nobody pays for more of them, and the last one counts."""

_SCHEMA = """
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS objects (
    key BLOB PRIMARY KEY, content TEXT NOT NULL, size INTEGER NOT NULL, type TEXT NOT NULL,
    etag TEXT NOT NULL, modified REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS objects_by_content ON objects (content);
CREATE TABLE IF NOT EXISTS refused (
    key BLOB PRIMARY KEY, since REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS used_forms (
    key BLOB NOT NULL, expires INTEGER NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (key, expires)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS used_forms_by_end ON used_forms (expires);
"""
_FIND = "SELECT content, size, type, etag, modified FROM objects WHERE key = ?"
_PUT = "REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)"
_PUT_UPLOAD = (
    "REPLACE INTO objects SELECT ?, ?, ?, ?, ?, ? "
    "WHERE NOT EXISTS (SELECT 1 FROM refused WHERE key = ?) "
    "AND NOT EXISTS (SELECT 1 FROM used_forms WHERE key = ? AND expires = ? AND times >= ?)"
)
_COUNT_USE = (
    "INSERT INTO used_forms VALUES (?, ?, 1) "
    "ON CONFLICT (key, expires) DO UPDATE SET times = times + 1"
)
_FORGET_FORMS = "DELETE FROM used_forms WHERE expires < ?"
_FORM_USES = "SELECT times FROM used_forms WHERE key = ? AND expires = ?"
_REFUSE = "INSERT OR IGNORE INTO refused VALUES (?, ?)"
_FORGET_REFUSED = "DELETE FROM refused WHERE since < ?"
_IS_REFUSED = "SELECT 1 FROM refused WHERE key = ?"
_COPY = (
    "REPLACE INTO objects SELECT ?, content, size, type, etag, ? FROM objects"
    " WHERE key = ? AND etag = coalesce(?, etag)"
)
_DELETE = "DELETE FROM objects WHERE key = ?"
_LIST = "SELECT key, size, etag FROM objects WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
_NEXT = (
    "SELECT key FROM objects WHERE key >= ?1 AND key < ?2 "
    "AND instr(substr(key, ?3), CAST('/' AS BLOB)) > 0 ORDER BY key LIMIT 1"
)
"""The first key behind a place that lies in a folder below a prefix."""


class UploadRefused(Exception):
    """The file takes no more uploads."""


class FormUsedUp(UploadRefused):
    """The form has written its file as often as a form may."""


class ContentDraft:
    """A content that is being written; its lock shows a sweep that the writer is alive."""

    def __init__(self, path: Path) -> None:
        self.digest = hashlib.sha256()
        self._path = path
        self._file: BinaryIO = BytesIO()

    def begin(self) -> None:
        """Create the file; a caller that is cancelled meanwhile can still drop it."""
        self._file = self._path.open("xb")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def append(self, block: bytes) -> None:
        self._file.write(block)
        self.digest.update(block)

    def move(self, target: Path) -> int:
        """Flush the content to disk, then move it to its place; return its size in bytes."""
        sync_file(self._file)
        self._path.rename(target)
        sync_folder(target.parent)
        return self._file.tell()

    def drop(self) -> None:
        """Close the file, and remove it if it was not moved."""
        self._path.unlink(missing_ok=True)
        self._file.close()


class OpenFile(NamedTuple):
    """An open file: whatever happens to its key, `stat` and `read` are of one content."""

    stat: Stat
    file: FileIO

    async def read(self, start: int, end: int) -> Chunks:
        """Yield the bytes from `start` up to, not including, `end`."""
        while start < end:
            size = min(BLOCK_BYTES, end - start)
            block = await in_thread(os.pread, self.file.fileno(), size, start)
            if not block:
                raise WrongSize
            yield block
            start += len(block)


def _form(link: SignedLink) -> tuple[bytes, int]:
    """The key of a form's row: forms of one file that end at the same second are one."""
    return link.key.encode(), link.expires


class LocalFiles:
    """The files port over one directory, which several processes may share."""

    bucket: Final = "_local"
    ends_forms: Final = True

    def __init__(self, directory: Path, signer: UrlSigner) -> None:
        self.signer = signer
        self._drafts = directory / "drafts"
        self._contents = directory / "contents"
        self._lock = threading.Lock()
        for needed in (directory, self._drafts, self._contents):
            make_private_folder(needed)
        path = directory / "index.db"
        make_private_database(path)
        self._index = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        switch_on_log(self._index)
        self._index.executescript(_SCHEMA)
        self._sweep()

    @classmethod
    async def open(
        cls, directory: Path, *, base_url: str, key: bytes, clock: Callable[[], float] = time.time
    ) -> Self:
        """Open the store, created where missing, and remove the drafts of killed writers.

        `base_url` is the server's own URL, which answers `/files/`; `key`, of 32 bytes or more,
        signs its URLs.
        """
        if len(key) < 32:
            raise ValueError("the key that signs URLs has at least 32 bytes")
        return await in_thread(cls, directory, UrlSigner(base_url.rstrip("/"), key, clock))

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        checks.check_upload(key, max_bytes, content_type, expires_in)
        signed = self.signer.sign(
            SignedLink("POST", key, content_type, None, max_bytes), expires_in
        )
        fields = (("key", key), ("Content-Type", content_type))
        return UploadForm(url=signed.url, fields=fields, expires_at=signed.expires_at)

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        checks.check_download(key, expires_in, filename, content_type)
        return self.signer.sign(SignedLink("GET", key, content_type, filename), expires_in)

    async def stat(self, key: str) -> Stat | None:
        checks.check_key(key)
        found = await in_thread(self._find, key)
        return found and found[1]

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        checks.check_bounds(start, end)
        checks.check_key(key)
        # The end of a loop closes all generators at once: this one waits for the end of none.
        with ExitStack() as held:
            opened = await in_thread(self._open, key, held)
            size = opened.stat.size
            blocks = opened.read(start, size if end is None else min(end, size))
            while block := await anext(blocks, b""):
                yield block

    @asynccontextmanager
    async def open_file(self, key: str) -> AsyncIterator[OpenFile]:
        """Keep the file open for the block; raises NotFound without a file."""
        checks.check_key(key)
        with ExitStack() as held:
            yield await in_thread(self._open, key, held)

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        checks.check_key(key)
        checks.check_content_type(content_type)
        return await self._write(key, chunks, content_type)

    async def write_upload(self, link: SignedLink, chunks: AsyncIterable[bytes]) -> str:
        """Write the file that a form uploads.

        Raises UploadRefused if the file takes no more uploads, and FormUsedUp after FORM_USES.
        """
        await in_thread(self._require_open_form, link)
        return await self._write(link.key, chunks, link.content_type or "", link)

    async def _write(
        self,
        key: str,
        chunks: AsyncIterable[bytes],
        content_type: str,
        form: SignedLink | None = None,
    ) -> str:
        draft = ContentDraft(self._drafts / uuid4().hex)
        blocks = regroup_blocks(chunks, BLOCK_BYTES)
        block = await anext(blocks, b"")
        if len(block) < BLOCK_BYTES:
            return await in_thread(self._write_whole, draft, block, key, content_type, form)
        try:
            await in_thread(draft.begin)
            await in_thread(draft.append, block)
            async for block in blocks:
                await in_thread(draft.append, block)
            return await in_thread(self._publish, draft, key, content_type, form)
        finally:
            await in_thread(draft.drop)

    def _write_whole(
        self,
        draft: ContentDraft,
        content: bytes,
        key: str,
        content_type: str,
        form: SignedLink | None,
    ) -> str:
        """Write a file of one block: each turn of a thread takes as long as a small write."""
        try:
            draft.begin()
            draft.append(content)
            return self._publish(draft, key, content_type, form)
        finally:
            draft.drop()

    async def drop_unfinished(self, key: str) -> None:
        checks.check_key(key)
        await in_thread(self._sweep)

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        checks.check_copy(source, target)
        values = (target.encode(), self.signer.clock(), source.encode(), etag)
        if not await in_thread(self._change, target, _COPY, values):
            if etag is not None and await self.stat(source) is not None:
                raise port.FileReplaced("The file was replaced while it was copied.")
            raise NotFound("There is no such file.")

    async def refuse_uploads(self, key: str) -> None:
        checks.check_key(key)
        await in_thread(self._refuse_uploads, key)

    async def delete(self, key: str) -> None:
        checks.check_key(key)
        await in_thread(self._change, key, _DELETE, (key.encode(),))

    async def verify(self) -> Sentences:
        """List the files whose content is lost; an unusable directory already fails in `open`."""
        return await in_thread(self._lost_contents)

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        return tuple(entry.key for entry in await self.list_entries(prefix, after, limit))

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        checks.check_listing(prefix, after, limit)
        return await in_thread(self._list_files, prefix.encode(), after.encode(), limit)

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        checks.check_folder_listing(prefix, after, limit)
        start = port.behind_folder(after)
        return await in_thread(self._list_folders, prefix.encode(), start.encode(), limit)

    async def close(self) -> None:
        await in_thread(self._index.close)

    def _find(self, key: str) -> tuple[Path, Stat] | None:
        with self._lock:
            row = self._index.execute(_FIND, (key.encode(),)).fetchone()
        if row is None:
            return None
        content, size, kind, etag, modified = row
        stat = Stat(size, kind, etag, datetime.fromtimestamp(modified, UTC), digest=etag)
        return self._contents / content, stat

    def _open(self, key: str, held: ExitStack) -> OpenFile:
        """Open the file, which `held` closes: a cancelled caller does not receive it."""
        for _ in range(3):
            found = self._find(key)
            if found is None:
                raise NotFound("There is no such file.")
            # The content may have been replaced between the two reads.
            with suppress(FileNotFoundError):
                return OpenFile(found[1], held.enter_context(found[0].open("rb", buffering=0)))
        raise Unavailable("The content of a file is missing.")

    def _publish(
        self, draft: ContentDraft, key: str, content_type: str, form: SignedLink | None
    ) -> str:
        content = uuid4().hex
        size = draft.move(self._contents / content)
        etag = f'"{draft.digest.hexdigest()}"'
        values = (key.encode(), content, size, content_type, etag, self.signer.clock())
        if form is None:
            self._change(key, _PUT, values)
        elif not self._change(
            key, _PUT_UPLOAD, (*values, key.encode(), *_form(form), FORM_USES), form
        ):
            (self._contents / content).unlink(missing_ok=True)
            self._require_open_form(form)
            raise UploadRefused
        return etag

    def _require_open_form(self, form: SignedLink) -> None:
        """Raise UploadRefused if the file takes no more uploads, or none of this form."""
        if self._takes_no_uploads(form.key):
            raise UploadRefused
        with self._lock:
            used = self._index.execute(_FORM_USES, _form(form)).fetchone()
        if used is not None and used[0] >= FORM_USES:
            raise FormUsedUp

    def _takes_no_uploads(self, key: str) -> bool:
        with self._lock:
            return self._index.execute(_IS_REFUSED, (key.encode(),)).fetchone() is not None

    def _refuse_uploads(self, key: str) -> None:
        now = self.signer.clock()
        with self._lock, self._index:
            self._index.execute("BEGIN IMMEDIATE")
            self._index.execute(_REFUSE, (key.encode(), now))
            # A form that is older has expired.
            self._index.execute(_FORGET_REFUSED, (now - EXPIRY_SECONDS,))

    def _change(
        self,
        key: str,
        statement: str,
        values: tuple[str | bytes | float | None, ...],
        form: SignedLink | None = None,
    ) -> int:
        """Write or remove the key's row, and then the content that no row refers to any more.

        A form by which the row was written is counted.
        """
        user = "SELECT 1 FROM objects WHERE content = ?"
        with self._lock, self._index:
            self._index.execute("BEGIN IMMEDIATE")
            old = self._index.execute(_FIND, (key.encode(),)).fetchone()
            changed = self._index.execute(statement, values).rowcount
            if form is not None and changed:
                self._index.execute(_COUNT_USE, _form(form))
                self._index.execute(_FORGET_FORMS, (int(self.signer.clock()),))
            unused = old and self._index.execute(user, old[:1]).fetchone() is None
        if unused:
            (self._contents / old[0]).unlink(missing_ok=True)
        return changed

    def _list_files(self, prefix: bytes, after: bytes, limit: int) -> tuple[FileEntry, ...]:
        # Keys contain no zero byte and UTF-8 no 0xff: one follows `after`, one ends the prefix.
        bounds = (max(prefix, after + b"\0"), prefix + b"\xff", limit)
        with self._lock:
            rows = self._index.execute(_LIST, bounds).fetchall()
        return tuple(FileEntry(key.decode(), size, etag) for key, size, etag in rows)

    def _list_folders(self, prefix: bytes, start: bytes, limit: int) -> tuple[str, ...]:
        """Find the first key of each folder, behind all keys of the folder before."""
        found: list[str] = []
        low, end = max(prefix, start), prefix + b"\xff"
        with self._lock:
            while len(found) < limit:
                row = self._index.execute(_NEXT, (low, end, len(prefix) + 1)).fetchone()
                if row is None:
                    break
                key: bytes = row[0]
                folder = key[: key.index(b"/", len(prefix)) + 1]
                found.append(folder.decode())
                low = folder[:-1] + b"0"
        return tuple(found)

    def _lost_contents(self) -> Sentences:
        with self._lock:
            present = {path.name for path in self._contents.iterdir()}
            rows = self._index.execute("SELECT key, content FROM objects ORDER BY key")
            lost = [key.decode() for key, content in rows if content not in present]
        return [f"{key} has lost its content." for key in lost]

    def _sweep(self) -> None:
        # Nothing can be published meanwhile, so a file without a row and without a lock is dead.
        with self._lock, self._index:
            self._index.execute("BEGIN IMMEDIATE")
            named = {name for (name,) in self._index.execute("SELECT content FROM objects")}
            for path in (*self._drafts.iterdir(), *self._contents.iterdir()):
                if path.name not in named:
                    with suppress(OSError), path.open("rb") as file:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        path.unlink()
