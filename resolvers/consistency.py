"""Consistency tokens: they tell later requests of a client what its earlier ones have written."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zlib import compress, decompress
from zlib import error as zlib_error

import msgspec

from penstock.datastore.errors import BadArgument, InvalidCursor
from penstock.datastore.table.session_table import WrittenRow
from penstock.resolvers.cursors import MAX_CURSOR_LENGTH, Cursors

REMEMBERED_SECONDS: Final = 60
MAX_TOKEN_LENGTH: Final = MAX_CURSOR_LENGTH
_IDENTITY: Final = "consistency token"
_rows: Final = msgspec.json.Decoder(tuple[WrittenRow, ...])


def open_token(cursors: Cursors, token: str, now: datetime) -> tuple[WrittenRow, ...]:
    """Read the rows in a token, without those of more than a minute ago.

    Raises BadArgument unless this table's key sealed the token. A token gives no rights: any caller
    may send it.
    """
    try:
        payload = cursors.open(_IDENTITY, token)
        rows = _rows.decode(decompress(b64decode(payload)))
    except (InvalidCursor, ValueError, zlib_error, msgspec.MsgspecError):
        # Another release of the server may have sealed something else.
        raise BadArgument("Invalid consistency token.") from None
    oldest = now.timestamp() - REMEMBERED_SECONDS
    return tuple(row for row in rows if row.seconds >= oldest)


def seal_token(cursors: Cursors, known: Sequence[WrittenRow], written: Sequence[WrittenRow]) -> str:
    """Make the token of a request that has `written` rows and knew of others.

    Where they do not all fit, the token names those that were written last.
    """
    again = {row.key for row in written}
    rows = [*(row for row in known if row.key not in again), *written]
    while True:
        text = b64encode(compress(msgspec.json.encode(rows))).decode()
        token = cursors.seal(_IDENTITY, text)
        if len(token) <= MAX_TOKEN_LENGTH:
            return token
        rows = rows[len(rows) // 8 + 1 :]
