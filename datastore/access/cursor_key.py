"""The key that seals cursors: random bytes in one row, which the first server to start makes."""

import secrets
from typing import Final

from penstock.datastore.table.commit import Write, already_done, commit
from penstock.datastore.table.layout import SECRET
from penstock.datastore.table.port import Item, Missing, Put, Table

NAME: Final = "cursors"
_KEY_BYTES: Final = 32


async def read_cursor_key(table: Table) -> bytes:
    """Read the key: one consistent get of `pk = K:cursors, sk = K`; make it if it is missing.

    Servers that start at the same time get the same key, because each reads what was written first.
    """
    key = SECRET.key(name=NAME)
    while True:
        item = (await table.get([key], consistent=True)).items.get(key)
        if item is not None:
            return bytes.fromhex(str(item["key"]))
        made: Item = {**SECRET.item(name=NAME), "key": secrets.token_hex(_KEY_BYTES)}
        await commit(table, [Write(Put(made, Missing()), already_done)])
