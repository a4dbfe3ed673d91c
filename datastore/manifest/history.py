"""The history of a run, read row by row."""

from collections.abc import AsyncIterator
from dataclasses import replace

from datastore.layout import RUN_EVENT
from datastore.manifest.records import Run
from datastore.manifest.rows import key_of_run
from datastore.table import Item, Key, Query, Range, Table

PAGE = 100


def history(run: Run, *, descending: bool = False) -> Query:
    """The rows of what happened to a run: `pk = R:<manifest>:<runId>`, sk from `RH:`."""
    return Query(
        partition=key_of_run(run.name).pk,
        range=Range(RUN_EVENT.sk.prefix({})),
        descending=descending,
        consistent=True,
    )


async def every(table: Table, query: Query) -> AsyncIterator[Item]:
    """Every item of a query; each page is read when the one before has been dealt with."""
    after: Key | None = None
    while True:
        page = await table.query(replace(query, after=after, limit=PAGE))
        for item in page.items:
            yield item
        after = page.last
        if after is None:
            return
