"""The notes of an adoption: who has it, how far it is, and whether it is complete.

The process that began last has it; one that was paused meanwhile notes nothing more. What was
copied and left out before an adoption was cut short is a part of its result, and it goes on for the
same service only: for another one, nothing has been copied yet.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from penstock.datastore.clock import Clock
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import BadArgument, Unavailable
from penstock.datastore.table.conditions import condition_holds
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import ADOPTION
from penstock.datastore.table.port import (
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Item,
    Missing,
    Table,
    Update,
)

MAX_LISTED: Final = 100
MAX_REASON: Final = 500
"""Characters of a reason; all that are listed fit into the row of the adoption."""

LOOK_INTERVAL: Final = timedelta(seconds=1)
"""The time after a note or a look behind which samples are preceded by a look."""

_HOLDER, _AFTER, _SERVICE, _COPIED, _UNREADABLE, _REASONS, _ENDED = (
    "holder",
    "after",
    "service",
    "copied",
    "unreadable",
    "reasons",
    "endedAt",
)
_PROGRESS: Final = (_AFTER, _SERVICE, _COPIED, _UNREADABLE, _REASONS, _ENDED)
"""The attributes of a note: where to go on, for whom, what came before, and the end."""


@dataclass(slots=True)
class AdoptionResult:
    """The items that were copied, or would be, and those that are left out, with the reasons.

    `ended_at` is the time of an earlier end: then nothing was copied now.
    """

    table: str
    service: str
    copied: int = 0
    unreadable: int = 0
    reasons: list[str] = field(default_factory=list)
    ended_at: str | None = None

    def progress(self) -> Item:
        """Return what a note of progress holds, beside the position."""
        return {
            _SERVICE: self.service,
            _COPIED: self.copied,
            _UNREADABLE: self.unreadable,
            _REASONS: list(self.reasons),
        }

    def go_on(self, noted: Attributes) -> None:
        """Begin with what was copied and left out until a note."""
        self.copied = int(str(noted.get(_COPIED, 0)))
        self.unreadable = int(str(noted.get(_UNREADABLE, 0)))
        reasons = noted.get(_REASONS)
        self.reasons = list(map(str, reasons)) if isinstance(reasons, list) else []

    def leave_out(self, label: str, reason: str) -> None:
        """Count an item that is not copied, and list it."""
        self.unreadable += 1
        if len(self.reasons) < MAX_LISTED:
            self.reasons.append(f"{label}: {reason}"[:MAX_REASON])


@dataclass(slots=True)
class AdoptionNotes:
    """The notes of the adoption of one table, in a row of their own."""

    table: Table
    clock: Clock
    name: str
    result: AdoptionResult
    _holder: str = field(default="", init=False)
    _looked_at: datetime = field(init=False)

    async def find_complete(self, *, again: bool) -> bool:
        """Whether the adoption is complete, and not wanted again; the result is that of its end.

        Raises BadArgument if it is complete for another service.
        """
        noted = await self._read()
        if again or _ENDED not in noted:
            return False
        if noted[_SERVICE] != self.result.service:
            words = f"The table {self.name} is adopted for the service {noted[_SERVICE]}"
            raise BadArgument(f"{words}. Give --again to adopt it for {self.result.service}.")
        self.result.go_on(noted)
        self.result.ended_at = str(noted[_ENDED])
        return True

    async def begin(self, *, again: bool) -> Raw | None:
        """Take the adoption, so that new samples go to the copy.

        Returns where it was cut short. Raises Unavailable if another process takes it meanwhile.
        """
        noted = await self._read()
        if _ENDED in noted and not again:
            raise self._held_elsewhere()
        after = noted.get(_AFTER)
        goes_on = isinstance(after, str) and noted.get(_SERVICE) == self.result.service
        holder, now = self.clock.new_id(), self.clock.timestamp()
        before = noted.get(_HOLDER)
        as_read = Missing(_HOLDER) if before is None else Compare(_HOLDER, "=", str(before))
        taken = Update(
            key=ADOPTION.key(table=self.name),
            set={_HOLDER: holder, "movedTo": self.result.table},
            default={"startedAt": now},
            remove=() if goes_on else _PROGRESS,
            condition=as_read,
        )
        await self._send(taken)
        self._holder = holder
        if not goes_on:
            return None
        self.result.go_on(noted)
        position: Raw = json.loads(str(after))
        return position

    async def note_position(self, after: Raw | None) -> None:
        """Note where to go on, or the end. Raises Unavailable if another process took over."""
        at: Item = (
            {_ENDED: self.clock.timestamp()} if after is None else {_AFTER: json.dumps(after)}
        )
        noted = Update(
            key=ADOPTION.key(table=self.name),
            set={**self.result.progress(), **at},
            remove=(_AFTER,) if after is None else (),
            condition=self._is_held,
        )
        await self._send(noted)

    async def require_hold(self) -> None:
        """Raise Unavailable if another process took over; it is not asked for within a second."""
        if abs(self.clock.now() - self._looked_at) > LOOK_INTERVAL:
            looked_at = self.clock.now()
            if not condition_holds(self._is_held, dict(await self._read())):
                raise self._held_elsewhere()
            self._looked_at = looked_at

    @property
    def _is_held(self) -> Condition:
        return Compare(_HOLDER, "=", self._holder)

    async def _read(self) -> Attributes:
        key = ADOPTION.key(table=self.name)
        return (await read_rows(self.table, [key], consistent=True)).get(key, {})

    async def _send(self, update: Update) -> None:
        sent_at = self.clock.now()
        try:
            await self.table.transact([update])
        except ConditionFailed:
            raise self._held_elsewhere() from None
        self._looked_at = sent_at

    def _held_elsewhere(self) -> Unavailable:
        return Unavailable(f"Another process adopts the table {self.name} as well.")
