"""The mark of a folder to which a restore writes: its first file, and the last one to leave.

No server takes such a folder for a store, or for an empty place. The mark lists the files that the
restore writes with their digests, so that the next restore knows them from those of others.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from penstock.datastore.errors import Unavailable
from penstock.datastore.private_files import sync_folder, write_private_file
from penstock.datastore.unreadable_json import JSON_ERRORS

MARK: Final = "unfinished-restore.json"

REPEAT_RESTORE: Final = (
    "Repeat `penstock restore`, which starts anew, or choose another data directory."
)


class UnfinishedRestore(Unavailable):
    """A restore to the folder was cut short, or is under way."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{say_unfinished(folder)} {REPEAT_RESTORE}")


def say_unfinished(folder: Path) -> str:
    """Say that the folder has the mark."""
    return f"A restore to {folder} has not ended."


def require_restored(folder: Path) -> None:
    """Raise UnfinishedRestore if the folder has the mark."""
    if (folder / MARK).exists():
        raise UnfinishedRestore(folder)


def read_restore_mark(folder: Path) -> Mapping[str, str] | None:
    """The digests of the files that an unfinished restore writes, by name; None without a mark."""
    try:
        text = (folder / MARK).read_bytes()
    except FileNotFoundError:
        return None
    with suppress(*JSON_ERRORS):
        return msgspec.json.decode(text, type=dict[str, str])
    return {}


def place_restore_mark(folder: Path, sha256: Mapping[str, str]) -> None:
    """Mark the folder; once this returns, the mark is on the disk."""
    # The first file that a kill can leave is a mark; it lists nothing, and nothing is written yet.
    (folder / MARK).touch(mode=0o600)
    write_private_file(folder / MARK, [msgspec.json.format(msgspec.json.encode(sha256))])


def remove_restore_mark(folder: Path) -> None:
    """Take the mark away, behind everything that was written."""
    (folder / MARK).unlink()
    sync_folder(folder)
