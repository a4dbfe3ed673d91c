"""Every page of a query, for work that goes through all of it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

from penstock.datastore.table import Attributes, Query, Table

PAGE: Final = 100


async def pages(table: Table, query: Query) -> AsyncIterator[Sequence[Attributes]]:
    """The items a page at a time, each read when the one before has been dealt with."""
    after = query.after
    while True:
        page = await table.query(replace(query, after=after, limit=PAGE))
        yield page.items
        if page.last is None:
            return
        after = page.last


async def items(table: Table, query: Query) -> AsyncIterator[Attributes]:
    """The items one after another, read likewise."""
    async for page in pages(table, query):
        for item in page:
            yield item
