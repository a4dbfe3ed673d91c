"""The rows that derive from a resource: lists, postings, counters, names and counts of groups.

Each write of a resource is the difference between its derived rows before and after.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.datastore.groups import rows as group_rows
from penstock.datastore.name_search.word_rows import name_attributes, word_rows
from penstock.datastore.name_search.words import name_words, search_form
from penstock.datastore.records import Footprint, Pipeline, Resource, Tag
from penstock.datastore.resources.names import NameHolder, NameHolding
from penstock.datastore.resources.use_rows import use_rows
from penstock.datastore.roles import GroupPath
from penstock.datastore.table import counters
from penstock.datastore.table import counters as row_counters
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import (
    GRANT,
    LISTED,
    NAME_WORD,
    OWNED,
    PIPELINE,
    ROWS_LIMIT,
    SHARED_PIPELINE,
    TAG,
    TAG_KEY_COUNT,
    TAG_VALUE_COUNT,
)
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
    kind: str, group: str, id: str, tagged: Iterable[Tag], shard: int
) -> Iterator[counters.Counter]:
    """The counters of tag keys and values that a resource of this shard increases.

    A label keeps the id of the resource that gave it, so that a reader takes the earliest of all
    shards. Shard 0, of earlier releases, has none and is the earliest.
    """
    giver = {"since": id} if shard else {}
    for tag in tagged:
        key = comparison_form(tag.key)
        row = TAG_KEY_COUNT.item(group=group, key=key, kind=kind, shard=shard)
        labels = {"label": tag.key.strip(), INDEX_HASH: row[INDEX_HASH], **giver}
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
            yield counters.Counter(counted, amounts, {"label": level.label, **giver})


@dataclass(frozen=True, slots=True)
class DerivedRows:
    """The derived rows of a resource: grants and postings, tag counters, name rows, groups.

    `listed` is the small row by which the list of the kind has the resource, and that of a
    pipeline by which its rows leave after some days.
    `homes` are the groups that count the resource: those with a grant, and its owner even where a
    grant from above covers the owner, because a revoke then gives the owner a grant of its own
    again. Until then a row `O:<group>` lists the resource at its owner. `grants` are the keys of
    these rows and of grants; the other items are postings. A grant carries all tags of the
    resource, and its name; its postings carry the tags where they fit. `shared` are the rows that
    tell groups of pipelines of other groups, `words` those that find the resource by words of its
    name, and `uses` those that list it under what it uses.
    """

    kind: str
    id: str
    name: str
    shard: int
    groups: tuple[GroupPath, ...]
    homes: frozenset[GroupPath]
    listed: Mapping[Key, Item]
    shared: Mapping[Key, Item]
    words: Mapping[Key, Item]
    uses: Mapping[Key, Item]
    items: dict[Key, Item]
    grants: frozenset[Key]
    counters: dict[Key, row_counters.Counter]

    @property
    def names(self) -> NameHolder:
        return NameHolder(self.kind, self.id, self.name)

    def holdings(self) -> dict[Key, NameHolding]:
        return self.names.holdings(self.groups)


def derive_rows(kind: str, resource: Resource | Footprint) -> DerivedRows:
    """Derive the rows from the resource's name, grants and tags."""
    tag_set: dict[str, Value] = dict(tags.tag_map(resource.tags))
    carried: Item = {"tags": tag_set} if tags.fits_posting(tag_set) else {}
    form = search_form(resource.name) if resource.named else ""
    named, held = name_attributes(form), name_words(form)
    items: dict[Key, Item] = {}
    words: dict[Key, Item] = {}
    grants: set[Key] = set()
    counters: dict[Key, row_counters.Counter] = {}
    for group in resource.groups:
        grant = GRANT.item(kind=kind, id=resource.id, group=group)
        grants.add(key_of(grant))
        items[key_of(grant)] = {**grant, "tags": tag_set, **named}
        words |= word_rows(NAME_WORD, form, held, group=group, kind=kind, id=resource.id)
        rows = tag_rows(kind, group, resource.id, resource.tags)
        items |= {key: {**row, **carried} for key, row in rows.items()}
        counted = tag_counters(kind, group, resource.id, resource.tags, resource.shard)
        counters |= {one.key: one for one in counted}
    if resource.owner not in resource.groups:
        row = OWNED.item(kind=kind, id=resource.id, group=resource.owner)
        grants.add(key_of(row))
        items[key_of(row)] = row
    homes = frozenset((*resource.groups, resource.owner))
    return DerivedRows(
        kind,
        resource.id,
        resource.name,
        resource.shard,
        resource.groups,
        homes,
        _listed_items(kind, resource),
        _shared_items(kind, resource),
        words,
        use_rows(kind, resource),
        items,
        frozenset(grants),
        counters,
    )


def _listed_items(kind: str, resource: Resource | Footprint) -> dict[Key, Item]:
    rows = [LISTED.item(kind=kind, id=resource.id)]
    if isinstance(resource, Pipeline) and resource.transformer.rows is not None:
        days = resource.transformer.rows.keep_days
        if days is not None:
            rows.append({**ROWS_LIMIT.item(id=resource.id), "keepDays": days})
    return {key_of(row): row for row in rows}


def _shared_items(kind: str, resource: Resource | Footprint) -> dict[Key, Item]:
    """The rows by which groups find the executions of a pipeline that another group owns."""
    if kind != PIPELINE.letter:
        return {}
    others = [group for group in resource.groups if group != resource.owner]
    rows = [SHARED_PIPELINE.item(group=at, owner=resource.owner, id=resource.id) for at in others]
    return {key_of(row): row for row in rows}


@dataclass(frozen=True, slots=True)
class Difference:
    """The writes that turn one resource's old rows into its new ones, always in the same order.

    What decides who sees the resource, and under which name, is in `first`, which is one
    transaction. The `rest` may follow in others: postings, words of names, lists of users, counts
    of tags, and the counts of the groups that the resource leaves, so that no group goes before
    the rows in it are gone.
    """

    first: list[Write]
    rest: list[Write]


def difference(old: DerivedRows | None, new: DerivedRows | None) -> Difference:
    """The difference of the rows before and after; None stands for no resource.

    New postings come before the removal of old ones: who has one of two tags before a change and
    the other one after it is found by one of them at every moment.
    """
    removed, put = _item_changes(old.items if old else {}, new.items if new else {})
    grants = (old.grants if old else frozenset()) | (new.grants if new else frozenset())
    forgotten, found = _item_changes(old.words if old else {}, new.words if new else {})
    unlinked, linked = _item_changes(old.uses if old else {}, new.uses if new else {})
    left, joined = _group_writes(old, new)
    return Difference(
        [
            *_name_writes(old, new),
            *item_writes(old.listed if old else {}, new.listed if new else {}),
            *item_writes(old.shared if old else {}, new.shared if new else {}),
            *(write for write in removed + put if write.operation.key in grants),
            *joined,
        ],
        [
            *(write for write in put + removed if write.operation.key not in grants),
            *found,
            *forgotten,
            *linked,
            *unlinked,
            *counter_writes(old.counters if old else {}, new.counters if new else {}),
            *left,
        ],
    )


def removal_writes(rows: DerivedRows) -> list[Write]:
    """The writes that remove all rows. Tombstones count them: no release may change the order."""
    left, _ = _group_writes(rows, None)
    return [
        *_name_writes(rows, None),
        *item_writes(rows.items, {}),
        *counter_writes(rows.counters, {}),
        *left,
        *item_writes(rows.listed, {}),
        *item_writes(rows.shared, {}),
        *item_writes(rows.words, {}),
    ]


def item_writes(old: Mapping[Key, Item], new: Mapping[Key, Item]) -> list[Write]:
    """The writes that turn the old items into the new ones."""
    removed, put = _item_changes(old, new)
    return removed + put


def _item_changes(
    old: Mapping[Key, Item], new: Mapping[Key, Item]
) -> tuple[list[Write], list[Write]]:
    gone = [Write(Delete(key)) for key in old if key not in new]
    return gone, [Write(Put(item)) for key, item in new.items() if old.get(key) != item]


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


def _group_writes(
    old: DerivedRows | None, new: DerivedRows | None
) -> tuple[list[Write], list[Write]]:
    """The counts of the groups that the resource leaves, and of those that it joins."""
    some = new or old
    before = old.homes if old else frozenset[GroupPath]()
    after = new.homes if new else frozenset[GroupPath]()
    shard = some.shard if some else 0

    def count(groups: frozenset[GroupPath], step: int) -> list[Write]:
        return [group_rows.count_in_group(group, "grants", step, shard) for group in sorted(groups)]

    return count(before - after, -1), count(after - before, 1)
