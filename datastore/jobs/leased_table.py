"""The table as a job's function uses it: nothing is written once another worker has the job."""

from asyncio import Lock
from collections.abc import Sequence

from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.table.forwarding import ReadForwardingTable
from penstock.datastore.table.port import Delete, Operation, Put, Table


class LeasedTable(ReadForwardingTable):
    """Renews the lease before a write if it was not renewed lately, as after a pause.

    Raises JobLeaseLost, and writes nothing, if another worker took the job meanwhile.
    """

    __slots__ = ("_lease", "_one_at_a_time")

    def __init__(self, table: Table, lease: JobLease) -> None:
        self._table = table
        self._lease = lease
        self._one_at_a_time = Lock()

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
