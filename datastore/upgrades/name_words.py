"""The rows that find resources by words of their names, for those that releases before wrote."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound
from penstock.datastore.resources.write import ResourceWriter
from penstock.datastore.table.items import resource_id
from penstock.datastore.table.layout import KINDS, KindDefinition
from penstock.datastore.table.port import Attributes
from penstock.datastore.upgrades.resource_pages import change_resources


async def find_by_words(access: Access, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    """Write the words of the names of all resources; yield each page that is done.

    A page is its last resource (letter and id), and the numbers of resources examined and changed.
    """
    async for page in change_resources(access, KINDS, after, _write_words):
        yield page


async def _write_words(access: Access, kind: KindDefinition[Any], row: Attributes) -> bool:
    if row.get("named") or "deletedAt" in row:
        return False
    # Who deletes it meanwhile needs no words.
    with suppress(NotFound):
        return await ResourceWriter(kind, access).write_words(resource_id(row))
    return False
