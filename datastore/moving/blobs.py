"""Files of an archive: each content lies under its SHA-256, once for all keys that have it."""

import hashlib
from asyncio import to_thread
from collections.abc import AsyncIterable
from io import BufferedReader
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec

from penstock.datastore.moving.archive import BLOBS, Archive, DamagedArchive, Digest
from penstock.datastore.objects.port import Chunks
from penstock.datastore.private_files import create_private_file, make_private_folder, sync_file

BLOCK_BYTES: Final = 256 * 1024


class FileLine(msgspec.Struct, frozen=True):
    """A file of the store, and the digest under which the archive has its content."""

    key: str
    size: int
    type: str
    sha256: Digest


class Blob(NamedTuple):
    """A content: its digest, and its size in bytes."""

    sha256: str
    size: int


async def write_blob(archive: Archive, key: str, chunks: AsyncIterable[bytes]) -> Blob:
    """Write a content to the archive."""
    digest, size = hashlib.sha256(), 0
    name = f"{BLOBS}/{uuid4().hex}"
    draft = archive.draft(name)
    try:
        with create_private_file(draft) as file:
            async for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                await to_thread(file.write, chunk)
            await to_thread(sync_file, file)
        blob = Blob(digest.hexdigest(), size)
        place = archive.blob_path(blob.sha256)
        make_private_folder(place.parent)
        archive.publish(draft, str(place.relative_to(archive.folder)))
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return blob


async def read_blob(archive: Archive, line: FileLine) -> Chunks:
    """Yield a content; raises DamagedArchive at the end if it is not the one that was written."""
    digest = hashlib.sha256()
    path = archive.blob_path(line.sha256)
    try:
        opened: BufferedReader = await to_thread(path.open, "rb")
    except OSError as error:
        raise DamagedArchive(f"The content of {line.key} is missing: {path}.") from error
    with opened as file:
        while block := await to_thread(file.read, BLOCK_BYTES):
            digest.update(block)
            yield block
    if digest.hexdigest() != line.sha256:
        raise DamagedArchive(f"The content of {line.key} is damaged: {path}.")
