"""An archive: a folder with everything of a store, as parts of JSON lines, and files by digest.

`manifest.json` lists the finished parts, with their counts and digests, and says where each stream
goes on. A part is complete before the manifest names it, so an export goes on wherever it was
killed. Only the owner can read the folder.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import msgspec

from penstock.datastore.access.vault import KEY_BYTES
from penstock.datastore.errors import BadArgument
from penstock.datastore.moving.bucket_names import BucketNames
from penstock.datastore.private_files import (
    create_private_file,
    make_private_folder,
    sync_file,
    sync_folder,
)
from penstock.datastore.unreadable_json import JSON_ERRORS, describe_unreadable

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
BLOBS: Final = "blobs"
KEY: Final = "vault-key"
SNAPSHOT: Final = "snapshot"

PartName = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+/[a-z]+-[0-9]+-[0-9]+\.jsonl\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
"""A SHA-256. Both are parts of paths, and lead nowhere else."""


class Part(msgspec.Struct, frozen=True):
    """A file of JSON lines that is complete: its name, the number of lines, and its SHA-256."""

    name: PartName
    lines: int
    sha256: Digest


class Stream(msgspec.Struct, rename="camel"):
    """The finished parts of one stream; a stream that is not `done` goes on behind `position`.

    `left_out` counts the objects of others in a bucket that were passed over.
    """

    parts: list[Part] = []
    position: list[str] | None = None
    done: bool = False
    left_out: int = 0

    @property
    def lines(self) -> int:
        return sum(part.lines for part in self.parts)


class Manifest(msgspec.Struct, rename="camel", kw_only=True):
    """The contents of an archive, which is `complete` at the end of its export.

    Archives of early releases have no digest of their key.
    """

    id: str
    created_at: str
    source: str
    buckets: BucketNames = BucketNames()
    format: int = FORMAT
    vault_key_sha256: str | None = None
    complete: bool = False
    streams: dict[str, Stream] = {}

    def numbered_streams(self, kind: str) -> list[tuple[str, Stream]]:
        """The streams of one kind with their names, such as `rows-0`, in the order of numbers."""
        return [found for found in self.streams.items() if found[0].partition("-")[0] == kind]

    def parts_of(self, kind: str) -> list[Part]:
        return [part for _, stream in self.numbered_streams(kind) for part in stream.parts]

    def count(self, kind: str) -> int:
        return sum(part.lines for part in self.parts_of(kind))

    def count_left_out(self) -> int:
        return sum(stream.left_out for stream in self.streams.values())


class DamagedArchive(BadArgument):
    """The archive is no archive, is not complete, or differs from its manifest."""


def require_no_others(folder: Path, known: Collection[str]) -> None:
    """Refuse a folder that has other entries than the known ones and their drafts.

    Raises BadArgument. A folder that does not exist has none.
    """
    with suppress(FileNotFoundError):
        names = sorted(path.name for path in folder.iterdir())
        others = [name for name in names if name.partition(".draft")[0] not in known]
        if others:
            raise BadArgument(f"{folder} is not empty: there is {others[0]}.")


class Archive:
    """The files of one archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Create the folder where it is missing, for its owner alone.

        Raises BadArgument for a folder that has other things than an archive that was begun.
        """
        require_no_others(self.folder, (KEY, MANIFEST, BLOBS, SNAPSHOT))
        make_private_folder(self.folder)
        make_private_folder(self.folder / BLOBS)

    def read_manifest(self) -> Manifest | None:
        """Read the manifest; None without one. Raises DamagedArchive."""
        try:
            text = (self.folder / MANIFEST).read_bytes()
        except FileNotFoundError:
            return None
        try:
            found = msgspec.json.decode(text, type=Manifest)
        except JSON_ERRORS as error:
            words = f"{self.folder / MANIFEST} is damaged: {describe_unreadable(error)}."
            raise DamagedArchive(words) from error
        if found.format != FORMAT:
            raise DamagedArchive(f"The archive has format {found.format}; this is {FORMAT}.")
        return found

    def write_manifest(self, manifest: Manifest) -> None:
        self.write(MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest))])

    def write_part(self, name: str, lines: Sequence[bytes]) -> Part:
        """Write a part of JSON lines, whole."""
        text = b"\n".join([*lines, b""])
        self.write(name, [text])
        return Part(name, len(lines), hashlib.sha256(text).hexdigest())

    def read_part(self, part: Part) -> list[bytes]:
        """Read the lines of a part; raises DamagedArchive if they are not the ones written."""
        try:
            text = (self.folder / part.name).read_bytes()
        except OSError as error:
            raise DamagedArchive(f"{self.folder / part.name}: {error.strerror}.") from error
        if hashlib.sha256(text).hexdigest() != part.sha256:
            raise DamagedArchive(f"{self.folder / part.name} is damaged.")
        return text.split(b"\n")[:-1]

    def write(self, name: str, blocks: Sequence[bytes]) -> None:
        """Write a file of the archive: it has its old content or, once this returns, the new."""
        path = self.folder / name
        make_private_folder(path.parent)
        draft = self.draft(name)
        with create_private_file(draft) as file:
            file.writelines(blocks)
            sync_file(file)
        self.publish(draft, name)

    def draft(self, name: str) -> Path:
        """The path under which a file is written until it is whole."""
        return self.folder / f"{name}.draft"

    def publish(self, draft: Path, name: str) -> None:
        """Move a file that is whole and on the disk to its place."""
        path = self.folder / name
        draft.rename(path)
        sync_folder(path.parent)

    def blob_path(self, sha256: str) -> Path:
        return self.folder / BLOBS / sha256[:2] / sha256

    def count_lines(self) -> int | None:
        """The number of all rows, samples and files; None without a manifest."""
        manifest = self.read_manifest()
        if manifest is None:
            return None
        return sum(stream.lines for stream in manifest.streams.values())

    def missing_parts(self, manifest: Manifest) -> Iterator[str]:
        """The names of parts that the manifest lists and the folder lacks."""
        for stream in manifest.streams.values():
            yield from (
                part.name for part in stream.parts if not (self.folder / part.name).exists()
            )

    def vault_key(self, manifest: Manifest) -> bytes:
        """The key that seals the users' secrets of this archive. Raises DamagedArchive."""
        try:
            key = (self.folder / KEY).read_bytes()
        except OSError as error:
            raise DamagedArchive(f"{self.folder / KEY}: {error.strerror}.") from error
        digest = manifest.vault_key_sha256
        if len(key) != KEY_BYTES or digest not in {None, hashlib.sha256(key).hexdigest()}:
            raise DamagedArchive(f"{self.folder / KEY} is damaged.")
        return key
