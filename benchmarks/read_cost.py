"""The cost of reading: units, requests, and the longest chain of dependent requests."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import NamedTuple, TypeVar

from benchmarks.postings_table import PostingsTable
from penstock.datastore.table.port import Batch, Key, Page, Query

P = TypeVar("P", Batch, Page)

# A request sent within this many turns of the event loop does not depend on another's answer.
_TURNS = 5


class Cost(NamedTuple):
    """Read units, requests, and the longest chain of requests that waited for each other."""

    units: float
    requests: int
    depth: int

    def __str__(self) -> str:
        return f"{self.units:,.1f} / {self.requests:,} / {self.depth:,}"


class CostMeteredTable:
    """A table that counts the cost of its reads."""

    def __init__(self, table: PostingsTable) -> None:
        self._table = table
        self.cost = Cost(0.0, 0, 0)

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self._charge(self._table.get(keys, consistent=consistent))

    async def query(self, query: Query) -> Page:
        return await self._charge(self._table.query(query))

    async def _charge(self, answer: Awaitable[P]) -> P:
        depth = self.cost.depth + 1
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        page = await answer
        units, requests, deepest = self.cost
        self.cost = Cost(units + page.units, requests + 1, max(deepest, depth))
        return page
