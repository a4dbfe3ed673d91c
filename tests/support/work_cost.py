"""The cost of a piece of work: calls, read units and write units of a table."""

from collections.abc import Awaitable
from dataclasses import dataclass

from penstock.datastore.table.instrumentation import MeteredTable


@dataclass(frozen=True, slots=True)
class WorkCost:
    """The number of calls of a table, and the units that they use."""

    calls: int
    rcu: float
    wcu: float

    def __sub__(self, other: "WorkCost") -> "WorkCost":
        return WorkCost(self.calls - other.calls, self.rcu - other.rcu, self.wcu - other.wcu)


def cost_so_far(table: MeteredTable) -> WorkCost:
    units = table.units
    return WorkCost(units.calls, units.rcu, units.wcu)


async def measure(table: MeteredTable, work: Awaitable[object]) -> WorkCost:
    """Do some work; return its cost."""
    before = cost_so_far(table)
    await work
    return cost_so_far(table) - before
