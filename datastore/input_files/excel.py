"""The first visible sheet of an Excel file (.xlsx) as CSV, read row by row.

openpyxl reads a sheet as a stream but trusts the file, so what it would hold in memory is bounded
before: the parts of the archive by their sizes, the rows of a sheet by a first pass over its XML.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from xml.parsers.expat import ParserCreate
from zipfile import ZipFile

from penstock.datastore.input_files.kinds import unreadable_file
from penstock.transform.outcome import csv_lines

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

PART_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a part that is held in memory, such as the texts that cells share."""

SHEETS_BYTES: Final = 2 * 1024**3
MOST_ROWS: Final = 1_048_576
"""Rows of a sheet, as Excel itself has it."""

ROW_BYTES: Final = 4 * 1024 * 1024
"""Bytes of XML from the end of one row to that of the next."""

MOST_DEPTH: Final = 32
CHUNK: Final = 64 * 1024
BATCH: Final = 1_000
_SHEETS: Final = "xl/worksheets/"


def read_sheet(path: Path) -> tuple[str, Iterator[bytes]]:
    """Return the name of the first visible sheet and its rows as CSV; raises InputRefused."""
    from openpyxl import load_workbook  # noqa: PLC0415 - it comes with an extra

    try:
        _require_bounded(path)
        book = load_workbook(path, read_only=True, data_only=True)
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        sheet: ReadOnlyWorksheet = (shown or book.worksheets)[0]
    except Exception as error:  # the library may raise anything for a file that is no Excel
        raise unreadable_file(f"it is no whole Excel file: {error}"[:300]) from None
    return sheet.title, _lines_of(sheet)


def _require_bounded(path: Path) -> None:
    """Refuse an archive that takes more memory than a sheet needs."""
    with ZipFile(path) as archive:
        parts = archive.infolist()
        sheets = [one for one in parts if one.filename.startswith(_SHEETS)]
        if any(one.file_size > PART_BYTES for one in parts if one not in sheets):
            raise ValueError(f"a part beside its sheets has more than {PART_BYTES} bytes")
        if sum(one.file_size for one in sheets) > SHEETS_BYTES:
            raise ValueError(f"its sheets have more than {SHEETS_BYTES} bytes")
        for one in sheets:
            with archive.open(one) as xml:
                _SheetCheck(xml).run()


class _SheetCheck:
    """A pass over the XML of a sheet, in which no row may be larger than rows are."""

    def __init__(self, xml: IO[bytes]) -> None:
        self._xml = xml
        self._parser = ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_declaration
        self._depth = self._rows = self._row_end = 0

    def run(self) -> None:
        """Raise ValueError, or an error of the parser, for what openpyxl should not read."""
        while chunk := self._xml.read(CHUNK):
            self._parser.Parse(chunk)
            self._require_small_row()
        self._parser.Parse(b"", True)

    def _start(self, name: str, _attributes: object) -> None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ValueError("its sheet is nested too deeply")
        if _is_row(name):
            self._rows += 1
            if self._rows > MOST_ROWS:
                raise ValueError(f"its sheet has more than {MOST_ROWS} rows")

    def _end(self, name: str) -> None:
        self._depth -= 1
        if _is_row(name):
            self._require_small_row()
            self._row_end = self._parser.CurrentByteIndex

    def _require_small_row(self) -> None:
        if self._parser.CurrentByteIndex - self._row_end > ROW_BYTES:
            raise ValueError(f"row {self._rows} has more than {ROW_BYTES} bytes")

    def _refuse_declaration(self, *_: object) -> None:
        raise ValueError("its sheet declares a type of document")


def _is_row(name: str) -> bool:
    return name == "row" or name.endswith(":row")


def _lines_of(sheet: "ReadOnlyWorksheet") -> Iterator[bytes]:
    """Yield the rows from the first that is not empty; all have as many fields as that one."""
    sheet.reset_dimensions()
    lines: list[Sequence[str]] = []
    width = 0
    try:
        for n, cells in enumerate(sheet.iter_rows(values_only=True)):
            if n >= MOST_ROWS:
                raise ValueError(f"the sheet has more than {MOST_ROWS} rows")
            texts = _without_empty_end([_text_of(cell) for cell in cells])
            width = width or len(texts)
            if width:
                lines.append(texts + [""] * (width - len(texts)) if texts else ())
            if len(lines) >= BATCH:
                yield csv_lines(lines)
                lines.clear()
    except Exception as error:  # the library may raise anything for a damaged sheet
        raise unreadable_file(f"it is no whole Excel file: {error}"[:300]) from None
    yield csv_lines(lines)


def _without_empty_end(texts: list[str]) -> list[str]:
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _text_of(cell: object) -> str:
    """Return a cell as CSV has it: numbers in plain decimals, times in ISO 8601."""
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
        case float():
            return f"{Decimal(repr(cell)):f}"
        case datetime() if cell.time() == time():
            return cell.date().isoformat()
        case datetime() | date() | time():
            return cell.isoformat()
    return str(cell)
