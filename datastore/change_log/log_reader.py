"""Reads the log of changes of one kind page by page, giving way to other tasks between pages."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Final

from penstock.datastore.access.work import FREE_WORK, WorkAccount, change_units
from penstock.datastore.change_log.rows import SHARDS, Change, ChangeKind, change_of
from penstock.datastore.table.items import read_all
from penstock.datastore.table.layout import CHANGE
from penstock.datastore.table.port import Query, Range, Table

PAGE: Final = 500
"""The changes that are read from a partition of the log in one turn of the event loop."""


@dataclass(frozen=True, slots=True)
class LogReader:
    """Reads the log with one table; `work` is the account of the caller who has it read."""

    table: Table
    kind: ChangeKind
    work: WorkAccount = FREE_WORK

    async def pages(self, start: int) -> AsyncGenerator[list[Change]]:
        """Read the log: `pk = CL:<kind>:<shard>, sk` from `CL:<changed>` on, for each shard.

        Each page has changes of one shard in their order. Raises RateLimited for a caller who
        cannot pay for it.
        """
        queries = [self._query(shard, start) for shard in range(SHARDS)]
        while queries:
            pages = await asyncio.gather(*map(self.table.query, queries))
            for page in pages:
                self.work.spend_more(change_units(len(page.items)))
                yield read_all(change_of, page.items)
                await asyncio.sleep(0)
            queries = [
                replace(query, after=page.last)
                for query, page in zip(queries, pages, strict=True)
                if page.last is not None
            ]

    def _query(self, shard: int, start: int) -> Query:
        prefix = CHANGE.sk.prefix({})
        return Query(
            partition=CHANGE.pk.fill({"kind": self.kind.value, "shard": shard}),
            range=Range(prefix, f"{prefix}{max(start, 0):013}", f"{prefix}~"),
            limit=PAGE,
        )
