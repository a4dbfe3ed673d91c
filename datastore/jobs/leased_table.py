"""The table as a job's function uses it: nothing is written once another worker has the job."""

from asyncio import Lock
from collections.abc import Sequence

from penstock.datastore.jobs.leases import JobLease, JobLeaseLost
from penstock.datastore.table.fenced_table import FencedTable
from penstock.datastore.table.forwarding import ReadForwardingTable
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import Compare, Delete, Operation, Put, Table, Update


class LeasedTable(ReadForwardingTable):
    """Writes while the job's row names its worker, which each transaction asks.

    Renews the lease before a write if it was not renewed lately. Raises JobLeaseLost, and writes
    nothing, if another worker took the job meanwhile. What is left to do behind the job's own end
    is written as it is.
    """

    __slots__ = ("_fenced", "_lease", "_one_at_a_time")

    def __init__(self, table: Table, lease: JobLease) -> None:
        self._table = table
        self._lease = lease
        self._one_at_a_time = Lock()
        still = Update(key=JOB.key(id=lease.job.id), default={"createdBy": lease.job.created_by})
        ours = Compare("worker", "=", lease.worker)
        self._fenced = FencedTable(table, still, ours, JobLeaseLost)

    async def transact(self, operations: Sequence[Operation]) -> float:
        return await (await self._kept_table()).transact(operations)

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        return await (await self._kept_table()).write(operations)

    async def _kept_table(self) -> FencedTable | Table:
        """Keep the lease; return the table to write to."""
        # Others wait for the answer, too: after a pause none of them renews it by itself.
        async with self._one_at_a_time:
            if self._lease.is_over:
                return self._table
            await self._lease.advance()
        return self._fenced
