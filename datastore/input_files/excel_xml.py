"""Passes over the XML of an Excel file, before the library reads it: they count its elements."""

import sys
from collections.abc import Mapping
from typing import IO, Final
from xml.parsers.expat import ParserCreate

HEAD_ELEMENTS: Final = 50_000
"""Elements of all parts beside sheets and texts; some 650 bytes are held of each."""

TEXTS_ELEMENTS: Final = 2_000_000
"""Elements of the texts that cells share: some 90 bytes are kept of each, however short it is."""

TEXT_ELEMENTS: Final = 10_000
"""Elements of one of these texts, of which 400 bytes each are held at once."""

_TEXT_DEPTH: Final = 2

MOST_ROWS: Final = 1_048_576
"""Rows of a sheet, as Excel itself has it."""

ROW_BYTES: Final = 4 * 1024 * 1024
"""Bytes of XML from the end of one row to that of the next."""

ROW_ELEMENTS: Final = 200_000
"""Elements between these, such as those of cells and their texts."""

MOST_CELLS: Final = 16_384
"""Cells of a row, as Excel itself has it."""

MOST_DEPTH: Final = 32
CHUNK: Final = 64 * 1024

_SAID: Final = 100
"""Characters of a refusal that repeats what the file says."""


class FileRefused(ValueError):
    """The refusal of a file beyond the bounds, in words for people."""


class PartCheck:
    """A pass over the XML of a part, which may have so many elements."""

    _too_many = f"the parts beside its sheets have over {HEAD_ELEMENTS} elements"

    def __init__(self, xml: IO[bytes], most_elements: int = sys.maxsize) -> None:
        self._xml = xml
        self._most_elements = most_elements
        self._parser = ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_declaration
        self._depth = self._elements = 0

    def run(self) -> int:
        """Count the elements.

        Raises FileRefused, or an error of the parser, for what openpyxl should not read.
        """
        while chunk := self._xml.read(CHUNK):
            self._parser.Parse(chunk)
            self._require_small_piece()
        self._parser.Parse(b"", True)
        return self._elements

    def _start(self, _name: str, _attributes: Mapping[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MOST_DEPTH:
            raise FileRefused("a part of it is nested too deeply")
        if self._elements > self._most_elements:
            raise FileRefused(self._too_many)

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _require_small_piece(self) -> None:
        """Refuse a piece that is too large to be held."""

    def _refuse_declaration(self, *_: object) -> None:
        raise FileRefused("a part of it declares a type of document")


class TextsCheck(PartCheck):
    """A pass over the XML of shared texts, of which an object is made of each element."""

    _too_many = f"its shared texts have over {TEXTS_ELEMENTS} elements"

    def __init__(self, xml: IO[bytes]) -> None:
        super().__init__(xml, TEXTS_ELEMENTS)
        self._before = 0

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        super()._start(name, attributes)
        if self._depth <= _TEXT_DEPTH:
            self._before = self._elements
        elif self._elements - self._before > TEXT_ELEMENTS:
            raise FileRefused(f"one of its shared texts has over {TEXT_ELEMENTS} elements")


class SheetCheck(PartCheck):
    """A pass over the XML of a sheet, in which no row may be larger than rows are."""

    def __init__(self, xml: IO[bytes]) -> None:
        super().__init__(xml)
        self._rows = self._row_end = self._cells = self._before = 0
        self._number = self._column = 0

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        super()._start(name, attributes)
        if self._elements - self._before > ROW_ELEMENTS:
            raise FileRefused(f"row {self._rows} has more than {ROW_ELEMENTS} elements")
        if _is_named(name, "row"):
            self._rows += 1
            if self._rows > MOST_ROWS:
                raise FileRefused(f"its sheet has more than {MOST_ROWS} rows")
            self._cells = self._column = 0
            self._require_next_row(attributes.get("r"))
        elif _is_named(name, "c"):
            self._cells += 1
            if self._cells > MOST_CELLS:
                raise FileRefused(f"row {self._rows} has more than {MOST_CELLS} cells")
            self._require_next_cell(attributes.get("r"))

    def _require_next_row(self, number: str | None) -> None:
        """Refuse a row that is not behind the last: the library would leave one of them out."""
        before, self._number = self._number, self._number + 1
        if number is not None:
            self._number = int(number) if number.isascii() and number.isdigit() else 0
        if self._number <= before:
            raise FileRefused(f"row {number} stands behind row {before}"[:_SAID])

    def _require_next_cell(self, place: str | None) -> None:
        """Refuse a cell that is not behind the last one of its row, such as a second B2."""
        before, self._column = self._column, self._column + 1
        if place is not None:
            self._column = _column_of(place)
        if self._column <= before:
            raise FileRefused(f"cell {place} is not in the order of columns"[:_SAID])

    def _end(self, name: str) -> None:
        super()._end(name)
        if _is_named(name, "row"):
            self._require_small_piece()
            self._row_end = self._parser.CurrentByteIndex
            self._before = self._elements

    def _require_small_piece(self) -> None:
        if self._parser.CurrentByteIndex - self._row_end > ROW_BYTES:
            raise FileRefused(f"row {self._rows} has more than {ROW_BYTES} bytes")


def _column_of(place: str) -> int:
    """The number of the column of a cell such as `AB12`, counted from 1; 0 if it names none."""
    column = 0
    for letter in place.rstrip("0123456789"):
        if not "A" <= letter <= "Z" or column > MOST_CELLS:
            return 0
        column = 26 * column + ord(letter) - ord("A") + 1
    return column


def _is_named(name: str, local: str) -> bool:
    return name == local or name.endswith(f":{local}")
