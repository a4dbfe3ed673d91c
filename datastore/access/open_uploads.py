"""The uploads that a caller, or a group, has open: allowed by a form, and not used yet.

Each takes a numbered place of the caller, and one of the group, until it is used or the pipeline of
its execution is deleted, and without that until its form is over and its file is gone: what nobody
uses counts as long as it is stored. There are only so many places, so their number is exact
whatever happens at once, and a process that dies leaves nothing behind that does not expire. That
of an execution is taken in the transaction by which the execution waits for its input.
"""

from asyncio import gather
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from random import randrange, shuffle
from typing import Final, Literal, NamedTuple, TypeAlias

from penstock.datastore.access.ended_uploads import FORM_ENDS, EndedUploads
from penstock.datastore.access.work import FREE_WORK, UPLOAD_UNITS, WorkAccount
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import PenstockError, QuotaExceeded, Unavailable
from penstock.datastore.objects.port import Files
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Attempts, Write, commit
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
"""Places that are tried without looking, since most of them are free most of the time.

With the writes of what awaits the upload it is one: they cost as much when they are refused.
"""

MOST_PLACES: Final = 2
"""The places of an upload: of its caller, and of a group."""

SLOW_UPLOAD: Final = timedelta(hours=1)
"""The time for which an upload may go on that began in time, where a form cannot be ended."""

KEPT_TIME: Final = timedelta(days=7)
"""The time after its form for which a place may be taken, longer than any unused file stays."""

FREED_AT_ONCE: Final = 25
"""Places that are freed together, so that not every upload has to look for one."""

UploadKind: TypeAlias = Literal["execution", "audio", "dataset", "playlist", "cover"]


class UploadLimits(NamedTuple):
    """The most uploads that a caller and a group may have open at a time."""

    per_caller: int = 100
    per_group: int = 1_000


class OpenedUpload(NamedTuple):
    """An upload that a form allows until `expires_at`.

    `id` names it among the uploads of its kind. `watched` is the key of the row by which its use
    shows, if there is one; that of an execution has the same `expires_at`, and a `pipeline`. `key`
    is that of the file, unless its execution tells it.
    """

    kind: UploadKind
    id: str
    expires_at: datetime
    watched: Key | None = None
    pipeline: str | None = None
    key: str | None = None

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


class _PlaceTaken(Exception):
    """A place that was chosen is another upload's."""


def _note_taken(taken: list[int], position: int, _standing: Item | None) -> Exception:
    """Note the position of a place that could not be taken, so that another is chosen."""
    taken.append(position)
    return _PlaceTaken()


@dataclass(frozen=True, slots=True)
class OpenUploads:
    """The open uploads of one caller."""

    table: Table
    files: Files
    clock: Clock
    user: str
    limits: UploadLimits
    work: WorkAccount = FREE_WORK

    async def open(
        self,
        upload: OpenedUpload,
        group: GroupPath | None = None,
        writes: Sequence[Write] = (),
    ) -> None:
        """Take a place of the caller, and one of the group; QuotaExceeded if there is none.

        `writes` are done in the same transaction. They are those without which the upload would be
        over: another one would take its place before they are done.
        """
        holders = [self._holder()]
        if group is not None:
            holders.append(self._holder(group))
        chosen = [_Candidate(randrange(one.most)) for one in holders]  # noqa: S311 - no secret
        blind = 1 if writes else BLIND_ATTEMPTS
        async for attempt in Attempts():
            taken: list[int] = []
            places = [
                Write(put, partial(_note_taken, taken, position))
                for position, put in enumerate(self._puts(upload, holders, chosen))
            ]
            try:
                await commit(self.table, [*writes, *places])
            except _PlaceTaken:
                for position in taken:
                    holder = holders[position]
                    chosen[position] = (
                        _Candidate(randrange(holder.most))  # noqa: S311 - no secret
                        if attempt < blind - 1
                        else await self._find_candidate(holder)
                    )
            else:
                self.work.owe(UPLOAD_UNITS)
                return
        raise Unavailable("Many uploads are being opened at once.")

    async def count(self, group: GroupPath | None = None) -> int:
        """Count the uploads that the caller has open, or those that are open for a group."""
        rows = await self._rows(self._holder(group))
        return len(rows) - await self._ended.count_gone(rows)

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
        places = [_removal(row)]
        if "groupPk" in row:
            of_group = Key(str(row["groupPk"]), str(row["groupSk"]))
            places.append(replace(places[0], key=of_group))
        await free_places(self.table, places)

    def _puts(
        self, upload: OpenedUpload, holders: Sequence[_Holder], chosen: Sequence[_Candidate]
    ) -> list[Put]:
        keys = [holder.place(one.number) for holder, one in zip(holders, chosen, strict=True)]
        form_ends = upload.expires_at
        if not self.files.ends_forms:
            form_ends += SLOW_UPLOAD
        fields: Item = {
            "subject": upload.subject,
            "openedAt": self._now,
            FORM_ENDS: int(form_ends.timestamp()),
            TTL: int((form_ends + KEPT_TIME).timestamp()),
        }
        if upload.key is not None:
            fields["key"] = upload.key
        if upload.watched is not None:
            fields |= {
                "watchedPk": upload.watched.pk,
                "watchedSk": upload.watched.sk,
                "opening": iso_timestamp(upload.expires_at),
            }
        if upload.pipeline is not None:
            fields["pipeline"] = upload.pipeline
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
        """Choose a place that is free, or whose upload is over; QuotaExceeded without any.

        A form that may write still writes nothing from then on, before its place is another's.
        Other places whose uploads are over are freed too.
        """
        rows = {str(row["sk"]): row for row in await self._rows(holder)}
        free = [
            _Candidate(number)
            for number in range(holder.most)
            if holder.place(number).sk not in rows
        ]
        if free:
            return free[randrange(len(free))]  # noqa: S311 - no secret
        numbers = {holder.place(number).sk: number for number in range(holder.most)}
        over = [
            one for one in await self._ended.find(list(rows.values())) if one.row["sk"] in numbers
        ]
        shuffle(over)
        while over:
            tried, over = over[:FREED_AT_ONCE], over[FREED_AT_ONCE:]
            ends = await gather(*map(self._ended.end_form, tried))
            ended = [one.row for one, is_ended in zip(tried, ends, strict=True) if is_ended]
            if ended:
                await free_places(self.table, [_removal(row) for row in ended[1:]])
                return _Candidate(numbers[str(ended[0]["sk"])], str(ended[0]["subject"]))
        self.work.owe(UPLOAD_UNITS)
        raise holder.full_error()

    async def _rows(self, holder: _Holder) -> list[Attributes]:
        """Read the places that have not expired."""
        rows = await _read_places(self.table, holder.partition)
        return [row for row in rows if int(str(row[TTL])) > self._now]

    @property
    def _ended(self) -> EndedUploads:
        return EndedUploads(self.table, self.files, self._now)


async def find_places_of_group(table: Table, group: GroupPath) -> list[Delete]:
    """Find the places of a group that is deleted; return the removals of its uploads from them."""
    rows = await _read_places(table, OPEN_UPLOAD.pk.fill({"kind": "group", "holder": group}))
    return [_removal(row) for row in rows]


def _removal(row: Attributes) -> Delete:
    """The removal of an upload from its place, unless another one has it by then."""
    return Delete(key_of(row), Compare("subject", "=", str(row["subject"])))


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
