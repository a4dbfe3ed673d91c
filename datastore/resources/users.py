"""The lists of the users of a resource, and of what it uses, as far as the caller sees them."""

from asyncio import gather
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import InUse, NotFound
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import ACCESS_FIELDS, ResourceReader
from penstock.datastore.resources.use_rows import ResourceKey, uses_of
from penstock.datastore.roles import ROOT, GroupPath, ancestors, covers
from penstock.datastore.table.items import Projection, merge_projections, read_rows
from penstock.datastore.table.keys import SEPARATOR
from penstock.datastore.table.layout import KIND_OF_LETTER, USED_BY, KindDefinition
from penstock.datastore.table.merged_pages import QueryRange, read_merged_page
from penstock.datastore.table.pages import Slice, Window, make_slice, read_existing
from penstock.datastore.table.port import Attributes, Query, Range
from penstock.datastore.text import unescape

SHOWN_USERS: Final = 10
"""The users that the refusal of a deletion names."""

_ROUNDS: Final = 10
_LINK_FIELDS: Final[Projection] = frozenset(("references",)) | (ACCESS_FIELDS or frozenset())

ProjectionOfKind = Callable[[KindDefinition[Any]], Projection]
"""The wanted fields of the resources of a kind."""


def every_field(_kind: KindDefinition[Any]) -> Projection:
    return None


class _UserLink(NamedTuple):
    """A row that lists a user in one of the groups with a grant of it."""

    group: GroupPath
    user: ResourceKey


@dataclass(frozen=True, slots=True)
class Uses:
    """The lists of users and of what is used, for the caller."""

    access: Access

    async def list_users(
        self, resource: Resource, window: Window, projection: ProjectionOfKind = every_field
    ) -> Slice[Resource]:
        """List the users of a resource that the caller has read, by their groups, then their ids.

        One query of `pk = C:<id>` for each group that the caller sees from below (`sk` begins with
        `UB:<group>:`), two for each at which the caller has a role (`UB:<group>/` holds the groups
        below it); then one BatchGet. A user with several grants is listed at the first of them.
        """
        used = ResourceKey.of(resource)
        lanes = self._lanes(used, descending=window.backward)

        async def read_links(part: Window) -> Slice[_UserLink]:
            self.access.payments.promise_calls(sum(_is_read(lane, part) for lane in lanes))
            return await read_merged_page(lanes, part, _ROUNDS, _read_link)

        async def load(links: Sequence[_UserLink]) -> list[Resource | None]:
            found = await self._load([link.user for link in links], projection)
            return [
                user if user is not None and self._is_listed(used, link, user) else None
                for link, user in zip(links, found, strict=True)
            ]

        return await read_existing(window, read_links, load)

    async def list_used(
        self, user: Resource, window: Window, projection: ProjectionOfKind = every_field
    ) -> Slice[Resource]:
        """List what a resource that the caller has read uses: BatchGet of the latest rows."""
        keys = sorted(uses_of(user), reverse=window.backward)

        async def read_links(part: Window) -> Slice[ResourceKey]:
            behind = [key for key in keys if _is_behind(key.text, part)]
            return make_slice(behind[: part.size + 1], part, lambda key: key.text, more=False)

        async def load(links: Sequence[ResourceKey]) -> list[Resource | None]:
            return await self._load(links, projection)

        return await read_existing(window, read_links, load)

    async def _load(
        self, keys: Sequence[ResourceKey], projection: ProjectionOfKind
    ) -> list[Resource | None]:
        """Read what the caller sees of the keys, in their order."""

        async def read_kind(letter: str) -> list[tuple[ResourceKey, Resource]]:
            kind = KIND_OF_LETTER[letter]
            asked = [key for key in keys if key.kind == letter]
            part = merge_projections(projection(kind), _LINK_FIELDS)
            found = await ResourceReader(kind, self.access).many(
                [key.id for key in asked], projection=part
            )
            pairs = zip(asked, found, strict=True)
            return [(key, one) for key, one in pairs if not isinstance(one, NotFound)]

        pages = await gather(*map(read_kind, sorted({key.kind for key in keys})))
        seen = dict(pair for page in pages for pair in page)
        return [seen.get(key) for key in keys]

    def _lanes(self, used: ResourceKey, *, descending: bool) -> list[QueryRange]:
        """The ranges of rows in the groups that the caller sees; no two hold the same row."""
        partition = USED_BY.pk.fill(used._asdict())
        return [
            QueryRange(
                self.access.table,
                Query(
                    partition=partition, range=Range(prefix), descending=descending, consistent=True
                ),
            )
            for prefix in _prefixes(self.access.caller.roles)
        ]

    def _is_listed(self, used: ResourceKey, link: _UserLink, user: Resource) -> bool:
        """Whether a user still uses the resource, and this is the first row that lists it."""
        seen = filter(self.access.caller.sees, user.groups)
        first = min(seen, key=lambda group: USED_BY.sk.prefix({"group": group}), default=None)
        return used in uses_of(user) and first == link.group


def _prefixes(roles: Iterable[GroupPath]) -> list[str]:
    """The beginnings of the sort keys of rows in the groups that a caller with the roles sees."""
    held = {one for one in roles if not any(covers(two, one) for two in roles if two != one)}
    if ROOT in held:
        return [USED_BY.sk.prefix({})]
    above = {group for one in held for group in ancestors(one)[:-1]}
    at = {group: USED_BY.sk.prefix({"group": group}) for group in sorted(above | held)}
    return [*at.values(), *(at[one].removesuffix(SEPARATOR) + "/" for one in sorted(held))]


def _is_read(lane: QueryRange, window: Window) -> bool:
    return lane.query_behind(window.after) is not None


def _is_behind(position: str, window: Window) -> bool:
    if window.after is None:
        return True
    return position < window.after if window.backward else position > window.after


def _read_link(item: Attributes) -> _UserLink:
    parts = USED_BY.sk.parse(str(item["sk"]))
    return _UserLink(
        GroupPath(unescape(parts["group"])), ResourceKey(parts["by_kind"], parts["by"])
    )


async def describe_users(access: Access, resource: Resource) -> InUse | None:
    """Describe who uses a resource that cannot be deleted; None if nothing does by now.

    Users that the caller does not see have no names, and no number of their own.
    """
    used = ResourceKey.of(resource)
    rows = await read_rows(access.table, [used.user_count], consistent=True)
    count = int(str(rows.get(used.user_count, {}).get("count", 0)))
    if not count:
        return None
    shown = await Uses(access).list_users(resource, Window(size=SHOWN_USERS))
    users = [user for _, user in shown.entries]
    noun = KIND_OF_LETTER[used.kind].noun
    more = count > len(users)
    named = ", ".join([*(repr(user.name) for user in users), *(["others"] if more else [])])
    return InUse(f"This {noun} is used by {named}.", users, more)
