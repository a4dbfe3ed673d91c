"""Tables in front of another table: they trace its calls, cut them off, or interrupt them."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from penstock.datastore.table.forwarding import ForwardingTable
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import (
    Batch,
    Delete,
    Key,
    Operation,
    Page,
    Put,
    Query,
    Scan,
    Table,
)
from tests.support.loop_clock import let_tasks_run

T = TypeVar("T")


class InterceptedTable(ForwardingTable):
    """A table that passes every call through `request`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        """Make a call; a subclass does something else with some of them."""
        return await call

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self.request(self._table.get(keys, consistent=consistent), writes=False)

    async def query(self, query: Query) -> Page:
        return await self.request(self._table.query(query), writes=False)

    async def scan(self, scan: Scan) -> Page:
        return await self.request(self._table.scan(scan), writes=False)

    async def transact(self, operations: Sequence[Operation]) -> float:
        return await self.request(self._table.transact(operations), writes=True)

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        return await self.request(self._table.write(operations), writes=True)


class TracedTable(InterceptedTable):
    """Counts calls; `depth` is the longest chain of calls that awaited each other.

    Calls that start before any of the others has ended count as one step.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.reads = self.writes = self.depth = 0

    def start(self) -> None:
        self.reads = self.writes = self.depth = 0

    @property
    def seen(self) -> tuple[int, int, int]:
        return self.reads, self.writes, self.depth

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        self.reads += not writes
        self.writes += writes
        depth = self.depth + 1
        await let_tasks_run()  # all parallel calls have started by then
        try:
            return await call
        finally:
            self.depth = max(self.depth, depth)


class ProcessDied(Exception):
    """The process ended here."""


async def dies(work: Awaitable[object]) -> bool:
    """Do some work; return whether its process died before the end."""
    try:
        await work
    except ProcessDied:
        return True
    return False


class CutOffTable(InterceptedTable):
    """Lets `writes` writes through, and dies at the next."""

    def __init__(self, table: Table, writes: int) -> None:
        super().__init__(table)
        self.left = writes

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        if writes and self.left == 0:
            call.close()
            raise ProcessDied
        self.left -= writes
        return await call


class InterruptedTable(InterceptedTable):
    """Runs another caller's work once, after the reads and `writes` writes of the caller."""

    def __init__(
        self, table: Table, other: Callable[[], Awaitable[object]], *, writes: int = 0
    ) -> None:
        super().__init__(table)
        self.other: Callable[[], Awaitable[object]] | None = other
        self.left = writes

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        if writes and self.left == 0 and self.other is not None:
            other, self.other = self.other, None
            await other()
        self.left -= writes
        return await call


class PausedTable(InterceptedTable):
    """Pauses once, behind `calls` calls: `meanwhile` others do what they do."""

    def __init__(
        self, table: Table, meanwhile: Callable[[], Awaitable[object]], *, calls: int
    ) -> None:
        super().__init__(table)
        self._meanwhile = meanwhile
        self.left = calls

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        self.left -= 1
        if self.left == -1:
            await self._meanwhile()
        return await call


class LaggingTable(ForwardingTable):
    """A table whose eventually consistent reads, and those of its index, show an earlier state.

    They read `replica`, a table that takes over what was written only in `catch_up`.
    """

    def __init__(self, table: Table, replica: Table) -> None:
        self._table = table
        self.replica = replica
        self._behind: dict[Key, None] = {}

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await (self._table if consistent else self.replica).get(keys, consistent=consistent)

    async def query(self, query: Query) -> Page:
        is_current = query.consistent and not query.index
        return await (self._table if is_current else self.replica).query(query)

    async def scan(self, scan: Scan) -> Page:
        return await self._table.scan(scan)

    async def transact(self, operations: Sequence[Operation]) -> float:
        units = await self._table.transact(operations)
        self._behind |= dict.fromkeys(operation.key for operation in operations)
        return units

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        units = await self._table.write(operations)
        self._behind |= dict.fromkeys(operation.key for operation in operations)
        return units

    async def catch_up(self) -> None:
        """Let all reads show what has been written until now."""
        behind, self._behind = list(self._behind), {}
        now = await read_rows(self._table, behind, consistent=True)
        for key in behind:
            found = now.get(key)
            await self.replica.write([Delete(key) if found is None else Put(dict(found))])
