"""Streams of postings for the tag search, read from grant rows and tag rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import maxsize
from typing import Any, NamedTuple

import msgspec

from penstock.datastore.name_search.word_rows import WordList, find_candidates, ids_beyond
from penstock.datastore.name_search.words import NameTerm, search_form
from penstock.datastore.records import Tag
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import read_all, read_in_turns, read_rows, resource_id
from penstock.datastore.table.keys import MAX_SHARD, split_levels
from penstock.datastore.table.layout import (
    GRANT,
    LISTED,
    NAME_WORD,
    TAG,
    TAG_VALUE_COUNT,
    KindDefinition,
    Row,
)
from penstock.datastore.table.port import Attributes, Key, Page, Query, Range, Table, Value
from penstock.datastore.tag_search import tags
from penstock.datastore.tag_search.posting_streams import Posting, PostingPage, PostingStream


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
    latest: Row

    def tag(self, _key: str, _value: str) -> PostingStream:
        return self.members()

    def members(self) -> PostingStream:
        return ListedResources(self.params, self.latest)


@dataclass(frozen=True, slots=True)
class ListedResources:
    """List all: `siKey1 = <kind>`. Its small rows name the resources and never change.

    Earlier releases list the latest row itself. A resource that they have written again since it
    got its small row has both, and is listed once.
    """

    params: ScanParams
    latest: Row

    @classmethod
    def oldest_first(cls, table: Table, kind: KindDefinition[Any]) -> "ListedResources":
        return cls(ScanParams(table, kind.letter, descending=False), kind.latest)

    @property
    def proves_tag(self) -> bool:
        return False

    async def read(self, after: str | None, limit: int) -> PostingPage:
        letter = self.params.letter
        start = None if after is None else LISTED.key(kind=letter, id=after)
        while True:
            listed = Query(
                partition=LISTED.index_partition(kind=letter),
                index=True,
                after=start,
                descending=self.params.descending,
                limit=limit,
            )
            page = await self.params.table.query(listed)
            ids = dict.fromkeys(map(resource_id, page.items))
            rows = tuple(Posting(id, None) for id in ids if id != after)
            if page.last is None:
                return PostingPage(rows, None)
            if rows:
                return PostingPage(rows, _id_at_end(page.last._asdict(), "pk"))
            start = page.last

    async def read_tags(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Get the tags of resources: BatchGet of their latest rows."""

        def read_tags_of(row: Attributes) -> tuple[str, Mapping[str, str]]:
            name = {tags.NAME: search_form(str(row["name"]))}
            return resource_id(row), {**_tag_set(row["tags"]), **name}

        rows = await read_rows(self.params.table, [self.latest.key(id=id) for id in ids])
        return dict(read_all(read_tags_of, rows.values()))

    async def count(self) -> int:
        """The largest integer: all resources are no rare tag."""
        return maxsize


@dataclass(frozen=True, slots=True)
class TagPostings:
    """List by tag: `pk = T:<group>:<key>` and `begins_with(sk, T:<a#b#c>:<kind>:)`.

    Postings carry the tags of their resource where they fit, or always where they are `constant`.
    """

    params: ScanParams
    group: GroupPath
    key: str
    value: tuple[str, ...]
    constant: bool = False

    @property
    def proves_tag(self) -> bool:
        return True

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
        return await _posting_page(page, "sk", self._carried_tags)

    def _carried_tags(self, item: Attributes) -> Mapping[str, str] | None:
        """The tags of a posting; those that do not fit it may be out of date."""
        found = _tag_set(item["tags"]) if "tags" in item else None
        if found is None or self.constant or tags.fits_posting(found):
            return found
        return None

    async def read_tags(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        return await _read_grants(self.params.table, _grant_keys(self.params, self.group, ids))

    async def count(self) -> int:
        """Count a tag's rows: `pk = TA:<group>:<key>, sk = TA:<kind>:<depth>:<a#b#c>`.

        The shards of the value are one range.
        """
        first, last = (
            TAG_VALUE_COUNT.sk.fill(
                {
                    "kind": self.params.letter,
                    "depth": len(self.value),
                    "value": self.value,
                    "shard": shard,
                }
            )
            for shard in (0, MAX_SHARD)
        )
        pk = TAG_VALUE_COUNT.pk.fill({"group": self.group, "key": self.key})
        shards = Query(partition=pk, range=Range(first, low=first, high=last))
        return sum(
            int(str(item["count"])) for item in (await self.params.table.query(shards)).items
        )


class WantedName(NamedTuple):
    """A part of names, and the most rows of a word to read; `note_rows` is told of their number."""

    term: NameTerm
    limit: int
    note_rows: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class NamedPostings:
    """The postings of resources of one group that are known by their `ids`, in either order.

    They carry no tags, and need no read.
    """

    params: ScanParams
    group: GroupPath
    ids: Sequence[str]

    @classmethod
    async def find(
        cls, params: ScanParams, group: GroupPath, name: WantedName
    ) -> "NamedPostings | None":
        """Find by word: `pk = NW:<group>:<kind>`, `sk` begins with `NW:<word>`.

        None where each word of the name begins more than `limit` rows.
        """
        place = {"group": group, "kind": params.letter}
        words = WordList(params.table, NAME_WORD, place, name.note_rows)
        ids = await find_candidates(words, name.term, name.limit)
        return None if ids is None else cls(params, group, ids)

    @property
    def proves_tag(self) -> bool:
        return False

    async def read(self, after: str | None, limit: int) -> PostingPage:
        rest = ids_beyond(self.ids, after, descending=self.params.descending)
        rows = tuple(Posting(id, None) for id in rest[:limit])
        return PostingPage(rows, rows[-1].id if len(rest) > limit else None)

    async def read_tags(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        return await _read_grants(self.params.table, self.grant_keys(ids))

    async def count(self) -> int:
        return len(self.ids)

    def grant_keys(self, ids: Iterable[str]) -> list[Key]:
        return _grant_keys(self.params, self.group, ids)


async def read_named_tags(
    table: Table, found: Iterable[NamedPostings], ids: Iterable[str]
) -> Mapping[str, Mapping[str, str]]:
    """Get the tags of resources that words found, from one grant of each: one BatchGet."""
    unread, keys = {*ids}, list[Key]()
    for named in found:
        held = unread.intersection(named.ids)
        unread -= held
        keys += named.grant_keys(held)
    return await _read_grants(table, keys) if keys else {}


@dataclass(frozen=True, slots=True)
class IndexPostings:
    """Postings of one kind under one `siKey1`, which all have the same `sk`."""

    params: ScanParams
    listed: str
    sk: str

    @property
    def proves_tag(self) -> bool:
        return False

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
        page = await self.params.table.query(query)
        return await _posting_page(page, "pk", _carried_by_grant)

    async def read_tags(self, _ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Know of no other tags: every row of the index carries its own."""
        return {}

    async def count(self) -> int:
        """The largest integer: index rows have no counter, so they rank behind counted streams."""
        return maxsize


def _grant_keys(params: ScanParams, group: GroupPath, ids: Iterable[str]) -> list[Key]:
    return [GRANT.key(kind=params.letter, id=id, group=group) for id in ids]


async def _read_grants(table: Table, keys: Sequence[Key]) -> Mapping[str, Mapping[str, str]]:
    """Get the tags of grants: BatchGet of `<kind>:<id>, G:<group>`."""
    rows = await read_rows(table, keys)
    return {resource_id(row): _carried_by_grant(row) for row in rows.values()}


def _carried_by_grant(item: Attributes) -> Mapping[str, str]:
    """The tags of a grant, with the name if it carries that."""
    carried = _tag_set(item["tags"])
    if (name := item.get("name")) is not None:
        carried[tags.NAME] = str(name)
    return carried


async def _posting_page(
    page: Page, ends_in_id: str, tags_of: Callable[[Attributes], Mapping[str, str] | None]
) -> PostingPage:
    def read_posting(item: Attributes) -> Posting:
        return Posting(_id_at_end(item, ends_in_id), tags_of(item))

    rows = tuple(await read_in_turns(read_posting, page.items))
    end = None if page.last is None else _id_at_end(page.last._asdict(), ends_in_id)
    return PostingPage(rows, end)


def _id_at_end(item: Attributes, attribute: str) -> str:
    return str(item[attribute]).rpartition(":")[2]


def _tag_set(carried: Value) -> dict[str, str]:
    """A tag set as a row holds it: a map on tag and grant rows, a list on the resource's own."""
    if isinstance(carried, dict):
        return {key: str(value) for key, value in carried.items()}
    return tags.tag_map(msgspec.convert(carried, list[Tag]))
