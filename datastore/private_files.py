"""Files and folders that only their owner can read, on a machine with other users."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from typing import BinaryIO, Final

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


def make_private_folder(path: Path) -> None:
    """Create the folder where it is missing, and close it to other users."""
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    _close_to_others(path)


def make_private_database(path: Path) -> None:
    """Create SQLite's file where it is missing, and close it and its logs to other users.

    SQLite gives its logs the mode of the file. What cannot be created or closed is left as it is:
    SQLite names the problem, and a file of another owner is that owner's affair.
    """
    # A file that exists is not opened: closing it would drop the locks that this process has on it.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, _FILE_MODE))
    for suffix in ("", "-wal", "-shm"):
        _close_to_others(path.with_name(path.name + suffix))


def create_private_file(path: Path) -> BufferedRandom:
    """Create a file in place of one that is there, to write and to read it."""
    path.unlink(missing_ok=True)
    # Whoever makes one of this name since then is refused, and no link is followed.
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, _FILE_MODE), "w+b")


def draft_of(target: Path) -> Path:
    """The path under which a file is written until it is whole."""
    return target.with_name(f"{target.name}.draft")


def write_private_file(target: Path, blocks: Iterable[bytes]) -> None:
    """Write a file: it has its old content or, once this returns, the new, on the disk."""
    draft = draft_of(target)
    with create_private_file(draft) as file:
        file.writelines(blocks)
        sync_file(file)
    draft.rename(target)
    sync_folder(target.parent)


def sync_file(file: BinaryIO) -> None:
    """Bring the content of a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _close_to_others(path: Path) -> None:
    with suppress(OSError):
        found = path.stat()
        mode = stat.S_IMODE(found.st_mode)
        if mode & 0o077 and found.st_uid == os.geteuid():
            path.chmod(mode & 0o700)
