"""Lists of resources: what a group sees, filtered by tags, a full page at a time."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from penstock.datastore import tags
from penstock.datastore.access import Role
from penstock.datastore.errors import LimitExceeded, NotFound
from penstock.datastore.filters import TagFilter
from penstock.datastore.groups import Groups
from penstock.datastore.intersect.filters import Filter, Wanted
from penstock.datastore.intersect.search import Budget, search
from penstock.datastore.intersect.streams import Source
from penstock.datastore.layout import Kind
from penstock.datastore.metered import Metered
from penstock.datastore.parts import Asked
from penstock.datastore.paths import ROOT, GroupPath, ancestors
from penstock.datastore.records import Resource, Tag
from penstock.datastore.resources.postings import Everything, Postings, Travel
from penstock.datastore.resources.reading import Reading
from penstock.datastore.resources.scope import Scope
from penstock.datastore.slices import Slice, Window

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Which list: of a group or the caller's default, with some tags, one way or the other."""

    group: GroupPath | None = None
    tags: TagFilter = field(default_factory=TagFilter)
    include_child_groups: bool = False
    newest_first: bool = True


@dataclass(frozen=True, slots=True)
class Listing(Generic[R]):
    """The lists of one kind, in the caller's scope."""

    kind: Kind[R]
    scope: Scope

    async def page(self, listed: Listed, window: Window, asked: Asked = None) -> Slice[R]:
        """List in a group or by tags (AND): search the postings of its chain, then BatchGet.

        The chain has at most one grant of a resource; below the group several may lead to one,
        which is listed once. A search that reaches its budget ends the page early. Of each resource
        at least what is asked for is there.
        """
        listed.tags.check()
        group = self.scope.seen_group(listed.group)
        table = Metered(self.scope.table)
        descending = listed.newest_first is not window.backward
        travel = Travel(table, self.kind.letter, descending)
        limits = self.scope.budget
        found, _ = await gather(
            search(
                await self._sources(listed, group, travel),
                wanted_tags(listed.tags),
                after=window.after,
                limit=window.size,
                descending=descending,
                budget=Budget(limits.rounds, limits.reads, lambda: table.units.rcu >= limits.units),
            ),
            self.scope.require_group(group),
        )
        records = await Reading(self.kind, self.scope).many(found.ids, asked=asked)
        # An index or a replica may be behind: what is gone by now is left out.
        entries = [
            (id, record)
            for id, record in zip(found.ids, records, strict=True)
            if not isinstance(record, NotFound)
        ]
        if window.backward:
            entries.reverse()
        return Slice(tuple(entries), found.more, found.examined)

    async def _sources(self, listed: Listed, group: GroupPath, travel: Travel) -> Sequence[Source]:
        if not listed.include_child_groups:
            return [Postings(travel, above) for above in ancestors(group)]
        selective = listed.tags.all or listed.tags.any
        sees_all = group == ROOT and self.scope.caller.has(Role.READER, ROOT)
        if sees_all and not selective:
            return self._everything(travel)
        *above, _ = ancestors(group)
        try:
            below = await Groups(self.scope).subtree(group)
        except LimitExceeded:
            if not sees_all:
                raise
            return self._everything(travel)
        return [Postings(travel, each) for each in (*above, *below)]

    def _everything(self, travel: Travel) -> Sequence[Source]:
        latest = self.kind.latest
        return [Everything(travel, latest.index_of(), latest.sk.fill({}))]


def wanted_tags(wanted: TagFilter) -> Filter:
    """The filter of a user as one of tags in comparison form."""
    return Filter(all=_wanted(wanted.all), any=_wanted(wanted.any), none=_wanted(wanted.none))


def _wanted(terms: tuple[Tag, ...]) -> tuple[Wanted, ...]:
    return tuple(Wanted(key, value) for tag in terms for key, value in tags.cover([tag]).items())
