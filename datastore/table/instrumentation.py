"""Tables that report their calls: to watchers (duration, size, retries), or as units of a request.

A report never contains keys or values.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from penstock.datastore.table.forwarding import ForwardingTable
from penstock.datastore.table.pages import Queryable
from penstock.datastore.table.port import (
    Batch,
    ConditionFailed,
    Delete,
    Key,
    Operation,
    Page,
    Put,
    Query,
    Scan,
    Table,
)

TableMethod: TypeAlias = Literal["get", "query", "scan", "transact", "write"]
FilesMethod: TypeAlias = Literal["copy", "delete", "list", "read", "stat", "upload"]
EndCallback: TypeAlias = Callable[[], None]
"""A callback that is called once, when the watched call has ended, also by a failure."""


class RetryReason(StrEnum):
    """The reason for which a request was sent again within a call."""

    CONFLICT = "conflict"
    FAILED = "failed"
    LOST = "lost"
    THROTTLED = "throttled"
    UNPROCESSED = "unprocessed"


@dataclass(slots=True)
class StoreCall:
    """One call of a table or file store: its size, its cost and its outcome.

    `size` counts keys, operations or files. `units` are read units of a `get` or `query` and write
    units of other calls. `waited` are the seconds that a transaction waited for its turn, None if
    the table takes no turns; it is `merged` if it was sent together with an earlier one. `raised`
    is only a type, because messages may contain stored values.
    """

    method: TableMethod | FilesMethod
    size: int
    units: float = 0.0
    retries: tuple[RetryReason, ...] = ()
    waited: float | None = None
    merged: bool = False
    raised: type[BaseException] | None = None


WatchCall: TypeAlias = Callable[[StoreCall], EndCallback]
"""A callback for the beginning of a call. The call is complete when the returned callback is
called."""

WatchBatch: TypeAlias = Callable[[str, int], EndCallback]
"""A callback for the beginning of a loader's batch: the loader's name and the number of keys."""

_current_call: ContextVar[StoreCall | None] = ContextVar("call of the store", default=None)


def note_retry(again: RetryReason) -> None:
    """Record a retry for the watched call, if one is running."""
    call = _current_call.get()
    if call is not None:
        call.retries += (again,)


def note_turn(waited: float, *, merged: bool) -> None:
    """Record the wait of a transaction for its turn for the watched call, if one is running."""
    call = _current_call.get()
    if call is not None:
        call.waited, call.merged = waited, merged


def watch_nothing(_reader: str, _size: int) -> EndCallback:
    """Ignore the batch or call."""
    return _do_nothing


def _do_nothing() -> None:
    return None


class report_call:  # noqa: N801 - reads as a word at its uses
    """Report a call, from here to the end of the block, to each of the watchers."""

    __slots__ = ("_call", "_ended", "_token", "_watchers")

    _ended: list[EndCallback]
    _token: Token[StoreCall | None]

    def __init__(self, call: StoreCall, watchers: Sequence[WatchCall]) -> None:
        self._call = call
        self._watchers = watchers

    def __enter__(self) -> StoreCall:
        call = self._call
        self._ended = [watch(call) for watch in self._watchers]
        self._token = _current_call.set(call)
        return call

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        self._call.raised = kind
        if isinstance(error, ConditionFailed):
            self._call.units = error.units
        _current_call.reset(self._token)
        for end in self._ended:
            end()


class InstrumentedTable(ForwardingTable):
    """A table that reports every call to each of the `watchers`."""

    __slots__ = ("_watchers",)

    def __init__(self, table: Table, watchers: Sequence[WatchCall]) -> None:
        self._table = table
        self._watchers = tuple(watchers)

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        with report_call(StoreCall("get", len(keys)), self._watchers) as call:
            batch = await self._table.get(keys, consistent=consistent)
            call.units = batch.units
            return batch

    async def query(self, query: Query) -> Page:
        with report_call(StoreCall("query", 1), self._watchers) as call:
            page = await self._table.query(query)
            call.units = page.units
            return page

    async def scan(self, scan: Scan) -> Page:
        with report_call(StoreCall("scan", 1), self._watchers) as call:
            page = await self._table.scan(scan)
            call.units = page.units
            return page

    async def transact(self, operations: Sequence[Operation]) -> float:
        with report_call(StoreCall("transact", len(operations)), self._watchers) as call:
            call.units = await self._table.transact(operations)
            return call.units

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        with report_call(StoreCall("write", len(operations)), self._watchers) as call:
            call.units = await self._table.write(operations)
            return call.units


class Units(msgspec.Struct):
    """Read units, write units and calls so far.

    `written` are the write units without those of transactions that changed nothing, and
    `file_changes` the calls of the bucket that change files.
    """

    rcu: float = 0.0
    wcu: float = 0.0
    calls: int = 0
    written: float = 0.0
    file_changes: int = 0

    @property
    def has_changed(self) -> bool:
        """Whether something may have been changed, in the table or in the bucket."""
        return bool(self.wcu or self.file_changes)


class Payments(Protocol):
    """Takes the price of the calls of a table, which are counted in `Units`."""

    def promise_calls(self, count: int) -> None:
        """Pay for the next calls at once; may refuse them by raising."""

    def begin_call(self) -> None:
        """Pay for a call that is not counted yet; may refuse it by raising."""

    def end_call(self) -> None:
        """Pay for what a call has read."""

    def note_rows(self, count: int) -> None:
        """Pay for rows of a list that are read as records, all of them in the caller's sight."""

    def end_write(self) -> None:
        """Pay for what a call has written."""


class NoPayments:
    """Lets all calls pass for nothing."""

    def promise_calls(self, count: int) -> None:
        """Take nothing."""

    def begin_call(self) -> None:
        """Take nothing."""

    def end_call(self) -> None:
        """Take nothing."""

    def note_rows(self, count: int) -> None:
        """Take nothing."""

    def end_write(self) -> None:
        """Take nothing."""


NO_PAYMENTS: Final = NoPayments()


@dataclass(frozen=True, slots=True)
class PaidRows:
    """A table for lists that read only what their caller sees, who pays for each row."""

    table: Table
    payments: Payments

    async def query(self, query: Query) -> Page:
        page = await self.table.query(query)
        self.payments.note_rows(len(page.items))
        return page


class MeteredTable(ForwardingTable):
    """A table that adds the units of every call to `units`, also of failed conditions.

    `payments` learn of each call, and may refuse it.
    """

    __slots__ = ("_payments", "units")

    def __init__(
        self, table: Table, units: Units | None = None, payments: Payments = NO_PAYMENTS
    ) -> None:
        self._table = table
        self._payments = payments
        self.units = units or Units()

    def _count_call(self) -> None:
        self._payments.begin_call()
        self.units.calls += 1

    def _count_read(self, units: float) -> None:
        self.units.rcu += units
        self._payments.end_call()

    def _count_written(self, units: float) -> float:
        self.units.wcu += units
        self.units.written += units
        self._payments.end_write()
        return units

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        self._count_call()
        batch = await self._table.get(keys, consistent=consistent)
        self._count_read(batch.units)
        return batch

    async def query(self, query: Query) -> Page:
        self._count_call()
        page = await self._table.query(query)
        self._count_read(page.units)
        return page

    async def scan(self, scan: Scan) -> Page:
        self._count_call()
        page = await self._table.scan(scan)
        self._count_read(page.units)
        return page

    async def transact(self, operations: Sequence[Operation]) -> float:
        self._count_call()
        try:
            units = await self._table.transact(operations)
        except ConditionFailed as failed:
            self.units.wcu += failed.units
            raise
        return self._count_written(units)

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        self._count_call()
        return self._count_written(await self._table.write(operations))


class MeteredQueries:
    """A queryable store that adds the units of every query to `units`.

    `payments` learn of each query, and may refuse it.
    """

    __slots__ = ("_payments", "_table", "_units")

    def __init__(self, table: Queryable, units: Units, payments: Payments) -> None:
        self._table = table
        self._units = units
        self._payments = payments

    async def query(self, query: Query) -> Page:
        self._payments.begin_call()
        self._units.calls += 1
        page = await self._table.query(query)
        self._units.rcu += page.units
        self._payments.end_call()
        return page
