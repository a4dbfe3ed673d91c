"""The commit of received events: segment, run, dead letters, receipts and counts, or nothing.

Receipts detect a notification that is sent twice: it is stored once and counted as a duplicate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from typing import Final

from penstock.datastore.clock import Clock
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import Counts, Tally
from penstock.datastore.ngsi.dead_letters import FOLDER, Contents, Dead, DeadLetter, written
from penstock.datastore.ngsi.directory import Catalog
from penstock.datastore.ngsi.notification import Notification
from penstock.datastore.ngsi.rows import Event, recv_time
from penstock.datastore.ngsi.run_log import Ledger
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import NOTIFIED
from penstock.datastore.table.port import TTL, AnyOf, Compare, Item, Missing, Put, Table
from penstock.datastore.table.transaction import Write, commit

REMEMBERED: Final = timedelta(hours=24)


class Repeated(Exception):
    """Another server stored the same notification in the meantime."""


def receipt(notification: Notification, clock: Clock) -> Write:
    """The write that remembers a notification for a day; it belongs to its commit."""
    now = clock.now()
    item: Item = {
        **NOTIFIED.item(id=notification.identity),
        TTL: int((now + REMEMBERED).timestamp()),
    }
    free = AnyOf((Missing(), Compare(TTL, "<", int(now.timestamp()))))
    return Write(Put(item, free), lambda _: Repeated())


async def repeated(table: Table, clock: Clock, notifications: Sequence[Notification]) -> list[bool]:
    """Find out which notifications were received before, also earlier in this sequence."""
    keys = {
        each.identity: NOTIFIED.key(id=each.identity) for each in notifications if each.repeatable
    }
    rows = await read_rows(table, keys.values(), consistent=True)
    now = int(clock.now().timestamp())
    seen = {
        identity
        for identity, key in keys.items()
        if key in rows and int(str(rows[key][TTL])) >= now
    }
    found = []
    for each in notifications:
        found.append(each.identity in seen)
        if each.repeatable:
            seen.add(each.identity)
    return found


@dataclass(frozen=True, slots=True)
class Batch:
    """Events and writes that are committed together, or not at all."""

    events: list[Event] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    writes: list[Write] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Keeping:
    """Commits batches for one process of the sink; `shard` is its own row of every count."""

    table: Table
    ledger: Ledger
    catalog: Catalog
    contents: Contents
    clock: Clock
    shard: int

    async def keep(self, batch: Batch) -> Run | None:
        """Commit a batch; return the run of its segment, or None if the batch has no events.

        If a write of the batch fails, its error is raised and nothing is committed.
        """
        await self.catalog.note_paths(batch.tally.places)
        run = await self.ledger.write(batch.events) if batch.events else None
        writes = [
            *batch.writes,
            *await self.bury(batch.dead, attempts=0),
            *batch.tally.writes(self.shard),
        ]
        if run is not None:
            await self.ledger.enter(run, writes)
        elif writes:
            await commit(self.table, writes)
        return run

    async def bury(self, dead: Iterable[Dead], *, attempts: int) -> list[Write]:
        """Write dead events to a file; return the letters' rows, one for each service path."""
        ordered = sorted(dead, key=_place)
        if not ordered:
            return []
        file = f"{FOLDER}/{self.clock.new_id()}.ndjson.gz"
        await self.contents.lines.write(file, ordered)
        rows, line = [], 0
        for _, group in groupby(ordered, key=_place):
            together = list(group)
            rows.append(written(self._letter(together, file, line, attempts)))
            line += len(together)
        return rows

    def _letter(self, together: Sequence[Dead], file: str, line: int, attempts: int) -> DeadLetter:
        first = together[0]
        return DeadLetter(
            id=self.clock.new_id(),
            service=first.service,
            path=first.path,
            reason=first.reason,
            events=len(together),
            attempts=attempts,
            first_seen=recv_time(min(each.at for each in together)),
            created_at=self.clock.timestamp(),
            file=file,
            line=line,
        )


def _place(dead: Dead) -> tuple[str, str]:
    return dead.service, dead.path


def received(tally: Tally, events: Iterable[Event], dead: Iterable[Dead]) -> None:
    """Count events and dead events that were received for the first time."""
    for event in events:
        tally.add((event.service, event.path), Counts(received=1, pending=1))
    for each in dead:
        tally.add((each.service, each.path), Counts(received=1, dead_lettered=1))
