"""Reads and lists of resources that the caller sees, decoded as far as a projection needs."""

from asyncio import gather
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

from msgspec import structs

from penstock.datastore.access.access import (
    Access,
    group_not_found_error,
    key_of_group,
    not_found_error,
)
from penstock.datastore.errors import LimitExceeded, NotFound, Unreadable
from penstock.datastore.groups.repository import Groups
from penstock.datastore.name_search.words import NameFilter, NameTerm, search_form
from penstock.datastore.records import Resource, State, Tag
from penstock.datastore.resources.rules import MAX_NAME
from penstock.datastore.roles import ROOT, GroupPath, Role, ancestors
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.items import (
    Projection,
    in_turns,
    load,
    merge_projections,
    read_rows,
    resource_id,
    unknown_attributes,
)
from penstock.datastore.table.layout import NAME, KindDefinition
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import INDEX_HASH, Attributes, Item, Table
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.tag_search import tags
from penstock.datastore.tag_search.posting_streams import PostingSource
from penstock.datastore.tag_search.postings import (
    AllResources,
    GroupPostings,
    NamedPostings,
    ScanParams,
    WantedName,
    read_named_tags,
)
from penstock.datastore.tag_search.search import SearchBudget, SearchPage, search
from penstock.datastore.tag_search.tags import TagFilter, TagTerm, TermFilter
from penstock.datastore.text import comparison_form, is_id

R = TypeVar("R", bound=Resource)

ACCESS_FIELDS: Projection = frozenset(("id", "groups"))
"""The fields by which a resource is found and access to it is decided."""

VISITED_AT_ONCE = 1_000
"""The matches of one search whose tags are counted before the next search."""

MATCH_FIELDS: Projection = frozenset(("name", "tags", "state", "owner"))
"""The fields by which a match of a filter is confirmed."""

FILTERED_AT_ONCE = 100
"""The matches of tags and names whose state and owner are read together."""


class LazyResource(Generic[R]):
    """A resource that the caller sees, which is decoded when its fields are needed."""

    __slots__ = ("_kind", "_parts", "_row")

    def __init__(self, kind: KindDefinition[R], row: Attributes) -> None:
        self._kind = kind
        self._row = row
        self._parts: dict[Projection, R] = {}

    @classmethod
    def from_record(cls, kind: KindDefinition[R], resource: R) -> "LazyResource[R]":
        """Wrap a resource that is decoded already."""
        found = cls(kind, {})
        found._parts[None] = resource
        return found

    def record(self, projection: Projection = None) -> R:
        """The resource, with at least the fields of the projection."""
        known = self._parts.get(None) or self._parts.get(projection)
        if known is None:
            id, part = resource_id(self._row), merge_projections(projection, ACCESS_FIELDS)
            known = self._parts[projection] = load(self._kind.record, self._row, part, id=id)
        return known


class Standing(NamedTuple, Generic[R]):
    """A resource as it stands before a write.

    `unknown` are the attributes of its row that this release does not know. `lists_itself` says
    that an earlier release wrote the row, which is in the list of its kind without a small row.
    """

    resource: R
    unknown: Item
    lists_itself: bool


@dataclass(frozen=True, slots=True)
class ResourceReader(Generic[R]):
    """The reads of one kind for the caller."""

    kind: KindDefinition[R]
    access: Access

    async def many(
        self, ids: Sequence[str], *, projection: Projection = None
    ) -> list[R | NotFound]:
        """Get latest: `pk = P:<id>, sk = PV:latest`, batched; one answer for each id, in order.

        The row carries the grants, so it decides the access and is read consistently. An id that
        the caller does not see and an absent one give the same NotFound. Each resource has at least
        the fields of the projection.
        """
        part = merge_projections(projection, ACCESS_FIELDS)
        return [self.admit(row, part) for row in await self._rows(ids)]

    async def lazy_many(self, ids: Sequence[str]) -> list[LazyResource[R] | NotFound]:
        """Get latest, for callers that need more and more fields of each."""
        return [self._admit_row(row, ACCESS_FIELDS) for row in await self._rows(ids)]

    async def one(self, id: str) -> R:
        """Get latest, one id; raises NotFound."""
        (resource,) = await self.many([id])
        if isinstance(resource, NotFound):
            raise resource
        return resource

    async def one_to_rewrite(self, id: str) -> "Standing[R]":
        """Get latest, consistently, as a write of it has to know it. Raises NotFound."""
        (row,) = await self._rows([id])
        resource = self.admit(row)
        if row is None or isinstance(resource, NotFound):
            raise resource if isinstance(resource, NotFound) else not_found_error(self.kind.noun)
        return Standing(resource, unknown_attributes(self.kind.record, row), INDEX_HASH in row)

    async def by_name(self, name: str, group: GroupPath | None) -> R:
        """Get by name: BatchGet of `AID:<kind>:<name>, G:<group>` over the chain, nearest first."""
        if len(name) > MAX_NAME:
            raise NotFound(f"No name is longer than {MAX_NAME} characters.", ("name",))
        group = self.access.require_visible_group(group)
        chain = [
            NAME.key(kind=self.kind.letter, name=comparison_form(name), group=above)
            for above in reversed(ancestors(group))
        ]
        rows = await read_rows(self.access.table, [*chain, key_of_group(group)], consistent=True)
        if group != ROOT and key_of_group(group) not in rows:
            raise group_not_found_error(group)
        for key in chain:
            if "id" in rows.get(key, {}):
                return await self.one(str(rows[key]["id"]))
        raise NotFound(f"There is no {self.kind.noun} named {name!r}.", ("name",))

    def admit(self, item: Attributes | None, projection: Projection = None) -> R | NotFound:
        """The resource in a latest row; NotFound if there is none or the caller does not see it."""
        found = self._admit_row(item, projection)
        return found if isinstance(found, NotFound) else found.record(projection)

    async def _rows(self, ids: Sequence[str]) -> list[Attributes | None]:
        keys = {id: self.kind.latest.key(id=id) for id in ids if is_id(id)}
        found = await read_rows(self.access.table, list(keys.values()), consistent=True)
        return [found.get(keys[id]) if id in keys else None for id in ids]

    def _admit_row(
        self, row: Attributes | None, projection: Projection
    ) -> LazyResource[R] | NotFound:
        """Decide by the projected fields, because they are decoded in any case."""
        if not is_alive(row):
            return not_found_error(self.kind.noun)
        found = LazyResource(self.kind, row)
        try:
            seen = self.access.sees(found.record(projection))
        except Unreadable as error:
            return error if self._sees_unreadable(row) else not_found_error(self.kind.noun)
        return found if seen else not_found_error(self.kind.noun)

    def _sees_unreadable(self, row: Attributes) -> bool:
        """Whether the grants of a row can be read, and let the caller know of it."""
        try:
            return self.access.sees(LazyResource(self.kind, row).record(ACCESS_FIELDS))
        except Unreadable:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """The request for a list: the group (or the caller's default), what is wanted, and the order.

    No postings hold the state and the owner: records that match otherwise are read for them.
    Without states, resources of any state are wanted.
    """

    group: GroupPath | None = None
    tags: TagFilter = field(default_factory=TagFilter)
    name: NameFilter | None = None
    states: tuple[State, ...] = ()
    owner: GroupPath | None = None
    include_child_groups: bool = False
    newest_first: bool = True

    @property
    def filters_records(self) -> bool:
        return bool(self.states) or self.owner is not None

    def accepts(self, record: Resource) -> bool:
        """Whether a resource has a wanted state and the wanted owner."""
        in_state = not self.states or record.state in self.states
        return in_state and (self.owner is None or record.owner == self.owner)


@dataclass(frozen=True, slots=True)
class _Travel:
    """A search for the pages of one list; without a scope it lists whatever there is.

    The `named` resources of some groups are known by their names; the other groups are `sources`.
    """

    listed: ListRequest
    table: Table
    sources: Sequence[PostingSource]
    named: Sequence[NamedPostings]
    scope: Sequence[GroupPath] | None
    wanted: TermFilter
    descending: bool
    budget: SearchBudget

    async def search(self, after: str | None, limit: int) -> SearchPage:
        return await search(
            self.sources,
            self.wanted,
            after=after,
            limit=limit,
            descending=self.descending,
            budget=self.budget,
            named=self.named,
        )

    async def read_carried(self, found: SearchPage) -> Mapping[str, Mapping[str, str]]:
        """Read the tags of those matches that postings or grants prove, by their ids.

        What a search tells was compared with the whole filter, unless the name was looked up.
        """
        known = {id: found.tags[id] for id in found.ids if id in found.tags}
        unread = [id for id in found.ids if id not in known]
        known |= await read_named_tags(self.table, self.named, unread)
        looked_up = {id for named in self.named for id in named.ids}

        def is_proved(id: str) -> bool:
            wanted = self.wanted
            proves = wanted.is_proved_by if id in looked_up else wanted.tells_name
            return proves(known[id])

        return {id: known[id] for id in known if is_proved(id)}

    def confirms(self, record: Resource) -> bool:
        """Whether the record has a grant in the scope, and all that the request wants."""
        if self.scope is not None and {*self.scope}.isdisjoint(record.groups):
            return False
        if not self.listed.accepts(record):
            return False
        if not self.wanted.restricts:
            return True
        carried = tags.tag_map(record.tags)
        if self.wanted.name is not None:
            carried = {**carried, tags.NAME: search_form(record.name)}
        return self.wanted.matches(carried)


@dataclass(frozen=True, slots=True)
class Listing(Generic[R]):
    """The lists of one kind for the caller."""

    kind: KindDefinition[R]
    access: Access

    async def page(
        self, listed: ListRequest, window: Window, projection: Projection = None
    ) -> Slice[R]:
        """List in a group, by tags and name: search the postings of its chain, then BatchGet.

        Along the chain a resource has at most one grant; below the group it may have several, and
        is listed once. A search that reaches its budget ends the page early. Each resource has at
        least the fields of the projection.
        """
        group = self._check(listed)
        travel = await self._travel(listed, group, listed.newest_first is not window.backward)
        found, _ = await gather(
            self._read_matches(travel, window, projection), self.access.require_group(group)
        )
        return replace(found, entries=found.entries[::-1]) if window.backward else found

    async def visit_tags(
        self, listed: ListRequest, visit: Callable[[str, Mapping[str, str]], None]
    ) -> bool:
        """Call `visit` with the id and the tags of every match; return whether it met them all.

        It did not where the budget of a page ended. Tags come from postings, as those of counts
        do, and from records where neither postings nor grants carry them with what is wanted.
        """
        group = self._check(listed)
        travel = await self._travel(listed, group, descending=False)
        await self.access.require_group(group)
        examined, more = None, True
        while more and not (examined and travel.budget.exhausted):
            found = await travel.search(examined, _matches_at_once(listed, VISITED_AT_ONCE))
            carried = {} if listed.filters_records else await travel.read_carried(found)
            bare = [id for id in found.ids if id not in carried]
            for record in await self._reading_of(travel).many(bare, projection=MATCH_FIELDS):
                if not isinstance(record, NotFound) and travel.confirms(record):
                    visit(record.id, tags.tag_map(record.tags))
            async for part in in_turns(found.ids):
                for id in part:
                    if id in carried:
                        visit(id, tags.without_name(carried[id]))
            examined, more = found.examined, found.more
        return not more

    @property
    def reading(self) -> ResourceReader[R]:
        return ResourceReader(self.kind, self.access)

    def _reading_of(self, travel: "_Travel") -> ResourceReader[R]:
        """The reads of records, which use the budget of the search too."""
        return ResourceReader(self.kind, structs.replace(self.access, table=travel.table))

    def _check(self, listed: ListRequest) -> GroupPath:
        """Return the group of a request; raises Invalid, and NotFound for a hidden group."""
        listed.tags.check()
        return self.access.require_visible_group(listed.group)

    async def _travel(self, listed: ListRequest, group: GroupPath, descending: bool) -> "_Travel":
        table, limits = MeteredTable(self.access.table), self.access.budget
        wanted = term_filter(listed.tags, listed.name)
        budget = SearchBudget(
            limits.rounds,
            limits.reads,
            lambda: table.units.rcu >= limits.units,
            self._note_rows(wanted),
        )
        scope = await self._scope(listed, group)
        params = ScanParams(table, self.kind.letter, descending)
        sources, named = await self._sources(scope, params, wanted.name)
        return _Travel(listed, table, sources, named, scope, wanted, descending, budget)

    def _note_rows(self, wanted: TermFilter) -> Callable[[int], None]:
        """The payment for rows that are read, and compared where a name is wanted.

        All of them are of groups whose resources the caller sees.
        """

        def note(rows: int) -> None:
            self.access.payments.note_rows(rows)
            if wanted.name is not None:
                self.access.owe_matching(rows)

        return note

    async def _read_matches(
        self, travel: "_Travel", window: Window, projection: Projection
    ) -> Slice[R]:
        """Search until the page is full of resources whose own records confirm the match.

        Postings follow the record: those of a revoke or of a removed tag may stand for a moment,
        and an index or a replica may be late.
        """
        if travel.wanted.restricts or travel.listed.filters_records:
            projection = merge_projections(projection, MATCH_FIELDS)
        reading = self._reading_of(travel)
        entries: list[tuple[str, R]] = []
        examined, more = window.after, True
        while more and len(entries) < window.size:
            missing = window.size - len(entries)
            found = await travel.search(examined, _matches_at_once(travel.listed, missing))
            records = await reading.many(found.ids, projection=projection)
            entries += [
                (id, record)
                for id, record in zip(found.ids, records, strict=True)
                if not isinstance(record, NotFound) and travel.confirms(record)
            ]
            examined, more = found.examined, found.more
            if travel.budget.exhausted:
                break
        if len(entries) > window.size:
            entries, more = entries[: window.size], True
        if not more or len(entries) == window.size:
            examined = entries[-1][0] if entries else window.after
        return Slice(tuple(entries), more, examined)

    async def _scope(self, listed: ListRequest, group: GroupPath) -> Sequence[GroupPath] | None:
        """The groups whose grants are listed; None for all resources of the kind."""
        if not listed.include_child_groups:
            return ancestors(group)
        selective = listed.tags.all or listed.tags.any or listed.name
        sees_all = group == ROOT and self.access.caller.has_role(Role.READER, ROOT)
        if sees_all and not selective:
            return None
        *above, _ = ancestors(group)
        try:
            below = await Groups(self.access).subtree(group)
        except LimitExceeded:
            if not sees_all:
                raise
            return None
        return (*above, *below)

    async def _sources(
        self, scope: Sequence[GroupPath] | None, params: ScanParams, name: NameTerm | None
    ) -> tuple[Sequence[PostingSource], Sequence[NamedPostings]]:
        """The groups whose postings are searched, and those whose names are found by words."""
        if scope is None:
            return [AllResources(params, self.kind.latest)], []
        if name is None:
            self.access.payments.promise_calls(len(scope))
            return [GroupPostings(params, group) for group in scope], []
        most = self.access.budget.candidates
        limit = min(most, 10 * most // len(scope))
        self.access.payments.promise_calls(len(scope))
        wanted = WantedName(name, limit, self.access.owe_matching)
        found = await gather(*(NamedPostings.find(params, group, wanted) for group in scope))
        rest = [group for group, named in zip(scope, found, strict=True) if named is None]
        named = [one for one in found if one is not None]
        return [GroupPostings(params, group) for group in rest], named


def _matches_at_once(listed: ListRequest, otherwise: int) -> int:
    """The matches of tags and names to search for: their records may not be wanted."""
    return FILTERED_AT_ONCE if listed.filters_records else otherwise


def term_filter(wanted: TagFilter, name: NameFilter | None = None) -> TermFilter:
    """The user's filters: tags in comparison form, and the name in search form, or Invalid."""
    return TermFilter(
        all=_tag_terms(wanted.all),
        any=_tag_terms(wanted.any),
        none=_tag_terms(wanted.none),
        without_keys=frozenset(map(comparison_form, wanted.without_keys)),
        name=name.term() if name else None,
    )


def _tag_terms(terms: tuple[Tag, ...]) -> tuple[TagTerm, ...]:
    return tuple(TagTerm(key, value) for tag in terms for key, value in tags.tag_map([tag]).items())
