"""Unique names: no group above or below another one may hold the same name for two resources.

The row of a name and a group is either a *claim* (`id`: the holder of the name here) or a *marker*
(`below`: the number of claims in groups below). Claims and the markers of all their ancestors are
written together, so two creates on one line always meet in some row, whatever their order.

A conflict describes the holder only as far as the caller sees it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NameTaken
from penstock.datastore.roles import ROOT, GroupPath, ancestors
from penstock.datastore.table.commit import Write
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
from penstock.datastore.text import comparison_form, unescape


class NameHolding(NamedTuple):
    """A resource's part of the row of a name and a group: the claim, or claims `below`."""

    group: GroupPath
    below: int


class NameHolder(NamedTuple):
    """A resource of one kind, with the name that it holds or wants."""

    kind: str
    id: str
    name: str

    def holdings(self, groups: Iterable[GroupPath]) -> dict[Key, NameHolding]:
        """Every row that the resource needs for its name in the groups, which form an antichain."""
        found: dict[Key, NameHolding] = {}
        for group in groups:
            *above, own = ancestors(group)
            found[self.key(own)] = NameHolding(own, 0)
            for ancestor in above:
                key = self.key(ancestor)
                below = found[key].below if key in found else 0
                found[key] = NameHolding(ancestor, below + 1)
        return found

    def key(self, group: GroupPath) -> Key:
        return NAME.key(kind=self.kind, name=comparison_form(self.name), group=group)

    def change_row(
        self, key: Key, old: NameHolding | None, new: NameHolding | None
    ) -> Write | None:
        """The write that turns the resource's old part of the row into its new one."""
        if old == new:
            return None
        if new is None:
            return self._release_row(key, old)
        if new.below == 0:
            return self._claim_row(key, old, new)
        if old is not None and old.below == 0:
            marker: Item = {**key._asdict(), "below": new.below}
            return Write(Put(marker, Compare("id", "=", self.id)))
        step = new.below - (old.below if old else 0)
        return self._mark_row(key, new, step) if step > 0 else self._lower_marker(key, -step)

    def _claim_row(self, key: Key, old: NameHolding | None, new: NameHolding) -> Write:
        """Claim a row that is empty, or that marks nothing but the resource's own claims below."""
        condition = Missing() if old is None else Compare("below", "=", old.below)
        claim: Item = {**key._asdict(), "id": self.id}
        return Write(Put(claim, condition), lambda item: self._name_taken(new.group, item))

    def _mark_row(self, key: Key, new: NameHolding, step: int) -> Write:
        marked = Update(key=key, add={"below": step}, condition=Missing("id"))
        return Write(marked, lambda item: self._name_taken(new.group, item))

    def _release_row(self, key: Key, old: NameHolding | None) -> Write | None:
        if old is None:
            return None
        if old.below == 0:
            return Write(Delete(key, Compare("id", "=", self.id)))
        return self._remove_marker(key, old.below)

    def _remove_marker(self, key: Key, by: int) -> Write:
        """Remove the marker, because most names are held once; others' claims below keep it."""
        return Write(Delete(key, Compare("below", "=", by)), lambda _: self._lower_marker(key, by))

    def _lower_marker(self, key: Key, by: int) -> Write:
        lowered = Update(key=key, add={"below": -by}, condition=Compare("below", ">", by))
        return Write(lowered, lambda _: self._remove_marker(key, by))

    def _name_taken(self, group: GroupPath, standing: Item | None) -> NameTaken:
        holder = standing.get("id") if standing else None
        return NameTaken(self.kind, self.name, group, holder if isinstance(holder, str) else None)


async def describe_conflict(access: Access, taken: NameTaken, id: str) -> NameTaken:
    """Describe the conflict of resource `id`, which wanted a name that another holds."""
    return _hide_unseen_holder(access, await _locate_holder(access, taken, id))


async def _locate_holder(access: Access, taken: NameTaken, id: str) -> NameTaken:
    """Find the holder other than `id` below the marked group, if it still exists."""
    if taken.holder is not None:
        return taken
    below = ROOT if taken.group == ROOT else f"{taken.group}/"
    top = NAME.key(kind=taken.kind, name=comparison_form(taken.name), group=GroupPath(below))
    page = await access.table.query(Query(partition=top.pk, range=Range(top.sk)))
    for item in page.items:
        if item.get("id") not in (None, id):
            group = unescape(NAME.sk.parse(str(item["sk"]))["group"])
            return NameTaken(taken.kind, taken.name, group, str(item["id"]))
    return taken


def _hide_unseen_holder(access: Access, taken: NameTaken) -> NameTaken:
    """Hide the holder in a group that the caller does not see."""
    line = reversed(ancestors(GroupPath(taken.group)))
    nearest = next(group for group in line if access.caller.sees(group))
    if nearest == taken.group:
        return taken
    return NameTaken(taken.kind, taken.name, nearest, None)
