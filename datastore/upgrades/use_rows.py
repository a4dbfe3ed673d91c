"""The rows that list resources under what they use, for those that releases before wrote."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound
from penstock.datastore.resources.writing.writer import ResourceWriter
from penstock.datastore.table.items import resource_id
from penstock.datastore.table.layout import KINDS, KindDefinition
from penstock.datastore.table.port import Attributes
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.upgrades.resource_pages import change_resources


async def list_users(access: Access, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    """List every resource under what its formulas name; yield each page that is done.

    A page is its last resource (letter and id), and the numbers of resources examined and changed.
    """
    async for page in change_resources(access, KINDS, after, _list_user):
        yield page


async def _list_user(access: Access, kind: KindDefinition[Any], row: Attributes) -> bool:
    if row.get("linked") or not is_alive(row) or not row.get("references"):
        return False
    # Who deletes it meanwhile uses nothing.
    with suppress(NotFound):
        return await ResourceWriter(kind, access).write_missing_rows(resource_id(row))
    return False
