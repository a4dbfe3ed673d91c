"""The transaction of a write: the rows of a resource, and the difference of those that derive.

A difference that fits one transaction is one. Otherwise its first transaction decides everything,
and the rest follows in steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded, NameTaken, blame_field
from penstock.datastore.quotas.usage import count_kept, growth_of, kept_writes, merge_kept
from penstock.datastore.records import ReferenceDataset, Resource
from penstock.datastore.resources.derived_rows import Difference, derive_rows, difference
from penstock.datastore.resources.names import describe_conflict
from penstock.datastore.resources.reading import Standing
from penstock.datastore.resources.use_rows import find_gone, use_writes
from penstock.datastore.resources.writing.logged_changes import change_writes
from penstock.datastore.resources.writing.steps import MAX_OPERATIONS, RemainingSteps
from penstock.datastore.table.commit import Write, already_done, commit
from penstock.datastore.table.items import latest_item, overwrite, version_item
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.port import Compare, Missing, Put

R = TypeVar("R", bound=Resource)


class WriteExtras(NamedTuple):
    """The parts of a write beside the resource's own rows and those that derive from it.

    The receipt of an idempotency key, the guards that must hold, and whether the write brings back
    an earlier version.
    """

    receipt: Sequence[Write] = ()
    guards: Sequence[Write] = ()
    restores: bool = False


@dataclass(frozen=True, slots=True)
class ResourceTransaction(Generic[R]):
    """The transaction that takes a resource of one kind from one state to the next."""

    kind: KindDefinition[R]
    access: Access

    async def commit(
        self, standing: Standing[R] | None, after: R, extras: WriteExtras, place: str | None = None
    ) -> R:
        """Write the new state, if the guards hold; return the state as it was written.

        `place` is the field of the input that failures refer to, where it is not the content.
        """
        before = standing.resource if standing else None
        counted = count_kept(before, after, restores=extras.restores)
        # What uses nothing is not marked: an earlier release may give it references yet.
        after = msgspec.structs.replace(counted, named=True, linked=bool(after.references))
        admitted = await self._admit(before, after)
        changes = self._find_changes(standing, after)
        gone = await find_gone(self.access.table, before, after, restores=extras.restores)
        used = use_writes(before, after, gone)
        logged = change_writes(self.kind, before, after, self.access.clock.now())
        kept = [*kept_writes(before, after), *admitted]
        # The receipt stands before the name, so that a repeated call is not a NameTaken.
        given = [*extras.receipt, *changes.first, *logged, *kept, *used, *extras.guards]
        fixed = merge_kept(given)
        after = await self._choose_steps(before, after, len(fixed) + len(changes.rest))
        behind = self._mark_rest(before, after, changes.rest) if after.stepped else changes.rest
        writes = [*self._row_writes(standing, after), *fixed, *behind]
        named = len(extras.guards) + len(used)
        widest = place or ("formula" if named > len(changes.first) else "name")
        _require_one_transaction(writes, widest)
        await self._transact(writes, after.id, place)
        if after.stepped:
            await RemainingSteps(self.kind, self.access).finish_or_leave(after.id)
        return after

    def _find_changes(self, standing: Standing[R] | None, after: R) -> Difference:
        """The difference of the derived rows; rows that list the resource may be written again."""
        letter = self.kind.letter
        old = derive_rows(letter, standing.resource) if standing else None
        if old is not None and standing is not None and standing.lists_itself:
            old = replace(old, listed={})
        return difference(old, derive_rows(letter, after))

    async def _choose_steps(self, before: R | None, after: R, derived: int) -> R:
        """The new state, marked if the writes take steps: they are too many, or some are pending.

        `derived` is the number of writes beside the resource's own rows.
        """
        too_many = 1 + _is_new_version(before, after) + derived > MAX_OPERATIONS
        steps = RemainingSteps(self.kind, self.access)
        stepped = too_many or (
            before is not None and before.stepped and await steps.are_pending(before.id)
        )
        return msgspec.structs.replace(after, stepped=stepped)

    def _mark_rest(self, before: R | None, after: R, rest: list[Write]) -> list[Write]:
        """The write that stands for those that follow in steps; none if nothing follows."""
        if not rest:
            return []
        steps = RemainingSteps(self.kind, self.access)
        steps.check_limits(rest)
        return [steps.marker_write(before, after)]

    async def _admit(self, before: R | None, after: R) -> list[Write]:
        """Admit what the write adds to what the owner group and the creating user keep."""
        growth, user = growth_of(before, after), after.created_by
        return await self.access.quotas.admit(self.access.table, after.owner, user, growth)

    async def _transact(self, writes: Sequence[Write], id: str, place: str | None) -> None:
        try:
            await commit(self.access.table, writes)
        except NameTaken as taken:
            with blame_field(place or "name"):
                raise await describe_conflict(self.access, taken, id) from None

    def _row_writes(self, standing: Standing[R] | None, after: R) -> list[Write]:
        """The writes of the resource's own rows: the latest, and a new version."""
        before = standing.resource if standing else None
        unknown = standing.unknown if standing else {}
        latest = latest_item(self.kind, after)
        writes = [
            Write(Put(latest, Missing()), already_done)
            if before is None
            else Write(
                overwrite(self.kind.record, latest, Compare("revision", "=", before.revision))
            )
        ]
        if _is_new_version(before, after):
            version = version_item(self.kind, _as_version(after))
            writes.append(Write(Put({**unknown, **version}, Missing())))
        return writes


def _require_one_transaction(writes: Sequence[Write], widest: str) -> None:
    """Raise LimitExceeded, about the field `widest`, for more writes than a transaction has."""
    if len(writes) > MAX_OPERATIONS:
        limit = "operations of a transaction"
        raise LimitExceeded(limit, MAX_OPERATIONS, len(writes), (widest,))


def _as_version(resource: R) -> R:
    """The resource without what only its latest row says."""
    plain = msgspec.structs.replace(
        resource, stepped=False, counted_versions=0, named=False, linked=False, dates=(), labels=()
    )
    if isinstance(plain, ReferenceDataset):
        return msgspec.structs.replace(plain, counted_files=0, counted_bytes=0)
    return plain


def _is_new_version(before: Resource | None, after: Resource) -> bool:
    return before is None or after.version != before.version
