"""The first visible sheet of an Excel file (.xlsx) as CSV, read row by row.

openpyxl reads a sheet as a stream but trusts the file, so what it would hold in memory is bounded
before: the parts of the archive by their sizes, the rows of a sheet by a first pass over its XML.
"""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from penstock.datastore.input_files.excel_xml import (
    CHUNK,
    HEAD_ELEMENTS,
    MOST_ROWS,
    FileRefused,
    PartCheck,
    SheetCheck,
    TextsCheck,
)
from penstock.datastore.input_files.kinds import unreadable_file
from penstock.datastore.input_files.text import read_chunks
from penstock.transform.csv_text import csv_lines
from penstock.transform.problems import InputRefused

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

TEXTS_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the texts that cells share, which are held in memory."""

HEAD_BYTES: Final = 8 * 1024 * 1024
"""Bytes of all parts beside sheets and texts, such as styles, which are held in memory."""

FILE_BYTES: Final = 256 * 1024 * 1024
"""Bytes of the archive: the list of its parts is held whole, however long it says that it is."""

MOST_PARTS: Final = 5_000
"""Parts of the archive, such as sheets and pictures: an object of 600 bytes is made of each."""

_PART: Final = b"PK\x01\x02"
"""The beginning of each entry in the list of parts."""

SHEETS_BYTES: Final = 2 * 1024**3
"""Bytes of all sheets, which are read row by row."""

MOST_RATIO: Final = 400
"""Bytes of sheets to one packed byte; those that people fill have 10 to 100."""

_BOUNDED_TYPES: Final = (ZIP_STORED, ZIP_DEFLATED)
"""The ways of packing of which a piece can be unpacked without the rest, and those of Excel."""

_BLANKS: Final = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
"""Bytes that may stand before XML in any encoding."""

BATCH: Final = 1_000
BATCH_CHARACTERS: Final = 1024 * 1024
"""Rows that are written as CSV at once, and the characters at which it is done with fewer."""

MOST_TITLE: Final = 31
"""Characters of the name of a sheet, by Excel's own limit."""

_SHEETS: Final = "xl/worksheets/"
_TEXTS: Final = "xl/sharedStrings.xml"


def read_sheet(path: Path) -> tuple[str, Iterator[bytes]]:
    """Return the name of the first visible sheet and its rows as CSV; raises InputRefused.

    A name that is longer than Excel allows is cut.
    """
    # It warns about each cell with an impossible date, and says what the cell holds: each text
    # would be a line of the log, and be kept in memory until the process ends.
    warnings.filterwarnings("ignore", module=r"openpyxl\.")
    try:
        _require_bounded(path)
        book = _open_book(path)
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        sheet: ReadOnlyWorksheet = (shown or book.worksheets)[0]
    except (MemoryError, InputRefused):
        raise
    except Exception as error:  # the library may raise anything for a file that is no Excel
        raise unreadable_file(_describe(error)) from None
    return sheet.title[:MOST_TITLE], _lines_of(sheet)


def _open_book(path: Path) -> "Workbook":
    """Open an archive whose parts are bounded, whichever of them is said to be what."""
    from openpyxl.reader.excel import ExcelReader  # noqa: PLC0415 - it comes with an extra
    from openpyxl.xml.constants import SHARED_STRINGS  # noqa: PLC0415

    reader = ExcelReader(path, read_only=True, data_only=True, keep_links=False)
    reader.archive.close()
    reader.archive = _SmallReads(path)
    reader.read_manifest()
    texts = reader.package.find(SHARED_STRINGS)
    if texts is not None and texts.PartName[1:].startswith(_SHEETS):
        raise FileRefused("its shared texts are said to be a sheet")
    reader.read()
    return reader.wb


class _SmallReads(ZipFile):
    """An archive of which no large part is read whole, such as a sheet that is called a style."""

    def read(self, name: str | ZipInfo, pwd: bytes | None = None) -> bytes:
        part = name if isinstance(name, ZipInfo) else self.getinfo(name)
        _require_small("other parts", [part], HEAD_BYTES)
        return super().read(part, pwd)


def _describe(error: Exception) -> str:
    """Say why a file is refused: the library's own words may be about this program."""
    match error:
        case FileRefused():
            return f"it is no whole Excel file: {error}"
        case ExpatError(lineno=line, offset=column) | ParseError(position=(line, column)):
            place = f"line {line}, column {column} of a part of it"
            return f"it is no whole Excel file: its XML ends or breaks at {place}"
    return "it is no whole Excel file"


def _require_bounded(path: Path) -> None:
    """Refuse an archive that takes more memory than a sheet needs."""
    _require_few_parts(path)
    with ZipFile(path) as archive:
        for one in archive.infolist():
            _require_true_size(archive, one)
        parts = [one for one in archive.infolist() if _is_xml(archive, one)]
        sheets = [one for one in parts if one.filename.startswith(_SHEETS)]
        texts = [one for one in parts if one.filename == _TEXTS]
        head = [one for one in parts if one not in sheets and one not in texts]
        _require_small("sheets", sheets, SHEETS_BYTES)
        _require_small("shared texts", texts, TEXTS_BYTES)
        _require_small("other parts", head, HEAD_BYTES)
        if sum(one.file_size - MOST_RATIO * one.compress_size for one in sheets) > 0:
            raise FileRefused(f"its sheets have over {MOST_RATIO} bytes to one packed byte")
        elements = 0
        for one in head:
            with archive.open(one) as xml:
                elements += PartCheck(xml, HEAD_ELEMENTS - elements).run()
        for one in texts:
            with archive.open(one) as xml:
                TextsCheck(xml).run()
        for one in sheets:
            with archive.open(one) as xml:
                SheetCheck(xml).run()


def _require_few_parts(path: Path) -> None:
    """Refuse an archive of very many parts before the list of them is read, which is held whole."""
    if path.stat().st_size > FILE_BYTES:
        raise FileRefused(f"it has more than {FILE_BYTES} bytes")
    parts, rest = 0, b""
    for chunk in read_chunks(path):
        parts += (rest + chunk).count(_PART)
        rest = chunk[1 - len(_PART) :]
    if parts > MOST_PARTS:
        raise FileRefused(f"it has more than {MOST_PARTS} parts")


def _require_true_size(archive: ZipFile, part: ZipInfo) -> None:
    """Refuse a part that unpacks to more than it says, or in pieces that nothing bounds.

    Whoever reads a part whole unpacks all of it, and then cuts off what is beyond its size.
    """
    if part.compress_type not in _BOUNDED_TYPES:
        raise FileRefused("a part of it is packed as no program packs it")
    if part.file_size > FILE_BYTES and not part.filename.startswith(_SHEETS):
        raise FileRefused(f"a part of it has more than {FILE_BYTES} bytes")
    longer = copy(part)
    longer.file_size += 1
    longer.CRC = None  # type: ignore[assignment]
    size = 0
    with archive.open(longer) as file:
        while chunk := file.read(CHUNK):
            size += len(chunk)
    if size > part.file_size:
        raise FileRefused("a part of it has more bytes than it says")


def _is_xml(archive: ZipFile, part: ZipInfo) -> bool:
    """Whether the library may read the part as XML: a name or a type elsewhere may say so."""
    if part.filename.endswith((".xml", ".rels")):
        return True
    with archive.open(part) as file:
        while chunk := file.read(CHUNK):
            if begin := chunk.lstrip(_BLANKS):
                return begin.startswith(b"<")
    return False


def _require_small(name: str, parts: Sequence[ZipInfo], most: int) -> None:
    if sum(one.file_size for one in parts) > most:
        raise FileRefused(f"its {name} have more than {most} bytes")


def _lines_of(sheet: "ReadOnlyWorksheet") -> Iterator[bytes]:
    """Yield the rows from the first that is not empty; all have as many fields as that one."""
    sheet.reset_dimensions()
    lines: list[Sequence[str]] = []
    width = characters = 0
    try:
        for n, cells in enumerate(sheet.iter_rows(values_only=True)):
            if n >= MOST_ROWS:
                raise FileRefused(f"the sheet has more than {MOST_ROWS} rows")
            texts = _without_empty_end([_text_of(cell) for cell in cells])
            width = width or len(texts)
            if width:
                lines.append(texts + [""] * (width - len(texts)) if texts else ())
            characters += sum(map(len, texts)) + width
            if len(lines) >= BATCH or characters >= BATCH_CHARACTERS:
                yield csv_lines(lines)
                lines.clear()
                characters = 0
    except (MemoryError, InputRefused):
        raise
    except Exception as error:  # the library may raise anything for a damaged sheet
        raise unreadable_file(_describe(error)) from None
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
        case datetime() | date() | time():
            is_day = isinstance(cell, datetime) and cell.time() == time()
            return cell.isoformat().partition("T")[0] if is_day else cell.isoformat()
        case timedelta():
            return _duration_text(cell)
    return str(cell)


def _duration_text(elapsed: timedelta) -> str:
    """Return an elapsed time in ISO 8601, its days as hours: `PT36H30M`."""
    minutes, rest = divmod(abs(elapsed) // timedelta(microseconds=1), 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{Decimal(rest).scaleb(-6).normalize():f}" if rest else 0
    parts = ((hours, "H"), (minutes, "M"), (seconds, "S"))
    text = "".join(f"{number}{sign}" for number, sign in parts if number)
    return f"{'-' if elapsed < timedelta(0) else ''}PT{text or '0S'}"
