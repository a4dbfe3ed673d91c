"""The table as a job's function uses it: nothing is written once another worker has the job."""

from asyncio import Lock
from collections.abc import Sequence

from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.table.forwarding import ForwardingTable
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


class LeasedTable(ForwardingTable):
    """Renews the lease before a write if it was not renewed lately, as after a pause.

    Raises JobLeaseLost, and writes nothing, if another worker took the job meanwhile.
    """

    __slots__ = ("_lease", "_one_at_a_time")

    def __init__(self, table: Table, lease: JobLease) -> None:
        self._table = table
        self._lease = lease
        self._one_at_a_time = Lock()

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self._table.get(keys, consistent=consistent)

    async def query(self, query: Query) -> Page:
        return await self._table.query(query)

    async def scan(self, scan: Scan) -> Page:
        return await self._table.scan(scan)

    async def transact(self, operations: Sequence[Operation]) -> float:
        await self._keep_lease()
        return await self._table.transact(operations)

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        await self._keep_lease()
        return await self._table.write(operations)

    async def _keep_lease(self) -> None:
        # Others wait for the answer, too: after a pause none of them may write before it.
        async with self._one_at_a_time:
            if not self._lease.is_over:
                await self._lease.advance()
