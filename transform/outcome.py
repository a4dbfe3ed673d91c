"""The results of rows: CSV output for those that succeed, CSV errors for the others."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from penstock.formula.core.limits import WorkMeter
from penstock.transform.csv_text import cell_lines, csv_lines
from penstock.transform.problems import ERROR_HEADINGS, TransformCode, TransformProblem
from penstock.transform.program import Program


class RowCounts(msgspec.Struct, frozen=True):
    """The rows read, succeeded and failed; the bytes read and written, errors included."""

    rows: int = 0
    succeeded: int = 0
    failed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: "RowCounts") -> "RowCounts":
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return RowCounts(*(one + another for one, another in pairs))


class RejectionCount(msgspec.Struct, frozen=True):
    """The number of rows whose first problem has this code, in this column."""

    code: str
    column: str
    rows: int


def sum_rejections(*counted: Iterable[RejectionCount]) -> tuple[RejectionCount, ...]:
    """Add up the rows of equal reasons; these are in the order of the first row of each."""
    found = Counter[tuple[str, str]]()
    for each in chain(*counted):
        found[each.code, each.column] += each.rows
    return tuple(RejectionCount(*reason, rows) for reason, rows in found.items())


class OutputChunk(NamedTuple):
    """More bytes of the output file and of the errors file."""

    output: bytes = b""
    errors: bytes = b""

    def concat(self, other: "OutputChunk") -> "OutputChunk":
        return OutputChunk(self.output + other.output, self.errors + other.errors)


NO_OUTPUT: Final = OutputChunk()


class TransformEnding(msgspec.Struct, frozen=True):
    """The end of a transform: its counts, and the refusal if the input could not be used.

    `read_as` says for people how a file was read. `rejections` has the reasons of the failed rows;
    there are no more of them than codes of columns.
    """

    counts: RowCounts
    refusal: TransformProblem | None = None
    read_as: str | None = None
    rejections: tuple[RejectionCount, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether there is an output: failed rows do not prevent it unless all rows failed."""
        return self.refusal is None and (self.counts.succeeded > 0 or self.counts.rows == 0)


FULL: Final = 4 * 1024 * 1024
"""Bytes of results that a transform keeps; it then returns them before it reads more rows."""

PIECE: Final = 256 * 1024
"""Characters of results that are written as CSV in one go, without a turn for other threads."""


def headings(outputs: Sequence[str], inputs: Sequence[str]) -> OutputChunk:
    """Return the first lines of both files; the input's headings follow those of errors."""
    return OutputChunk(csv_lines([outputs]), csv_lines([(*ERROR_HEADINGS, *inputs)]))


class RowRunner:
    """Runs a program on rows, and keeps their results until they are taken as bytes.

    More than `max_failed` failed rows, those `failed_above` included, are a refusal; no row may
    follow it. The text functions of all rows spend from `meter`, if there is one.
    """

    __slots__ = (
        "_cells",
        "_failed",
        "_failed_above",
        "_kept",
        "_kept_bytes",
        "_max_failed",
        "_meter",
        "_problems",
        "_rejections",
        "_succeeded",
        "_waiting",
        "_written",
        "refusal",
    )

    def __init__(
        self, max_failed: int | None, failed_above: int = 0, meter: WorkMeter | None = None
    ) -> None:
        self.refusal: TransformProblem | None = None
        self._max_failed = max_failed
        self._failed_above = failed_above
        self._meter = meter
        self._cells: list[Sequence[str]] = []
        self._problems: list[Sequence[object]] = []
        self._kept: list[OutputChunk] = []
        self._rejections = Counter[tuple[str, str]]()
        self._succeeded = self._failed = self._written = self._kept_bytes = self._waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether the results that are kept are so large that they should be taken."""
        return self._kept_bytes + self._waiting >= FULL

    def ending(self, bytes_read: int) -> TransformEnding:
        """Return the counts so far and the refusal, if there is one."""
        rows = self._succeeded + self._failed
        counts = RowCounts(rows, self._succeeded, self._failed, bytes_read, self._written)
        rejections = (RejectionCount(*one, rows) for one, rows in self._rejections.items())
        return TransformEnding(counts, self.refusal, rejections=tuple(rejections))

    def run_row(
        self, program: Program, row: int, entries: Sequence[object], fields: Sequence[str]
    ) -> None:
        """Run a program on a row's entries, in the order of its columns; `fields` are the row."""
        problems: list[TransformProblem] = []
        values = program.read_values(row, entries, problems)
        cells = () if problems else program.evaluate_row(row, values, problems, self._meter)
        if problems:
            self.fail(problems, fields)
        else:
            self.keep_cells([cells], sum(map(len, cells)))

    def keep_cells(self, rows: Sequence[Sequence[str]], characters: int) -> None:
        """Keep the output cells of rows, which have so many characters together."""
        self._cells += rows
        self._keep(characters)

    def fail(self, problems: Sequence[TransformProblem], fields: Sequence[str]) -> None:
        """Leave a row out because of one or more problems, the first of which has its fields."""
        nothing = ("",) * len(fields)
        self._problems.append((*problems[0], *fields))
        self._problems += [(*problem, *nothing) for problem in problems[1:]]
        self._rejections[problems[0].code, problems[0].column] += 1
        self._failed += 1
        width = len(fields) * (len(problems) - 1)
        self._keep(sum(len(one.message) for one in problems) + sum(map(len, fields)) + width)
        if self._max_failed is not None and self._failed_above + self._failed > self._max_failed:
            self.refuse(_over_threshold(problems[0].row, self._max_failed))

    def refuse(self, problem: TransformProblem) -> None:
        """Refuse the input or the rest of it."""
        self.refusal = problem
        self._problems.append(problem)

    def take_output(self, before: OutputChunk = NO_OUTPUT) -> OutputChunk:
        """Return the results since the last call, after the bytes in `before`."""
        self._write_kept()
        output = b"".join([before.output, *(chunk.output for chunk in self._kept)])
        errors = b"".join([before.errors, *(chunk.errors for chunk in self._kept)])
        self._kept.clear()
        self._kept_bytes = 0
        self._written += len(output) + len(errors)
        return OutputChunk(output, errors)

    def _keep(self, characters: int) -> None:
        self._waiting += characters
        if self._waiting >= PIECE:
            self._write_kept()

    def _write_kept(self) -> None:
        """Write what is kept as CSV: a piece, because the writer holds up all other threads."""
        chunk = OutputChunk(cell_lines(self._cells), csv_lines(self._problems))
        self._kept.append(chunk)
        self._kept_bytes += len(chunk.output) + len(chunk.errors)
        self._succeeded += len(self._cells)
        self._waiting = 0
        self._cells.clear()
        self._problems.clear()


def _over_threshold(row: int, maximum: int) -> TransformProblem:
    rows = "row" if maximum == 1 else "rows"
    message = f"more than {maximum} {rows} failed; those below were not looked at"
    return TransformProblem(row, "", TransformCode.TOO_MANY_FAILED_ROWS, message)
