"""The conversion of an input to CSV in UTF-8, which is stored beside it and read from then on."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

from penstock.datastore.input_files.excel import read_sheet
from penstock.datastore.input_files.kinds import (
    HEAD_BYTES,
    InputKind,
    kind_of,
    unreadable_file,
)
from penstock.datastore.input_files.parquet import read_parquet
from penstock.datastore.input_files.text import decode_wide, read_chunks, unpack_text
from penstock.datastore.kept_rows.engine import Connection, RowsEngine
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.kept_rows.write_part import read_local
from penstock.datastore.objects.port import Files
from penstock.transform.encodings import NAMES, UTF8
from penstock.transform.problems import InputRefused, TransformCode

CSV_TYPE: Final = "text/csv; charset=utf-8"
_LIBRARIES: Final = {InputKind.EXCEL: "openpyxl", InputKind.PARQUET: "duckdb"}


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


@dataclass(frozen=True, slots=True)
class InputConversion:
    """Converts inputs to CSV of at most so many bytes, by way of the disk of this machine."""

    files: Files
    engine: RowsEngine
    most_bytes: int

    async def convert(self, source: str, target: str, user: str) -> ConvertedInput | None:
        """Convert a stored input of a user to a stored table; None for one that is CSV already.

        Raises InputRefused for what cannot be read or is too large, and Unavailable.
        """
        head = b"".join([chunk async for chunk in self.files.read(source, end=HEAD_BYTES)])
        kind = kind_of(head)
        if kind is None:
            return None
        if (library := _LIBRARIES.get(kind)) and find_spec(library) is None:
            raise unreadable_file(f"this server reads {kind} only with the extra `results`")
        stem = self.engine.folder / str(uuid4())
        # openpyxl opens no file of another name.
        packed, table = stem.with_suffix(".xlsx"), stem.with_suffix(".csv")
        try:
            await copy_to_disk(self.files, source, packed)
            converted = await self._write_table(kind, packed, table, user)
            await self.files.write(target, read_local(table), content_type=CSV_TYPE)
        finally:
            for path in (packed, table, packed.with_suffix(".draft")):
                path.unlink(missing_ok=True)
        return converted

    async def _write_table(
        self, kind: InputKind, packed: Path, table: Path, user: str
    ) -> ConvertedInput:
        write = partial(_write_table, kind, packed, table, self.most_bytes)
        if kind is InputKind.PARQUET:
            return await self.engine.write(write, user)
        return await asyncio.to_thread(write)


def _write_table(
    kind: InputKind, packed: Path, table: Path, most: int, connection: "Connection | None" = None
) -> ConvertedInput:
    """Write a local file as CSV; raises InputRefused as soon as that is larger than it may be."""
    inner, chunks = _read(kind, packed, connection)
    size = 0
    with table.open("wb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > most:
                message = f"the file has more than {most} bytes as CSV"
                raise InputRefused(TransformCode.INPUT_TOO_LARGE, message)
            file.write(chunk)
    return ConvertedInput(kind, size, inner)


def _read(
    kind: InputKind, packed: Path, connection: "Connection | None"
) -> tuple[str, Iterator[bytes]]:
    match kind:
        case InputKind.GZIP:
            is_wide, chunks = unpack_text(packed)
            return InputKind.UTF_16 if is_wide else "", chunks
        case InputKind.UTF_16:
            return InputKind.UTF_16, decode_wide(read_chunks(packed))
        case InputKind.EXCEL:
            return read_sheet(packed)
    if connection is None:
        raise TypeError("a Parquet file is read by a connection")
    return "", read_parquet(connection, packed)
