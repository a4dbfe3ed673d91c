"""The units of processor time that work takes, and the account of the caller who has it done.

A unit is about the time of reading one object in a list. `python -m benchmarks.work_units` measures
how long a unit of each kind of work takes.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from penstock.formula.functions.regex import literal_pattern_cost


class StoreKind(StrEnum):
    """The kind of store that holds the table: a file of this machine, or DynamoDB over HTTP."""

    EMBEDDED = "sqlite"
    DYNAMODB = "dynamodb"


TOKEN_CHARACTERS: Final = 64
"""Characters of a consistency token that is opened, and whose rows are read with others."""

FORMULA_CHARACTERS: Final = 3
"""Characters of formulas that are parsed and checked, or compiled, in one unit."""

RENAMED_CHARACTERS: Final = 200
"""Characters of formulas in which names are replaced by those of today, in one unit."""

CALLED_CHARACTERS: Final = 600
"""Characters of called formulas that are met again, by one more formula, in one unit."""

STEPS: Final = 100
"""Operations of formulas in one unit."""

TEXT_WORK: Final = 5_000
"""Units of a formula's text functions, as `WorkMeter` counts them, in one unit."""

FILE_BYTES: Final = 200
"""Bytes of a file of rows that are read and checked in one unit."""

READ_VALUES: Final = 40
"""Values of rows for an evaluation that are read, and of results that follow, in one unit."""

DATASET_BYTES: Final = 100
"""Bytes of a dataset's content that are checked and looked up in one unit."""

PACKED_BYTES: Final = 4_000
"""Bytes of an input that a worker makes CSV, in one unit: the work is in a process of its own."""

LOADED_BYTES: Final = 400
"""Bytes of a stored dataset that are read into memory in one unit."""

COPIED_BYTES: Final = 16_000
"""Bytes of the index of a dataset that are copied to the disk in one unit."""

VALUE_BYTES: Final = 10_000
"""Bytes of a large value of NGSI that are read from its file in one unit."""

LOGGED_CHANGES: Final = 6
"""Changes of other lists that are read from the log of changes in one unit."""

NOTIFIED_BYTES: Final = 200
"""Bytes of a notification that are read in one unit, whether to be stored or to be previewed."""

STORED_SAMPLES: Final = 2
"""Samples, and entities that have them, that are stored in one unit."""

NEW_TABLE_UNITS: Final = 8
"""Units of a table of samples that is new: its name is registered, and its series begin."""

CODED_CHARACTERS: Final = 25
"""Characters of a name of tables that are encoded or decoded in one unit."""

READ_SAMPLES: Final = 2
"""Samples that are read for a chart or an aggregate in one unit."""

FILLED_PERIODS: Final = 6
"""Periods without samples that an aggregate fills in for one unit."""

KEPT_CHARACTERS: Final = 800
"""Characters of what is kept of the hours of samples that are unpacked and merged in one unit."""

POINT_PARTS: Final = 5
"""Values of outputs of which points of a series are computed in one unit."""

VISITED_INPUTS: Final = 150
"""Inputs of metrics that are visited for such values in one unit."""

INCLUDED_CALLS: Final = 20
"""Calls of the store that an operation may make beyond one for each unit of its cost.

It may use as many read units, and read as many rows of lists.
"""

READ_ROWS: Final = 4
"""Rows of lists that are read in one unit, beyond one for each unit of an operation's cost."""

CALL_UNITS: Final = {StoreKind.EMBEDDED: 2, StoreKind.DYNAMODB: 8}
"""Units of one call more of a store."""

WRITE_UNITS: Final = 2
"""Write units of the store in one unit: about a row that a transaction writes."""

TRANSITION_UNITS: Final = 40
"""Units of a transition of an execution beside its rows: its event, its lists, its report."""

UPLOAD_UNITS: Final = 40
"""Units of the places of an upload that is opened, which are looked for among those in use."""

KEEPING_UNITS: Final = 200
"""Units of keeping the rows of an execution, besides the time in which their file is made."""

MATCHED_ROWS: Final = 2
"""Rows of words that are read and compared with a part of a name, in one unit."""

BUCKET_UNITS: Final = 150
"""The units of the calls by which an object of a user's bucket is looked at."""

LISTED_UNITS: Final = 400
"""The units of a page of a list of a user's bucket, which is parsed in one piece."""

CONVERTED_SOUND: Final = 200
"""Seconds of sound that FFmpeg converts in a second of processor time, or less."""

CPU_SECONDS: Final = 0.000_04
"""Seconds of CPU time in one unit, for work whose time nothing but a clock tells."""

WORKER_SECONDS: Final = 5 * CPU_SECONDS
"""Seconds of CPU time of a worker in one unit: it is a process in which nobody else waits."""


class WorkAccount(Protocol):
    """The allowance of one caller, from which an operation takes what its work costs.

    Work begins with `spend_more`, which a caller in debt cannot do. What turns out to
    belong to it is then only owed, so that work that has begun comes to its end. `paid` are the
    units that the operation itself cost before it began.
    """

    @property
    def paid(self) -> int:
        """Return the units that were taken when the operation began."""

    def spend_more(self, units: int) -> None:
        """Take the units of work that is to begin; raises RateLimited, which takes nothing."""

    def owe(self, units: int) -> None:
        """Take the units of more work of the same kind, in any case."""


class FreeWork:
    """The account of the server's own work, which costs nobody anything."""

    paid = 0

    def spend_more(self, units: int) -> None:
        """Take nothing."""

    def owe(self, units: int) -> None:
        """Take nothing."""


FREE_WORK: Final = FreeWork()


def formula_units(own: int, called: int = 0, calling: int = 1) -> int:
    """Return the units of checking formulas of `own` characters.

    `called` are the characters of the calculations that they call, each once, and `calling` is the
    number of the formulas.
    """
    return (own + called) // FORMULA_CHARACTERS + called * calling // CALLED_CHARACTERS


def checking_units(formulas: Iterable[str]) -> int:
    """Return the units of checking new formulas, with the patterns that stand in them."""
    texts = tuple(formulas)
    return formula_units(sum(map(len, texts))) + pattern_units(texts)


def pattern_units(formulas: Iterable[str]) -> int:
    """Return the units of compiling the regular expressions that stand in formulas."""
    return text_units(sum(map(literal_pattern_cost, formulas)))


def renaming_units(characters: int) -> int:
    """Return the units of showing formulas of this many characters with the names of today."""
    return characters // RENAMED_CHARACTERS


def step_units(steps: int) -> int:
    """Return the units of this many operations of formulas."""
    return steps // STEPS


def text_units(work: int) -> int:
    """Return the units of what text functions of formulas did, as `WorkMeter` counts it."""
    return work // TEXT_WORK


def write_units(written: float) -> int:
    """Return the units of this many write units of the store."""
    return int(written / WRITE_UNITS)


def matching_units(rows: int) -> int:
    """Return the units of comparing this many rows of words with a part of a name."""
    return rows // MATCHED_ROWS


def cpu_units(seconds: float) -> int:
    """Return the units of so many seconds of CPU time."""
    return round(seconds / CPU_SECONDS)


def conversion_units(duration_ms: int) -> int:
    """Return the units of converting sound of this length, or less than these."""
    return cpu_units(duration_ms / 1000 / CONVERTED_SOUND)


def worker_units(seconds: float) -> int:
    """Return the units of so many seconds of CPU time of a worker."""
    return round(seconds / WORKER_SECONDS)


def reading_units(values: int) -> int:
    """Return the cost of reading so many values of rows, also of those that are missing."""
    return values // READ_VALUES


def dataset_units(size: int) -> int:
    """Return the cost of the content of a dataset, of so many bytes."""
    return size // DATASET_BYTES


def file_units(size: int) -> int:
    """Return the units of reading and checking a file of rows of this many bytes."""
    return size // FILE_BYTES


def packed_units(size: int) -> int:
    """Return the units of making CSV of an input of this many bytes that is of another kind."""
    return size // PACKED_BYTES


def load_units(size: int) -> int:
    """Return the units of reading a stored dataset of this many bytes into memory."""
    return size // LOADED_BYTES


def copied_units(size: int) -> int:
    """Return the units of copying the index of a dataset of this many bytes."""
    return size // COPIED_BYTES


def large_value_units(size: int) -> int:
    """Return the units of reading a large value of this many bytes from its file."""
    return 1 + size // VALUE_BYTES


def kept_units(characters: int) -> int:
    """The units of unpacking what is kept of a day of samples, at least one."""
    return max(1, characters // KEPT_CHARACTERS)


def storing_units(samples: int) -> int:
    """Return the units of storing so many samples and entities."""
    return samples // STORED_SAMPLES


def naming_units(characters: int) -> int:
    """Return the units of encoding or decoding a name of so many characters."""
    return characters // CODED_CHARACTERS


def sample_units(samples: int) -> int:
    """Return the units of reading so many samples for a chart."""
    return samples // READ_SAMPLES


def filling_units(periods: int) -> int:
    """Return the units of filling in so many periods without samples."""
    return periods // FILLED_PERIODS


def point_units(parts: int, visits: int) -> int:
    """Return the units of computing points of a series from so many values of outputs.

    `visits` are the inputs of metrics that are visited to find these values.
    """
    return parts // POINT_PARTS + visits // VISITED_INPUTS


def change_units(count: int) -> int:
    """Return the units of reading so many changes from their log."""
    return count // LOGGED_CHANGES


def notification_units(size: int) -> int:
    """Return the units of reading a notification of this many bytes."""
    return size // NOTIFIED_BYTES


class WorkPayer(NamedTuple):
    """The user whose turn some work takes, the account that pays, and the units it paid before."""

    user: str = ""
    work: WorkAccount = FREE_WORK
    prepaid: int = 0

    def pay(self, seconds: float) -> None:
        """Pay for the processor time of the work beyond what was paid before."""
        self.work.owe(max(0, cpu_units(seconds) - self.prepaid))


NOBODY: Final = WorkPayer()
"""The payer of the server's own work."""
