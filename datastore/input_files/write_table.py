"""The work of a conversion: a local file is read and written as CSV."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.input_files.conversion_limits import ConversionLimits
from penstock.datastore.input_files.excel import read_sheet
from penstock.datastore.input_files.kinds import InputKind
from penstock.datastore.input_files.parquet import read_parquet
from penstock.datastore.input_files.parquet_pages import require_bounded
from penstock.datastore.input_files.text import decode_wide, read_chunks, unpack_text
from penstock.datastore.kept_rows.database import Connection
from penstock.transform.encodings import NAMES, UTF8

PACKED: Final = "input.xlsx"
"""The name of the file to convert: openpyxl opens none of another name."""

TABLE: Final = "table.csv"


class ConversionOrder(msgspec.Struct, frozen=True):
    """A folder with the file to convert, which gets the table, its kind, and the limits."""

    kind: InputKind
    folder: str
    limits: ConversionLimits


class ConvertedInput(NamedTuple):
    """An input that was made CSV: its kind, its bytes as CSV, and its sheet or inner encoding."""

    kind: InputKind
    size: int
    inner: str = ""

    def describe(self, form: str | None) -> str:
        """Say for people how the input was read, from the form of its CSV."""
        if self.kind is InputKind.EXCEL:
            return f"Excel, the sheet {self.inner!r}"
        if self.kind is InputKind.PARQUET or form is None:
            return self.kind.value
        text = form.replace(NAMES[UTF8], InputKind.UTF_16) if self.inner else form
        return text if self.kind is InputKind.UTF_16 else f"{self.kind}, {text}"


def write_table(order: ConversionOrder, database: "Connection | None") -> ConvertedInput:
    """Write the table; Parquet is read by the database, which is confined to the folder.

    Raises InputRefused for a file that cannot be read, as soon as its CSV is more than it may be,
    and where it takes more memory than there is.
    """
    folder = Path(order.folder)
    try:
        inner, chunks = _read(order.kind, folder / PACKED, database)
        return ConvertedInput(order.kind, _store(chunks, folder / TABLE, order.limits), inner)
    except MemoryError:
        raise order.limits.memory_error() from None


def _read(
    kind: InputKind, packed: Path, database: "Connection | None"
) -> tuple[str, Iterator[bytes]]:
    match kind:
        case InputKind.GZIP:
            is_wide, chunks = unpack_text(packed)
            return InputKind.UTF_16 if is_wide else "", chunks
        case InputKind.UTF_16:
            return InputKind.UTF_16, decode_wide(read_chunks(packed))
        case InputKind.EXCEL:
            return read_sheet(packed)
    if database is None:
        raise TypeError("a Parquet file is read by a database")
    require_bounded(packed)
    return "", read_parquet(database, packed)


def _store(chunks: Iterable[bytes], table: Path, limits: ConversionLimits) -> int:
    """Write the pieces of the table; return its size."""
    size = 0
    with table.open("wb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > limits.csv_bytes:
                raise limits.too_large_error()
            file.write(chunk)
    return size
