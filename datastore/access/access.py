"""The access of one caller: table, files, clock, limits, and the checks of roles and grants."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from penstock.datastore.access.open_uploads import OpenUploads, UploadLimits
from penstock.datastore.access.work import (
    FREE_WORK,
    INCLUDED_CALLS,
    READ_ROWS,
    WorkAccount,
    WorkPayer,
    matching_units,
    write_units,
)
from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument, NotFound, NotPermitted
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.records import Resource
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, parent
from penstock.datastore.table.counters import SHARDS
from penstock.datastore.table.instrumentation import NO_PAYMENTS, PaidRows, Payments, Units
from penstock.datastore.table.layout import GROUP
from penstock.datastore.table.port import Key, Table
from penstock.datastore.table.sharded_counts import DELETING
from penstock.datastore.work_reports import WatchRun, ignore_report

KEEP_HISTORY: Final = timedelta(days=365)

_PAYMENT: Final = 20
"""The least units that are taken at once."""


class CallPayments:
    """Takes what the calls of the store cost more than the operation paid, and what they write.

    The cost of an operation is computed from its document, which does not tell how many groups a
    list has to read, how much it reads to find nothing, or how many rows a change writes. A read
    unit may have dozens of small rows: lists that read many for a short page tell their number.

    Before the first write a caller in debt cannot begin a call. From then on the caller owes,
    because a write is followed by the reads of its answer, and may be one of several.
    """

    __slots__ = (
        "_call_units",
        "_calls",
        "_included",
        "_owed_rows",
        "_owed_writes",
        "_promised",
        "_rows",
        "_taken",
        "_used",
        "_work",
    )

    def __init__(self, work: WorkAccount, call_units: int, used: Units) -> None:
        self._work = work
        self._call_units = call_units
        self._included = INCLUDED_CALLS + work.paid
        self._used = used
        self._calls = self._promised = self._taken = self._owed_writes = 0
        self._rows = self._owed_rows = 0

    def promise_calls(self, count: int) -> None:
        """Pay for so many calls before the first of them; raises RateLimited as for one call.

        A list that is read in many parts calls this, so that it does not begin what it cannot end.
        """
        self._add_calls(count)
        self._promised += count

    def begin_call(self) -> None:
        """Pay for a call; raises RateLimited for a caller in debt."""
        if self._promised:
            self._promised -= 1
        else:
            self._add_calls(1)

    def end_call(self) -> None:
        """Owe what was read."""
        if self._used.rcu > self._included:
            self._pay(self._calls, self._work.owe)

    def note_rows(self, count: int) -> None:
        """Owe the rows of a list, of which the price tells: the caller sees them all."""
        self._rows += count
        due = max(self._rows - self._included, 0) // READ_ROWS - self._owed_rows
        if due:
            self._work.owe(due)
            self._owed_rows += due

    def end_write(self) -> None:
        """Owe what was written."""
        if due := write_units(self._used.written) - self._owed_writes:
            self._work.owe(due)
            self._owed_writes += due

    def _add_calls(self, count: int) -> None:
        calls = self._calls + count
        if calls > self._included:
            self._pay(calls, self._work.owe if self._used.has_changed else self._work.spend_more)
        self._calls = calls

    def _pay(self, calls: int, take: Callable[[int], None]) -> None:
        due = max(calls - self._included, 0) * self._call_units
        due += int(max(self._used.rcu - self._included, 0))
        if due - self._taken >= _PAYMENT:
            take(due - self._taken)
            self._taken = due


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that one page of a list may use: read units, requests, round trips, groups.

    A search by a part of a name reads at most so many `candidates` with one word in one group, and
    ten times as many in all groups; where there are more it reads the list itself.
    """

    units: float = 500.0
    reads: int = 1000
    rounds: int = 50
    groups: int = 200
    candidates: int = 500


class Access(msgspec.Struct, frozen=True):
    """The caller, and the table, files, clock and limits that the caller's calls use.

    Every repository has one. Its methods check the caller's roles and grants. `work` is the account
    that pays for work besides reads and writes. `shards` is the number of shards of each counter
    among which new resources are spread. `quotas` limit what groups and users keep. `payments` are
    told of many calls before the first of them. `address` is that of the caller's connection, for
    the audit trail, whose entries are kept for `keep_history`. `watch_run` learns of each change of
    a run of a manifest.
    """

    table: Table
    caller: Caller
    clock: Clock
    budget: Budget
    files: Files = NO_FILES
    work: WorkAccount = FREE_WORK
    upload_limits: UploadLimits = UploadLimits()
    shards: int = SHARDS
    quotas: Quotas = Quotas()
    payments: Payments = NO_PAYMENTS
    address: str | None = None
    keep_history: timedelta = KEEP_HISTORY
    watch_run: WatchRun = ignore_report

    @property
    def open_uploads(self) -> OpenUploads:
        """The uploads that the caller has open."""
        user, limits = self.caller.user_id, self.upload_limits
        return OpenUploads(self.table, self.files, self.clock, user, limits, self.work)

    @property
    def paid_rows(self) -> PaidRows:
        """The table for lists that read only what the caller sees, and pays for."""
        return PaidRows(self.table, self.payments)

    @property
    def payer(self) -> WorkPayer:
        """The caller as the one who pays for work in a thread by its time."""
        return WorkPayer(self.caller.user_id, self.work)

    def owe_matching(self, rows: int) -> None:
        """Owe the comparison of so many rows with a part of names."""
        self.work.owe(matching_units(rows))

    def group_or_default(self, group: GroupPath | None) -> GroupPath:
        """Return the given group, or the caller's default; BadArgument if there is neither."""
        chosen = group or self.caller.default_group
        if chosen is None:
            raise BadArgument("Name a group: the caller has no default group.")
        return chosen

    def require_visible_group(self, group: GroupPath | None) -> GroupPath:
        """Return the given group or the default; NotFound if the caller may not know of it."""
        chosen = self.group_or_default(group)
        if not self.caller.sees(chosen):
            raise group_not_found_error(chosen)
        return chosen

    async def require_group(self, group: GroupPath) -> None:
        """Raise NotFound for a group that does not exist; the root always exists."""
        if group == ROOT:
            return
        found = await self.table.get([key_of_group(group)], consistent=True)
        if not found.items:
            raise group_not_found_error(group)

    async def require_open_group(self, group: GroupPath) -> None:
        """Raise NotFound for a group that does not exist, or is being deleted."""
        if group == ROOT:
            return
        found = await self.table.get([key_of_group(group)], consistent=True)
        if all(DELETING in row for row in found.items.values()):
            raise group_not_found_error(group)

    def require_role(self, role: Role, group: GroupPath) -> None:
        """Raise NotFound for a group unknown to the caller, NotPermitted for too low a role."""
        if not self.caller.sees(group):
            raise group_not_found_error(group)
        if not self.caller.has_role(role, group):
            raise NotPermitted(f"This needs the role {role.name} at {group}.")

    def sees(self, resource: Resource) -> bool:
        """Whether a group of the caller is above, below or equal to a group with a grant."""
        return any(self.caller.sees(group) for group in resource.groups)

    def require_owner(self, role: Role, resource: Resource) -> None:
        """Raise NotPermitted if the caller does not have the role at the owner group."""
        if not self.caller.has_role(role, resource.owner):
            raise NotPermitted(f"This needs the role {role.name} at {resource.owner}.")


def known_grants(caller: Caller, owner: GroupPath, groups: Iterable[GroupPath]) -> list[GroupPath]:
    """Return the groups with a grant of a resource that the caller may know of.

    Readers of the owner group know all of them; others know those on one line with a group of
    theirs, since the paths of other groups are not for them.
    """
    knows_all = caller.has_role(Role.READER, owner)
    return [group for group in groups if knows_all or caller.sees(group)]


def not_found_error(noun: str) -> NotFound:
    """The error for a resource that does not exist or that the caller may not know of."""
    return NotFound(f"There is no {noun} with this id.", ("id",))


def key_of_group(group: GroupPath) -> Key:
    """The key of a group's row: under its parent; the root has no parent."""
    return GROUP.key(parent=parent(group) or "", group=group)


def group_not_found_error(group: GroupPath) -> NotFound:
    """The error for a group that does not exist or that the caller may not know of."""
    return NotFound(f"There is no group {group}.", ("group",))
