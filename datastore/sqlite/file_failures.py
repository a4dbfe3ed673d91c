"""The failures of the table's file, and the errors that callers receive in their place."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from penstock.datastore.errors import Unavailable

_BUSY: Final = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL))
_PRIMARY_CODE: Final = 0xFF
_MESSAGES: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_CANTOPEN: "The table's file cannot be opened.",
    sqlite3.SQLITE_CORRUPT: "The table's file is damaged.",
    sqlite3.SQLITE_FULL: "There is no room left for the table's file.",
    sqlite3.SQLITE_IOERR: "The table's file cannot be read or written.",
    sqlite3.SQLITE_NOTADB: "The table's file is no database.",
    sqlite3.SQLITE_PERM: "The table's file may not be opened.",
    sqlite3.SQLITE_READONLY: "The table's file cannot be written.",
}
_RETRY_AFTER: Final = 10


class FileFailed(Unavailable):
    """The table's file cannot be used until somebody mends it."""


def caller_error(error: Exception) -> Exception:
    """The error for the caller: Unavailable where the file stayed locked or fails."""
    code = _primary_code(error)
    if code in _BUSY:
        unavailable = Unavailable("The table's file is in use; try again.")
    elif code in _MESSAGES:
        unavailable = FileFailed(_MESSAGES[code], _RETRY_AFTER)
    else:
        return error
    unavailable.__cause__ = error
    return unavailable


def is_busy(error: Exception) -> bool:
    """Whether another process or thread kept the file locked."""
    return _primary_code(error) in _BUSY


def _primary_code(error: Exception) -> int:
    # Errors that Python itself raises have no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & _PRIMARY_CODE if isinstance(error, sqlite3.Error) else sqlite3.SQLITE_OK
