"""The end of an object: its row is marked before the object is deleted.

A transaction that gives the object to a track requires that there is no mark. So one that comes too
late fails, and no track ever refers to an object that is gone.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.table.port import TTL, Condition, ConditionFailed, Key, Operation, Update

MARK_TIME: Final = timedelta(days=7)
SWEPT: Final = "swept"


async def sweep_object(access: Access, row: Key, unused: Condition, key: str) -> bool:
    """Mark the row if the object is unused, delete the object, and let the row expire."""
    if not await mark_swept(access, row, unused):
        return False
    await delete_marked(access, row, key)
    return True


async def mark_swept(access: Access, row: Key, unused: Condition) -> bool:
    """Mark the row of an object; False if the condition on the row does not hold."""
    try:
        await access.table.transact([Update(key=row, set={SWEPT: True}, condition=unused)])
    except ConditionFailed:
        return False
    return True


async def delete_marked(
    access: Access, row: Key, key: str, together: Sequence[Operation] = ()
) -> None:
    """Delete an object whose row is marked; let the row expire, together with these writes."""
    await access.files.delete(key)
    ends = int((access.clock.now() + MARK_TIME).timestamp())
    await access.table.transact([Update(key=row, set={TTL: ends}), *together])
