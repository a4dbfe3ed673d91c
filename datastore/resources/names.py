"""A name is unique along its line: no group above or below holds it for another resource.

The row of a name and a group is either a *claim* (`id`: who holds the name here) or a *marker*
(`below`: how many claims lie in groups below). Claims and the markers of all their ancestors are
written together, so two creates on one line always meet in some row, whatever their order.

What a caller is told of a name that is taken: where it is held, as far as they see.
"""

from collections.abc import Iterable
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NameTaken
from penstock.datastore.roles import ROOT, GroupPath, ancestors
from penstock.datastore.table.layout import NAME
from penstock.datastore.table.port import (
    Compare,
    Delete,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Range,
    Update,
)
from penstock.datastore.table.transaction import Write
from penstock.datastore.text import comparison_form, unescape


class Holding(NamedTuple):
    """What a resource has in the row of a name and a group: a claim, or claims `below`."""

    group: GroupPath
    below: int


class Names(NamedTuple):
    """One kind's resource and the name it holds or wants."""

    kind: str
    id: str
    name: str

    def holdings(self, groups: Iterable[GroupPath]) -> dict[Key, Holding]:
        """Every row the resource needs for its name in the groups, which form an antichain."""
        found: dict[Key, Holding] = {}
        for group in groups:
            *above, own = ancestors(group)
            found[self.key(own)] = Holding(own, 0)
            for ancestor in above:
                key = self.key(ancestor)
                below = found[key].below if key in found else 0
                found[key] = Holding(ancestor, below + 1)
        return found

    def key(self, group: GroupPath) -> Key:
        return NAME.key(kind=self.kind, name=comparison_form(self.name), group=group)

    def change(self, key: Key, old: Holding | None, new: Holding | None) -> Write | None:
        """The write that turns what the resource has in the row into what it wants there."""
        if old == new:
            return None
        if new is None:
            return self._released(key, old)
        if new.below == 0:
            return self._claimed(key, old, new)
        if old is not None and old.below == 0:
            marker: Item = {**key._asdict(), "below": new.below}
            return Write(Put(marker, Compare("id", "=", self.id)))
        step = new.below - (old.below if old else 0)
        return self._marked(key, new, step) if step > 0 else self._lowered(key, -step)

    def _claimed(self, key: Key, old: Holding | None, new: Holding) -> Write:
        """Claim a row that is empty, or that marks nothing but the resource's own claims below."""
        condition = Missing() if old is None else Compare("below", "=", old.below)
        claim: Item = {**key._asdict(), "id": self.id}
        return Write(Put(claim, condition), lambda item: self._taken(new.group, item))

    def _marked(self, key: Key, new: Holding, step: int) -> Write:
        marked = Update(key=key, add={"below": step}, condition=Missing("id"))
        return Write(marked, lambda item: self._taken(new.group, item))

    def _released(self, key: Key, old: Holding | None) -> Write | None:
        if old is None:
            return None
        if old.below == 0:
            return Write(Delete(key, Compare("id", "=", self.id)))
        return self._unmarked(key, old.below)

    def _unmarked(self, key: Key, by: int) -> Write:
        """Take the marker away, as most names are held once; others' claims below keep it."""
        return Write(Delete(key, Compare("below", "=", by)), lambda _: self._lowered(key, by))

    def _lowered(self, key: Key, by: int) -> Write:
        lowered = Update(key=key, add={"below": -by}, condition=Compare("below", ">", by))
        return Write(lowered, lambda _: self._unmarked(key, by))

    def _taken(self, group: GroupPath, standing: Item | None) -> NameTaken:
        holder = standing.get("id") if standing else None
        return NameTaken(self.kind, self.name, group, holder if isinstance(holder, str) else None)


async def told(access: Access, taken: NameTaken, id: str) -> NameTaken:
    """The failure of the resource `id`, which wanted a name that another holds."""
    return _shown(access, await _located(access, taken, id))


async def _located(access: Access, taken: NameTaken, id: str) -> NameTaken:
    """Find out where below the marked group another than `id` holds the name, if still so."""
    if taken.holder is not None:
        return taken
    below = ROOT if taken.group == ROOT else f"{taken.group}/"
    top = NAME.key(kind=taken.kind, name=comparison_form(taken.name), group=GroupPath(below))
    page = await access.table.query(Query(partition=top.pk, range=Range(top.sk)))
    for item in page.items:
        if item.get("id") not in (None, id):
            group = unescape(NAME.sk.read(str(item["sk"]))["group"])
            return NameTaken(taken.kind, taken.name, group, str(item["id"]))
    return taken


def _shown(access: Access, taken: NameTaken) -> NameTaken:
    """What the caller may know: not who holds the name in a group that they do not see."""
    line = reversed(ancestors(GroupPath(taken.group)))
    nearest = next(group for group in line if access.caller.sees(group))
    if nearest == taken.group:
        return taken
    return NameTaken(taken.kind, taken.name, nearest, None)
