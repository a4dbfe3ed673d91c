"""The audit trails that a caller may read."""

from dataclasses import dataclass

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.history.rows import (
    OF_GROUP,
    OF_RESOURCE,
    HistoryEntry,
    entry_from,
    group_of_role,
)
from penstock.datastore.records import Resource
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.table.layout import HISTORY
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import Attributes, Key, Query, Range


@dataclass(frozen=True, slots=True)
class History:
    """The trails of resources and groups, newest first, for administrators of the group."""

    access: Access

    def is_open(self, group: GroupPath) -> bool:
        """Whether the caller may read the trails of a group and of what it owns."""
        return self.access.caller.has_role(Role.ADMIN, group)

    async def of_resource(self, resource: Resource, window: Window) -> Slice[HistoryEntry]:
        """Read what was done to a resource: `pk = AT:R:<id>`; nothing where it is not open."""
        return await self._page(OF_RESOURCE, resource.id, resource.owner, window)

    async def of_group(self, group: GroupPath, window: Window) -> Slice[HistoryEntry]:
        """Read what was done in a group: to what it owned, its grants, keys and child groups.

        `pk = AT:G:<group>`; nothing where it is not open.
        """
        return await self._page(OF_GROUP, group, group, window)

    async def _page(
        self, kind: str, of: str, owner: GroupPath, window: Window
    ) -> Slice[HistoryEntry]:
        if not self.is_open(owner):
            return Slice((), more=False, reached=window.after)
        partition = HISTORY.pk.fill({"kind": kind, "of": of})
        prefix = HISTORY.sk.prefix({})
        query = Query(
            partition=partition,
            range=Range(prefix),
            after=None if window.after_id is None else Key(partition, prefix + window.after_id),
            descending=not window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.access.table, query, self._entry_from)
        return make_slice(found.records, window, lambda entry: entry.id, more=found.more)

    def _entry_from(self, row: Attributes) -> HistoryEntry:
        """Read an entry; a key may have roles at groups that the reader does not see."""
        entry = entry_from(row)
        seen = (role for role in entry.roles if self.access.caller.sees(group_of_role(role)))
        return replace(entry, roles=tuple(seen))
