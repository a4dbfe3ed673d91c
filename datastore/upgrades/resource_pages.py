"""A walk of an upgrade over the latest rows of resources, page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from penstock.datastore.access.access import Access
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.port import Attributes
from penstock.datastore.tag_search.postings import ListedResources

PAGE_SIZE = 100


async def change_resources(
    access: Access,
    kinds: Sequence[KindDefinition[Any]],
    after: str | None,
    change: Callable[[Access, KindDefinition[Any], Attributes], Awaitable[bool]],
) -> AsyncIterator[tuple[str, int, int]]:
    """Call `change` for every resource, which returns whether it changed it; yield each page.

    A page is its last resource (letter and id), and the numbers of resources examined and changed.
    """
    letter, _, id = (after or "").partition(":")
    for kind in kinds:
        if letter in ("", kind.letter):
            async for page in _change_kind(access, kind, id or None, change):
                yield page
            letter, id = "", ""


async def _change_kind(
    access: Access,
    kind: KindDefinition[Any],
    after: str | None,
    change: Callable[[Access, KindDefinition[Any], Attributes], Awaitable[bool]],
) -> AsyncIterator[tuple[str, int, int]]:
    listed, last = ListedResources.oldest_first(access.table, kind), after
    while True:
        page = await listed.read(last, PAGE_SIZE)
        ids = [one.id for one in page.rows]
        keys = [kind.latest.key(id=id) for id in ids]
        rows = await read_rows(access.table, keys, consistent=True)
        changed = [await change(access, kind, rows[key]) for key in keys if key in rows]
        if ids:
            yield f"{kind.letter}:{ids[-1]}", len(ids), sum(changed)
        if (last := page.last) is None:
            return
