"""Applies a plan to a stream of CSV bytes, chunk by chunk, and returns streams of CSV."""

from collections import deque
from collections.abc import Iterator, Sequence
from csv import Error
from itertools import islice
from typing import Final, NamedTuple, Protocol

import msgspec

from penstock.transform.column_values import ReadRows, read_columns
from penstock.transform.csv_records import MAX_RECORD, NEWLINE, QUOTE, RecordSplitter
from penstock.transform.encodings import UTF8
from penstock.transform.header import BLANK, NO_FORM, FileForm, describe_malformed, read_header
from penstock.transform.outcome import PIECE, OutputChunk, RowRunner, TransformEnding, headings
from penstock.transform.problems import InputRefused, TransformCode, TransformProblem
from penstock.transform.program import Program
from penstock.transform.row_routine import Fields, RowRoutine, RowsDone, RowValues

BLOCK: Final = 1_000
"""The most records that are decoded at once."""


class RowTransform(Protocol):
    """A program applied to one input; input after a refusal is ignored."""

    def feed(self, data: bytes) -> OutputChunk:
        """Take more of the input; return its results so far, which may wait for more input."""

    def finish(self) -> OutputChunk:
        """Take the end of the input; return the remaining results."""

    @property
    def has_more(self) -> bool:
        """Whether rows wait for `take_more`, because the last results were large."""

    def take_more(self) -> OutputChunk:
        """Return the results of more of the rows that wait; neither input nor end precedes it."""

    @property
    def ending(self) -> TransformEnding:
        """The counts so far, and the refusal if there was one."""


class PartContext(NamedTuple):
    """The facts about the rest of a file above a part.

    `form` is what the header says about the file, `row` is the number of the part's first row, and
    `failed` is the number of rows that failed.
    """

    form: FileForm
    row: int
    failed: int = 0


class CsvTransform:
    """Transforms a CSV file with its header or, with `above`, a part of one below the header.

    A part writes no headings.
    """

    def __init__(
        self, program: Program, max_failed: int | None = None, above: PartContext | None = None
    ) -> None:
        self._program = program
        self._outcome = RowRunner(max_failed, above.failed if above else 0)
        self._records = RecordSplitter()
        self._waiting: deque[bytes] = deque()
        self._form = above.form if above else NO_FORM
        self._awaits_header = above is None
        self._row = above.row if above else 0
        self._read = 0
        self._routine: RowRoutine | None = None

    @property
    def ending(self) -> TransformEnding:
        read_as = self._form.describe() if self._form.headings else None
        return msgspec.structs.replace(self._outcome.ending(self._read), read_as=read_as)

    @property
    def form(self) -> FileForm:
        """The form of the file, once the header was read."""
        return self._form

    def feed(self, data: bytes) -> OutputChunk:
        if self._outcome.refusal is not None:
            return OutputChunk()
        self._read += len(data)
        self._waiting.extend(self._records.feed(data))
        return self._process_waiting()

    def finish(self) -> OutputChunk:
        if self._outcome.refusal is not None:
            return OutputChunk()
        self._waiting.extend(self._records.finish())
        if self._awaits_header and not self._waiting:
            return self._start_output(
                TransformProblem(0, "", TransformCode.EMPTY_INPUT, "the file is empty")
            )
        return self._process_waiting()

    @property
    def has_more(self) -> bool:
        return bool(self._waiting) and self._outcome.refusal is None

    def take_more(self) -> OutputChunk:
        return self._process_waiting()

    def _process_waiting(self) -> OutputChunk:
        if self._awaits_header and self._waiting:
            start = self._start_output(self._header_problem(self._waiting.popleft()))
            return start.concat(self._process_waiting())
        if self._awaits_header and self._records.overlong:
            return self._start_output(_overlong_problem(0))
        while self._waiting and self._outcome.refusal is None and not self._outcome.is_full:
            self._process_block()
        if self._records.overlong and not self._waiting and self._outcome.refusal is None:
            self._outcome.refuse(_overlong_problem(self._row))
        return self._outcome.take_output()

    def _start_output(self, problem: TransformProblem | None) -> OutputChunk:
        """Start both files with their headings, even if the input's header is wrong."""
        self._awaits_header, self._row = False, 1
        if problem is not None:
            self._outcome.refuse(problem)
        return self._outcome.take_output(headings(self._program.headings, self._form.headings))

    def _header_problem(self, record: bytes) -> TransformProblem | None:
        try:
            self._form = read_header(
                record, self._program.columns, ignores_extra=self._program.ignores_extra
            )
        except InputRefused as refused:
            return refused.problem
        return None

    def _process_block(self) -> None:
        """Process some of the records that wait, until the results are full or the input refused.

        The rows that are in order up to the next one that is not are done by one call.
        """
        waiting = self._waiting
        records = [waiting.popleft() for _ in range(min(BLOCK, len(waiting)))]
        if self._routine is None:
            form = self._form
            self._routine = self._program.compile_rows(form.places, len(form.headings))
        rows, unread = self._read_rows(self._routine, records)
        done = 0
        for end in (*unread, len(records)):
            while done < end and self._goes_on:
                found = self._run_rows(self._routine, islice(rows, end - done))
                done += found.rows
                if not found.in_order:
                    self._process_record(records[done])
                    done += 1
            if done == end < len(records) and self._goes_on:
                next(rows)
                self._process_record(records[done])
                done += 1
        waiting.extendleft(reversed(records[done:]))

    @property
    def _goes_on(self) -> bool:
        """Whether more rows may be processed before the results are taken."""
        return self._outcome.refusal is None and not self._outcome.is_full

    def _run_rows(self, routine: RowRoutine, rows: Iterator[RowValues]) -> RowsDone:
        """Process rows by one call, and keep their cells."""
        kept: list[list[str]] = []
        found = RowsDone(*routine.run(rows, kept.append, PIECE))
        self._outcome.keep_cells(kept, found.characters)
        self._row += found.rows
        return found

    def _read_rows(
        self, routine: RowRoutine, records: Sequence[bytes]
    ) -> tuple[Iterator[RowValues], Sequence[int]]:
        """Return the values of records, and the places of those that cannot be read.

        Only from plain records are they told before; the values of others may raise what
        `routine.read` raises.
        """
        form, block = self._form, NEWLINE.join(records)
        # What a blank line holds is wrong only where more fields are wanted.
        is_plain = QUOTE not in block and self._program.columns and len(form.headings) > 1
        is_plain = is_plain and not form.left_out
        if is_plain and (form.encoding or block.isascii()):
            found = self._read_plain_rows(routine, block, records)
            if found is not None:
                return zip(*found.columns, strict=True), found.unread
        return map(routine.read, map(self._read_fields, records)), ()

    def _read_plain_rows(
        self, routine: RowRoutine, block: bytes, records: Sequence[bytes]
    ) -> ReadRows | None:
        """Read the columns of records without quotes; None if one has other fields than it has to.

        All fields are cut at once, with a line's end as a field between those of two records.
        """
        form = self._form
        try:
            text = block.decode(form.encoding or UTF8)
        except UnicodeDecodeError:
            return None
        text = text.replace("\r\n", "\n").removesuffix("\r")
        between, width, rows = form.separator, len(form.headings), len(records)
        fields = text.replace("\n", f"{between}\n{between}").split(between)
        ends = fields[width :: width + 1]
        if len(fields) != (width + 1) * rows - 1 or ends.count("\n") != rows - 1:
            return None
        return read_columns(
            routine.columns,
            lambda place: fields[place :: width + 1],
            rows,
            max(map(len, records)),
        )

    def _read_fields(self, record: bytes) -> Fields:
        if record in BLANK:
            return None
        self._form = form = self._form.after(record)
        try:
            return form.split(record) or None
        except (UnicodeDecodeError, Error):
            return None

    def _process_record(self, record: bytes) -> None:
        """Process a record that is not in order, to find its problems."""
        self._report_record(record)
        self._row += 1

    def _report_record(self, record: bytes) -> None:
        if record in BLANK:
            return
        self._form = form = self._form.after(record)
        try:
            fields = form.split(record)
        except UnicodeDecodeError as error:
            message = f"byte {error.start + 1} of the row is not {form.encoding_name}"
            self._reject(record, TransformCode.INVALID_ENCODING, message)
        except Error as error:
            message = f"the row cannot be read: {describe_malformed(error)}"
            self._reject(record, TransformCode.MALFORMED_ROW, message)
        else:
            self._process_fields(form, fields)

    def _process_fields(self, form: FileForm, fields: list[str]) -> None:
        if not fields:
            return
        if len(fields) == len(form.headings) or not self._program.columns:
            entries = form.entries(fields)
            self._outcome.run_row(self._program, self._row, entries, fields)
        else:
            message = f"the row has {len(fields)} fields, the header {len(form.headings)}"
            problem = TransformProblem(self._row, "", TransformCode.FIELD_COUNT, message)
            self._outcome.fail([problem], fields)

    def _reject(self, record: bytes, code: TransformCode, message: str) -> None:
        """Leave out a row that has no fields; its text stands for the first of them."""
        text = record.decode(self._form.encoding or UTF8, errors="replace").removesuffix("\r")
        self._outcome.fail([TransformProblem(self._row, "", code, message)], [text])


def _overlong_problem(row: int) -> TransformProblem:
    message = f"the row is larger than {MAX_RECORD} bytes; is a quote in or above it not closed?"
    return TransformProblem(row, "", TransformCode.ROW_TOO_LARGE, message)
