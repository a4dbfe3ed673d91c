"""Everything a resource occupies besides its own rows, so that each write is one difference."""

from collections.abc import Iterable
from dataclasses import dataclass

from datastore import tags
from datastore.commit import Write
from datastore.layout import GRANT, OWNED, TAG, TAG_KEY_COUNT, TAG_VALUE_COUNT
from datastore.paths import GroupPath
from datastore.records import Resource
from datastore.resources import counts, groups
from datastore.resources.names import Holding, Names
from datastore.table import INDEX_HASH, Delete, Item, Key, Put, Value, key_of
from datastore.text import comparison_form


@dataclass(frozen=True, slots=True)
class Footprint:
    """Grant rows and postings, tag counters, name rows and groups of one resource.

    `homes` are the groups that count it: those it is granted to, and its owner also where a grant
    from above covers that one, as a revoke gives the owner a grant of its own again. Until then a
    row of its own lists the resource at its owner.
    """

    kind: str
    id: str
    name: str
    groups: tuple[GroupPath, ...]
    homes: frozenset[GroupPath]
    items: dict[Key, Item]
    counters: dict[Key, counts.Counter]

    @property
    def names(self) -> Names:
        return Names(self.kind, self.id, self.name)

    def holdings(self) -> dict[Key, Holding]:
        return self.names.holdings(self.groups)


def footprint(kind: str, resource: Resource) -> Footprint:
    """What the resource occupies, given its name, its grants and its tags."""
    cover: dict[str, Value] = dict(tags.cover(resource.tags))
    levels = [level for tag in resource.tags for level in tags.levels_of(tag)]
    items: dict[Key, Item] = {}
    counters: dict[Key, counts.Counter] = {}
    for group in resource.groups:
        rows = [GRANT.item(kind=kind, id=resource.id, group=group)]
        rows += [
            TAG.item(group=group, key=level.key, value=level.value, kind=kind, id=resource.id)
            for level in levels
        ]
        items |= {key_of(row): {**row, "tags": cover} for row in rows}
        counters |= {counter.key: counter for counter in _counters(kind, group, resource, levels)}
    if resource.owner not in resource.groups:
        row = OWNED.item(kind=kind, id=resource.id, group=resource.owner)
        items[key_of(row)] = row
    homes = frozenset((*resource.groups, resource.owner))
    return Footprint(kind, resource.id, resource.name, resource.groups, homes, items, counters)


def _counters(
    kind: str, group: GroupPath, resource: Resource, levels: Iterable[tags.Level]
) -> Iterable[counts.Counter]:
    for tag in resource.tags:
        row = TAG_KEY_COUNT.item(group=group, key=comparison_form(tag.key), kind=kind)
        labels = {"label": tag.key.strip(), INDEX_HASH: row[INDEX_HASH]}
        yield counts.Counter(key_of(row), {"count": 1}, labels)
    for level in levels:
        key = TAG_VALUE_COUNT.key(
            group=group, key=level.key, kind=kind, depth=len(level.value), value=level.value
        )
        amounts = {"count": 1} if level.last else {"count": 1, "deeper": 1}
        yield counts.Counter(key, amounts, {"label": level.label})


def difference(old: Footprint | None, new: Footprint | None) -> list[Write]:
    """The writes that turn what was occupied into what shall be, always in the same order."""
    return [
        *_name_writes(old, new),
        *item_writes(old.items if old else {}, new.items if new else {}),
        *counter_writes(old.counters if old else {}, new.counters if new else {}),
        *_group_writes(old.homes if old else frozenset(), new.homes if new else frozenset()),
    ]


def item_writes(old: dict[Key, Item], new: dict[Key, Item]) -> list[Write]:
    """The writes that leave the new rows in place of the old ones."""
    gone = [Write(Delete(key)) for key in old if key not in new]
    return gone + [Write(Put(item)) for key, item in new.items() if old.get(key) != item]


def counter_writes(old: dict[Key, counts.Counter], new: dict[Key, counts.Counter]) -> list[Write]:
    """The writes that count what is new and no longer what is gone."""
    changes = [counts.change(old.get(key), new.get(key)) for key in old | new]
    return [write for write in changes if write is not None]


def _name_writes(old: Footprint | None, new: Footprint | None) -> list[Write]:
    before = old.holdings() if old else {}
    after = new.holdings() if new else {}
    writer = new or old
    if writer is None:
        return []
    changes = [writer.names.change(key, before.get(key), after.get(key)) for key in before | after]
    return [write for write in changes if write is not None]


def _group_writes(old: frozenset[GroupPath], new: frozenset[GroupPath]) -> list[Write]:
    left = [groups.counted(group, "grants", -1) for group in sorted(old - new)]
    return left + [groups.counted(group, "grants", 1) for group in sorted(new - old)]
