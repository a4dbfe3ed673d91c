"""The sweep of late segments: those that were committed after their run was taken over.

A process that stands still for longer than its lease may commit a segment to a run that another
server has marked as loaded in the meantime. If it then dies, no run leads to the segment any more;
the row of counts does.
"""

import logging
from collections.abc import Sequence

from penstock.datastore.errors import NotFound
from penstock.datastore.ngsi.counts import OpenSegment, ServicePathKey, read_open_segments
from penstock.datastore.ngsi.directory import walk_service_paths
from penstock.datastore.ngsi.events import DamagedLines
from penstock.datastore.ngsi.run_log import has_ended, marked_run
from penstock.datastore.ngsi.segments.shared_runs import segment_file
from penstock.datastore.ngsi.segments.writer import SegmentWriter

logger = logging.getLogger("penstock.ngsi")


async def enter_late_segments(segments: SegmentWriter) -> int:
    """Enter every late segment as a run that any server takes over; return their number.

    Every server may sweep at any time: a segment changes its run once. Reads each service path.
    """
    entered = 0
    async for at in walk_service_paths(segments.log.access):
        found = await read_open_segments(segments.log.access.table, at)
        if found:
            entered += await _enter_late_ones(segments, at, found)
    return entered


async def _enter_late_ones(
    segments: SegmentWriter, at: ServicePathKey, found: Sequence[OpenSegment]
) -> int:
    marks = list(dict.fromkeys(segment.run for segment in found))
    runs = await segments.log.runs.many([marked_run(mark) for mark in marks])
    ended = {mark for mark, run in zip(marks, runs, strict=True) if has_ended(run)}
    if not ended:
        return 0
    # A run ends after its segments are settled, so those that are named now are late.
    standing = await read_open_segments(segments.log.access.table, at, consistent=True)
    entered = 0
    for segment in standing:
        if segment.run in ended:
            entered += await _enter_late_segment(segments, segment)
    return entered


async def _enter_late_segment(segments: SegmentWriter, segment: OpenSegment) -> bool:
    file = segment_file(marked_run(segment.run).run_id, segment.id, segment.shard)
    try:
        events = await segments.log.lines.read(file)
    except (NotFound, DamagedLines) as error:
        logger.error("a segment is lost, and its events stay pending: %s", error.message)
        return False
    logger.warning("the segment %s was committed late, and enters a run again", file)
    return await segments.enter_again(segment, events, held=False) is not None
