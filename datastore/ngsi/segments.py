"""Segments that share a run: a process enters one run for all that it writes in some minutes.

The row of counts of each service path names the segments that are committed and not settled. So a
commit needs no row of its own, and a server that takes a run over knows what is left to store.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import OPEN_PREFIX, ServicePathKey, count_key
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_log import RunLog
from penstock.datastore.table.items import read_rows

RUN_SEGMENTS: Final = 500
RUN_SECONDS: Final = 300
MAX_OPEN: Final = 50
"""The unsettled segments of a process that share runs, so that rows of counts stay small."""


@dataclass(slots=True, eq=False)
class SharedRun:
    """A run of several segments: `open` are not settled, `written` are all so far.

    A sealed run gets no more segments. `lost` is set if another worker holds the run.
    """

    run: Run
    tables: dict[str, None] = field(default_factory=dict)
    events: int = 0
    dead: int = 0
    open: int = 0
    written: int = 0
    renewed_at: int = 0
    sealed: bool = False
    lost: bool = False

    @property
    def is_done(self) -> bool:
        return self.sealed and self.open == 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing was written since the last renewal of its lease, and nothing waits."""
        return self.open == 0 and self.written == self.renewed_at


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of committed events; without a shared run it is a run of its own.

    `shard` is the row of each count that names the segment until it is settled.
    """

    id: str
    run: Run
    shard: int
    shared: SharedRun | None = None

    @property
    def file(self) -> str:
        return f"{self.run.run_id}{self.id}.{self.shard:02}.ndjson.gz"


@dataclass(slots=True)
class SegmentWriter:
    """Writes the segments of one process, and opens and closes the runs that they share."""

    log: RunLog
    shard: int
    runs: dict[str, SharedRun] = field(default_factory=dict)
    _current: SharedRun | None = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, events: Sequence[Event]) -> Segment:
        """Write a segment; its run is in the manifest, unless it is one of its own."""
        if sum(shared.open for shared in self.runs.values()) >= MAX_OPEN:
            run = await self.log.write_segment(events)
            return Segment(run.id, run, self.shard)
        async with self._opening:
            shared = self._usable_run()
            if shared is None:
                return await self._open_run(events)
            segment = self._add_segment(shared)
        try:
            await self.log.lines.write(segment.file, events)
        except BaseException:
            self.abandon(segment, committed=False)
            raise
        return segment

    def abandon(self, segment: Segment, *, committed: bool) -> None:
        """Let go of a segment whose commit failed; `committed` if it may have happened after all.

        Its run is then left to its lease: who takes it over finds out what is left to store.
        """
        if segment.shared is not None:
            segment.shared.open -= 1
            if committed:
                segment.shared.lost = segment.shared.sealed = True

    def seal(self) -> list[SharedRun]:
        """Seal the present run; return the runs that are done."""
        if self._current is not None:
            self._current.sealed = True
            self._current = None
        return [shared for shared in self.runs.values() if shared.is_done]

    async def renew_leases(self) -> list[SharedRun]:
        """Renew the leases of all runs, and return those that are done."""
        present = self._current
        if present is not None and (present.is_idle or self._is_full(present)):
            self.seal()
        for shared in list(self.runs.values()):
            if not shared.is_done and not shared.lost:
                await self._renew(shared)
        return [shared for shared in self.runs.values() if shared.is_done]

    async def close(self, shared: SharedRun) -> None:
        """Mark a run that is done as loaded; raises Unavailable."""
        if shared.run.id not in self.runs:
            return
        try:
            if not shared.lost:
                await self.log.mark_segments_loaded(
                    shared.run, tuple(shared.tables), shared.events, shared.dead
                )
        except IllegalState:
            shared.lost = True
        self.runs.pop(shared.run.id, None)

    async def take_over(self, run: Run) -> list[tuple[Segment, list[Event]]]:
        """Read the segments of a claimed run that are committed and not settled.

        Raises NotFound if there is no file.
        """
        shared = SharedRun(run, dict.fromkeys(run.shred_types or ()), sealed=True)
        found: list[tuple[Segment, list[Event]]] = []
        files = await self.log.list_files(run)
        if not files:
            raise NotFound("The segments are gone.", ("runId",))
        for file in files:
            id, shard, *_ = file.removeprefix(run.run_id).split(".")
            segment = Segment(id, run, int(shard), shared)
            events = await self.log.lines.read(file)
            if await self._is_open(segment, events):
                shared.open += 1
                found.append((segment, events))
        self.runs[run.id] = shared
        return found

    async def _is_open(self, segment: Segment, events: Sequence[Event]) -> bool:
        places: set[ServicePathKey] = {(event.service, event.path) for event in events}
        keys = [count_key(at, segment.shard) for at in places]
        rows = await read_rows(self.log.access.table, keys, consistent=True)
        return any(f"{OPEN_PREFIX}{segment.id}" in row for row in rows.values())

    def _usable_run(self) -> SharedRun | None:
        present = self._current
        if present is None or self._is_full(present) or self._is_late(present):
            return None
        return present

    async def _open_run(self, events: Sequence[Event]) -> Segment:
        """Enter a run with its first segment, whose file is there before the run."""
        self.seal()
        shared = SharedRun(self.log.new_shared_run())
        segment = self._add_segment(shared)
        await self.log.lines.write(segment.file, events)
        await self.log.insert_run(shared.run, [])
        self._current = self.runs[shared.run.id] = shared
        return segment

    def _add_segment(self, shared: SharedRun) -> Segment:
        shared.open += 1
        shared.written += 1
        return Segment(self.log.access.clock.new_id(), shared.run, self.shard, shared)

    def _is_full(self, shared: SharedRun) -> bool:
        old = self._now - shared.run.added_at >= RUN_SECONDS
        return shared.lost or old or shared.written >= RUN_SEGMENTS

    def _is_late(self, shared: SharedRun) -> bool:
        """Whether so much of the lease is over that another worker might soon claim the run."""
        left = (shared.run.lease_until or 0) - self._now
        return 2 * left < self.log.lease_seconds

    async def _renew(self, shared: SharedRun) -> None:
        try:
            shared.run = await self.log.renew_lease(shared.run)
            shared.renewed_at = shared.written
        except IllegalState:
            shared.lost = shared.sealed = True

    @property
    def _now(self) -> int:
        return int(self.log.access.clock.now().timestamp())
