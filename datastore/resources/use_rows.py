"""The rows that list a resource under what it uses, and the counts of who uses a resource.

A pipeline or calculation uses the calculations and datasets that the formulas of its latest version
name; a metric uses the pipelines and metrics of its inputs. A row for each group with a grant lists
it there, so that a reader finds the users in the groups that the reader sees, and no others. The
count decides whether the used resource can go: it changes in the transaction that saves the
formulas, and nothing new is counted once it is closed.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from penstock.datastore.records import Footprint, Resource
from penstock.datastore.resources.execution_guard import CLOSED, DELETED
from penstock.datastore.table.commit import Preparation, Write, stale_read
from penstock.datastore.table.counters import Counter, CounterDrift
from penstock.datastore.table.items import read_rows, record_type
from penstock.datastore.table.keys import SEPARATOR
from penstock.datastore.table.layout import KIND_OF_LETTER, KINDS, USE_COUNT, USED_BY
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Compare,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Table,
    Update,
    key_of,
)
from penstock.datastore.table.tombstones import IS_ALIVE, is_alive

_LETTERS: Final[Mapping[type, str]] = {kind.record: kind.letter for kind in KINDS}


class ResourceKey(NamedTuple):
    """The letter of a resource's kind, and its id."""

    kind: str
    id: str

    @property
    def text(self) -> str:
        return SEPARATOR.join(self)

    @property
    def latest(self) -> Key:
        """The key of the latest row."""
        return KIND_OF_LETTER[self.kind].latest.key(id=self.id)

    @property
    def user_count(self) -> Key:
        """The key of the count of its users."""
        return USE_COUNT.key(kind=self.kind, id=self.id)

    @classmethod
    def of(cls, resource: Resource) -> "ResourceKey":
        """The key of a resource in its latest version."""
        return cls(_LETTERS[record_type(resource)], resource.id)

    @classmethod
    def parse(cls, text: str) -> "ResourceKey":
        kind, _, id = text.partition(SEPARATOR)
        return cls(kind, id)


class StillUsed(Exception):
    """Other resources use the one that is to be deleted."""


def uses_of(user: Resource) -> tuple[ResourceKey, ...]:
    """The resources that a version uses, each once, in the order of their keys."""
    return tuple(sorted({ResourceKey(one.kind, one.id) for one in user.references}))


def listed_uses(user: Resource | Footprint) -> tuple[ResourceKey, ...]:
    """The resources under which rows list a user: none for one that an earlier release wrote."""
    if isinstance(user, Footprint):
        return tuple(map(ResourceKey.parse, user.uses))
    return uses_of(user) if user.linked else ()


def use_rows(kind: str, user: Resource | Footprint) -> dict[Key, Item]:
    """The rows that list a user under each resource that it uses, one for each of its grants."""
    rows = [
        USED_BY.item(kind=used.kind, id=used.id, group=group, by_kind=kind, by=user.id)
        for used in listed_uses(user)
        for group in user.groups
    ]
    return {key_of(row): row for row in rows}


def use_counters(user: Resource) -> list[Counter]:
    """The counts that a user raises."""
    return [Counter(used.user_count, {"count": 1}) for used in listed_uses(user)]


def use_writes(
    before: Resource | None, after: Resource | None, gone: Collection[ResourceKey] = ()
) -> list[Write]:
    """The writes that count what a resource begins to use, and no longer what it stops to use.

    Those raise StaleRead if a resource that it begins to use is deleted by now, unless it is known
    as `gone`.
    """
    old, new = ({*listed_uses(one)} if one else set() for one in (before, after))
    return [
        *(_count_gone(used) if used in gone else _count_use(used) for used in sorted(new - old)),
        *(_lower_count(used) for used in sorted(old - new)),
    ]


async def find_gone(
    table: Table, before: Resource | None, after: Resource, *, restores: bool
) -> frozenset[ResourceKey]:
    """Find the deleted resources among those that another one begins to use.

    What a user saves names only what is there. What one of an earlier release goes on using can be
    gone, and so can what a version uses that a write `restores`.
    """
    if before is None or (before.linked and not restores):
        return frozenset()
    added = {*uses_of(after)} - {*listed_uses(before)}
    unsure = added if restores else added & {*uses_of(before)}
    rows = await read_rows(table, [used.latest for used in unsure], consistent=True)
    return frozenset(one for one in unsure if not is_alive(rows.get(one.latest)))


def unused_write(resource: ResourceKey) -> Write:
    """The write that removes the count of users; it raises StillUsed where there are some."""
    return Write(_unused_delete(resource), lambda _: StillUsed())


def forced_write(resource: ResourceKey) -> Write:
    """The write that closes the count of users, which goes with the last of them.

    A count of nobody goes at once.
    """

    def close(_: Item | None) -> Write:
        used = Compare("count", ">", 0)
        closed = Update(key=resource.user_count, set={CLOSED: DELETED}, condition=used)
        return Write(closed, remove)

    def remove(_: Item | None) -> Write:
        return Write(_unused_delete(resource), close)

    return close(None)


def _unused_delete(resource: ResourceKey) -> Delete:
    return Delete(resource.user_count, AnyOf((Missing(), Compare("count", "=", 0))))


def _count_use(used: ResourceKey) -> Write:
    """Count a use. The count's small row says whether the resource is there.

    A condition on the resource's own row would cost its size, at every save of whatever uses it.
    """

    def begin(standing: Item | None) -> Preparation | Exception:
        return stale_read(standing) if standing else Preparation(_first_count_writes(used))

    there = AllOf((Exists(), Missing(CLOSED)))
    return Write(Update(key=used.user_count, add={"count": 1}, condition=there), begin)


def _first_count_writes(used: ResourceKey) -> list[Write]:
    """Begin the count of a resource that nothing has used, if it is there."""
    there = AllOf(IS_ALIVE)
    # This update changes nothing. A condition check would need one more IAM permission.
    still = Update(key=used.latest, default={"revision": 0}, condition=there)
    begun = Update(key=used.user_count, default={"count": 0}, condition=Missing(CLOSED))
    return [Write(still), Write(begun)]


def _count_gone(used: ResourceKey) -> Write:
    """Count a use of a resource that is deleted; nothing else begins to use it."""
    return Write(Update(key=used.user_count, add={"count": 1}, default={CLOSED: DELETED}))


def _lower_count(used: ResourceKey) -> Write:
    """Lower a count; the count of a deleted resource goes with its last use."""
    stays = AnyOf((Missing(CLOSED), Compare("count", ">", 1)))
    counted = AllOf((Compare("count", ">", 0), stays))
    lowered = Update(key=used.user_count, add={"count": -1}, condition=counted)
    return Write(lowered, lambda standing: _remove_count(used, standing))


def _remove_count(used: ResourceKey, standing: Item | None) -> Write | Exception:
    if standing is None or standing.get("count", 0) == 0:
        return CounterDrift(f"count of users is {standing}")
    last = AllOf((Exists(CLOSED), Compare("count", "=", 1)))
    return Write(Delete(used.user_count, last), lambda _: _lower_count(used))
