"""The rows that derive from a resource: postings, counters, names and counts of groups.

Each write of a resource is the difference between its derived rows before and after.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.datastore.groups import rows as group_rows
from penstock.datastore.records import Resource, Tag
from penstock.datastore.resources.names import NameHolder, NameHolding
from penstock.datastore.roles import GroupPath
from penstock.datastore.table import counters
from penstock.datastore.table import counters as row_counters
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import GRANT, OWNED, TAG, TAG_KEY_COUNT, TAG_VALUE_COUNT
from penstock.datastore.table.port import INDEX_HASH, Delete, Item, Key, Put, Value, key_of
from penstock.datastore.tag_search import tags
from penstock.datastore.text import comparison_form


def tag_rows(kind: str, group: str, id: str, tagged: Iterable[Tag]) -> dict[Key, Item]:
    """The rows that find a resource by each level of each of its tags, without its tag set."""
    rows = [
        TAG.item(group=group, key=level.key, value=level.value, kind=kind, id=id)
        for tag in tagged
        for level in tags.tag_levels(tag)
    ]
    return {key_of(row): row for row in rows}


def tag_counters(
    kind: str, group: str, tagged: Iterable[Tag], shard: int
) -> Iterator[counters.Counter]:
    """The counters of tag keys and values that a resource of this shard increases."""
    for tag in tagged:
        key = comparison_form(tag.key)
        row = TAG_KEY_COUNT.item(group=group, key=key, kind=kind, shard=shard)
        labels = {"label": tag.key.strip(), INDEX_HASH: row[INDEX_HASH]}
        yield counters.Counter(key_of(row), {"count": 1}, labels)
        for level in tags.tag_levels(tag):
            counted = TAG_VALUE_COUNT.key(
                group=group,
                key=level.key,
                kind=kind,
                depth=len(level.value),
                value=level.value,
                shard=shard,
            )
            amounts = {"count": 1} if level.last else {"count": 1, "deeper": 1}
            yield counters.Counter(counted, amounts, {"label": level.label})


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """The derived rows of a resource: grants and postings, tag counters, name rows, groups.

    `homes` are the groups that count the resource: those with a grant, and its owner even where a
    grant from above covers the owner, because a revoke then gives the owner a grant of its own
    again. Until then a row `O:<group>` lists the resource at its owner.
    """

    kind: str
    id: str
    name: str
    shard: int
    groups: tuple[GroupPath, ...]
    homes: frozenset[GroupPath]
    items: dict[Key, Item]
    counters: dict[Key, row_counters.Counter]

    @property
    def names(self) -> NameHolder:
        return NameHolder(self.kind, self.id, self.name)

    def holdings(self) -> dict[Key, NameHolding]:
        return self.names.holdings(self.groups)


def derive_rows(kind: str, resource: Resource) -> DerivedRows:
    """Derive the rows from the resource's name, grants and tags."""
    cover: dict[str, Value] = dict(tags.tag_map(resource.tags))
    items: dict[Key, Item] = {}
    counters: dict[Key, row_counters.Counter] = {}
    for group in resource.groups:
        grant = GRANT.item(kind=kind, id=resource.id, group=group)
        rows = {key_of(grant): grant, **tag_rows(kind, group, resource.id, resource.tags)}
        items |= {key: {**row, "tags": cover} for key, row in rows.items()}
        counters |= {
            one.key: one for one in tag_counters(kind, group, resource.tags, resource.shard)
        }
    if resource.owner not in resource.groups:
        row = OWNED.item(kind=kind, id=resource.id, group=resource.owner)
        items[key_of(row)] = row
    homes = frozenset((*resource.groups, resource.owner))
    return DerivedRows(
        kind, resource.id, resource.name, resource.shard, resource.groups, homes, items, counters
    )


def difference_writes(old: DerivedRows | None, new: DerivedRows | None) -> list[Write]:
    """The writes that turn the old rows into the new ones, always in the same order."""
    return [
        *_name_writes(old, new),
        *item_writes(old.items if old else {}, new.items if new else {}),
        *counter_writes(old.counters if old else {}, new.counters if new else {}),
        *_group_writes(old, new),
    ]


def item_writes(old: Mapping[Key, Item], new: Mapping[Key, Item]) -> list[Write]:
    """The writes that turn the old items into the new ones."""
    gone = [Write(Delete(key)) for key in old if key not in new]
    return gone + [Write(Put(item)) for key, item in new.items() if old.get(key) != item]


def counter_writes(
    old: Mapping[Key, row_counters.Counter], new: Mapping[Key, row_counters.Counter]
) -> list[Write]:
    """The writes that turn the old counts into the new ones."""
    changes = [row_counters.change_counter(old.get(key), new.get(key)) for key in {**old, **new}]
    return [write for write in changes if write is not None]


def _name_writes(old: DerivedRows | None, new: DerivedRows | None) -> list[Write]:
    before = old.holdings() if old else {}
    after = new.holdings() if new else {}
    writer = new or old
    if writer is None:
        return []
    changes = [
        writer.names.change_row(key, before.get(key), after.get(key)) for key in before | after
    ]
    return [write for write in changes if write is not None]


def _group_writes(old: DerivedRows | None, new: DerivedRows | None) -> list[Write]:
    some = new or old
    if some is None:
        return []
    before = old.homes if old else frozenset[GroupPath]()
    after = new.homes if new else frozenset[GroupPath]()
    steps = [(group, -1) for group in sorted(before - after)]
    steps += [(group, 1) for group in sorted(after - before)]
    return [group_rows.count_in_group(group, "grants", step, some.shard) for group, step in steps]
