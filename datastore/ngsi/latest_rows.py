"""Rows that name the latest samples of entities, and are raised before the samples are stored.

A row has an entry for some attributes of its entity: the sort key of a sample. No stored sample of
the attribute is later. So if the sample that is named is there, it is the latest one. An entry may
name one that is not stored yet, was refused, deleted, or has expired: then a reader has to query.
So it does without an entry, and without a row, which says nothing.

Entries only rise, under a condition. A late sample writes nothing, and two servers need not agree.
"""

from asyncio import Semaphore, gather
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.errors import ForeignTable, RequestRefused, Unavailable, Unreadable
from penstock.datastore.ngsi.catalog import LEAVING, EntityName, entity_name_of, guard_names
from penstock.datastore.ngsi.destinations import Destinations, FailureKind
from penstock.datastore.ngsi.directory import Attribute, Directory, Entity, series_partition
from penstock.datastore.ngsi.rows import Event, latest_keys
from penstock.datastore.table import limits
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import LATEST_SAMPLES
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Check,
    Compare,
    Condition,
    Exists,
    Item,
    Key,
    Missing,
    Query,
    Update,
)

ENTRY_PREFIX: Final = "key:"
"""Before the name of an attribute: its entry in the row of its entity."""

MAX_ENTRIES: Final = 64
"""The entries of a row; its condition is an expression, which has 4 KB at most."""

MAX_NAME_BYTES: Final = 256
"""The longest name with an entry: rows of 100 entities fit into a transaction, which has 4 MB."""

MAX_KNOWN: Final = 100_000
"""The entries that a process remembers, some 30 MB."""

CONCURRENT_QUERIES: Final = 8

Entries: TypeAlias = Mapping[str, str]
"""The sort keys of samples by the names of attributes."""

Wanted: TypeAlias = Mapping[EntityName, Entries]
"""The entries that the rows of entities must have at least."""


class RowRaise(NamedTuple):
    """Entries that a row gets, and those that it has; None for a row that is not there.

    One that `is_leaving` is raised also without entries, so that it stays.
    """

    name: EntityName
    entries: Entries
    standing: Entries | None
    is_leaving: bool = False

    @property
    def update(self) -> Update:
        """The operation, under the condition that it lowers no entry."""
        return Update(
            key=row_key(self.name),
            set={ENTRY_PREFIX + attribute: key for attribute, key in self.entries.items()},
            # Whoever removes the entity leaves a row that was written meanwhile.
            remove=(LEAVING,),
            condition=self._condition,
        )

    @property
    def _condition(self) -> Condition:
        standing = self.standing
        if standing is None:
            return Missing()
        if not self.entries:
            return Exists()
        return AllOf(
            tuple(
                _is_later(attribute, key, has_entry=attribute in standing)
                for attribute, key in self.entries.items()
            )
        )


def _is_later(attribute: str, key: str, *, has_entry: bool) -> Condition:
    entry = ENTRY_PREFIX + attribute
    later = Compare(entry, "<", key)
    return later if has_entry else AnyOf((Missing(entry), later))


class RaisePlan(NamedTuple):
    """The rows to raise until they have the entries that are wanted.

    It was made when the known rows had been `forgotten` so many times.
    """

    wanted: Wanted
    rows: Sequence[RowRaise]
    forgotten: int


@dataclass(frozen=True, slots=True)
class JoinedRaises:
    """Raises that join a commit, which does not fail by them: one that is refused is left out."""

    rows: Sequence[RowRaise]
    forgotten: int
    refused: set[EntityName] = field(default_factory=set)

    @property
    def writes(self) -> list[Write]:
        return [Write(row.update, partial(self._leave_out, row.name)) for row in self.rows]

    def _leave_out(self, name: EntityName, _standing: Item | None) -> Write:
        self.refused.add(name)
        # In the place of a write stands another one: this holds whatever the row is.
        return Write(Check(row_key(name), AnyOf((Exists(), Missing()))))


@dataclass(slots=True)
class LatestRows:
    """Raises the rows of entities; rows that this process wrote or read before are cached.

    What is cached of a row is not later than what the row has.
    """

    directory: Directory
    destinations: Destinations
    _known: dict[EntityName, Entries] = field(default_factory=dict)
    _size: int = 0
    _forgotten: int = 0

    def forget_rows(self) -> None:
        """Forget what rows have: some may have been removed since."""
        self._known.clear()
        self._size = 0
        self._forgotten += 1

    async def plan(self, wanted: Wanted) -> RaisePlan:
        """Find the rows that are to be raised; call this before the directory lists the samples.

        `pk = NL:<service>:<path>:<id>:<type>` of entities that are not known. For series without
        an entry their newest sample, if the directory lists them. Raises LimitExceeded for names
        that the directory cannot list.
        """
        forgotten = self._forgotten
        unknown = [name for name in wanted if name not in self._known]
        for name in unknown:
            guard_names(name, wanted[name])
        found = await self._read(unknown)
        rows: list[RowRaise] = []
        for name, keys in wanted.items():
            row, standing = found.get(name), self._known.get(name)
            is_leaving = row is not None and LEAVING in row
            if row is not None:
                standing = _entries_of(row)
                if not is_leaving:
                    self._remember(name, standing, forgotten)
            later = _later_keys(keys, standing or {})
            if later or is_leaving:
                rows.append(RowRaise(name, later, standing, is_leaving))
        return RaisePlan(wanted, await self._above_stored(rows), forgotten)

    def join_commit(self, events: Iterable[Event], room: int) -> JoinedRaises:
        """Raise up to `room` rows of events in the commit of the events, without another call.

        Rows that are not known whole are left out.
        """
        rows: list[RowRaise] = []
        for name, keys in wanted_entries(events).items() if room > 0 else ():
            standing = self._known.get(name)
            later = {} if standing is None else _later_keys(keys, standing)
            if later and standing is not None and later.keys() <= standing.keys():
                rows.append(RowRaise(name, later, standing))
        return JoinedRaises(rows[:room], self._forgotten)

    def note_commit(self, joined: JoinedRaises) -> None:
        """Note that a commit succeeded, with the raises that had joined it."""
        for row in joined.rows:
            if row.name in joined.refused:
                self._forget(row.name)
            else:
                self._remember_raised(row, joined.forgotten)

    async def raise_rows(self, plan: RaisePlan) -> None:
        """Raise the rows of a plan, 100 in a transaction, before their samples are stored."""
        async for _ in Attempts():
            try:
                await self._write(plan)
            except StaleRead:
                plan = await self.plan(plan.wanted)
            else:
                return
        raise Unavailable("The same entities are being written by many at once.")

    async def _write(self, plan: RaisePlan) -> None:
        most = limits.TRANSACTION_OPERATIONS
        for start in range(0, len(plan.rows), most):
            await self._write_together(plan.rows[start : start + most], plan.forgotten)

    async def _write_together(self, rows: Sequence[RowRaise], forgotten: int) -> None:
        """Raise rows in one transaction; raises StaleRead if another process raised one further."""
        try:
            await commit(self.directory.access.table, [Write(row.update) for row in rows])
        except StaleRead:
            for row in rows:
                self._forget(row.name)
            raise
        for row in rows:
            self._remember_raised(row, forgotten)

    async def _read(self, names: Sequence[EntityName]) -> dict[EntityName, Attributes]:
        keys = {name: row_key(name) for name in names}
        rows = await read_rows(self.directory.access.table, keys.values(), consistent=True)
        return {name: rows[key] for name, key in keys.items() if key in rows}

    async def _above_stored(self, rows: Sequence[RowRaise]) -> list[RowRaise]:
        """Raise new entries to the newest samples that are stored already.

        A new entry whose series cannot be read is left out, and looked for with its next sample.
        """
        new = [
            (row.name, attribute)
            for row in rows
            for attribute in row.entries
            if attribute not in (row.standing or {})
        ]
        if not new:
            return list(rows)
        newest = await self._newest_keys(new)
        above = []
        for row in rows:
            standing, entries = row.standing or {}, dict[str, str]()
            for attribute, key in row.entries.items():
                if attribute in standing:
                    entries[attribute] = key
                elif (stored := newest.get((row.name, attribute))) is not None:
                    entries[attribute] = max(key, stored)
            if entries or row.is_leaving:
                above.append(row._replace(entries=entries))
        return above

    async def _newest_keys(
        self, series: Sequence[tuple[EntityName, str]]
    ) -> dict[tuple[EntityName, str], str]:
        """The sort keys of the newest stored samples, empty for series without any."""
        room = Semaphore(CONCURRENT_QUERIES)

        async def find(of: Attribute | Unreadable | None) -> str | None:
            async with room:
                return await self._newest_key(of)

        named = [(Entity(*name), attribute) for name, attribute in series]
        keys = await gather(*map(find, await self.directory.named_attributes(named)))
        return {of: key for of, key in zip(series, keys, strict=True) if key is not None}

    async def _newest_key(self, of: Attribute | Unreadable | None) -> str | None:
        """The sort key of the newest sample in any table of a series; None if one is unreadable.

        Samples of an attribute that the directory does not list are not stored yet.
        """
        if not isinstance(of, Attribute):
            return "" if of is None else None
        newest = ""
        for persistence, table in of.places:
            query = Query(
                partition=series_partition(of, persistence),
                descending=True,
                limit=1,
                consistent=True,
            )
            try:
                page = await self.destinations.table(table).query(query)
            except (RequestRefused, ForeignTable, Unavailable) as error:
                if self.destinations.failure_kind(error) is not FailureKind.MISSING:
                    return None
            else:
                newest = max([newest, *(str(item["sk"]) for item in page.items)])
        return newest

    def _forget(self, name: EntityName) -> None:
        self._size -= len(self._known.pop(name, {}))

    def _remember_raised(self, row: RowRaise, forgotten: int) -> None:
        """Remember a raised row whole: it may have been forgotten meanwhile."""
        self._remember(row.name, {**(row.standing or {}), **row.entries}, forgotten)

    def _remember(self, name: EntityName, entries: Entries, forgotten: int) -> None:
        """Remember entries that a row has, unless some may have been removed since."""
        if forgotten != self._forgotten:
            return
        known = dict(self._known.pop(name, {}))
        self._size -= len(known)
        for attribute, key in entries.items():
            known[attribute] = max(key, known.get(attribute, ""))
        self._known[name] = known
        self._size += len(known)
        while self._size > MAX_KNOWN:
            self._forget(next(iter(self._known)))


def wanted_entries(events: Iterable[Event]) -> Wanted:
    """The latest samples of events, whose entities must have these entries before."""
    wanted: dict[EntityName, dict[str, str]] = defaultdict(dict)
    for event in events:
        entries = wanted[entity_name_of(event)]
        for attribute, key in latest_keys(event).items():
            entries[attribute] = max(key, entries.get(attribute, ""))
    return wanted


def row_key(name: EntityName) -> Key:
    """The key of the row of an entity."""
    return LATEST_SAMPLES.key(**name._asdict())


def entry_of(row: Attributes, attribute: str) -> str | None:
    """The sort key that a row has for an attribute; None without an entry."""
    found = row.get(ENTRY_PREFIX + attribute)
    return found if isinstance(found, str) else None


def _entries_of(row: Attributes) -> dict[str, str]:
    return {
        name.removeprefix(ENTRY_PREFIX): str(key)
        for name, key in row.items()
        if name.startswith(ENTRY_PREFIX)
    }


def _later_keys(keys: Entries, standing: Entries) -> dict[str, str]:
    """The keys that are later than the entries of a row, and new ones while it has room."""
    later = {name: key for name, key in keys.items() if name in standing and standing[name] < key}
    new = (name for name in keys if name not in standing and _has_short_name(name))
    later |= {name: keys[name] for name in islice(new, max(MAX_ENTRIES - len(standing), 0))}
    return later


def _has_short_name(attribute: str) -> bool:
    return len(attribute.encode()) <= MAX_NAME_BYTES
