"""Rosters: rows that name what stands of a kind for a user, where only few may stand.

What is made is named by the transaction that makes it, on the condition that nothing else was named
since the roster was read, so that two calls never take the last place. An end writes nothing here:
what is gone is found when the roster is full.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Attributes, Compare, Item, Key, Missing, Put, Table

REVISION = "revision"


class NamedThings(NamedTuple):
    """The ids that a roster names, as they were read at a revision of its row."""

    key: Key
    attribute: str
    revision: int
    ids: tuple[str, ...]

    def replacing_write(self, ids: Iterable[str]) -> Write:
        """The write that makes the roster name these; it raises StaleRead after another change."""
        unchanged = Compare(REVISION, "=", self.revision) if self.revision else Missing()
        row: Item = {REVISION: self.revision + 1, self.attribute: [*ids]}
        return Write(Put({"pk": self.key.pk, "sk": self.key.sk, **row}, unchanged))


async def read_roster(table: Table, key: Key, attribute: str = "ids") -> NamedThings:
    """Read the row of a roster: one consistent get."""
    row = (await table.get([key], consistent=True)).items.get(key, {})
    listed = row.get(attribute, [])
    ids = tuple(str(id) for id in listed) if isinstance(listed, list | tuple) else ()
    return NamedThings(key, attribute, int(str(row.get(REVISION, 0))), ids)


@dataclass(frozen=True, slots=True)
class Roster:
    """The things of a kind of which a user may have `most`; `limit` names them in the refusal.

    `row_key` is the key of the row of a thing, which `stands` tells from one that counts no more.
    `find_listed` finds the ids of all that are seen in a list, which earlier releases did not name
    in the roster.
    """

    key: Key
    limit: str
    most: int
    row_key: Callable[[str], Key]
    find_listed: Callable[[], Awaitable[Sequence[str]]]
    stands: Callable[[Attributes], bool] = lambda _row: True

    async def require_room(self, table: Table) -> None:
        """Raise LimitExceeded where there is no place now; `add` decides."""
        await self._find_others(table, await read_roster(table, self.key))

    async def add(self, table: Table, id: str, writes: Sequence[Write]) -> None:
        """Make a thing by the writes, together with its name in the roster.

        Raises LimitExceeded where as many stand as may, and what the writes raise.
        """
        async for _ in Attempts():
            named = await read_roster(table, self.key)
            if id in named.ids:  # the answer to an attempt before was lost
                return
            others = await self._find_others(table, named)
            try:
                await commit(table, [*writes, named.replacing_write([*others, id])])
            except StaleRead:
                continue
            return
        raise Unavailable(f"Many {self.limit} are being made at once.")

    async def _find_others(self, table: Table, named: NamedThings) -> list[str]:
        """Find the ids of the others; those that are gone may be among them while there is room."""
        listed = dict.fromkeys(await self.find_listed())
        others = [*listed, *(id for id in named.ids if id not in listed)]
        if len(others) >= self.most:
            rows = await read_rows(table, map(self.row_key, others), consistent=True)
            found = ((id, rows.get(self.row_key(id))) for id in others)
            others = [id for id, row in found if row is not None and self.stands(row)]
        if len(others) >= self.most:
            raise LimitExceeded(self.limit, self.most, self.most + 1)
        return others
