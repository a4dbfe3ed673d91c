"""Groups of the hierarchy: creating, reading, listing and deleting them."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from penstock.datastore.access.access import Access, group_not_found_error, key_of_group
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    LimitExceeded,
    NameTaken,
    NotFound,
)
from penstock.datastore.groups.content import GroupContent
from penstock.datastore.groups.rows import (
    closed_group_error,
    count_group,
    count_in_group,
    remove_group,
)
from penstock.datastore.groups.states import find_disabled, require_enabled
from penstock.datastore.history.rows import Action, entry_about, group_writes
from penstock.datastore.records import Group, GroupCounts, GroupState, Tag
from penstock.datastore.roles import (
    ROOT,
    GroupPath,
    Role,
    ancestors,
    covers,
    new_path_problem,
    parent,
)
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.items import attributes_of, load, read_or_report, read_rows
from penstock.datastore.table.layout import GROUP
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import Attributes, Item, Missing, Put, Query, Range
from penstock.datastore.text import unescape


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that the caller sees: those on one line with a group of the caller."""

    access: Access

    async def many(self, paths: Sequence[GroupPath]) -> list[Group | NotFound]:
        """Get groups: `pk = G:<parent>, sk = G:<group>`, batched; aligned with the paths."""
        keys = {path: key_of_group(path) for path in paths if self.access.caller.sees(path)}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        return [
            _read_group(path, rows.get(keys[path])) if path in keys else group_not_found_error(path)
            for path in paths
        ]

    async def one(self, path: GroupPath) -> Group:
        """Read a group; raises NotFound also where the caller may not know of it."""
        (group,) = await self.many([path])
        if isinstance(group, NotFound):
            raise group
        return group

    async def count(self, path: GroupPath) -> GroupCounts:
        """Count the child groups and grants of a group; raises NotFound as `one` does."""
        group = await self.one(path)
        return await count_group(self.access.table, group.path)

    async def create(
        self,
        path: GroupPath,
        name: str | None,
        description: str | None = None,
        tags: tuple[Tag, ...] = (),
    ) -> Group:
        """Create a group below an existing one; the caller must be admin at the new path."""
        if path == ROOT:
            raise _path_taken(path)
        self.access.require_role(Role.ADMIN, path)
        if message := new_path_problem(path):
            raise Invalid([FieldProblem(["path"], message)])
        GroupContent(name=name, description=description, tags=tags).check()
        above = parent(path) or ROOT
        await require_enabled(self.access, above)
        group = Group(
            path=path,
            name=(name or path.rpartition("/")[2]).strip(),
            description=description or None,
            tags=tags,
            created_at=self.access.clock.timestamp(),
            created_by=self.access.caller.user_id,
        )
        await commit(
            self.access.table,
            [
                Write(Put(_item(group), Missing()), lambda _: _path_taken(path)),
                count_in_group(above, "children", 1),
            ],
        )
        return group

    async def update(self, path: GroupPath, content: GroupContent) -> Group:
        """Set what the content has, each field by itself; the caller must be admin at the group.

        Raises IllegalState for the root.
        """
        if path == ROOT:
            raise IllegalState("The root group cannot be changed.", "ROOT")
        self.access.require_role(Role.ADMIN, path)
        content.check()
        group = await self.one(path)
        update = content.update(key_of_group(path))
        if update is None:
            return group
        writes = [Write(update, partial(closed_group_error, path))]
        if content.state is not None and content.state is not group.state:
            writes += self._log_state(path, content.state)
        await commit(self.access.table, writes)
        return await self.one(path)

    def _log_state(self, path: GroupPath, state: GroupState) -> list[Write]:
        entry = entry_about(self.access, Action.STATE_CHANGED, path, "group")
        entry = msgspec.structs.replace(entry, state=state.value)
        return group_writes(self.access, entry, [path, parent(path) or ROOT])

    async def delete(self, path: GroupPath) -> Group:
        """Delete an empty group; raises IllegalState for any other."""
        if path == ROOT:
            raise IllegalState("The root group cannot be deleted.", "ROOT")
        self.access.require_role(Role.ADMIN, path)
        group = await self.one(path)
        entry = entry_about(self.access, Action.GROUP_DELETED, path, "group")
        logged = group_writes(self.access, entry, [parent(path) or ROOT])
        await remove_group(self.access.table, path, logged)
        return group

    async def disabled_through(self, group: Group) -> GroupPath | None:
        """Find the group by which a group is disabled: itself or the nearest one above."""
        if group.state is GroupState.DISABLED:
            return group.path
        return await find_disabled(self.access, group.path)

    async def children(self, of: Group, window: Window) -> Slice[Group]:
        """List children: `pk = G:<group>`, in the order of their names.

        A caller with a role at the group or above sees all; others see the children that lead to
        their own groups, found by key.
        """
        if not self.access.caller.has_role(Role.READER, of.path):
            return await self._children_towards_caller(of.path, window)
        template, above = GROUP.sk, {"parent": of.path}
        query = Query(
            partition=GROUP.pk.fill(above),
            range=Range(template.prefix({})),
            after=None if window.after is None else key_of_group(GroupPath(window.after)),
            descending=window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.access.table, query, _child_of_row)
        return make_slice(found.records, window, lambda group: group.path, more=found.more)

    async def subtree(self, top: GroupPath) -> tuple[GroupPath, ...]:
        """List the group and every group below it that the caller sees, a level at a time.

        Raises LimitExceeded where there are more groups than one list may span.
        """
        found, level = [top], [top]
        while level:
            self.access.payments.promise_calls(len(level))
            below = await gather(*(self._all_children(group) for group in level))
            level = [child for children in below for child in children]
            self.access.payments.note_rows(len(level))
            found += level
            if len(found) > self.access.budget.groups:
                raise LimitExceeded(
                    "groups in one list", self.access.budget.groups, len(found), ["group"]
                )
        return tuple(found)

    async def _all_children(self, group: GroupPath) -> list[GroupPath]:
        window = Window(size=self.access.budget.groups)
        children = await self.children(Group(path=group, name=""), window)
        return [child.path for _, child in children.entries]

    async def _children_towards_caller(self, top: GroupPath, window: Window) -> Slice[Group]:
        depth = len(ancestors(top))
        held = (ancestors(group) for group in self.access.caller.roles if covers(top, group))
        paths = {line[depth] for line in held if len(line) > depth}
        rest = sorted((path for path in paths if _is_beyond(path, window)), reverse=window.backward)
        groups = [group for group in await self.many(rest) if isinstance(group, Group)]
        return make_slice(groups, window, lambda group: group.path, more=False)


def _is_beyond(path: GroupPath, window: Window) -> bool:
    if window.after is None:
        return True
    return path < window.after if window.backward else path > window.after


def _parent_or_root(path: GroupPath) -> GroupPath:
    return parent(path) or ROOT


def _path_of_row(item: Attributes) -> GroupPath:
    return GroupPath(unescape(GROUP.sk.parse(str(item["sk"]))["group"]))


def _child_of_row(item: Attributes) -> Group:
    return load(Group, item, path=_path_of_row(item))


def _read_group(path: GroupPath, item: Attributes | None) -> Group | NotFound:
    if item is None:
        return Group(path=ROOT, name="") if path == ROOT else group_not_found_error(path)
    return read_or_report(lambda row: load(Group, {"name": "", **row}, path=path), item)


def _item(group: Group) -> Item:
    attributes = {name: value for name, value in attributes_of(group).items() if name != "path"}
    return {**GROUP.item(parent=_parent_or_root(group.path), group=group.path), **attributes}


def _path_taken(path: GroupPath) -> NameTaken:
    return NameTaken("G", path, _parent_or_root(path), path)
