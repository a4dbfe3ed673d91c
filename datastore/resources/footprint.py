"""Everything a resource occupies besides its own rows, so that each write is one difference."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.datastore import tags
from penstock.datastore.commit import Write
from penstock.datastore.layout import GRANT, OWNED
from penstock.datastore.paths import GroupPath
from penstock.datastore.records import Resource
from penstock.datastore.resources import counts, groups
from penstock.datastore.resources.names import Holding, Names
from penstock.datastore.resources.tagging import tag_counters, tag_rows
from penstock.datastore.table import Delete, Item, Key, Put, Value, key_of


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
    items: dict[Key, Item] = {}
    counters: dict[Key, counts.Counter] = {}
    for group in resource.groups:
        grant = GRANT.item(kind=kind, id=resource.id, group=group)
        rows = {key_of(grant): grant, **tag_rows(kind, group, resource.id, resource.tags)}
        items |= {key: {**row, "tags": cover} for key, row in rows.items()}
        counters |= {one.key: one for one in tag_counters(kind, group, resource.tags)}
    if resource.owner not in resource.groups:
        row = OWNED.item(kind=kind, id=resource.id, group=resource.owner)
        items[key_of(row)] = row
    homes = frozenset((*resource.groups, resource.owner))
    return Footprint(kind, resource.id, resource.name, resource.groups, homes, items, counters)


def difference(old: Footprint | None, new: Footprint | None) -> list[Write]:
    """The writes that turn what was occupied into what shall be, always in the same order."""
    return [
        *_name_writes(old, new),
        *item_writes(old.items if old else {}, new.items if new else {}),
        *counter_writes(old.counters if old else {}, new.counters if new else {}),
        *_group_writes(old.homes if old else frozenset(), new.homes if new else frozenset()),
    ]


def item_writes(old: Mapping[Key, Item], new: Mapping[Key, Item]) -> list[Write]:
    """The writes that turn some rows into others."""
    gone = [Write(Delete(key)) for key in old if key not in new]
    return gone + [Write(Put(item)) for key, item in new.items() if old.get(key) != item]


def counter_writes(
    old: Mapping[Key, counts.Counter], new: Mapping[Key, counts.Counter]
) -> list[Write]:
    """The writes that count what is new, and no longer what was."""
    changes = [counts.change(old.get(key), new.get(key)) for key in {**old, **new}]
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
