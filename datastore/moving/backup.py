"""Backups of the folder of an embedded store, made while its server runs, and their restoring.

A backup has everything that belongs together: the databases, the contents of files and the keys.
`backup.json` is written last and lists the digests; a folder without it is no backup.

Files are copied before and after the databases: a file that a row names is in the backup, even if
the server deleted it meanwhile. Contents of files never change, so they are linked where the backup
is on the same file system. The index of the files has their digests, from when they were written.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.errors import BadArgument, Unavailable
from penstock.datastore.moving.archive import DamagedArchive, require_no_others
from penstock.datastore.moving.held_folders import hold_folder
from penstock.datastore.moving.rows_of_samples import OF_SAMPLES
from penstock.datastore.moving.unfinished_restore import (
    place_restore_mark,
    read_restore_mark,
    remove_restore_mark,
    require_restored,
)
from penstock.datastore.private_files import (
    create_private_file,
    draft_of,
    make_private_folder,
    sync_file,
    sync_folder,
    write_private_file,
)
from penstock.datastore.sqlite.copy_file import copy_database
from penstock.datastore.unreadable_json import JSON_ERRORS

LISTING: Final = "backup.json"
INDEX: Final = "index.db"
CONTENTS: Final = "contents"
FORMAT: Final = 1
TRIES: Final = 10
BLOCK_BYTES: Final = 1024 * 1024

_ADD_DELETED = (
    "INSERT OR IGNORE INTO objects SELECT * FROM earlier.objects",
    "INSERT OR IGNORE INTO refused SELECT * FROM earlier.refused",
)

Progress = Callable[[int], None]


class DataFolder(NamedTuple):
    """The folder of an embedded store, and the names in it that belong together.

    `main` is the database whose existence means that there is a store; `files` is a folder.
    """

    path: Path
    main: str
    databases: tuple[str, ...]
    files: str
    keys: tuple[str, ...]

    def at(self, path: Path) -> "DataFolder":
        """The same names in another folder."""
        return self._replace(path=path)

    @property
    def contents(self) -> Path:
        return self.path / self.files / CONTENTS

    @property
    def file_index(self) -> str:
        """The name of the database that lists the files."""
        return f"{self.files}/{INDEX}"


class Backup(msgspec.Struct, frozen=True, rename="camel"):
    """The listing of a backup: the digests of databases and keys, and the number of files."""

    created_at: str
    sha256: dict[str, str]
    files: int
    bytes: int
    format: int = FORMAT


def make_backup(store: DataFolder, target: Path, at: str, progress: Progress) -> Backup:
    """Write a backup to an empty folder, or complete one that was cut short.

    Raises BadArgument for a folder with other things, or that another process fills, and
    Unavailable if a database cannot be read, or if a restore of the store has not ended.
    """
    require_restored(store.path)
    if not (store.path / store.main).exists():
        raise Unavailable(f"There is no {store.path / store.main}.")
    made = store.at(target)
    _require_own(made)
    make_private_folder(target)
    with hold_folder(target):
        _require_own(made)
        return _fill_backup(store, made, at, progress)


def _fill_backup(store: DataFolder, made: DataFolder, at: str, progress: Progress) -> Backup:
    target = made.path
    for folder in (target / store.files, made.contents):
        make_private_folder(folder)
    earlier = target / store.files / f"earlier-{INDEX}"
    _copy_files(store, made, earlier, progress)
    _copy_databases(store, made)
    _leave_out_rows(target / store.main)
    _copy_files(store, made, target / store.file_index, progress)
    _add_deleted_files(target / store.file_index, earlier)
    backup = _list_backup(made, at)
    write_private_file(target / LISTING, [msgspec.json.format(msgspec.json.encode(backup))])
    return backup


def restore_backup(source: Path, store: DataFolder, progress: Progress) -> Backup:
    """Write a backup to the folder of a store, which must have no database yet.

    A mark comes first and leaves last: meanwhile no server uses the folder. The call may be
    repeated, also with another backup: it starts anew. Raises BadArgument for a folder with a
    store, also one that a server has made there meanwhile, or that another process fills, and
    DamagedArchive for a bad backup.
    """
    kept = store.at(source)
    backup = check_backup(kept)
    if read_restore_mark(store.path) is None:
        _require_nothing_left(store)
    make_private_folder(store.path)
    with hold_folder(store.path):
        _begin_restore(backup, store)
        _fill_store(kept, backup, store, progress)
        remove_restore_mark(store.path)
    return backup


def _begin_restore(backup: Backup, store: DataFolder) -> None:
    earlier = read_restore_mark(store.path)
    if earlier is not None:
        _remove_restored(store, earlier)
    _require_nothing_left(store)
    place_restore_mark(store.path, backup.sha256)
    try:
        _require_nothing_left(store)
    except BadArgument:
        # A server that looked for the mark before made a store, and nothing of it is replaced.
        if earlier is None:
            remove_restore_mark(store.path)
        raise


def _remove_restored(store: DataFolder, earlier: Mapping[str, str]) -> None:
    """Remove what a restore that was cut short wrote, if nobody has written to it since."""
    for name in (store.main, *store.databases, *store.keys, store.file_index):
        path = store.path / name
        draft_of(path).unlink(missing_ok=True)
        is_written = path.with_name(f"{path.name}-wal").exists()
        if path.exists() and not is_written and _digest(path) == earlier.get(name):
            path.unlink()
            sync_folder(path.parent)


def _fill_store(kept: DataFolder, backup: Backup, store: DataFolder, progress: Progress) -> None:
    _require_no_store(store)
    for folder in (store.path / store.files, store.contents):
        make_private_folder(folder)
    for content, digest in _read_digests(kept).items():
        copied = _copy_whole(kept.contents / content, store.contents / content)
        _require_digest(kept, content, digest, copied)
        progress(1)
    for name in sorted(backup.sha256, key=lambda name: name == store.main):
        _require_no_store(store)
        _copy_whole(kept.path / name, store.path / name, replaces=False)


def _require_no_store(store: DataFolder) -> None:
    """Raise BadArgument if there is a store: its server writes what would be replaced."""
    if (store.path / store.main).exists():
        raise _store_there(store.path)


def _require_nothing_left(store: DataFolder) -> None:
    """Raise BadArgument if there is a store, or a part of one: its logs hold what was written."""
    _require_no_store(store)
    databases = (store.main, *store.databases, store.file_index)
    logs = (f"{name}{end}" for name in databases for end in ("-wal", "-shm", "-journal"))
    for name in (*store.databases, store.file_index, *store.keys, *logs):
        if (store.path / name).exists():
            raise _left_over(store.path / name)


def _store_there(path: Path) -> BadArgument:
    return BadArgument(f"There is a store in {path}: move it away first.")


def _left_over(path: Path) -> BadArgument:
    return BadArgument(f"{path} is there already: move it away first, with all of its store.")


def verify_backup(kept: DataFolder, progress: Progress) -> Backup:
    """Read a whole backup and compare it with its digests; raises DamagedArchive."""
    backup = check_backup(kept)
    for content, digest in _read_digests(kept).items():
        _require_digest(kept, content, digest, _digest(kept.contents / content))
        progress(1)
    return backup


def check_backup(kept: DataFolder) -> Backup:
    """Compare a backup with its listing, but not the contents of files; raises DamagedArchive."""
    try:
        backup = msgspec.json.decode((kept.path / LISTING).read_bytes(), type=Backup)
    except FileNotFoundError as error:
        raise DamagedArchive(f"{kept.path} is no backup, or it was cut short.") from error
    except JSON_ERRORS as error:
        raise DamagedArchive(f"{kept.path / LISTING} is damaged: {error}") from error
    if backup.format != FORMAT:
        raise DamagedArchive(f"The backup has format {backup.format}; this is {FORMAT}.")
    found = _list_backup(kept, backup.created_at)
    if found != backup:
        raise DamagedArchive(_describe_difference(kept, backup, found))
    return backup


def _describe_difference(kept: DataFolder, listed: Backup, found: Backup) -> str:
    """Name the first of the databases and keys that differ; else count the other files."""
    names = sorted(listed.sha256.keys() | found.sha256.keys())
    changed = [name for name in names if listed.sha256.get(name) != found.sha256.get(name)]
    if not changed:
        listing = f"{listed.files} files of {listed.bytes} bytes"
        there = f"{found.files} of {found.bytes}"
        return (
            f"{kept.contents} differs from the {LISTING}: that lists {listing}, there are {there}."
        )
    shown = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
    return f"Of the files of {kept.path}, {shown} differ from its {LISTING}."


def _require_own(made: DataFolder) -> None:
    """Refuse a folder with a complete backup, or with other things."""
    if (made.path / LISTING).exists():
        raise BadArgument(f"{made.path} has a complete backup already; choose another folder.")
    known = (made.main, *made.databases, *made.keys, made.files, LISTING)
    require_no_others(made.path, known)


def _copy_files(store: DataFolder, made: DataFolder, index: Path, progress: Progress) -> None:
    """Copy the index of the files as it is at one moment, and the contents that it names."""
    if not (store.path / store.file_index).exists():
        return
    for _ in range(TRIES):
        copy_database(store.path / store.file_index, index)
        with closing(sqlite3.connect(index)) as opened:
            wanted = {name for (name,) in opened.execute("SELECT content FROM objects")}
        there = [_link_content(store, made, name, progress) for name in sorted(wanted)]
        if all(there):
            return
    raise Unavailable("Files are deleted faster than they can be copied; try again.")


def _copy_databases(store: DataFolder, made: DataFolder) -> None:
    """Copy the databases, and the keys that open what is encrypted in them.

    If a key changes meanwhile, the copies of the databases may be from before or after: all are
    then copied again.
    """
    for _ in range(TRIES):
        keys = _copy_keys(store, made)
        for name in (store.main, *store.databases):
            if (store.path / name).exists():
                copy_database(store.path / name, made.path / name)
        if _digest_keys(store) == keys:
            return
    raise Unavailable("Keys change faster than the databases can be copied; try again.")


def _copy_keys(store: DataFolder, made: DataFolder) -> dict[str, str]:
    """Copy the keys that there are; return their digests."""
    copied: dict[str, str] = {}
    for name in store.keys:
        (made.path / name).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            copied[name] = _copy_whole(store.path / name, made.path / name)
    return copied


def _digest_keys(store: DataFolder) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in store.keys:
        with suppress(FileNotFoundError):
            found[name] = _digest(store.path / name)
    return found


def _link_content(store: DataFolder, made: DataFolder, name: str, progress: Progress) -> bool:
    """Put a content in the backup; tell whether it is there."""
    target = made.contents / name
    if target.exists():
        return True
    try:
        try:
            os.link(store.contents / name, target)
        except FileNotFoundError:
            raise
        except OSError:
            _copy_whole(store.contents / name, target)
    except FileNotFoundError:
        return False
    progress(1)
    return True


def _leave_out_rows(database: Path) -> None:
    """Leave out the rows that tell of samples, whose database is copied later."""
    with closing(sqlite3.connect(database)) as opened, opened:
        for beginning in OF_SAMPLES:
            # No character sorts behind this byte.
            bounds = beginning.encode(), beginning.encode() + b"\xff"
            opened.execute("DELETE FROM items WHERE pk >= ? AND pk < ?", bounds)


def _add_deleted_files(index: Path, earlier: Path) -> None:
    """Add the files that were deleted between the two copies of the index."""
    if not index.exists():
        return
    with closing(sqlite3.connect(index)) as opened:
        opened.execute("ATTACH ? AS earlier", (str(earlier),))
        with opened:
            for statement in _ADD_DELETED:
                opened.execute(statement)
        opened.execute("DETACH earlier")
    earlier.unlink()


def _list_backup(kept: DataFolder, at: str) -> Backup:
    names = (kept.main, *kept.databases, *kept.keys)
    found = {name: _digest(kept.path / name) for name in names if (kept.path / name).exists()}
    contents = [*_names(kept.contents)]
    size = sum((kept.contents / name).stat().st_size for name in contents)
    index = kept.path / kept.file_index
    if index.exists():
        found[kept.file_index] = _digest(index)
    return Backup(at, found, len(contents), size)


def _read_digests(kept: DataFolder) -> dict[str, str]:
    """The contents that the index of the files names, with their digests; each must be there."""
    index = kept.path / kept.file_index
    if not index.exists():
        return {}
    with closing(sqlite3.connect(index)) as opened:
        found = opened.execute("SELECT DISTINCT content, etag FROM objects ORDER BY content")
        digests = {content: etag.strip('"') for content, etag in found}
    present = set(_names(kept.contents))
    if lost := [content for content in digests if content not in present]:
        raise DamagedArchive(f"The content {lost[0]} of a file is missing in {kept.path}.")
    return digests


def _require_digest(kept: DataFolder, content: str, wanted: str, found: str) -> None:
    if found != wanted:
        raise DamagedArchive(f"The content {kept.contents / content} of a file is damaged.")


def _names(folder: Path) -> Iterator[str]:
    with suppress(FileNotFoundError):
        yield from sorted(path.name for path in folder.iterdir())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy_whole(source: Path, target: Path, *, replaces: bool = True) -> str:
    """Copy a file that does not change, so that the target is whole once it is there.

    Return the digest of what was copied, which costs no other reading. Unless it `replaces`, raises
    BadArgument for a target that is there, also since a moment ago.
    """
    digest = hashlib.sha256()
    draft = draft_of(target)
    # Without the source no draft is made.
    with source.open("rb") as kept, create_private_file(draft) as made:
        while block := kept.read(BLOCK_BYTES):
            digest.update(block)
            made.write(block)
        sync_file(made)
    if replaces:
        draft.rename(target)
    else:
        _place_new(draft, target)
    sync_folder(target.parent)
    return digest.hexdigest()


def _place_new(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except FileExistsError:
        raise _left_over(target) from None
    except OSError:  # A file system without links.
        draft.rename(target)
    else:
        draft.unlink()
