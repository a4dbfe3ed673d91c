"""The files port: a store of objects, as values and one protocol.

A key is a path of segments; contents are replaced as a whole, never changed in place. Two
implementations fulfil it, `directory` and `s3`, after the same `checks`; `NoFiles` refuses every
call where no bucket is configured.
"""

import re
import socket
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote

from penstock.datastore.errors import Unavailable

SocketFactory: TypeAlias = Callable[[tuple[Any, ...]], socket.socket]


class Credentials(NamedTuple):
    """The credentials for a bucket; `token` belongs to temporary ones."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        """Nothing but the name of the type, because logs and tracebacks must not hold secrets."""
        return "Credentials()"


Pairs: TypeAlias = "tuple[tuple[str, str], ...]"
Sentences: TypeAlias = list[str]
Chunks: TypeAlias = AsyncGenerator[bytes]

KEY_BYTES = 1024
FILE_NAME_BYTES = 255
OBJECT_BYTES = 5 * 1024**3
EXPIRY_SECONDS = 7 * 24 * 3600
LISTING = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadForm:
    """A form that uploads one file: send `fields` unchanged and in this order, then `file`.

    The request is multipart/form-data to `url`, with `headers` beside the form's own.
    """

    url: str
    fields: Pairs
    expires_at: datetime
    method: str = "POST"
    headers: Pairs = ()


@dataclass(frozen=True, slots=True)
class Download:
    """A URL that answers GET, also with Range, for everybody who has it."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Stat:
    """The properties of a file; `size` in bytes, `etag` in quotes as in HTTP.

    `digest` is the SHA-256 of the content, of a copy that was made inside the store; of another
    file it may be the entity tag, which S3 makes by MD5.
    """

    size: int
    content_type: str
    etag: str
    modified: datetime
    digest: str


class FileEntry(NamedTuple):
    """One file of a list: its key, its size in bytes, and its entity tag in quotes."""

    key: str
    size: int
    etag: str


class StoredFile(NamedTuple):
    """A file that was stored: its key, and its size in bytes."""

    key: str
    size: int


class FileStatus(StrEnum):
    """Whether a file can be downloaded: it exists, it may still arrive, or it never will."""

    READY = "ready"
    NOT_READY = "not_ready"
    GONE = "gone"


class Files(Protocol):
    """A store of files, called `bucket`. Every method may raise `errors.Unavailable`.

    Methods raise `errors.BadArgument` for arguments that no store accepts: a malformed key, an
    expiry outside 1 second to 7 days.
    """

    @property
    def bucket(self) -> str: ...

    @property
    def ends_forms(self) -> bool:
        """Whether `refuse_uploads` ends forms, or they are valid until they expire."""
        ...

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        """Allow everybody with the form to upload this file, of this type and up to `max_bytes`.

        `expires_in` is in seconds and is tested when the upload begins.
        """

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        """Allow everybody with the URL to read the file under the key, if there is one.

        With a `filename` browsers save the file under it; `content_type` replaces the stored one.
        """

    async def stat(self, key: str) -> Stat | None:
        """Describe the file; None when there is none."""

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        """Yield the bytes from `start` up to, not including, `end`, all of them from one content.

        A part of the range past the end of the file is left out. Raises NotFound at the first step.
        """

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        """Put the file in place once `chunks` has ended, and return its entity tag.

        Until then, and when `chunks` raises, an earlier file under the key stays. Raises
        LimitExceeded past OBJECT_BYTES.
        """

    async def drop_unfinished(self, key: str) -> None:
        """Remove the parts of the file that writers left behind without finishing.

        On S3, a writer that is still at work then fails.
        """

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        """Put the content and type of `source` in place at `target`; NotFound without a source.

        Raises FileReplaced if an entity tag is given and the source has another one by now.
        """

    async def refuse_uploads(self, key: str) -> None:
        """Refuse every later upload of this file by a form, also by forms that were given before.

        S3 cannot refuse: there, what must stay is copied to a key that has no form.
        """

    async def delete(self, key: str) -> None:
        """Remove the file, if there is one."""

    async def verify(self) -> Sentences:
        """Describe in sentences every problem of the store; empty when it works."""

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        """List up to `limit` (1 to 1,000) keys that begin with `prefix` and lie behind `after`.

        Order is that of the UTF-8 bytes. Fewer than `limit` keys mean that no more follow.
        """

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        """List files like `list`, with their sizes and entity tags."""

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        """List up to `limit` folders right below `prefix`, which is empty or ends with `/`.

        They begin with the prefix, end with `/`, hold files, and lie behind the folder `after`.
        Order is that of the UTF-8 bytes. Fewer than `limit` mean that no more follow.
        """

    async def close(self) -> None:
        """Close connections; the store must not be used afterwards."""


LOCAL_BUCKET: Final = "penstock"
"""The bucket's name in folders and runs, for files in a directory of this machine."""

UNKNOWN_TYPE: Final = "application/octet-stream"


class FileReplaced(Unavailable):
    """A file has another content than the one that the caller saw before."""


def behind_folder(folder: str) -> str:
    """The text behind which the next folder begins: no key below `folder` lies behind it.

    `0` follows `/`, so only a file of this very name is passed over, which is no folder.
    """
    return folder[:-1] + "0" if folder else ""


def file_name_for(stem: str, suffix: str) -> str:
    """The name of a download: as much of a stem as `check_download` accepts, and a suffix."""
    plain = re.sub(r"[/\\]|\$\{", "-", stem)
    room = FILE_NAME_BYTES - len(suffix.encode())
    return plain.encode()[:room].decode(errors="ignore") + suffix


def content_disposition(filename: str) -> str:
    """The Content-Disposition header that saves under this name, in ASCII too for old clients."""
    plain = re.sub(r'[^ -~]|["\\%]', "_", filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


def files_unavailable() -> Unavailable:
    """The error of every call that needs a bucket, on a server without one."""
    return Unavailable("This server has no place for files: PENSTOCK_BUCKET is not set.")
