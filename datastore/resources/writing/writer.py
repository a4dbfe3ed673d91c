"""Writes of resources: create, update, restore, grant, revoke and label."""

import logging
from asyncio import CancelledError, gather
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.background_tasks import start_task
from penstock.datastore.datasets.staged_files import Attachment
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    NotFound,
    QuotaExceeded,
    VersionConflict,
)
from penstock.datastore.groups.rows import with_grant, without_grant
from penstock.datastore.groups.states import require_enabled
from penstock.datastore.history.rows import Action, entry_of, resource_writes
from penstock.datastore.records import Resource, State, VersionLabel
from penstock.datastore.resources import idempotency
from penstock.datastore.resources.execution_guard import state_writes
from penstock.datastore.resources.formula_references import unwritable_references
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.version_dates.active_from import FIELD, with_start
from penstock.datastore.resources.version_labels.labels import with_label, without_label
from penstock.datastore.resources.versions import Versions, restored_content
from penstock.datastore.resources.writing.content_check import check_content
from penstock.datastore.resources.writing.transaction import ResourceTransaction, WriteExtras
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.table.commit import Write, retry_on_conflict
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.items import attributes_of
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.limits import ITEM_BYTES, check_at_most, item_size

R = TypeVar("R", bound=Resource)
T = TypeVar("T")

CheckChange: TypeAlias = Callable[[R], Awaitable[tuple[R, Sequence[Write]]]]
"""Checks and completes a changed resource, and may add writes to its transaction."""

logger = logging.getLogger("penstock.resources")

RESERVED_BYTES = 1024
"""The room in a record for its keys and for what a revoke adds."""


def _require_nothing(_standing: Resource) -> None:
    """Take a resource as it stands."""


@dataclass(frozen=True, slots=True)
class ResourceWriter(Generic[R]):
    """The writes of one kind for the caller."""

    kind: KindDefinition[R]
    access: Access
    attachment: Attachment[R] | None = None

    @property
    def _transaction(self) -> ResourceTransaction[R]:
        return ResourceTransaction(self.kind, self.access)

    def with_attachment(self, attachment: Attachment[R] | None) -> "ResourceWriter[R]":
        """The same writer, for one write whose content comes with a file."""
        return replace(self, attachment=attachment)

    async def create(
        self,
        group: GroupPath | None,
        content: Mapping[str, Any],
        idempotency_key: str | None,
        noted: Sequence[FieldProblem] = (),
    ) -> R:
        """Create: latest, version 1, grant, name, tags and counts.

        `content` holds the kind's own fields and the common ones that a user gives. Problems
        `noted` in reading it are reported with all others. The same idempotency key with the same
        input returns the resource that the first call created.
        """
        group = self.access.group_or_default(group)
        self.access.require_role(Role.CONTRIBUTOR, group)
        resource = self._new_resource(group, content)
        problems = [
            *noted,
            *idempotency.key_problems(idempotency_key),
            *name_character_problems(dict(content)),
        ]
        made = idempotency.Receipt(self.kind.letter, resource.id, group, content)
        receipt = [made.write(self.access, idempotency_key)] if idempotency_key else []

        async def create_once() -> R:
            checked, called = await self._check_content(resource, problems)
            _require_room(checked)
            placed, taken = await self._place_attachment(checked)
            try:
                extras = WriteExtras(receipt, [*taken, *called])
                return await self._transaction.commit(None, placed, extras)
            except QuotaExceeded:
                if idempotency_key:
                    await made.find_repetition(self.access, idempotency_key)
                raise

        try:
            async with self._settle_attachment():
                return await retry_on_conflict(self.kind.noun, create_once)
        except idempotency.RepeatedCall as earlier:
            return await self._read_repeated(earlier.id)
        except Invalid:
            # Without its group, formulas find nothing either: that is not what has to be mended.
            await self.access.require_group(group)
            raise

    async def update(
        self,
        id: str,
        expected_version: int,
        changes: Mapping[str, Any],
        noted: Sequence[FieldProblem] = (),
    ) -> R:
        """Update: a new version that replaces `expected_version`; otherwise VersionConflict.

        A frozen or disabled resource accepts only a change of its state. Problems `noted` in
        reading the changes are reported with all others.
        """
        state_before: State | None = None

        def apply_changes(current: R) -> R:
            nonlocal state_before
            self.access.require_owner(Role.CONTRIBUTOR, current)
            state_before = current.state
            if current.version != expected_version:
                raise VersionConflict(current.version)
            require_state_allows(current, changes)
            return self._with_stamp(current, {**changes, "version": current.version + 1})

        async def check_changed(changed: R) -> tuple[R, Sequence[Write]]:
            # A resource whose callees are gone by now must still accept a change of state.
            logged = [] if changed.state is state_before else self._log_state(changed)
            if set(changes) == {"state"} and not noted:
                return changed, logged
            if self.kind.formula_field in changes:
                kept = await unwritable_references(self.access, changed)
                changed = msgspec.structs.replace(changed, references=kept)
            named = name_character_problems(dict(changes))
            checked, guards = await self._check_content(changed, [*noted, *named])
            return checked, [*guards, *logged]

        async with self._settle_attachment():
            return (await self._rewrite(id, apply_changes, checked=check_changed))[1]

    async def replace_content(
        self,
        id: str,
        content: Mapping[str, Any],
        more: Callable[[R], Sequence[Write]],
        require: Callable[[R], None] = _require_nothing,
    ) -> R:
        """Make a new version with other content, whatever the version is.

        The transaction has `more` writes, which follow from the new version. `require` raises what
        is wrong with the resource as it stands.
        """

        def apply_content(current: R) -> R:
            self.access.require_owner(Role.CONTRIBUTOR, current)
            require_state_allows(current, content)
            require(current)
            return self._with_stamp(current, {**content, "version": current.version + 1})

        async def check_content_and_add(changed: R) -> tuple[R, Sequence[Write]]:
            checked, guards = await self._check_content(changed, ())
            return checked, [*guards, *more(checked)]

        async with self._settle_attachment():
            return (await self._rewrite(id, apply_content, checked=check_content_and_add))[1]

    async def restore(
        self, id: str, number: int, expected_version: int, active_from: str | None = None
    ) -> R:
        """Make the content of an earlier version the newest version, as `update` does.

        Its names mean what they meant in that version. State and grants stay. It is active from now
        on, or from another time.
        """
        known = await ResourceReader(self.kind, self.access).one(id)
        (version,) = await Versions(self.kind, self.access).by_number([(known, number)])
        if isinstance(version, NotFound):
            raise version
        content = {**restored_content(self.kind, version), FIELD: active_from}

        def apply_version(current: R) -> R:
            self.access.require_owner(Role.CONTRIBUTOR, current)
            if current.version != expected_version:
                raise VersionConflict(current.version)
            require_state_allows(current, content)
            return self._with_stamp(current, {**content, "version": current.version + 1})

        async def check_restored(changed: R) -> tuple[R, Sequence[Write]]:
            return await self._check_content(changed, ())

        done = await self._rewrite(id, apply_version, checked=check_restored, restores=True)
        return done[1]

    async def grant(self, id: str, group: GroupPath) -> tuple[R, bool]:
        """Grant a group access; it and every group below see the resource at once.

        Returns also whether that changed anything. Grants stay an antichain: a grant to a group
        that inherits one changes nothing, and a grant to an ancestor replaces the grants below it.
        """

        def add_grant(current: R) -> R:
            self.access.require_owner(Role.ADMIN, current)
            self.access.require_role(Role.ADMIN, group)
            granted = self._with_groups(current, with_grant(current.groups, group))
            _require_room(granted)
            return granted

        logged = self._log_right(Action.GRANTED, group)
        before, after = await self._rewrite(id, add_grant, "group", logged)
        if after is before:
            await self.access.require_group(group)
        return after, after is not before

    async def revoke(self, id: str, group: GroupPath) -> R:
        """Revoke a group's explicit grant; it and the groups below lose access at once.

        The owner always keeps access: a grant above the owner becomes the owner's own, which cannot
        be revoked.
        """

        def remove_grant(current: R) -> R:
            self.access.require_owner(Role.ADMIN, current)
            if group not in current.groups:
                raise NotFound(f"{group} has no grant of its own.", ("group",))
            if group == current.owner:
                raise IllegalState(f"{group} owns this {self.kind.noun}.", "OWNER")
            return self._with_groups(current, without_grant(current.groups, group, current.owner))

        logged = self._log_right(Action.REVOKED, group)
        return (await self._rewrite(id, remove_grant, "group", logged))[1]

    async def label(self, id: str, number: int, label: str, *, moves: bool = False) -> R:
        """Give a version a label, which no other version of the resource has.

        One that another version has is refused, unless it `moves`.
        """
        now, user = self.access.clock.timestamp(), self.access.caller.user_id
        given = VersionLabel(label=label, version=number, set_at=now, set_by=user)

        def add_label(current: R) -> R:
            self.access.require_owner(Role.CONTRIBUTOR, current)
            return with_label(current, given, moves=moves)

        logged = self._log_label(Action.LABEL_SET, label, number)
        return (await self._rewrite(id, add_label, "label", logged))[1]

    async def remove_label(self, id: str, label: str) -> R:
        """Take a label from the version that has it; raises NotFound if none has."""

        def drop_label(current: R) -> R:
            self.access.require_owner(Role.CONTRIBUTOR, current)
            return without_label(current, label)

        logged = self._log_label(Action.LABEL_REMOVED, label)
        return (await self._rewrite(id, drop_label, "label", logged))[1]

    def _log_label(self, action: Action, label: str, number: int | None = None) -> CheckChange[R]:
        """Add the entry of the audit trail for a label."""

        async def add_entry(changed: R) -> tuple[R, Sequence[Write]]:
            entry = entry_of(self.access, action, changed, self.kind.letter)
            entry = msgspec.structs.replace(entry, label=label, version=number)
            return changed, resource_writes(self.access, entry)

        return add_entry

    async def _check_content(
        self, resource: R, noted: Sequence[FieldProblem]
    ) -> tuple[R, Sequence[Write]]:
        """Check new content, and that its owner group takes any; return it complete, and guards."""
        checked, _ = await gather(
            check_content(self.kind, self.access, resource, noted),
            require_enabled(self.access, resource.owner),
        )
        return checked

    def _log_right(self, action: Action, group: GroupPath) -> CheckChange[R]:
        """Add the entries of the audit trail for a right that a group gets or loses."""

        async def add_entries(changed: R) -> tuple[R, Sequence[Write]]:
            entry = entry_of(self.access, action, changed, self.kind.letter)
            entry = msgspec.structs.replace(entry, group=group)
            return changed, resource_writes(self.access, entry, [group])

        return add_entries

    def _log_state(self, changed: R) -> list[Write]:
        """The entries of the audit trail for a change of state."""
        entry = entry_of(self.access, Action.STATE_CHANGED, changed, self.kind.letter)
        entry = msgspec.structs.replace(entry, state=changed.state.value)
        return resource_writes(self.access, entry)

    async def write_missing_rows(self, id: str) -> bool:
        """Write the rows that an earlier release did not write, such as words of the name.

        Every write of this release writes them; return whether none had. Raises NotFound.
        """

        def write_again(current: R) -> R:
            if current.named and (current.linked or not current.references):
                return current
            return msgspec.structs.replace(current, revision=current.revision + 1)

        before, after = await self._rewrite(id, write_again)
        return after is not before

    async def _read_repeated(self, id: str) -> R:
        """Read the resource that an earlier call with the same idempotency key created."""
        try:
            return await ResourceReader(self.kind, self.access).one(id)
        except NotFound:
            message = f"made a {self.kind.noun} that is gone"
            raise Invalid([FieldProblem(["idempotencyKey"], message)]) from None

    async def _rewrite(
        self,
        id: str,
        change: Callable[[R], R],
        place: str | None = None,
        checked: CheckChange[R] | None = None,
        *,
        restores: bool = False,
    ) -> tuple[R, R]:
        """Read, change and write, until no other write comes between; return both states.

        `place` is the field of the input that failures refer to, where it is not the content.
        `checked` checks and completes the content, and may add writes to the transaction. A change
        that `restores` brings back an earlier version.
        """

        async def rewrite_once() -> tuple[R, R]:
            standing = await ResourceReader(self.kind, self.access).one_to_rewrite(id)
            current = standing.resource
            changed = change(current)
            if changed is current:
                return current, current
            called: Sequence[Write] = ()
            if checked is not None:
                changed, called = await checked(changed)
                _require_room(changed)
            changed, taken = await self._place_attachment(changed)
            guards = [*state_writes(self.kind, current, changed), *taken, *called]
            extras = WriteExtras(guards=guards, restores=restores)
            return current, await self._transaction.commit(standing, changed, extras, place)

        return await retry_on_conflict(self.kind.noun, rewrite_once)

    async def _place_attachment(self, resource: R) -> tuple[R, list[Write]]:
        """Store the attached file; return the resource with it, and the writes that claim it."""
        if self.attachment is None:
            return resource, []
        placed, taken = await self.attachment.place(resource)
        return placed, [*taken]

    @asynccontextmanager
    async def _settle_attachment(self) -> AsyncIterator[None]:
        """Drop the attached file where the write fails, or turns out to be a repetition."""
        if self.attachment is None:
            yield
            return
        try:
            yield
        except CancelledError:
            # Who was cut off is not kept waiting, and the file counts in no quota.
            start_task(self.attachment.discard(), logger, "a file that nothing uses stays")
            raise
        except Exception:
            await self.attachment.discard()
            raise
        await self.attachment.settle()

    def _new_resource(self, group: GroupPath, content: Mapping[str, Any]) -> R:
        now, user = self.access.clock.timestamp(), self.access.caller.user_id
        id = self.access.clock.new_id()
        made = self.kind.record(
            **content,
            id=id,
            shard=choose_shard(id, self.access.shards),
            state=State.ENABLED,
            groups=(group,),
            owner=group,
            version=1,
            revision=1,
            created_at=now,
            created_by=user,
            updated_at=now,
            updated_by=user,
        )
        return with_start(None, made, content)

    def _with_stamp(self, current: R, changes: Mapping[str, Any]) -> R:
        made = msgspec.structs.replace(
            current,
            **changes,
            revision=current.revision + 1,
            updated_at=self.access.clock.timestamp(),
            updated_by=self.access.caller.user_id,
        )
        return with_start(current, made, changes)

    def _with_groups(self, current: R, groups: tuple[GroupPath, ...]) -> R:
        """Replace the grants; that is no change of content, so `version` and `updatedAt` stay."""
        if groups == current.groups:
            return current
        return msgspec.structs.replace(current, groups=groups, revision=current.revision + 1)


def _require_room(resource: Resource) -> None:
    """Raise LimitExceeded for a record that a revoke might not fit into any more.

    A revoke can make the record larger, by the path of the owner that gets its grant back.
    """
    if len(msgspec.json.encode(resource)) > ITEM_BYTES // 2:
        size = item_size(attributes_of(resource))
        check_at_most("bytes of an item", ITEM_BYTES - RESERVED_BYTES, size)


def require_state_allows(current: Resource, changes: Mapping[str, Any]) -> None:
    """Raise IllegalState for a change that the state of a resource does not allow."""
    if current.state is not State.ENABLED and set(changes) != {"state"}:
        raise IllegalState(
            f"It is {current.state.value}: nothing but its state can change.", current.state.name
        )
