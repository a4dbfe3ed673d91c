"""The sweep of what rows of counts tell of runs that have ended: late segments, and notes.

A late segment was committed after its run was taken over. A process that stands still for longer
than its lease may commit a segment to a run that another server has marked as loaded in the
meantime. If it then dies, no run leads to the segment any more; the row of counts does.

What rows note of settled segments is of no use once their run has ended.
"""

import logging
from collections.abc import Sequence

from penstock.datastore.errors import NotFound
from penstock.datastore.ngsi.counts import (
    ServicePathKey,
    count_key,
    read_count_rows,
    read_open_segments,
)
from penstock.datastore.ngsi.directory import walk_service_paths
from penstock.datastore.ngsi.events import DamagedLines
from penstock.datastore.ngsi.run_log import has_ended, marked_run
from penstock.datastore.ngsi.segment_notes import (
    MOST_REMOVED,
    OpenSegment,
    open_segments,
    settled_notes,
    shard_of,
)
from penstock.datastore.ngsi.segments.shared_runs import segment_stem
from penstock.datastore.ngsi.segments.writer import SegmentWriter
from penstock.datastore.table.port import Attributes, Update

logger = logging.getLogger("penstock.ngsi")


async def sweep_segments(segments: SegmentWriter) -> int:
    """Let every late segment enter a run again, as nobody's, and take away notes of ended runs.

    Returns the number of the former. Every server may sweep at any time: a segment changes its run
    once. Reads each service path.
    """
    entered = 0
    async for at in walk_service_paths(segments.log.access):
        # These are among what is taken away now.
        segments.ended.pop(at, None)
        rows = await read_count_rows(segments.log.access.table, at)
        named = {segment.run for row in rows for segment in open_segments(row)}
        noted = {mark for row in rows for mark in settled_notes(row)}
        if marks := sorted(named | noted):
            runs = await segments.log.runs.many([marked_run(mark) for mark in marks])
            ended = {mark for mark, run in zip(marks, runs, strict=True) if has_ended(run)}
            await _take_notes_away(segments, at, rows, ended)
            if named & ended:
                entered += await _enter_late_ones(segments, at, ended)
    return entered


async def _take_notes_away(
    segments: SegmentWriter, at: ServicePathKey, rows: Sequence[Attributes], ended: set[str]
) -> None:
    for row in rows:
        old = [
            name for mark, names in settled_notes(row).items() if mark in ended for name in names
        ]
        for start in range(0, len(old), MOST_REMOVED):
            removed = tuple(old[start : start + MOST_REMOVED])
            update = Update(key=count_key(at, shard_of(row)), remove=removed)
            await segments.log.access.table.transact([update])


async def _enter_late_ones(segments: SegmentWriter, at: ServicePathKey, ended: set[str]) -> int:
    # A run ends after its segments are settled, so those that are named now are late.
    standing = await read_open_segments(segments.log.access.table, at, consistent=True)
    entered = 0
    for segment in standing:
        if segment.run in ended:
            entered += await _enter_late_segment(segments, segment)
    return entered


async def _enter_late_segment(segments: SegmentWriter, segment: OpenSegment) -> bool:
    stem = segment_stem(marked_run(segment.run).run_id, segment.id, segment.shard)
    try:
        content = await segments.files.read(stem, has_intake=True)
    except (NotFound, DamagedLines) as error:
        logger.error("a segment is lost, and its events stay pending: %s", error.message)
        return False
    logger.warning("the segment %s was committed late, and enters a run again", stem)
    return await segments.enter_again(segment, content, held=False) is not None
