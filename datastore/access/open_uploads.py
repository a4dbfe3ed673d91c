"""The uploads that a caller, or a group, has open: allowed by a form, and not used yet.

Each takes a numbered place of the caller, and one of the group, until it is used or its form
expires. There are only so many places, so their number is exact whatever happens at once, and a
process that dies leaves nothing behind that does not expire.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from random import randrange
from typing import Final, Literal, NamedTuple, TypeAlias

from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import PenstockError, QuotaExceeded, Unavailable
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Attempts
from penstock.datastore.table.layout import OPEN_UPLOAD
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import (
    TTL,
    AnyOf,
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Table,
    key_of,
)

BLIND_ATTEMPTS: Final = 3
"""Places that are tried without looking, since most of them are free most of the time."""

CREATION_SECONDS: Final = 60
"""The time after which a row that is watched exists, unless its creation failed."""

WAITING: Final = "waiting"

AWAITED: Final = "uploadUntil"
"""The attribute of an execution with the expiry of the form that it awaits."""

UploadKind: TypeAlias = Literal["execution", "audio", "dataset", "playlist", "cover"]


class UploadLimits(NamedTuple):
    """The most uploads that a caller and a group may have open at a time."""

    per_caller: int = 100
    per_group: int = 1_000


class OpenedUpload(NamedTuple):
    """An upload that a form allows until `expires_at`.

    `id` names it among the uploads of its kind. `watched` is the key of the row by which its use
    shows, if there is one; that of an execution has the same `expires_at`.
    """

    kind: UploadKind
    id: str
    expires_at: datetime
    watched: Key | None = None

    @property
    def subject(self) -> str:
        return f"{self.kind}:{self.id}"


class _Holder(NamedTuple):
    """A caller or a group, and the number of its places."""

    kind: Literal["user", "group"]
    name: str
    most: int

    @property
    def partition(self) -> str:
        return self.place(0).pk

    def place(self, number: int) -> Key:
        return OPEN_UPLOAD.key(kind=self.kind, holder=self.name, place=number)

    def full_error(self) -> QuotaExceeded:
        holder = {self.kind: self.name}
        return QuotaExceeded(QuotaKind.OPEN_UPLOADS, self.most, self.most, **holder)


class _Candidate(NamedTuple):
    """A place that may be taken: a free one, or that of the upload `used`."""

    number: int
    used: str | None = None


@dataclass(frozen=True, slots=True)
class OpenUploads:
    """The open uploads of one caller."""

    table: Table
    clock: Clock
    user: str
    limits: UploadLimits

    async def open(self, upload: OpenedUpload, group: GroupPath | None = None) -> None:
        """Take a place of the caller, and one of the group; QuotaExceeded if there is none."""
        holders = [self._holder()]
        if group is not None:
            holders.append(self._holder(group))
        chosen = [_Candidate(randrange(one.most)) for one in holders]  # noqa: S311 - no secret
        async for attempt in Attempts():
            try:
                await self.table.transact(self._puts(upload, holders, chosen))
            except ConditionFailed as taken:
                for position, _ in taken.failed:
                    holder = holders[position]
                    chosen[position] = (
                        _Candidate(randrange(holder.most))  # noqa: S311 - no secret
                        if attempt < BLIND_ATTEMPTS - 1
                        else await self._find_candidate(holder)
                    )
            else:
                return
        raise Unavailable("Many uploads are being opened at once.")

    async def count(self, group: GroupPath | None = None) -> int:
        """Count the uploads that the caller has open, or those that are open for a group."""
        rows = await self._rows(self._holder(group))
        return len(rows) - len(await self._find_used(rows))

    def _holder(self, group: GroupPath | None = None) -> _Holder:
        if group is None:
            return _Holder("user", self.user, self.limits.per_caller)
        return _Holder("group", group, self.limits.per_group)

    async def close(self, kind: UploadKind, id: str) -> None:
        """Give the places of an upload back, if it still holds them."""
        for row in await self._rows(self._holder()):
            if row["subject"] == f"{kind}:{id}":
                await self._give_back(row)
                return

    @asynccontextmanager
    async def closed_on_failure(self, kind: UploadKind, id: str) -> AsyncIterator[None]:
        """Give the places of an upload back if what needs them fails."""
        try:
            yield
        except Exception:
            with suppress(PenstockError):
                await self.close(kind, id)
            raise

    async def _give_back(self, row: Attributes) -> None:
        same = Compare("subject", "=", str(row["subject"]))
        keys = [Key(str(row["pk"]), str(row["sk"]))]
        if "groupPk" in row:
            keys.append(Key(str(row["groupPk"]), str(row["groupSk"])))
        for key in keys:
            try:
                await self.table.transact([Delete(key, same)])
            except ConditionFailed:
                continue  # another upload has the place by now

    def _puts(
        self, upload: OpenedUpload, holders: Sequence[_Holder], chosen: Sequence[_Candidate]
    ) -> list[Put]:
        keys = [holder.place(one.number) for holder, one in zip(holders, chosen, strict=True)]
        fields: Item = {
            "subject": upload.subject,
            "openedAt": self._now,
            TTL: int(upload.expires_at.timestamp()),
        }
        if upload.watched is not None:
            fields |= {
                "watchedPk": upload.watched.pk,
                "watchedSk": upload.watched.sk,
                "opening": iso_timestamp(upload.expires_at),
            }
        more: Item = {"groupPk": keys[1].pk, "groupSk": keys[1].sk} if len(keys) > 1 else {}
        free = AnyOf((Missing(), Compare(TTL, "<=", self._now)))
        return [
            Put({"pk": key.pk, "sk": key.sk, **fields, **(more if n == 0 else {})}, condition)
            for n, (key, condition) in enumerate(
                zip(keys, [_or_used(free, one.used) for one in chosen], strict=True)
            )
        ]

    @property
    def _now(self) -> int:
        return int(self.clock.now().timestamp())

    async def _find_candidate(self, holder: _Holder) -> _Candidate:
        """Choose a place that is free, or whose upload was used; QuotaExceeded without any."""
        rows = {str(row["sk"]): row for row in await self._rows(holder)}
        free = [
            _Candidate(number)
            for number in range(holder.most)
            if holder.place(number).sk not in rows
        ]
        if not free:
            numbers = {holder.place(number).sk: number for number in range(holder.most)}
            free = [
                _Candidate(numbers[str(row["sk"])], str(row["subject"]))
                for row in await self._find_used(list(rows.values()))
                if row["sk"] in numbers
            ]
        if not free:
            raise holder.full_error()
        return free[randrange(len(free))]  # noqa: S311 - no secret

    async def _rows(self, holder: _Holder) -> list[Attributes]:
        """Read the places that are taken by forms that have not expired."""
        rows = await _read_places(self.table, holder.partition)
        return [row for row in rows if _number(row[TTL]) > self._now]

    async def _find_used(self, rows: Sequence[Attributes]) -> list[Attributes]:
        """Return the rows whose uploads were used, as the rows show that they watch."""
        watching: dict[Key, list[Attributes]] = {}
        for row in rows:
            if "watchedPk" in row:
                key = Key(str(row["watchedPk"]), str(row["watchedSk"]))
                watching.setdefault(key, []).append(row)
        keys = list(watching)
        used: list[Attributes] = []
        for start in range(0, len(keys), 100):
            part = keys[start : start + 100]
            found = (await self.table.get(part, consistent=True)).items
            used += [
                row for key in part for row in watching[key] if self._is_used(row, found.get(key))
            ]
        return used

    def _is_used(self, row: Attributes, watched: Attributes | None) -> bool:
        if str(row["subject"]).startswith("audio:"):
            return watched is not None and "audioId" in watched
        if watched is None:  # an execution that was removed, or one that is just being created
            return self._now - _number(row["openedAt"]) > CREATION_SECONDS
        # An execution that begins again awaits another upload; earlier releases do not say which.
        awaited = row.get("opening", watched.get(AWAITED))
        is_awaited = watched.get("state") == WAITING and watched.get(AWAITED) == awaited
        return not is_awaited or "readyAt" in watched


async def find_places_of_group(table: Table, group: GroupPath) -> list[Delete]:
    """Find the places of a group that is deleted; return the removals of its uploads from them."""
    rows = await _read_places(table, OPEN_UPLOAD.pk.fill({"kind": "group", "holder": group}))
    return [Delete(key_of(row), Compare("subject", "=", str(row["subject"]))) for row in rows]


async def free_places(table: Table, removals: Sequence[Delete]) -> None:
    """Free places, unless another upload has them by now."""
    for removal in removals:
        with suppress(ConditionFailed):
            await table.transact([removal])


async def _read_places(table: Table, partition: str) -> list[Attributes]:
    pages = query_pages(table, Query(partition=partition, consistent=True))
    return [row async for page in pages for row in page]


def _or_used(free: AnyOf, used: str | None) -> Condition:
    if used is None:
        return free
    return AnyOf((*free.conditions, Compare("subject", "=", used)))


def _number(value: object) -> int:
    return int(str(value))
