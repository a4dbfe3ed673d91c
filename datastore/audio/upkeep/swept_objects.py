"""The end of an object: its row is marked before the object is deleted.

A transaction that gives the object to a track requires that there is no mark. So one that comes too
late fails, and no track ever refers to an object that is gone.
"""

from datetime import timedelta
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.table.port import TTL, Condition, ConditionFailed, Key, Update

MARK_TIME: Final = timedelta(days=7)
SWEPT: Final = "swept"


async def sweep_object(access: Access, row: Key, unused: Condition, key: str) -> bool:
    """Mark the row if the object is unused, delete the object, and let the row expire."""
    try:
        await access.table.transact([Update(key=row, set={SWEPT: True}, condition=unused)])
    except ConditionFailed:
        return False
    await access.files.delete(key)
    ends = int((access.clock.now() + MARK_TIME).timestamp())
    await access.table.transact([Update(key=row, set={TTL: ends})])
    return True
