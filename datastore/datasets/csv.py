"""The CSV of a reference dataset, and the rules of its columns.

The file is UTF-8 (a byte order mark is skipped) and begins with a header that names the columns in
their order. Fields are quoted as in RFC 4180. An empty field is null, except in text columns. A
file that breaks rules is refused with a list of its problems.
"""

import csv
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from io import StringIO
from typing import Final, NamedTuple

from penstock.datastore.datasets.limits import IN_MEMORY, CsvLimits
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import DatasetColumn, DatasetContent
from penstock.datastore.text import line_problem, multiline_problem
from penstock.formula.core.datasets import DatasetRows
from penstock.formula.core.errors import Fault
from penstock.formula.core.row_inputs import entry_converter
from penstock.formula.core.values import FormulaType, Scalar, text_of
from penstock.transform.header import describe_malformed

MAX_COLUMNS = 50
MAX_KEYS = 5
MAX_NAME = 128
MAX_DESCRIPTION = 512
MAX_INLINE = 200_000
MAX_RECORD = 4 * 1024 * 1024
"""The most characters of a row in the file."""


def dataset_problems(content: DatasetContent) -> list[FieldProblem]:
    """Check the columns; return every broken rule with its path in the input."""
    if not 1 <= len(content.columns) <= MAX_COLUMNS:
        message = f"must be 1 to {MAX_COLUMNS}, are {len(content.columns)}"
        return [FieldProblem(["content", "columns"], message)]
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    for n, column in enumerate(content.columns):
        found = {
            "name": _name_problem(column, seen),
            "description": multiline_problem(column.description or "", MAX_DESCRIPTION),
        }
        seen.add(column.name)
        problems += [
            FieldProblem(["content", "columns", str(n), field], message)
            for field, message in found.items()
            if message
        ]
    return [*problems, *_key_problems(content, seen)]


def _key_problems(content: DatasetContent, columns: set[str]) -> Iterator[FieldProblem]:
    path = ["content", "keyColumns" if content.key_columns else "keyColumn"]
    if len(content.keys) > MAX_KEYS:
        yield FieldProblem(path, f"at most {MAX_KEYS} are allowed")
        return
    for n, name in enumerate(content.keys):
        place = [*path, str(n)] if content.key_columns else path
        if name not in columns:
            yield FieldProblem(place, f"there is no column {name[:60]!r}")
        elif name in content.keys[:n]:
            yield FieldProblem(place, "is given twice")


def _name_problem(column: DatasetColumn, seen: set[str]) -> str | None:
    if column.name in seen:
        return "is given twice"
    return line_problem(column.name, MAX_NAME)


MAX_PROBLEMS = 50

CsvRecord = tuple[int, list[str]]

ConvertField = Callable[[str], Scalar]

_NO_KEY: Final = (None, "")


class CsvRow(NamedTuple):
    """The values of a row, the line on which it begins, and its key; None if that is missing."""

    line: int
    values: tuple[Scalar, ...]
    key: tuple[str, ...] | None


class CsvCode(StrEnum):
    """The kinds of problems that the content of a file can have."""

    TOO_LARGE = "TOO_LARGE"
    NOT_UTF_8 = "NOT_UTF_8"
    MALFORMED_CSV = "MALFORMED_CSV"
    WRONG_HEADER = "WRONG_HEADER"
    TOO_MANY_ROWS = "TOO_MANY_ROWS"
    WRONG_WIDTH = "WRONG_WIDTH"
    MISSING_KEY = "MISSING_KEY"
    DUPLICATE_KEY = "DUPLICATE_KEY"
    INVALID_VALUE = "INVALID_VALUE"


class UnreadableCsv(Exception):
    """The content breaks rules; `problems` are the first fifty, with line and column from 1."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        super().__init__(problems[0].message)
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class ParsedTable:
    """The rows of a file; `weight` is roughly the number of bytes they take in memory."""

    rows: DatasetRows
    count: int
    weight: int


def read_table(data: bytes, content: DatasetContent) -> ParsedTable:
    """Parse a whole file whose columns and key column are valid; raises UnreadableCsv."""
    reader = CsvReader(content.columns, content.keys)
    found = reader.read_rows(StringIO(reader.decode(data), newline=""))
    rows = [row.values for row in _check_keys(reader, found)]
    if reader.problems:
        raise UnreadableCsv(reader.problems)
    names = [column.name for column in content.columns]
    weight = sum(map(_row_weight, rows))
    return ParsedTable(
        DatasetRows(names, rows, content.key_column, content.keys[1:]), len(rows), weight
    )


def _check_keys(reader: "CsvReader", rows: Iterable[CsvRow]) -> Iterator[CsvRow]:
    first: dict[tuple[str, ...], int] = {}
    for row in rows:
        if row.key is not None and first.setdefault(row.key, row.line) != row.line:
            reader.report_duplicate(row.key, row.line, first[row.key])
        yield row


@dataclass(slots=True)
class CsvReader:
    """The reader of one file; it goes on after a problem and stops at fifty of them."""

    columns: Sequence[DatasetColumn]
    key_columns: Sequence[str]
    limits: CsvLimits = IN_MEMORY
    problems: list[FieldProblem] = field(default_factory=list)

    def decode(self, data: bytes) -> str:
        """Return the text of a whole file; raises UnreadableCsv."""
        self.require_size(len(data))
        data = data.removeprefix(BOM_UTF8)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            raise self.encoding_error(data[error.start], line, column) from None

    def require_size(self, size: int) -> None:
        """Raise UnreadableCsv for a file with more bytes than it may have."""
        if size > self.limits.size:
            raise self.fatal_error(CsvCode.TOO_LARGE, f"is larger than {self.limits.size} bytes")

    def read_rows(self, lines: Iterable[str]) -> Iterator[CsvRow]:
        """Yield the rows below the header; a row of another width is left out.

        Raises UnreadableCsv for a file that cannot be read on, or after fifty problems.
        """
        names = [column.name for column in self.columns]
        keys = [names.index(name) for name in self.key_columns]
        converters = [_field_converter(FormulaType(column.type)) for column in self.columns]
        for line, record in self._read_records(lines):
            if not record:  # an empty line
                continue
            if len(record) != len(self.columns):
                message = f"has {len(record)} fields in place of {len(self.columns)}"
                self._report(CsvCode.WRONG_WIDTH, message, line, 1)
                continue
            try:
                values = tuple(
                    [convert(text) for convert, text in zip(converters, record, strict=True)]
                )
            except Fault:
                values = self._report_faults(record, converters, line)
            yield CsvRow(line, values, self._read_key(values, record, line, keys))

    def report_duplicate(self, key: Sequence[str], line: int, first: int) -> None:
        """Note that the row on a line has the key of one above it."""
        shown = ", ".join(repr(text[:60]) for text in key)
        names = [column.name for column in self.columns]
        message = f"the key {shown} is that of line {first}"
        self._report(CsvCode.DUPLICATE_KEY, message, line, names.index(self.key_columns[0]) + 1)

    def encoding_error(self, byte: int, line: int, column: int) -> UnreadableCsv:
        """The error for a byte that is no UTF-8."""
        message = f"holds the byte 0x{byte:02X}, which is no UTF-8"
        return self.fatal_error(CsvCode.NOT_UTF_8, message, line, column)

    def _read_records(self, lines: Iterable[str]) -> Iterator[CsvRecord]:
        """Yield the records below the header, each with the line on which it begins."""
        taken = 0

        def take_lines() -> Iterator[str]:
            nonlocal taken
            for line in lines:
                taken += len(line)
                if taken > MAX_RECORD:
                    message = f"a row has more than {MAX_RECORD} characters"
                    raise self.fatal_error(CsvCode.MALFORMED_CSV, message, reader.line_num + 1)
                yield line

        reader = csv.reader(take_lines(), strict=True)
        limits = self.limits
        try:
            self._check_header(next(reader, []))
            line, taken = reader.line_num + 1, 0
            for count, record in enumerate(reader, start=1):
                if count > limits.rows or count * len(self.columns) > limits.fields:
                    message = f"has more than {limits.rows} rows or {limits.fields} fields"
                    raise self.fatal_error(CsvCode.TOO_MANY_ROWS, message, line)
                yield line, record
                line, taken = reader.line_num + 1, 0
        except csv.Error as error:
            message = f"cannot be read: {describe_malformed(error)}"
            raise self.fatal_error(CsvCode.MALFORMED_CSV, message, reader.line_num) from None

    def _check_header(self, header: Sequence[str]) -> None:
        names = [column.name for column in self.columns]
        if list(header) != names:
            wrong = next(
                (n for n, pair in enumerate(zip(header, names, strict=False)) if len({*pair}) > 1),
                min(len(header), len(names)),
            )
            wanted = ", ".join(names)
            message = f"the header must be {wanted[:500]}"
            raise self.fatal_error(CsvCode.WRONG_HEADER, message, 1, wrong + 1)

    def _report_faults(
        self, record: Sequence[str], converters: Sequence[ConvertField], line: int
    ) -> tuple[Scalar, ...]:
        """Note each field that cannot be converted; return the row with null in its place."""
        values: list[Scalar] = [None] * len(record)
        for n, (convert, text) in enumerate(zip(converters, record, strict=True)):
            try:
                values[n] = convert(text)
            except Fault as fault:
                message = f"the column {self.columns[n].name}: {fault.message}"
                self._report(CsvCode.INVALID_VALUE, message, line, n + 1)
        return tuple(values)

    def _read_key(
        self, values: Sequence[Scalar], record: Sequence[str], line: int, keys: Sequence[int]
    ) -> tuple[str, ...] | None:
        key = tuple([text_of(values[n]) for n in keys if values[n] not in _NO_KEY])
        if len(key) == len(keys):
            return key
        for n in keys:
            if not record[n]:
                self._report(CsvCode.MISSING_KEY, "the row has no key", line, n + 1)
        return None

    def _report(self, code: CsvCode, message: str, line: int, column: int) -> None:
        self.problems.append(_csv_problem(code, message, line, column))
        if len(self.problems) >= MAX_PROBLEMS:
            raise UnreadableCsv(self.problems)

    def fatal_error(
        self, code: CsvCode, message: str, line: int | None = None, column: int = 1
    ) -> UnreadableCsv:
        """The error that ends the reading, behind the problems that were found before."""
        return UnreadableCsv([*self.problems, _csv_problem(code, message, line, column)])


def _field_converter(type: FormulaType) -> ConvertField:
    """The function that converts the text of a field; the empty text is null, unless a string."""
    convert = entry_converter(type)
    if type is FormulaType.STRING:
        return convert
    return lambda text: convert(text) if text else None


def _csv_problem(code: CsvCode, message: str, line: int | None, column: int) -> FieldProblem:
    if line is None:
        return FieldProblem([], message, code=code.value)
    place = f"line {line}, column {column}: {message}"
    return FieldProblem([], place, code=code.value, line=line, column=column)


def _row_weight(row: Sequence[Scalar]) -> int:
    """Estimate the bytes of memory of a row, including the index of each of its fields."""
    texts = sum(len(value) for value in row if isinstance(value, str))
    return 60 + len(row) * 220 + texts * 4
