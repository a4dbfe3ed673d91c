"""The row of a library that may have leftovers: covers, or annotations of deleted things."""

from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.table.layout import LIBRARY_UPKEEP
from penstock.datastore.table.port import INDEX_HASH, Key, Update

HELD_UNTIL: Final = "heldUntil"
SINCE: Final = "since"
LATEST: Final = "latest"


def upkeep_key(user: str) -> Key:
    return LIBRARY_UPKEEP.key(user=user)


def upkeep_update(access: Access) -> Update:
    """The operation that has the caller's library swept; `since` is the oldest reason for it."""
    now = access.clock.timestamp()
    first = {INDEX_HASH: LIBRARY_UPKEEP.index_partition(), SINCE: now}
    latest = {LATEST: access.clock.new_id()}
    return Update(key=upkeep_key(access.caller.user_id), set=latest, default=first)


async def note_upkeep(access: Access) -> None:
    await access.table.transact([upkeep_update(access)])
