"""The states of groups: whether something may be made or started in a group."""

from penstock.datastore.access.access import Access, key_of_group
from penstock.datastore.errors import IllegalState
from penstock.datastore.records import GroupState
from penstock.datastore.roles import ROOT, GroupPath, ancestors
from penstock.datastore.table.items import read_rows


async def find_disabled(access: Access, group: GroupPath) -> GroupPath | None:
    """Find the nearest disabled group, at the group or above it.

    One BatchGet of `pk = G:<parent>, sk = G:<group>` for the group and each above it but the root,
    which is always enabled.
    """
    line = [path for path in ancestors(group) if path != ROOT]
    rows = await read_rows(access.table, map(key_of_group, line), consistent=True)
    for path in reversed(line):
        row = rows.get(key_of_group(path), {})
        if row.get("state") == GroupState.DISABLED.value:
            return path
    return None


async def require_enabled(access: Access, group: GroupPath) -> None:
    """Raise IllegalState where the group, or one above it, is disabled."""
    disabled = await find_disabled(access, group)
    if disabled is not None:
        message = f"The group {disabled} is disabled: nothing is made or started in it."
        raise IllegalState(message, GroupState.DISABLED.name)
