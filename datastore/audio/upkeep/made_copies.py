"""Copies that are made of a user's tracks and covers, under names; they are swept after some time.

A row under the name says which copy is whole. Each copy has a key of its own, so that none is
written while the sweep deletes it. A user has only so many copies of a kind, and so many bytes of
them: those that were used longest ago go first.
"""

from collections.abc import AsyncIterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.upkeep.counted_copies import MADE, CopyKind, CountedCopy, drop_copy
from penstock.datastore.audio.upkeep.loose_objects import DUE, due_row, loose_key, loose_rows
from penstock.datastore.audio.upkeep.swept_objects import SWEPT
from penstock.datastore.errors import Unavailable
from penstock.datastore.table.commit import Attempts
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import COPY_LISTED, LOOSE_OBJECT
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    TTL,
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Exists,
    Operation,
    Put,
    Query,
    Range,
    Update,
    key_of,
)

WRITE_TIME: Final = timedelta(hours=1)
"""The time after which the call that writes a copy counts as dead."""

_WHOLE: Final = "whole"


class CopyRules(NamedTuple):
    """A kind of copies, the time for which they are kept, and that after which a use renews it."""

    kind: CopyKind
    kept: timedelta
    renewed: timedelta


@dataclass(frozen=True, slots=True)
class MadeCopies:
    """The copies of one kind of the caller."""

    access: Access
    rules: CopyRules

    async def find(self, name: str) -> str | None:
        """Find the copy under a name, as `find_many`."""
        (found,) = await self.find_many([name])
        return found

    async def find_many(self, names: Sequence[str]) -> list[str | None]:
        """Find the keys of the copies under names; None where there is none any more.

        Those whose use was not noted for some time are kept anew.
        """
        keys = {name: loose_key(name) for name in names}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        found: dict[str, str | None] = {}
        for name, row in keys.items():
            held = rows.get(row, {})
            found[name] = str(held[MADE]) if MADE in held else None
            if MADE in held and _due(held) < self._enough:
                kept = await self._renew(name, str(held[MADE]))
                found[name] = str(held[MADE]) if kept else None
        return [found[name] for name in names]

    async def store(
        self, name: str, content: AsyncIterable[bytes], size: int, media_type: str
    ) -> None:
        """Store a copy, and note it under a name. Its rows are there before it.

        Older ones of the user go where it would be too many.
        """
        key = f"{name}.{self.access.clock.new_id()}"
        kind, hashed = self.rules.kind.letter, object_hash(key)
        listed = COPY_LISTED.key(user=self._user, kind=kind, due=self._next_due, hash=hashed)
        copy = CountedCopy(listed, size, object_hash(name))
        await self._count(key, copy)
        await self.access.files.write(key, content, content_type=media_type)
        await self._publish(name, key, copy)

    async def note_itself(self, name: str, key: str) -> None:
        """Note under a name that nothing is made: an object that has its own use is the answer."""
        await self.access.table.transact([self._name_row(name, key, self._next_due)])

    async def _count(self, key: str, copy: CountedCopy) -> None:
        loose, due = loose_rows(self.access, key, self.rules.kept)
        rows = [{**loose, **copy.fields}, due, copy.listed_row(key)]
        added: list[Operation] = [copy.count_in(self.rules.kind), *map(Put, rows)]
        async for _ in Attempts():
            try:
                await self.access.table.transact(added)
            except ConditionFailed as full:
                (failed,) = full.failed
                await self._make_room(failed.item or {}, copy.size)
            else:
                return
        raise Unavailable("Many copies are being made at once.")

    async def _make_room(self, count: Attributes, size: int) -> None:
        """Drop the copies that were used longest ago until there is room for one of this size."""
        kind = self.rules.kind
        copies = int(str(count.get("count", 0))) + 1 - kind.most
        bytes_ = int(str(count.get("size", 0))) + size - kind.most_bytes
        listed = COPY_LISTED.sk.prefix({"kind": kind.letter})
        oldest = Query(
            partition=COPY_LISTED.pk.fill({"user": self._user}),
            range=Range(listed),
            consistent=True,
        )
        async for row in query_items(self.access.table, oldest):
            if copies <= 0 and bytes_ <= 0:
                return
            if await self._drop(row):
                copies, bytes_ = copies - 1, bytes_ - int(str(row["size"]))

    async def _drop(self, listed: Attributes) -> bool:
        """Drop a copy of the list, unless it is being written or was renewed."""
        key = str(listed["key"])
        row = loose_key(key)
        held = (await read_rows(self.access.table, [row], consistent=True)).get(row)
        if held is None:  # an earlier release swept it
            gone = CountedCopy(key_of(listed), int(str(listed["size"])), "")
            with suppress(ConditionFailed):
                await self.access.table.transact(gone.removal)
            return True
        copy = CountedCopy.of(held)
        dead = int((self.access.clock.now() + self.rules.kept - WRITE_TIME).timestamp() * 1000)
        idle: Condition = AnyOf((Exists(_WHOLE), Compare(DUE, "<=", dead)))
        return copy is not None and await drop_copy(
            self.access, key, copy, AllOf((copy.in_place, idle))
        )

    async def _renew(self, name: str, key: str) -> bool:
        """Keep a copy for longer; False if it was swept by now, or does not count."""
        row = loose_key(key)
        async for _ in Attempts():
            held = (await read_rows(self.access.table, [row], consistent=True)).get(row, {})
            copy = CountedCopy.of(held)
            if copy is None or SWEPT in held:
                return False
            if _due(held) >= self._enough or await self._publish(name, key, copy):
                return True
        return False

    async def _publish(self, name: str, key: str, copy: CountedCopy) -> bool:
        """Note under a name that a copy is whole, and keep it; False if it changed meanwhile."""
        due = self._next_due
        moved = copy.move(due)
        whole = Update(
            key=loose_key(key), set={DUE: due, _WHOLE: True, **moved.fields}, condition=copy.unmoved
        )
        listed = [Delete(copy.listed, Exists()), Put(moved.listed_row(key))]
        queued = Put(due_row(key, due))
        try:
            await self.access.table.transact(
                [
                    whole,
                    queued,
                    self._name_row(name, key, due),
                    *(listed if moved.listed != copy.listed else ()),
                ]
            )
        except ConditionFailed:
            return False
        return True

    def _name_row(self, name: str, key: str, due: int) -> Put:
        row = LOOSE_OBJECT.item(hash=object_hash(name))
        return Put({**row, MADE: key, DUE: due, TTL: due // 1000})

    @property
    def _next_due(self) -> int:
        return int((self.access.clock.now() + self.rules.kept).timestamp() * 1000)

    @property
    def _enough(self) -> int:
        """The time until which a copy stays whose use need not be noted."""
        left = self.rules.kept - self.rules.renewed
        return int((self.access.clock.now() + left).timestamp() * 1000)

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _due(held: Attributes) -> int:
    return int(str(held[DUE]))
