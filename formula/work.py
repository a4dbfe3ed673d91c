"""The meter of what text functions cost: it stops a row, and a batch, that ask for too much."""

from penstock.formula.errors import Code, Fault
from penstock.formula.limits import MAX_BATCH_WORK, MAX_ROW_WORK


class Work:
    """What is left to spend; one unit is about one character handled once."""

    __slots__ = ("_batch", "_row")

    def __init__(self, batch: int = MAX_BATCH_WORK) -> None:
        self._batch = batch
        self._row = min(batch, MAX_ROW_WORK)

    def begin_row(self) -> None:
        """Give the next row its own allowance, out of what the batch has left."""
        self._row = min(self._batch, MAX_ROW_WORK)

    def spend(self, units: int) -> None:
        """Count units; it fails once the row or the batch has none left."""
        self._row -= units
        self._batch -= units
        if self._row < 0:
            raise Fault(Code.WORK_LIMIT, "the formula asks for too much work on this row")
