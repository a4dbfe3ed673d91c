"""Folders for temporary files, which the next process of this machine removes after a kill.

The owner of a folder holds a lock of a file in it for as long as it lives. The lock ends with the
process, however that ends, also where processes of several containers share the folder of temporary
files.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from typing import Final

LOCK: Final = "owner.lock"
_PREFIX: Final = "penstock-"


class ScratchFolder:
    """A folder that this process owns until it removes it or ends."""

    __slots__ = ("_lock", "path")

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def make_scratch_folder(purpose: str) -> ScratchFolder:
    """Create a folder that only this user can read."""
    while True:
        path = Path(mkdtemp(prefix=f"{_PREFIX}{purpose}-"))
        # Another process may take the folder for an abandoned one until the lock is held.
        if (lock := _take_lock(path, os.O_CREAT)) is not None:
            return ScratchFolder(path, lock)


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Give a folder that is removed at the end of the block."""
    made = make_scratch_folder(purpose)
    try:
        yield made.path
    finally:
        made.remove()


def remove_abandoned_folders() -> int:
    """Remove the folders of this user whose owners are gone; return their number.

    A folder without the file of a lock is left alone: an earlier release may use it.
    """
    removed = 0
    with suppress(OSError):
        for path in Path(gettempdir()).glob(f"{_PREFIX}*-*"):
            removed += _is_own_folder(path) and _remove_abandoned(path)
    return removed


def _remove_abandoned(path: Path) -> bool:
    lock = _take_lock(path)
    if lock is None:
        return False
    ScratchFolder(path, lock).remove()
    return True


def _is_own_folder(path: Path) -> bool:
    """Whether it is a folder of this user, and no link."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _take_lock(folder: Path, flags: int = 0) -> int | None:
    """Take the lock of a folder; None if it has none, is gone, or another process holds it."""
    path = folder / LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return None
    try:
        flock(lock, LOCK_EX | LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
