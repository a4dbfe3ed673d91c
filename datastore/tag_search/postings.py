"""Streams of postings for the tag search, read from grant rows and tag rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from sys import maxsize

import msgspec

from penstock.datastore.records import Tag
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import read_all
from penstock.datastore.table.keys import split_levels
from penstock.datastore.table.layout import GRANT, TAG, TAG_VALUE_COUNT
from penstock.datastore.table.port import Attributes, Key, Page, Query, Range, Table
from penstock.datastore.tag_search import tags
from penstock.datastore.tag_search.search import Posting, PostingPage, PostingStream


@dataclass(frozen=True, slots=True)
class ScanParams:
    """The table, the kind's letter and the direction of a scan."""

    table: Table
    letter: str
    descending: bool


@dataclass(frozen=True, slots=True)
class GroupPostings:
    """The postings of one group: its tag rows and its grant rows."""

    params: ScanParams
    group: GroupPath

    def tag(self, key: str, value: str) -> PostingStream:
        return TagPostings(self.params, self.group, key, split_levels(value))

    def members(self) -> PostingStream:
        """List in a group: `siKey1 = G:<group>` and `begins_with(pk, <kind>:)`."""
        listed = GRANT.index_partition(group=self.group)
        return IndexPostings(self.params, listed, GRANT.sk.fill({"group": self.group}))


@dataclass(frozen=True, slots=True)
class AllResources:
    """All resources of the kind, whatever their grants: for readers of the root."""

    params: ScanParams
    listed: str
    sk: str

    def tag(self, _key: str, _value: str) -> PostingStream:
        return self.members()

    def members(self) -> PostingStream:
        """List all: `siKey1 = <kind>`."""
        return IndexPostings(self.params, self.listed, self.sk)


@dataclass(frozen=True, slots=True)
class TagPostings:
    """List by tag: `pk = T:<group>:<key>` and `begins_with(sk, T:<a#b#c>:<kind>:)`."""

    params: ScanParams
    group: GroupPath
    key: str
    value: tuple[str, ...]

    async def read(self, after: str | None, limit: int) -> PostingPage:
        prefix = TAG.sk.prefix({"value": self.value, "kind": self.params.letter})
        pk = TAG.pk.fill({"group": self.group, "key": self.key})
        query = Query(
            partition=pk,
            range=Range(prefix),
            after=None if after is None else Key(pk, prefix + after),
            descending=self.params.descending,
            limit=limit,
        )
        page = await self.params.table.query(query)
        return _posting_page(page, "sk")

    async def count(self) -> int:
        """Count a tag's rows: `pk = TA:<group>:<key>, sk = TA:<kind>:<depth>:<a#b#c>`."""
        key = TAG_VALUE_COUNT.key(
            group=self.group,
            key=self.key,
            kind=self.params.letter,
            depth=len(self.value),
            value=self.value,
        )
        found = (await self.params.table.get([key])).items.get(key, {})
        count = found.get("count", 0)
        return count if isinstance(count, int) else 0


@dataclass(frozen=True, slots=True)
class IndexPostings:
    """Postings of one kind under one `siKey1`, which all have the same `sk`."""

    params: ScanParams
    listed: str
    sk: str

    async def read(self, after: str | None, limit: int) -> PostingPage:
        prefix = f"{self.params.letter}:"
        query = Query(
            partition=self.listed,
            index=True,
            range=Range(prefix),
            after=None if after is None else Key(prefix + after, self.sk),
            descending=self.params.descending,
            limit=limit,
        )
        return _posting_page(await self.params.table.query(query), "pk")

    async def count(self) -> int:
        """The largest integer: index rows have no counter, so they rank behind counted streams."""
        return maxsize


def _posting_page(page: Page, ends_in_id: str) -> PostingPage:
    def read_posting(item: Attributes) -> Posting:
        return Posting(_id_at_end(item, ends_in_id), _row_tags(item))

    rows = tuple(read_all(read_posting, page.items))
    end = None if page.last is None else _id_at_end(page.last._asdict(), ends_in_id)
    return PostingPage(rows, end)


def _id_at_end(item: Attributes, attribute: str) -> str:
    return str(item[attribute]).rpartition(":")[2]


def _row_tags(item: Attributes) -> Mapping[str, str]:
    """The tags of a row: a map on tag and grant rows, a list on the resource's own row."""
    carried = item["tags"]
    if isinstance(carried, dict):
        return {key: str(value) for key, value in carried.items()}
    return tags.tag_map(msgspec.convert(carried, list[Tag]))
