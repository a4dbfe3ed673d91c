"""The resolution of names in formulas: the id that was saved, else what the owner group sees."""

from asyncio import gather
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, NamedTuple, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import BadArgument, IllegalState, NotFound
from penstock.datastore.records import Resource, State
from penstock.datastore.resources.rules import MAX_NAME
from penstock.datastore.resources.version_labels.labels import find_label
from penstock.datastore.resources.versions import Versions
from penstock.datastore.roles import GroupPath, ancestors, are_on_one_line, parse_group_path
from penstock.datastore.table.commit import StaleRead
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import NAME, KindDefinition
from penstock.datastore.table.port import Attributes, Key
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.text import comparison_form
from penstock.formula.core.datasets import VersionPin

R = TypeVar("R", bound=Resource)


class NameReference(NamedTuple):
    """A name in a formula, the owner group of that formula's resource, and the wanted version.

    A group in the pin must lie on one line with the owner, because readers of the formula may not
    know of other groups. `id` is the resource for which the name was saved, whatever its name is
    now; None looks the name up.
    """

    owner: GroupPath
    name: str
    pin: VersionPin
    id: str | None = None


class ResolvedName(NamedTuple, Generic[R]):
    """A resolved name: the version, and the resource as it is now."""

    latest: R
    version: R


@dataclass(frozen=True, slots=True)
class NameResolver(Generic[R]):
    """Resolves the names of one kind of resource in formulas.

    `saved` is the resource that is being saved; it is not in the table yet. With `for_run`, only
    resources that the caller may see and use are found.
    """

    kind: KindDefinition[R]
    access: Access
    saved: R | None = None
    for_run: bool = False

    async def resolve(
        self, mentions: Iterable[NameReference]
    ) -> dict[NameReference, ResolvedName[R]]:
        """Resolve the names by one read of all resources, and one more for other versions.

        Names without an id take a read before. Names without a resource are left out, and so are
        resources that the owner group no longer sees. Raises IllegalState for a disabled resource,
        where formulas are run; StaleRead for one that was renamed or revoked after its name was
        read, where they are saved.
        """
        ids = await self._find_ids(set(mentions))
        latest = await self._read_latest(set(ids.values()))
        wanted = {
            mention: latest[id]
            for mention, id in ids.items()
            if id in latest and self._is_in_reach(mention, latest[id])
        }
        versions = await self._read_versions(wanted)
        return {
            mention: ResolvedName(of, version)
            for (mention, of), version in zip(wanted.items(), versions, strict=True)
            if version is not None
        }

    async def _find_ids(self, mentions: set[NameReference]) -> dict[NameReference, str]:
        """Get by name: BatchGet of `AID:<kind>:<name>, G:<group>` over the chains of them all."""
        chains = {mention: self._chain_keys(mention) for mention in mentions if mention.id is None}
        keys = [key for chain in chains.values() for key in chain]
        rows = await read_rows(self.access.table, keys, consistent=True)
        found = {mention: mention.id for mention in mentions if mention.id is not None}
        for mention, chain in chains.items():
            holders = (self._holder(key, rows.get(key, {})) for key in chain)
            if id := next(filter(None, holders), None):
                found[mention] = id
        return found

    def _chain_keys(self, mention: NameReference) -> list[Key]:
        """The keys that may hold the name, nearest first."""
        if len(mention.name) > MAX_NAME:
            return []
        return [self._key(mention.name, above) for above in _chain(mention)]

    def _key(self, name: str, group: GroupPath) -> Key:
        return NAME.key(kind=self.kind.letter, name=comparison_form(name), group=group)

    def _holder(self, key: Key, row: Attributes) -> str | None:
        """The id of the resource that will hold the name after the save."""
        holder = row.get("id")
        if self.saved is None:
            return None if holder is None else str(holder)
        if key in self._claimed_keys(self.saved):
            return self.saved.id
        return str(holder) if holder not in (None, self.saved.id) else None

    async def _read_latest(self, ids: set[str]) -> dict[str, R]:
        """Get latest: `pk = C:<id>, sk = C`, batched; the names decided, no grant is read."""
        known = {} if self.saved is None else {self.saved.id: self.saved}
        keys = {self.kind.latest.key(id=id): id for id in ids - known.keys()}
        rows = await read_rows(self.access.table, keys, consistent=True)
        found = {
            keys[key]: load(self.kind.record, item, id=keys[key])
            for key, item in rows.items()
            if is_alive(item)
        }
        return {
            id: self._require_enabled(one) for id, one in found.items() if self._is_visible(one)
        } | known

    def _is_visible(self, latest: R) -> bool:
        return not self.for_run or self.access.sees(latest)

    def _require_enabled(self, latest: R) -> R:
        if self.for_run and latest.state is State.DISABLED:
            message = f"The {self.kind.noun} {latest.name!r} is disabled."
            raise IllegalState(message, latest.state.name)
        return latest

    def _claimed_keys(self, resource: R) -> set[Key]:
        """The keys of the rows in which the resource holds its name."""
        return {self._key(resource.name, group) for group in resource.groups}

    def _is_in_reach(self, mention: NameReference, latest: R) -> bool:
        """Whether the mention's group still sees the resource; a name must still be its own."""
        if mention.id is not None:
            return is_in_reach(mention, latest)
        if not self.for_run and not self._claimed_keys(latest) & {*self._chain_keys(mention)}:
            raise StaleRead
        return True

    async def _read_versions(self, wanted: Mapping[NameReference, R]) -> list[R | None]:
        """The wanted versions, each None if it does not exist; all numbers take one read."""
        numbers = {mention: _named_version(mention.pin, of) for mention, of in wanted.items()}
        numbered = {
            mention: (of, number)
            for mention, of in wanted.items()
            if (number := numbers[mention]) not in (None, of.version)
        }
        versions = Versions(self.kind, self.access)
        asked = [(of, number or 0) for of, number in numbered.values()]
        found = dict(zip(numbered, await versions.by_number(asked), strict=True)) if asked else {}

        async def pick(mention: NameReference, of: R) -> R | None:
            if mention in found:
                version = found[mention]
                return None if isinstance(version, NotFound) else version
            time = mention.pin.version_as_at
            if numbers[mention] is not None or time is None:
                return of
            try:
                return await versions.as_at(of, iso_timestamp(_parse_time(time)))
            except (NotFound, ValueError, OverflowError):
                return None

        return await gather(*(pick(mention, of) for mention, of in wanted.items()))


def is_in_reach(mention: NameReference, latest: Resource) -> bool:
    """Whether the group of the mention sees the resource, by a grant to it or to a group above."""
    return not {*latest.groups}.isdisjoint(_chain(mention))


def _chain(mention: NameReference) -> list[GroupPath]:
    """The groups in which the name is looked up, nearest first; none if the pin's is elsewhere."""
    group = mention.owner
    if mention.pin.group is not None:
        try:
            group = parse_group_path(mention.pin.group)
        except BadArgument:
            return []
    return [*reversed(ancestors(group))] if are_on_one_line(group, mention.owner) else []


def _named_version(pin: VersionPin, of: Resource) -> int | None:
    """The number that a pin names, also by a label; 0 for a label that no version has."""
    if pin.label is None:
        return pin.version
    found = find_label(of, pin.label)
    return found.version if found is not None else 0


def _parse_time(text: str) -> datetime:
    """Parse a time in a formula; it is in UTC if it names no zone."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
