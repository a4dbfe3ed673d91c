"""Streams of postings for the tag search, read from grant rows and tag rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from sys import maxsize

import msgspec

from penstock.datastore.records import Tag
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.keys import split
from penstock.datastore.table.layout import GRANT, TAG, TAG_VALUE_COUNT
from penstock.datastore.table.port import Attributes, Key, Page, Query, Range, Table
from penstock.datastore.tag_search import tags
from penstock.datastore.tag_search.search import Row, Rows, Stream


@dataclass(frozen=True, slots=True)
class Travel:
    """The table, the kind's letter and the direction of a scan."""

    table: Table
    letter: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of one group: its tag rows and its grant rows."""

    travel: Travel
    group: GroupPath

    def tag(self, key: str, value: str) -> Stream:
        return TagRows(self.travel, self.group, key, split(value))

    def members(self) -> Stream:
        """List in a group: `siKey1 = G:<group>` and `begins_with(pk, <kind>:)`."""
        listed = GRANT.index_of(group=self.group)
        return IndexRows(self.travel, listed, GRANT.sk.fill({"group": self.group}))


@dataclass(frozen=True, slots=True)
class Everything:
    """All resources of the kind, whatever their grants: for readers of the root."""

    travel: Travel
    listed: str
    sk: str

    def tag(self, _key: str, _value: str) -> Stream:
        return self.members()

    def members(self) -> Stream:
        """List all: `siKey1 = <kind>`."""
        return IndexRows(self.travel, self.listed, self.sk)


@dataclass(frozen=True, slots=True)
class TagRows:
    """List by tag: `pk = T:<group>:<key>` and `begins_with(sk, T:<a#b#c>:<kind>:)`."""

    travel: Travel
    group: GroupPath
    key: str
    value: tuple[str, ...]

    async def read(self, after: str | None, limit: int) -> Rows:
        prefix = TAG.sk.prefix({"value": self.value, "kind": self.travel.letter})
        pk = TAG.pk.fill({"group": self.group, "key": self.key})
        query = Query(
            partition=pk,
            range=Range(prefix),
            after=None if after is None else Key(pk, prefix + after),
            descending=self.travel.descending,
            limit=limit,
        )
        page = await self.travel.table.query(query)
        return _rows(page, "sk")

    async def count(self) -> int:
        """Count a tag's rows: `pk = TA:<group>:<key>, sk = TA:<kind>:<depth>:<a#b#c>`."""
        key = TAG_VALUE_COUNT.key(
            group=self.group,
            key=self.key,
            kind=self.travel.letter,
            depth=len(self.value),
            value=self.value,
        )
        found = (await self.travel.table.get([key])).items.get(key, {})
        count = found.get("count", 0)
        return count if isinstance(count, int) else 0


@dataclass(frozen=True, slots=True)
class IndexRows:
    """Postings of one kind under one `siKey1`, which all have the same `sk`."""

    travel: Travel
    listed: str
    sk: str

    async def read(self, after: str | None, limit: int) -> Rows:
        prefix = f"{self.travel.letter}:"
        query = Query(
            partition=self.listed,
            index=True,
            range=Range(prefix),
            after=None if after is None else Key(prefix + after, self.sk),
            descending=self.travel.descending,
            limit=limit,
        )
        return _rows(await self.travel.table.query(query), "pk")

    async def count(self) -> int:
        """The largest integer: index rows have no counter, so they rank behind counted streams."""
        return maxsize


def _rows(page: Page, ends_in_id: str) -> Rows:
    rows = tuple(Row(str(item[ends_in_id]).rpartition(":")[2], _cover(item)) for item in page.items)
    return Rows(rows, None if page.last is None else rows[-1].id)


def _cover(item: Attributes) -> Mapping[str, str]:
    """The tags of a row: a map on tag and grant rows, a list on the resource's own row."""
    carried = item["tags"]
    if isinstance(carried, dict):
        return {key: str(value) for key, value in carried.items()}
    return tags.cover(msgspec.convert(carried, list[Tag]))
