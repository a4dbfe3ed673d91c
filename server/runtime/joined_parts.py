"""The counts of an input whose parts are transformed elsewhere, and joined in their order."""

from msgspec.structs import replace

from penstock.datastore.executions.workers.row_engine import STEP_BYTES, RowTask
from penstock.transform.outcome import (
    RejectionCount,
    RowCounts,
    TransformEnding,
    sum_rejections,
)


class JoinedCounts:
    """The counts of the parts so far; every ending is that of one machine at the same place."""

    def __init__(self, task: RowTask) -> None:
        self._task = task
        self.counts = RowCounts()
        self._rejections: tuple[RejectionCount, ...] = ()

    def ends_execution(self, part: TransformEnding) -> bool:
        """Whether the execution ends within a part that was transformed by itself."""
        most = self._task.execution.max_failed_rows
        failed = self.counts.failed + part.counts.failed
        return part.refusal is not None or (most is not None and failed > most)

    def ending_with(self, part: TransformEnding) -> TransformEnding:
        """Return the ending of the whole input, at the end of what a part has done so far.

        After a refusal, the bytes read end at the end of a step.
        """
        counts = self.counts + part.counts
        if part.refusal is not None:
            read = -(-counts.bytes_read // STEP_BYTES) * STEP_BYTES
            counts = replace(counts, bytes_read=min(read, self._task.size))
        rejections = sum_rejections(self._rejections, part.rejections)
        return TransformEnding(counts, part.refusal, part.read_as, rejections)

    def add(self, part: TransformEnding) -> None:
        """Add the counts of a part that was transformed to its end."""
        self.counts += part.counts
        self._rejections = sum_rejections(self._rejections, part.rejections)
