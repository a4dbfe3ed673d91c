"""The input row of an output row, found by counting: rejected rows and blank lines have no output.

Counts are those of `transform.csv_transform`.
"""

import csv
from collections.abc import AsyncIterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from time import thread_time
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.access.work import WorkAccount, cpu_units
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.executions.files import errors_key, read_key
from penstock.datastore.executions.records import Execution, ExecutionMode
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.objects.chunks import regroup_blocks, require_size
from penstock.datastore.objects.port import Files
from penstock.transform.csv_records import MAX_RECORD, RecordSplitter
from penstock.transform.header import BLANK, FileForm, columns_by_heading, read_header
from penstock.transform.plan import TransformPlan
from penstock.transform.problems import InputRefused

BLOCK: Final = 256 * 1024
MAX_ERROR: Final = 8 * MAX_RECORD
"""Bytes of a rejected row beside its problem, whose quotes and letters may take more there."""

MAX_DIGITS: Final = 18
"""Digits of the number of a rejected row; more stand in no file that a server wrote."""

OTHER_READING: Final = (
    "The worker elsewhere that ran it read the input in another way than servers do."
)

_DECODER: Final = msgspec.json.Decoder(list[dict[str, Any]], float_hook=Decimal)


class InputRow(NamedTuple):
    """A row of an input: its number, counted from 1, and its entries by the keys of parameters."""

    number: int
    entries: dict[str, object]


class InputFiles(NamedTuple):
    """The files of an execution: the bytes of its input, as CSV, and of its rejected rows."""

    execution: Execution
    data: int
    rejected: int


async def find_input_row(
    files: Files, source: InputFiles, plan: TransformPlan, number: int, work: WorkAccount
) -> InputRow:
    """Find the input row of the output row with a number.

    Raises NotFound if the files are gone, and IllegalState if a worker elsewhere made an output of
    what servers refuse. A file is read up to the row, and the processor time of that is owed.
    """
    rejected = await read_rejected(files, source)
    data = require_size(files.read(read_key(source.execution)), source.data)
    found: InputRow | None
    if source.execution.mode is ExecutionMode.INLINE:
        text = b"".join([chunk async for chunk in data])
        found = await run_in_formula_thread(partial(_find_object, text, plan, rejected, number))
    else:
        finder = _RowFinder(plan, rejected, number)
        try:
            found = await _find_record(finder, data, work)
        except (InputRefused, UnicodeDecodeError, csv.Error, _OtherReading):
            raise IllegalState(OTHER_READING, source.execution.state.name) from None
    if found is None:
        raise NotFound("The input of the row is gone.")
    return found


async def read_rejected(files: Files, source: InputFiles) -> frozenset[int]:
    """The numbers of the rejected rows of an execution's input."""
    splitter, found = RecordSplitter(MAX_ERROR), set[int]()

    def read(block: bytes) -> None:
        found.update(_row_numbers(splitter.feed(block)))

    content = require_size(files.read(errors_key(source.execution)), source.rejected)
    async for block in regroup_blocks(content, BLOCK):
        await run_in_formula_thread(partial(read, block))
    return frozenset(found | {*_row_numbers(splitter.finish())})


def _row_numbers(records: Sequence[bytes]) -> list[int]:
    """The first fields of the rows, without the heading."""
    fields = (record.partition(b",")[0] for record in records)
    return [int(field) for field in fields if field.isdigit() and len(field) <= MAX_DIGITS]


async def _find_record(
    finder: "_RowFinder", data: AsyncIterable[bytes], work: WorkAccount
) -> InputRow | None:
    def feed(block: bytes) -> tuple[InputRow | None, float]:
        began = thread_time()
        return finder.feed(block), thread_time() - began

    async for block in regroup_blocks(data, BLOCK):
        found, seconds = await run_in_formula_thread(partial(feed, block))
        work.owe(cpu_units(seconds))
        if found:
            return found
    return finder.finish()


def _find_object(
    data: bytes, plan: TransformPlan, rejected: frozenset[int], number: int
) -> InputRow | None:
    left = number
    for n, row in enumerate(_DECODER.decode(data), 1):
        left -= n not in rejected
        if not left:
            return read_object(plan, n, row)
    return None


def read_object(plan: TransformPlan, number: int, row: Mapping[str, Any]) -> InputRow:
    """Read a row of a request, which has this number."""
    names = columns_by_heading(plan.columns)
    places = {name: names.get(name.strip()) for name in row}
    keys = {name: plan.columns[n].key for name, n in places.items() if n is not None}
    return InputRow(number, {key: row[name] for name, key in keys.items()})


class _OtherReading(Exception):
    """The row has another number of fields than the header."""


class _RowFinder:
    """Finds the record of a CSV file from which the output row with a number was made."""

    def __init__(self, plan: TransformPlan, rejected: frozenset[int], number: int) -> None:
        self._plan = plan
        self._rejected = rejected
        self._left = number
        self._splitter = RecordSplitter()
        self._form: FileForm | None = None
        self._row = 0

    def feed(self, data: bytes) -> InputRow | None:
        return self._look_through(self._splitter.feed(data))

    def finish(self) -> InputRow | None:
        return self._look_through(self._splitter.finish())

    def _look_through(self, records: Sequence[bytes]) -> InputRow | None:
        for record in records:
            if self._form is None:
                self._form = read_header(
                    record, self._plan.columns, ignores_extra=self._plan.ignores_extra
                )
                continue
            self._row += 1
            self._form = self._form.after(record)
            if record in BLANK or self._row in self._rejected:
                continue
            if self._form.left_out and not self._form.split(record):
                continue
            self._left -= 1
            if not self._left:
                return self._read(record, self._form)
        return None

    def _read(self, record: bytes, form: FileForm) -> InputRow:
        fields = form.split(record)
        if self._plan.columns and len(fields) != len(form.headings):
            raise _OtherReading
        pairs = zip(self._plan.columns, form.entries(fields), strict=True)
        return InputRow(self._row, {column.key: entry for column, entry in pairs})
