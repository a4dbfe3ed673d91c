"""The hold that one process has on a folder that it fills."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from penstock.datastore.errors import BadArgument


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep others that hold it from filling a folder meanwhile; the hold ends with its process.

    Raises BadArgument if another one fills it, which may be paused. A file system without locks of
    folders, such as NFS, holds nothing.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                words = f"Another process writes to {folder}: wait for its end, or end it."
                raise BadArgument(words) from None
        yield
    finally:
        os.close(descriptor)
