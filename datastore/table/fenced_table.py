"""A table whose writes take effect only while a row is as a condition wants it.

Whoever was paused, or whose request comes late, writes nothing once that row has changed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.datastore.table.conditions import condition_holds
from penstock.datastore.table.forwarding import ReadForwardingTable
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.port import (
    AllOf,
    Condition,
    ConditionFailed,
    Delete,
    Operation,
    Put,
    Table,
    Update,
)


class FencedTable(ReadForwardingTable):
    """Sends `fence`, an update that changes nothing, in each transaction, under a condition.

    Raises `lost()` where that does not hold. A batch of writes becomes a transaction. A transaction
    that has no room for the fence is sent behind a reading of the row.
    """

    __slots__ = ("_condition", "_fence", "_lost")

    def __init__(
        self, table: Table, fence: Update, condition: Condition, lost: Callable[[], Exception]
    ) -> None:
        self._table = table
        self._fence = replace(fence, condition=condition)
        self._condition = condition
        self._lost = lost

    async def transact(self, operations: Sequence[Operation]) -> float:
        fenced = self._fence_in(operations)
        if len(fenced) > TRANSACTION_OPERATIONS:
            await self._require_row()
            fenced = list(operations)
        try:
            return await self._table.transact(fenced)
        except ConditionFailed as cancelled:
            for position, standing in cancelled.failed:
                is_fence = fenced[position].key == self._fence.key
                if is_fence and not condition_holds(self._condition, standing):
                    raise self._lost() from cancelled
            raise

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        return await self.transact(operations)

    def _fence_in(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations with the fence behind them, or in the one on its row."""
        fenced = list(operations)
        for position, operation in enumerate(operations):
            if operation.key == self._fence.key:
                given = (operation.condition,) if operation.condition else ()
                fenced[position] = replace(operation, condition=AllOf((*given, self._condition)))
                return fenced
        return [*fenced, self._fence]

    async def _require_row(self) -> None:
        key = self._fence.key
        rows = await read_rows(self._table, [key], consistent=True)
        if not condition_holds(self._condition, dict(rows[key]) if key in rows else None):
            raise self._lost()
