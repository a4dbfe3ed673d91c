"""Counts of received events by service path and state; they always add up.

A received event is persisted, a duplicate, dead-lettered or pending. Each count changes in the same
transaction as the rows that it counts.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from penstock.datastore.ngsi.segment_notes import OpenSegment, add_bits, open_segments
from penstock.datastore.records import StoredRecord
from penstock.datastore.table.commit import Write, already_done
from penstock.datastore.table.items import load, read_all
from penstock.datastore.table.layout import INGEST_COUNT, REMOVALS
from penstock.datastore.table.port import (
    AllOf,
    Attributes,
    Compare,
    Condition,
    Item,
    Key,
    Missing,
    Query,
    Range,
    Table,
    Update,
)

SHARDS: Final = 16
"""The rows of one count: each process updates its own row, so that servers do not contend."""

ServicePathKey: TypeAlias = tuple[str, str]
"""A service and one of its service paths."""


class IngestCounts(StoredRecord, frozen=True, kw_only=True):
    """Events (updates of entities) of a service path by state, and the number of stored items."""

    received: int = 0
    persisted: int = 0
    duplicates: int = 0
    dead_lettered: int = 0
    pending: int = 0
    items: int = 0

    def __add__(self, other: "IngestCounts") -> "IngestCounts":
        return IngestCounts(
            received=self.received + other.received,
            persisted=self.persisted + other.persisted,
            duplicates=self.duplicates + other.duplicates,
            dead_lettered=self.dead_lettered + other.dead_lettered,
            pending=self.pending + other.pending,
            items=self.items + other.items,
        )

    @property
    def adds_up(self) -> bool:
        """Whether the states add up to the received events."""
        settled = self.persisted + self.duplicates + self.dead_lettered
        return self.received == settled + self.pending


class SegmentSettled(Exception):
    """The segment was settled, or entered a run again, by another worker."""


def learn_nothing() -> None:
    """Do nothing: nothing depends on the removals."""


@dataclass(slots=True)
class KnownRemovals:
    """The removals of entities that one process knows, by the rows of counts of its own shard.

    A commit requires that there was none since, and `on_removal` is called if there was one.
    """

    on_removal: Callable[[], None] = learn_nothing
    _known: dict[ServicePathKey, int] = field(default_factory=dict)

    def condition(self, at: ServicePathKey) -> Condition:
        """The condition that no entity of the service path was removed since."""
        known = self._known.get(at)
        return Missing(REMOVALS) if known is None else Compare(REMOVALS, "=", known)

    def learn(self, at: ServicePathKey, standing: Attributes) -> bool:
        """Learn the removals that a row of counts tells; False if they were known."""
        found = standing.get(REMOVALS)
        told = None if found is None else int(str(found))
        if told == self._known.get(at):
            return False
        if told is None:
            del self._known[at]
        else:
            self._known[at] = told
        self.on_removal()
        return True


class Tally:
    """Changes of counts that are written together."""

    def __init__(self) -> None:
        self._changes: dict[ServicePathKey, IngestCounts] = defaultdict(IngestCounts)

    def add(self, at: ServicePathKey, counts: IngestCounts) -> None:
        self._changes[at] += counts

    def writes(
        self,
        shard: int,
        opened: OpenSegment | None = None,
        settlements: Sequence["Settlement"] = (),
        removals: KnownRemovals | None = None,
        ended: Mapping[ServicePathKey, Collection[str]] = MappingProxyType({}),
    ) -> list[Write]:
        """The changes as writes, one for each service path.

        The rows of its places name the segment `opened` until it is settled. They do so once, also
        if a database that forgot the request gets it again. The same writes make the settlements of
        other segments, whose places are among these. With `removals`, places where events become
        pending also had no removal that is not known. The writes take away the notes of runs that
        have ended.
        """
        named = set() if opened is None else self.named_places
        writes = []
        for at, counts in self._changes.items():
            known, notes = removals if counts.pending > 0 else None, tuple(ended.get(at, ()))
            if opened is not None and at in named:
                joining = [each for each in settlements if each.is_at(at)]
                writes.append(_NamingWrites(opened, known, notes).build(at, counts, joining))
            elif _nonzero_changes(counts):
                writes.append(_counting_write(at, counts, shard, known, notes))
        return writes

    def settling_writes(self, segment: OpenSegment, dead: int) -> list[Write]:
        """The changes by a segment that is settled; raises SegmentSettled if it was before.

        `dead` has a bit for the place of each of its dead events.
        """
        name = segment.attribute
        return [
            Write(
                Update(
                    key=count_key(at, segment.shard),
                    add={**_nonzero_changes(counts), **add_bits(segment)},
                    set=segment.dead_note(dead),
                    remove=(name,),
                    condition=Compare(name, "=", segment.run),
                ),
                lambda _: SegmentSettled(),
            )
            for at, counts in self._changes.items()
        ]

    def changes(self, at: ServicePathKey) -> IngestCounts:
        """The changes of the counts of one service path."""
        return self._changes.get(at, IngestCounts())

    @property
    def places(self) -> list[ServicePathKey]:
        return list(self._changes)

    @property
    def named_places(self) -> set[ServicePathKey]:
        """The service paths that name a segment: where events become pending, else all."""
        pending = {at for at, counts in self._changes.items() if counts.pending > 0}
        return pending or {*self._changes}


@dataclass(slots=True)
class EventTotals:
    """The events that this process received and settled since its start.

    An event that is replayed is not received again, but settled again.
    """

    received: int = 0
    persisted: int = 0
    duplicates: int = 0
    dead_lettered: int = 0

    def count(self, tally: Tally) -> None:
        """Add changes that are committed; what they take from a state is left out."""
        for at in tally.places:
            changes = tally.changes(at)
            self.received += changes.received
            self.persisted += changes.persisted
            self.duplicates += changes.duplicates
            self.dead_lettered += max(0, changes.dead_lettered)

    @property
    def by_state(self) -> dict[str, int]:
        return {
            "received": self.received,
            "persisted": self.persisted,
            "duplicate": self.duplicates,
            "dead": self.dead_lettered,
        }


@dataclass(slots=True, eq=False)
class Settlement:
    """A segment whose events are stored, and the changes of the counts by it.

    `dead` has a bit for the place of each of its dead events; one without any may join a commit.
    `was_made` is set when its segment turns out to be settled already, by another worker.
    """

    segment: OpenSegment
    tally: Tally
    dead: int = 0
    was_made: bool = False

    def is_at(self, at: ServicePathKey) -> bool:
        return at in self.tally.places

    @property
    def writes(self) -> list[Write]:
        """Its own writes, of a transaction of its own; they raise SegmentSettled."""
        return self.tally.settling_writes(self.segment, self.dead)


def _counting_write(
    at: ServicePathKey,
    counts: IngestCounts,
    shard: int,
    removals: KnownRemovals | None,
    ended: tuple[str, ...],
) -> Write:
    """A write of changes alone, under the condition that all removals are known."""
    update = Update(key=count_key(at, shard), add=_nonzero_changes(counts), remove=ended)
    if removals is None:
        return Write(update)

    def refuse(standing: Item | None) -> Write:
        removals.learn(at, standing or {})
        return _counting_write(at, counts, shard, removals, ended)

    return Write(replace(update, condition=removals.condition(at)), refuse)


@dataclass(frozen=True, slots=True)
class _NamingWrites:
    """Writes that name a segment in the rows of counts of its service paths.

    They take away what the rows note of runs that have `ended`.
    """

    segment: OpenSegment
    removals: KnownRemovals | None
    ended: tuple[str, ...] = ()

    def build(
        self, at: ServicePathKey, counts: IngestCounts, settlements: Sequence[Settlement]
    ) -> Write:
        """The write of one service path, which settles other segments, if they are not settled."""
        name, settled = self.segment.attribute, [each.segment for each in settlements]
        known = () if self.removals is None else (self.removals.condition(at),)
        changes = sum((each.tally.changes(at) for each in settlements), counts)
        bits = add_bits(*settled)
        # A process that took over its own run may end it while it holds a segment once more.
        ended = [note for note in self.ended if note not in bits]
        update = Update(
            key=count_key(at, self.segment.shard),
            add={**_nonzero_changes(changes), **bits},
            set={name: self.segment.run},
            remove=(*(each.attribute for each in settled), *ended),
            condition=AllOf(
                (
                    Missing(name),
                    *known,
                    *(Compare(each.attribute, "=", each.run) for each in settled),
                )
            ),
        )

        def refuse(standing: Item | None) -> Write | Exception:
            standing = standing or {}
            learned = self.removals is not None and self.removals.learn(at, standing)
            if name in standing or not (settlements or learned):
                return already_done(standing)
            left = [each for each in settlements if each.segment.is_named_by(standing)]
            for each in settlements:
                each.was_made |= each not in left
            return self.build(at, counts, left)

        return Write(update, refuse)


def removal_updates(at: ServicePathKey) -> list[Update]:
    """Updates that let every process learn of a removal at its next commit, one for each shard."""
    return [Update(key=count_key(at, shard), add={REMOVALS: 1}) for shard in range(SHARDS)]


def moving_writes(places: Iterable[ServicePathKey], segment: OpenSegment, run: str) -> list[Write]:
    """Writes that move an open segment to another run; raises SegmentSettled if it is not there."""
    name = segment.attribute
    return [
        Write(
            Update(
                key=count_key(at, segment.shard),
                set={name: run},
                condition=Compare(name, "=", segment.run),
            ),
            lambda _: SegmentSettled(),
        )
        for at in places
    ]


def count_key(at: ServicePathKey, shard: int) -> Key:
    """The key of one shard of the counts of a service path."""
    service, path = at
    return INGEST_COUNT.key(service=service, path=path, shard=shard)


async def read_counts(table: Table, at: ServicePathKey) -> IngestCounts:
    """The counts of one service path: `pk = NC:<service>:<path>`, all shards together."""
    page = await table.query(_shards_query(at, consistent=True))
    return sum_counts(read_all(partial(load, IngestCounts), page.items))


async def read_open_segments(
    table: Table, at: ServicePathKey, *, consistent: bool = False
) -> list[OpenSegment]:
    """The open segments of one service path: `pk = NC:<service>:<path>`, of all shards."""
    rows = await read_count_rows(table, at, consistent=consistent)
    return [segment for row in rows for segment in open_segments(row)]


async def read_count_rows(
    table: Table, at: ServicePathKey, *, consistent: bool = False
) -> Sequence[Attributes]:
    """The rows of counts of one service path: `pk = NC:<service>:<path>`, all shards."""
    return (await table.query(_shards_query(at, consistent=consistent))).items


def _shards_query(at: ServicePathKey, *, consistent: bool) -> Query:
    service, path = at
    pk = INGEST_COUNT.pk.fill({"service": service, "path": path})
    return Query(partition=pk, range=Range(INGEST_COUNT.sk.prefix({})), consistent=consistent)


def sum_counts(counts: Iterable[IngestCounts]) -> IngestCounts:
    return sum(counts, IngestCounts())


def _nonzero_changes(counts: IngestCounts) -> Mapping[str, int]:
    changes = {
        "received": counts.received,
        "persisted": counts.persisted,
        "duplicates": counts.duplicates,
        "deadLettered": counts.dead_lettered,
        "pending": counts.pending,
        "items": counts.items,
    }
    return {name: change for name, change in changes.items() if change}
