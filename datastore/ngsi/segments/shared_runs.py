"""Segments that share a run: a process enters one run for all that it writes in some minutes."""

from collections import Counter
from dataclasses import dataclass, field

from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.run_counts import PERSISTED, count_segment, counts_in
from penstock.datastore.ngsi.run_log import run_mark
from penstock.datastore.ngsi.segment_notes import OpenSegment
from penstock.datastore.ngsi.segments.segment_files import SegmentContent


@dataclass(slots=True, eq=False)
class SharedRun:
    """A run of several segments: `open` are not settled, `written` are all so far.

    `held_events` is the number of events in the latter, and `counts` are those of the settled ones,
    of which `with_dead` had dead events. `notes` are the attributes that note them in the rows of
    counts of places and shards. A sealed run gets no more segments.
    `lost` is set if another worker may hold the run; then this process neither renews its lease nor
    marks it. `failure` says why a segment could not be read, or a settled one not be stored again.
    `idle_rounds` counts the renewals of its lease since the last segment.
    """

    run: Run
    tables: dict[str, None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=lambda: count_segment((), {}))
    notes: dict[tuple[ServicePathKey, int], set[str]] = field(default_factory=dict)
    open: int = 0
    written: int = 0
    held_events: int = 0
    with_dead: int = 0
    renewed_at: int = 0
    idle_rounds: int = 0
    sealed: bool = False
    lost: bool = False
    failure: str | None = None

    @classmethod
    def taken_over(cls, run: Run) -> "SharedRun":
        """A run that another worker began; one that was loaded before keeps its counts."""
        tables = dict.fromkeys(run.shred_types or ())
        if run.counts is None:
            return cls(run, tables, sealed=True)
        return cls(run, tables, counts_in(run.counts), sealed=True)

    @property
    def is_done(self) -> bool:
        return self.sealed and self.open == 0

    def note_settled(self, segment: "Segment", dead: int) -> None:
        """Count a segment that is settled; `dead` has a bit for the place of each dead event."""
        content, named = segment.content, segment.named
        self.counts.update(count_segment(content.events, content.intake, dead))
        self.tables |= dict.fromkeys(event.table for event in content.events)
        self.with_dead += dead > 0
        attributes = (named.settled_bit[0], *named.dead_note(dead))
        for at in content.places:
            self.notes.setdefault((at, segment.shard), set()).update(attributes)

    def note_renewal(self, run: Run) -> None:
        """Note that the lease was renewed."""
        is_idle = self.open == 0 and self.written == self.renewed_at
        self.run, self.renewed_at = run, self.written
        self.idle_rounds = self.idle_rounds + 1 if is_idle else 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A batch that is committed, in files of its own; without a shared run it is a run of its own.

    `shard` is the row of each count that names the segment until it is settled. One that is
    `settled` already is being stored again.
    """

    id: str
    run: Run
    shard: int
    content: SegmentContent
    shared: SharedRun | None = None
    settled: bool = False

    @property
    def stem(self) -> str:
        return segment_stem(self.run.run_id, self.id, self.shard)

    @property
    def named(self) -> OpenSegment:
        """The segment as rows of counts name it."""
        return OpenSegment(self.shard, self.id, run_mark(self.run))


def was_loaded(run: Run) -> bool:
    """Whether all segments of a run were settled before: it is being loaded again."""
    return PERSISTED in (run.counts or {})


def segment_stem(folder: str, id: str, shard: int) -> str:
    """The keys of a segment's files in the folder of its run, without their endings."""
    return f"{folder}{id}.{shard:02}"


def segment_in(stem: str, run: Run) -> OpenSegment:
    """The segment with these files, as rows of counts name it in its run."""
    id, _, shard = stem.removeprefix(run.run_id).rpartition(".")
    return OpenSegment(int(shard), id, run_mark(run))
