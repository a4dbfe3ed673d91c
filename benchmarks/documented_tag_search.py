"""The search by several tags of the data layer's document, in its best form.

All tags are queried in parallel, a page (1 MB) of each at a time, and matched in the application
until there are enough matches or a tag has no more results. A list is read no further after it has
passed everything that a finished list could still match. The document does not require that, but it
only reduces its cost.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.read_cost import CostMeteredTable
from penstock.datastore.table.port import Key, Query, Range


class TagRange(NamedTuple):
    """The partition key and sort key prefix of the rows of one tag."""

    pk: str
    prefix: str


@dataclass(slots=True)
class _List:
    """The rows of one tag read so far, newest first."""

    tag: TagRange
    last: Key | None = None
    ended: bool = False
    ids: list[str] = field(default_factory=list)

    async def read_page(self, table: CostMeteredTable) -> list[str]:
        page = await table.query(
            Query(
                partition=self.tag.pk,
                range=Range(self.tag.prefix),
                after=self.last,
                descending=True,
            )
        )
        self.last, self.ended = page.last, page.last is None
        ids = [str(item["sk"]).rpartition(":")[2] for item in page.items]
        self.ids += ids
        return ids

    def has_passed(self, id: str) -> bool:
        return self.ended or self.ids[-1] <= id


async def documents_way(table: CostMeteredTable, tags: Sequence[TagRange], limit: int) -> list[str]:
    """The newest `limit` ids that have all tags, newest first."""
    lists = [_List(tag) for tag in tags]
    seen: dict[str, int] = {}
    matches: list[str] = []
    wanted = lists
    while wanted:
        for ids in await asyncio.gather(*(each.read_page(table) for each in wanted)):
            for id in ids:
                seen[id] = seen.get(id, 0) + 1
                if seen[id] == len(lists):
                    matches.append(id)
        # A list has each id once, so an id counted once for each list is in all of them.
        wanted = [] if len(matches) >= limit else _unfinished_lists(lists)
    return sorted(matches, reverse=True)[:limit]


def _unfinished_lists(lists: Sequence[_List]) -> list[_List]:
    ended = [each for each in lists if each.ended]
    if not all(each.ids for each in ended):
        return []
    # The oldest id that all finished lists could still contain.
    oldest = max((each.ids[-1] for each in ended), default="")
    return [each for each in lists if not each.has_passed(oldest)]
