"""The hold of one repair on a table: a repair that was paused changes nothing behind another one.

A count is set if it still is what the scans found. Another repair, and writes behind it, may bring
it back to that number, when it is right.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from penstock.datastore.clock import uuid7
from penstock.datastore.errors import Unavailable
from penstock.datastore.table.fenced_table import FencedTable
from penstock.datastore.table.layout import REPAIR
from penstock.datastore.table.port import Compare, ConditionFailed, Delete, Key, Table, Update

_KEY: Final[Key] = REPAIR.key()


@asynccontextmanager
async def hold_repair(table: Table) -> AsyncIterator[FencedTable]:
    """Take the hold, before anything is scanned; yield the table for the repairs.

    It raises Unavailable once another process has taken the hold.
    """
    holder = uuid7()
    held = Compare("holder", "=", holder)
    await table.transact([Update(key=_KEY, set={"holder": holder})])
    yield FencedTable(table, Update(key=_KEY, default={"holder": holder}), held, _held_elsewhere)
    with suppress(ConditionFailed):
        await table.transact([Delete(_KEY, held)])


def _held_elsewhere() -> Unavailable:
    return Unavailable("Another process repairs this table: let it end, and repeat the command.")
