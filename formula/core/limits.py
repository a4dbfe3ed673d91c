"""The limits of one formula, which docs/formula.md lists, and the meter of text functions.

The meter stops a row or a batch whose text functions do too much work.
"""

from penstock.formula.core.errors import Fault, FormulaCode

MAX_TEXT = 10_000  # characters of a formula
MAX_TOKENS = 2_000  # words, numbers and signs of a formula
MAX_DEPTH = 64  # brackets within brackets, and operations within operations
MAX_PARAMETERS = 200  # declared parameters of a formula
MAX_STRING = 32_768  # characters of any text value
MAX_DIGITS = 1_000  # significant digits of any number
MAX_EXPONENT = 9_999  # a number's power of ten, and the right side of `^`, either sign
QUOTIENT_DIGITS = 34  # significant digits of a division, a power or a conversion
MAX_CALCULATIONS = 100  # calculations which a formula calls, directly or through others
MAX_CALLED_TEXT = 20_000  # characters of their formulas together
MAX_CALL_DEPTH = 16  # calculations calling calculations
MAX_STEPS = 20_000  # operations of one row, calculations called included
MAX_BATCH_STEPS = 2_000_000  # operations of all rows of one call
MAX_ROW_WORK = 4_000_000  # units of work of one row's text functions
MAX_BATCH_WORK = 20_000_000  # the same for all rows of one call
MAX_PATTERN = 200  # characters of a regular expression, date pattern or JSON path
MAX_REGEX_MEMORY = 524_288  # bytes of a compiled regular expression
MAX_JSON_DEPTH = 64  # arrays and objects within each other
KEPT_PATTERNS = 256  # patterns that stay in memory when they are compiled, valid or not


class WorkMeter:
    """The units of work that are left; a unit is about one character processed once, or 10 ns."""

    __slots__ = ("_batch", "_prepared", "_row", "_seen")

    def __init__(self, batch: int = MAX_BATCH_WORK) -> None:
        self._batch = batch
        self._prepared: set[object] = set()
        self._seen = batch
        self._row = min(batch, MAX_ROW_WORK)

    def begin_row(self) -> None:
        """Set the next row's limit, from the units that the batch has left."""
        # Not by `min`, which takes half of the time: a file has millions of rows.
        batch = self._batch
        self._row = batch if batch < MAX_ROW_WORK else MAX_ROW_WORK

    def spend(self, units: int) -> None:
        """Spend units; raises Fault when the row or the batch has none left."""
        self._row -= units
        self._batch -= units
        if self._row < 0:
            raise _too_much_work()

    def require(self, units: int) -> None:
        """Raise Fault when the row has fewer units left; spends none."""
        if self._row < units:
            raise _too_much_work()

    def prepare(self, thing: object, units: int) -> None:
        """Spend units of the batch alone for a thing that is made once for many rows.

        The next rows with it are free. Raises Fault when the batch has none left.
        """
        if thing in self._prepared:
            return
        if len(self._prepared) >= KEPT_PATTERNS:
            self._prepared.clear()
        self._prepared.add(thing)
        self._batch -= units
        if self._batch < 0:
            raise _too_much_work()

    def take_spent(self, size: int = 1) -> int:
        """Return how often `size` units were spent since the last call; a rest counts later."""
        count = (self._seen - self._batch) // size
        self._seen -= count * size
        return count


def _too_much_work() -> Fault:
    return Fault(FormulaCode.WORK_LIMIT, "the formula asks for too much work on this row")
