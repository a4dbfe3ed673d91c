"""The report of quotas: amounts that groups and users keep, beside their maxima."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.usage import sum_group, sum_user
from penstock.datastore.roles import Caller, GroupPath, Role


class Quota(NamedTuple):
    """The amount that is used of one kind, and the maximum; None without a limit."""

    kind: QuotaKind
    maximum: int | None
    used: int


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """The quotas that the caller may know of: the caller's own, and those of groups."""

    access: Access

    async def of_caller(self) -> Sequence[Quota]:
        """The quotas of the caller."""
        access = self.access
        used = await sum_user(access.table, access.caller.user_id)
        opened = await access.open_uploads.count()
        uploads = Quota(QuotaKind.OPEN_UPLOADS, access.upload_limits.per_caller, opened)
        return [*_quotas(access.quotas.rules.per_user, used), uploads]

    async def of_group(self, group: GroupPath) -> Sequence[Quota] | None:
        """The quotas of a group with all below it; None unless the caller may read them all.

        Open uploads are those for the group itself.
        """
        access = self.access
        if not access.caller.has_role(Role.READER, group):
            return None
        used = await sum_group(access.table, group)
        opened = await access.open_uploads.count(group)
        uploads = Quota(QuotaKind.OPEN_UPLOADS, access.upload_limits.per_group, opened)
        return [*_quotas(access.quotas.rules.maxima_of(group), used), uploads]


def may_know_amounts(caller: Caller, exceeded: QuotaExceeded) -> bool:
    """Whether the caller may know what the group or the user of a refused write keeps."""
    if exceeded.group is not None:
        return caller.has_role(Role.READER, GroupPath(exceeded.group))
    return exceeded.user in {None, caller.user_id}


def _quotas(maxima: Amounts, used: Amounts) -> list[Quota]:
    return [Quota(kind, most or None, used.of(kind)) for kind, most in maxima]
