"""Segments that share a run: a process enters one run for all that it writes in some minutes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import OpenSegment
from penstock.datastore.ngsi.run_log import (
    DEAD,
    EVENTS,
    PERSISTED,
    intake_counts,
    item_counts,
    items_in,
    run_mark,
)


@dataclass(slots=True, eq=False)
class SharedRun:
    """A run of several segments: `open` are not settled, `written` are all so far.

    `held_events` is the number of events in the latter, `items` that of the stored items of each
    table, and `intake` what the run counts beside events. A sealed run gets no more segments.
    `lost` is set if another worker may hold the run; then this process neither renews its lease nor
    marks it. `failure` says why a segment could not be read, or a settled one not be stored again.
    `idle_rounds` counts the renewals of its lease since the last segment.
    """

    run: Run
    tables: dict[str, None] = field(default_factory=dict)
    events: int = 0
    dead: int = 0
    items: Counter[str] = field(default_factory=Counter)
    intake: Counter[str] = field(default_factory=Counter)
    open: int = 0
    written: int = 0
    held_events: int = 0
    renewed_at: int = 0
    idle_rounds: int = 0
    sealed: bool = False
    lost: bool = False
    failure: str | None = None

    @classmethod
    def taken_over(cls, run: Run) -> "SharedRun":
        """A run that another worker began, with what the manifest tells of it."""
        counts = run.counts or {}
        tables = dict.fromkeys(run.shred_types or ())
        events, dead = counts.get(EVENTS, 0), counts.get(DEAD, 0)
        return cls(run, tables, events, dead, items_in(counts), sealed=True)

    @property
    def is_done(self) -> bool:
        return self.sealed and self.open == 0

    @property
    def was_loaded(self) -> bool:
        """Whether all its segments were settled before: the run is being loaded again."""
        return PERSISTED in (self.run.counts or {})

    @property
    def counts(self) -> Mapping[str, int]:
        stored = self.events - self.dead
        own = {EVENTS: self.events, PERSISTED: stored, DEAD: self.dead}
        return {**own, **item_counts(self.items), **intake_counts(self.intake)}

    def note_renewal(self, run: Run) -> None:
        """Note that the lease was renewed."""
        is_idle = self.open == 0 and self.written == self.renewed_at
        self.run, self.renewed_at = run, self.written
        self.idle_rounds = self.idle_rounds + 1 if is_idle else 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of committed events; without a shared run it is a run of its own.

    `shard` is the row of each count that names the segment until it is settled. One that is
    `settled` already is being stored again.
    """

    id: str
    run: Run
    shard: int
    shared: SharedRun | None = None
    settled: bool = False

    @property
    def file(self) -> str:
        return segment_file(self.run.run_id, self.id, self.shard)

    @property
    def named(self) -> OpenSegment:
        """The segment as rows of counts name it."""
        return OpenSegment(self.shard, self.id, run_mark(self.run))


def segment_file(folder: str, id: str, shard: int) -> str:
    """The key of a segment's file in the folder of its run."""
    return f"{folder}{id}.{shard:02}.ndjson.gz"
