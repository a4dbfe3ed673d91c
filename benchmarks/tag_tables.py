"""Tables of tag rows for lists of carriers: our rows, and rows as small as the document's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.documented_tag_search import TagRange
from benchmarks.postings_table import Partition, PostingsTable
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.table.keys import split_levels
from penstock.datastore.table.layout import TAG, TAG_VALUE_COUNT
from penstock.datastore.table.port import Item, Key, Value
from penstock.datastore.tag_search.tags import TagTerm

KIND = "P"
VALUE = "steel"

SAMPLE_TAGS: Mapping[str, str] = {
    "source": "sap",
    "plant": "abc",
    "scope": "1",
    "material": "material#metal#steel",
}
"""The tags of the pipelines in the sample catalogue, in comparison form."""

MANY_TAGS: Mapping[str, str] = {
    **SAMPLE_TAGS,
    **{f"attribute {n:02}": "a value of middling length" for n in range(4)},
}


@dataclass(frozen=True, slots=True)
class World:
    """The same carriers in two tables: `covering` has our rows, `bare` the document's.

    The `n`th list has the carriers of tag `n`.
    """

    tags: tuple[TagTerm, ...]
    covering: PostingsTable
    bare: PostingsTable

    def row_sizes(self, *, bare: bool = False) -> tuple[int, int, int]:
        """Bytes of the smallest, the average and the largest tag row."""
        table = self.bare if bare else self.covering
        sizes = [size for part in table.partitions.values() for size in part.sizes]
        return min(sizes), round(sum(sizes) / len(sizes)), max(sizes)


def world_of(
    lists: Sequence[Sequence[str]],
    *,
    group: GroupPath = ROOT,
    other_tags: Mapping[str, str] = SAMPLE_TAGS,
) -> World:
    """Tag the ids of each ascending list; every resource also has the other tags."""
    tags = tuple(TagTerm(f"quality {n:02}", VALUE) for n in range(len(lists)))
    covers: dict[str, dict[str, Value]] = {}
    for tag, ids in zip(tags, lists, strict=True):
        for id in ids:
            covers.setdefault(id, dict(other_tags))[tag.key] = tag.value
    contents: dict[str, Item] = {id: {"tags": cover} for id, cover in covers.items()}
    covering = [
        _partition(covering_range(tag, group), ids, [contents[id] for id in ids])
        for tag, ids in zip(tags, lists, strict=True)
    ]
    bare = [
        _partition(bare_range(tag), ids, [{"value": tag.value}] * len(ids))
        for tag, ids in zip(tags, lists, strict=True)
    ]
    counts = dict(_count(tag, group, len(ids)) for tag, ids in zip(tags, lists, strict=True))
    return World(tags, _table(covering, counts), _table(bare, {}))


def covering_range(tag: TagTerm, group: GroupPath = ROOT) -> TagRange:
    """The range of a group's rows of a tag."""
    pk = TAG.pk.fill({"group": group, "key": tag.key})
    return TagRange(pk, TAG.sk.prefix({"value": split_levels(tag.value), "kind": KIND}))


def bare_range(tag: TagTerm) -> TagRange:
    """The range of the document's rows of a tag: `T:<key>`, `T:<value>:P:<id>`."""
    return TagRange(f"T:{tag.key}", f"T:{tag.value}:{KIND}:")


def join_tables(one: PostingsTable, other: PostingsTable) -> PostingsTable:
    """Both tables as one; they share no partition."""
    return PostingsTable({**one.partitions, **other.partitions}, {**one.items, **other.items})


def _partition(place: TagRange, ids: Sequence[str], contents: list[Item]) -> Partition:
    return Partition(place.pk, [place.prefix + id for id in ids], contents)


def _table(partitions: Iterable[Partition], counts: Mapping[Key, Item]) -> PostingsTable:
    return PostingsTable({each.pk: each for each in partitions}, counts)


def _count(tag: TagTerm, group: GroupPath, count: int) -> tuple[Key, Item]:
    value = split_levels(tag.value)
    key = TAG_VALUE_COUNT.key(
        group=group, key=tag.key, kind=KIND, depth=len(value), value=value, shard=1
    )
    return key, {"pk": key.pk, "sk": key.sk, "count": count, "label": value[-1]}
