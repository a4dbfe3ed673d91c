"""The identity of a group: another group may be made at the path of one that was deleted."""

from collections.abc import Iterable, Mapping

from penstock.datastore.access.access import key_of_group
from penstock.datastore.roles import ROOT, GroupPath, ancestors
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Table


async def read_identities(table: Table, groups: Iterable[GroupPath]) -> dict[GroupPath, str]:
    """Read the identities of those of the groups that exist: the times at which they were created.

    At most one group has a path at a time, so path and time name it for ever. The root, which is
    always the same, has none. One consistent BatchGet of `pk = G:<parent>, sk = G:<group>`.
    """
    keys = {group: key_of_group(group) for group in groups if group != ROOT}
    rows = await read_rows(table, keys.values(), consistent=True)
    return {
        group: str(rows[key].get("createdAt", "")) for group, key in keys.items() if key in rows
    }


def nearest_group(group: GroupPath, known: Mapping[GroupPath, str]) -> GroupPath:
    """Return the group itself if it is one of those known, or else the nearest one above it."""
    return next((above for above in reversed(ancestors(group)) if above in known), ROOT)
