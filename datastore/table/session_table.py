"""The table of one session: once the session has written, its reads show what it wrote."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, NamedTuple

from penstock.datastore.table.forwarding import ForwardingTable
from penstock.datastore.table.keys import SEPARATOR
from penstock.datastore.table.layout import (
    GRANT,
    LISTED,
    LOOSE_OBJECT,
    LOOSE_OBJECT_DUE,
    OWNED,
    QUOTA_GATE,
    ROWS,
    STAGED,
    Row,
)
from penstock.datastore.table.port import (
    INDEX_HASH,
    Attributes,
    Batch,
    Check,
    Delete,
    Key,
    Operation,
    Page,
    Put,
    Query,
    Scan,
    Table,
    key_of,
)

_MAX_KEYS: Final = 100

_UNSEEN: Final = frozenset(
    each.sk.leader for each in (STAGED, LOOSE_OBJECT, LOOSE_OBJECT_DUE, QUOTA_GATE)
)
"""The rows that no answer shows: they are written before a change, also before one that fails."""


class WrittenRow(NamedTuple):
    """The key of an indexed row that was written, and the time in seconds since the epoch."""

    key: Key
    seconds: int


@dataclass(frozen=True, slots=True)
class ReadConsistency:
    """The consistency of a session's reads, and the keys of indexed rows written lately.

    A session whose reads are not consistent reads so from its first write on.
    """

    consistent: bool = False
    written: tuple[Key, ...] = ()


OWN_WRITES: Final = ReadConsistency()


class SessionTable(ForwardingTable):
    """A table whose reads show what the session has written, and what it is told was written.

    An index is always read eventually consistently. Its pages are corrected by the rows written
    lately, which are read from the base table. `written` has the keys of the indexed rows that the
    session itself wrote, and `has_written` tells whether it wrote anything that an answer may show.
    """

    __slots__ = ("_consistent", "_known", "_listed", "_read", "has_written", "written")

    def __init__(self, table: Table, reads: ReadConsistency = OWN_WRITES) -> None:
        self._table = table
        self._consistent = reads.consistent
        self._known = reads.written
        self._listed: dict[str, list[Key]] = {}
        self._read: dict[Key, Attributes | None] = {}
        self.written: Final = dict[Key, None]()
        self.has_written = False

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self._table.get(keys, consistent=consistent or self._consistent)

    async def query(self, query: Query) -> Page:
        if not query.index:
            consistent = query.consistent or self._consistent
            return await self._table.query(replace(query, consistent=consistent))
        units = 0.0
        while True:
            page = await self._correct(query, await self._table.query(query))
            units += page.units
            if page.items or page.last is None:
                return replace(page, units=units)
            # Readers of a list expect a page with a `last` to hold something.
            query = replace(query, after=page.last)

    async def scan(self, scan: Scan) -> Page:
        return await self._table.scan(scan)

    async def transact(self, operations: Sequence[Operation]) -> float:
        self._note(operations)
        units = await self._table.transact(operations)
        self.has_written |= _may_show(operations)
        return units

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        self._note(operations)
        units = await self._table.write(operations)
        self.has_written |= _may_show(operations)
        return units

    def _note(self, operations: Sequence[Operation]) -> None:
        """Note what is about to be written: a write that fails may have happened."""
        self._consistent = True
        for operation in operations:
            if not isinstance(operation, Check) and _row_of(operation.key) is not None:
                self.written[operation.key] = None

    async def _correct(self, query: Query, page: Page) -> Page:
        """Correct a page of the index by the rows written lately that lie within it."""
        written = (key for key in self.written if _may_list(query.partition, key))
        lately = dict.fromkeys((*self._known_in(query.partition), *written))
        named = [key for key in lately if _lies_within(query, page.last, key)]
        if not named:
            return page
        units = page.units + await self._read_again(named)
        rows = {key_of(item): item for item in page.items}
        for key in named:
            rows.pop(key, None)
            row = self._read[key]
            if row is not None and row.get(INDEX_HASH) == query.partition:
                rows[key] = row
        items = [rows[key] for key in sorted(rows, reverse=query.descending)]
        last = page.last
        if query.limit is not None and len(items) > query.limit:
            items = items[: query.limit]
            last = key_of(items[-1])
        return Page(tuple(items), last, units)

    def _known_in(self, partition: str) -> list[Key]:
        """The keys that the session was told of and that the partition of the index may list."""
        found = self._listed.get(partition)
        if found is None:
            found = [key for key in self._known if _may_list(partition, key)]
            self._listed[partition] = found
        return found

    async def _read_again(self, keys: Sequence[Key]) -> float:
        """Read rows that the session wrote, and others unless it has done so; return the units.

        What the session was told of was written before, so that one reading shows it.
        """
        wanted = [key for key in keys if key in self.written or key not in self._read]
        batches = await gather(
            *(
                self._table.get(wanted[start : start + _MAX_KEYS], consistent=True)
                for start in range(0, len(wanted), _MAX_KEYS)
            )
        )
        found = {key: item for batch in batches for key, item in batch.items.items()}
        self._read |= {key: found.get(key) for key in wanted}
        return sum(batch.units for batch in batches)


def _lies_within(query: Query, last: Key | None, key: Key) -> bool:
    """Whether the page of a query on the index, which ends at `last`, may list the key.

    Texts compare by code points, which is the order of their UTF-8 bytes.
    """
    wanted = query.range
    if not key.pk.startswith(wanted.prefix) or key.pk < (wanted.low or ""):
        return False
    if wanted.high is not None and key.pk > wanted.high:
        return False
    if query.descending:
        return (last is None or last <= key) and (query.after is None or key < query.after)
    return (query.after is None or query.after < key) and (last is None or key <= last)


def _may_show(operations: Sequence[Operation]) -> bool:
    """Whether the operations write a row that an answer may show."""
    return any(
        not isinstance(one, Check) and one.key.sk.partition(SEPARATOR)[0] not in _UNSEEN
        for one in operations
    )


def _row_of(key: Key) -> Row | None:
    """The indexed row to which the key belongs, if there is one."""
    leader = key.sk.partition(SEPARATOR)[0]
    return next((row for row in _indexed_rows().get(leader, ()) if row.holds(key)), None)


def _may_list(partition: str, key: Key) -> bool:
    row = _row_of(key)
    return row is not None and row.is_listed(key, partition)


@cache
def _indexed_rows() -> Mapping[str, Sequence[Row]]:
    """The indexed rows of the table, by the fixed first segment of their `sk`."""
    found: dict[str, list[Row]] = {}
    for row in (*ROWS, LISTED, GRANT, OWNED):
        if row.index is not None:
            found.setdefault(row.sk.leader, []).append(row)
    return found
